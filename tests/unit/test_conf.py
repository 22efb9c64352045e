"""The files in conf/: complete, current and consistent with the program."""

from __future__ import annotations

import configparser
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.deployment.marked import marked_lines
from noidtools.schemes import ibi, ibip
from noidtools.schemes.timed import Date
from noidtools.web.request import LARGEST_BODY
from support.project import CONF

# Those for monitors are the same everywhere, and tested with a Prometheus.
FILES = sorted(path for path in CONF.rglob("*") if path.is_file() and path.parent.name not in ("prometheus", "grafana"))
UNITS = sorted((CONF / "systemd").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_has_a_few_marked_lines_and_says_what_it_is_for(path):
    text = path.read_text(encoding="utf-8")
    marked = marked_lines(text)
    assert 1 <= len(marked) <= (12 if path.name.startswith("site") else 6)
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
    for path in (CONF / "nginx" / name for name in ("noid-fcgi.conf", "noid-proxy.conf")):
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


# -- names that are known by their form ------------------------------------------------------------------------------


def ibi_pattern() -> str:
    """The pattern of IBI and IBIp names, as Apache's resolver.conf has it."""
    text = (CONF / "apache" / "resolver.conf").read_text()
    defined = dict(re.findall(r'^Define (\w+) "(.*)"$', text, re.MULTILINE))
    return str(defined["NOID_IBI"].replace("${NOID_IBIP}", defined["NOID_IBIP"]))


IBI = re.compile(f"/+{ibi_pattern()}")
DATES = st.integers(900_000_000, 4_000_000_000).map(Date) | st.integers(9_000_000_001, 40_000_000_000).map(
    lambda tenths: Date(tenths, 1))
PORTS = st.integers(1, 65535)
WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8)


def test_every_file_has_the_same_pattern_of_ibi_names():
    pieces = ibi_pattern().removeprefix("(?i:").removesuffix(")")
    for path in [*(CONF / "apache").glob("*.conf"), *(CONF / "nginx").glob("*.conf")]:
        text = path.read_text()
        defined = dict(re.findall(r'^Define (\w+) "(.*)"$', text, re.MULTILINE))
        if "NOID_IBI" in defined:
            assert defined["NOID_IBI"].replace("${NOID_IBIP}", defined["NOID_IBIP"]) == ibi_pattern(), path.name
        else:
            assert text.count("2-9a-hj-np-u") == 4 * text.count(pieces), path.name


@given(st.ip_addresses(v=4).filter(lambda ip: ip.packed[0]) | st.ip_addresses(v=6, network="2000::/3"), PORTS, DATES)
def test_every_ibip_label_has_the_form_that_servers_look_for(address, port, date):
    assert IBI.fullmatch("/" + ibip.encode(str(address).encode(), port, date).decode())


@given(WORDS, WORDS, PORTS, DATES)
def test_every_repository_name_has_the_form_that_servers_look_for(word, domain, port, date):
    label = ibi.encode(f"{word}.{domain}.br".encode(), port, date).decode()
    for spelling in (label, label.upper(), label + "/page.html"):
        assert IBI.match("/" + spelling), spelling


@pytest.mark.parametrize("path", [
    "/fulltext/papers", "/text/abc", "/www/data", "/css/site.css", "/context/search2", "/nd/noidu_kt5", "/2026/11/16/x",
    "/a/b/2026/x.y", "/latex/book2", "/static", "/", "/icons/text.gif", "/index.html", "/healthz", "/Text/Abc",
])
def test_other_paths_have_not(path):
    assert not IBI.match(path)
