"""The files in conf/: complete, current and consistent with the program."""

from __future__ import annotations

import configparser
import re

import pytest

from noidtools.web.request import LARGEST_BODY
from support.project import CONF
from support.servers.configuration import marked_lines

FILES = sorted(path for path in CONF.rglob("*") if path.is_file())
UNITS = sorted((CONF / "systemd").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_has_a_few_marked_lines_and_says_what_it_is_for(path):
    text = path.read_text(encoding="utf-8")
    marked = marked_lines(text)
    assert 1 <= len(marked) <= 6
    assert text.startswith(("# ", '"""'))
    # All that depends on the place is marked: elsewhere no line names a folder of the machine.
    for number, line in enumerate(text.splitlines()):
        if number not in marked and not line.lstrip().startswith("#"):
            assert not re.search(r"/(srv|etc|opt|run|var)/", line), line


def test_every_server_configuration_is_one_that_the_tests_start():
    sources = "".join(path.read_text(encoding="utf-8") for path in (CONF.parent / "tests").rglob("*.py"))
    for path in FILES:
        if path.suffix != ".socket":
            assert f'"{path.name}"' in sources, f"nothing starts {path.name}"


def test_configurations_use_no_directive_that_apache_has_removed():
    gone = re.compile(r"^\s*(RewriteLock|RewriteLog|Order|Allow|Deny|Satisfy|LockFile|SSLMutex)\b", re.MULTILINE)
    for path in (CONF / "apache").iterdir():
        assert not gone.search(path.read_text())


def test_the_servers_take_bodies_as_large_as_the_program_does():
    for path in (CONF / "apache").glob("noid-*"):
        assert str(LARGEST_BODY) in path.read_text(), path.name
    for path in (CONF / "nginx").glob("noid-*"):
        assert f"client_max_body_size {LARGEST_BODY >> 20}m;" in path.read_text(), path.name


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_service_and_its_socket_agree(path):
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read_string(path.read_text())
    if path.suffix == ".service":
        assert " systemd " in unit["Service"]["ExecStart"]
        assert unit["Unit"]["Requires"] == f"{path.stem}.socket"
        # Whoever may write to the folder of minters is the service alone.
        folder = re.search(r"--minters (\S+)", unit["Service"]["ExecStart"])
        assert unit["Service"]["ReadWritePaths"] == folder[1]
    else:
        served = unit["Socket"]["ListenStream"]
        assert unit["Socket"]["SocketMode"] == "0660"
        servers = [*(CONF / "apache").iterdir(), *(CONF / "nginx").iterdir()]
        assert any(served in server.read_text() for server in servers)
