"""The name of an executable chooses its interface, and under a web server nothing is a shell."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from noidtools.cli import FASTCGI, REFUSED, RESOLVER, SHELL, URL, interface_of
from support import gateway
from support.minter import Noid
from support.process import NoidProcess
from support.project import PROGRAMS

pytestmark = pytest.mark.slow

FILES = (SHELL, URL, RESOLVER, FASTCGI)
REQUEST = {"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "GET", "SCRIPT_NAME": "/nd/noidu_kt5",
           "REMOTE_ADDR": "192.0.2.7", "REMOTE_USER": "alice"}


def run(program: Path, *words: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, program, *words], cwd=program.parent, input=stdin, capture_output=True,
                          timeout=60, check=False, env=os.environ | variables)


@pytest.fixture
def kt5(tmp_path: Path) -> Path:
    """A folder with the minter kt5."""
    Noid.created(tmp_path / "kt5", "kt.reeded").close()
    return tmp_path


def test_every_file_of_cgi_bin_is_an_interface() -> None:
    assert {path.name for path in PROGRAMS.iterdir() if path.is_file()} == set(FILES)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("way", ["link", "symbolic link", "copy"])
def test_whatever_is_named_noidu_is_the_url_interface(kt5: Path, file: str, way: str) -> None:
    program = kt5 / "noidu_kt5"
    if way == "link":
        shutil.copy(PROGRAMS / file, kt5 / "original")
        program.hardlink_to(kt5 / "original")
    elif way == "symbolic link":
        program.symlink_to(PROGRAMS / file)
    else:
        shutil.copy(PROGRAMS / file, program)
    done = run(program, "-f", "elsewhere", "dbcreate", "x.zd", **REQUEST, QUERY_STRING="mint+1")
    assert done.stdout.startswith(b"Status: 200 OK\r\n") and b"id: kt4x551" in done.stdout
    assert not (kt5 / "elsewhere").exists()
    at_a_shell = run(program, "mint", "1")
    assert at_a_shell.returncode == 2 and b"for web servers" in at_a_shell.stderr and at_a_shell.stdout == b""


@pytest.mark.parametrize("file", FILES)
def test_whatever_is_named_noidr_is_the_resolver_loop(kt5: Path, file: str) -> None:
    noid = NoidProcess(kt5 / "kt5")
    noid("-", stdin=b"mint 1\nbind set kt4x551 _t https://e.org/\n")
    program = kt5 / "noidr_kt5"
    program.symlink_to(PROGRAMS / file)
    done = run(program, stdin=b"kt4x551\nmint 1\n")
    assert (done.returncode, done.stdout) == (0, b"https://e.org/\nNULL\n")


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", ["noid_kt5", "noidr_kt5", "kt5.cgi", "noid.fcgi"])
def test_under_a_web_server_nothing_reads_arguments(kt5: Path, file: str, name: str) -> None:
    program = kt5 / name
    program.symlink_to(PROGRAMS / file)
    variable = "GATEWAY_INTERFACE" if file == name else "REQUEST_METHOD"
    for words in (["-f", str(kt5 / "elsewhere"), "dbcreate", "x.zd"], ["mint", "1"]):
        done = run(program, *words, stdin=b"get kt4x551 _t\n", **{variable: REQUEST[variable]},
                   QUERY_STRING="hello", NOID=str(kt5 / "kt5"))
        assert b"id: " not in done.stdout and b"NULL" not in done.stdout and b"Traceback" not in done.stderr
    assert sorted(os.listdir(kt5)) == sorted(["kt5", name])
    assert "Drawn: 0\n" in NoidProcess(kt5 / "kt5")("dbinfo")


@pytest.mark.parametrize("name", ["noid", "noid_kt5", "noidr_kt5"])
def test_a_program_that_is_not_for_the_web_answers_403_and_logs_the_remedy(kt5: Path, name: str) -> None:
    (kt5 / name).symlink_to(PROGRAMS / "noid")
    done = run(kt5 / name, "mint", "1", **REQUEST)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    assert done.returncode == 1 and head.startswith(b"Status: 403 ") and body.startswith(b"error: ")
    assert b"link it as noidu_NAME" in done.stderr and b"GATEWAY_INTERFACE" in done.stderr


def test_a_fastcgi_program_named_noidu_listens_if_its_process_manager_gave_it_a_socket(kt5: Path) -> None:
    (kt5 / "noidu.fcgi").symlink_to(PROGRAMS / "noid.fcgi")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(kt5 / "s"))
        listener.listen()
        process = subprocess.Popen([sys.executable, kt5 / "noidu.fcgi"], stdin=listener, stderr=subprocess.PIPE)
        address = str(kt5 / "s")
        try:
            status, _, body = gateway.fastcgi(address, "mint+1", path="/nd/noidu.fcgi/noidu_kt5", user="alice")
        finally:
            process.terminate()
            complaints = process.communicate(timeout=30)[1]
    assert complaints == b""
    assert (status, body) == (200, b"id: kt4x551\n\n")


def test_other_names_keep_the_interface_of_their_file() -> None:
    assert [interface_of(f"/bin/{file}", file, {}) for file in FILES] == list(FILES)
    assert interface_of("kt5", SHELL, {}) == SHELL and interface_of("/srv/resolve", RESOLVER, {}) == RESOLVER
    assert interface_of("/srv/noidu/noid", SHELL, {}) == SHELL
    assert interface_of("/srv/noidu/noid", SHELL, REQUEST) == REFUSED
