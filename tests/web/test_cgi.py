"""noidu as a CGI program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.minter import create_in_child, run_in_child
from support.project import ROOT
from support.wsgi import USER, CommandClient


@pytest.fixture
def noidu(web: CommandClient):
    link = web.folder / "noidu_kt5"
    os.symlink(ROOT / "cgi-bin" / "noidu", link)

    def run(query: str, *options: str, body: bytes = b"", program: Path = link, **variables: str | None):
        environment = {**os.environ, "REQUEST_METHOD": "GET", "QUERY_STRING": query, "SCRIPT_NAME": "/nd/noidu_kt5",
                       "REMOTE_ADDR": "192.0.2.7", "REMOTE_USER": USER, **variables}
        environment = {name: value for name, value in environment.items() if value}
        return subprocess.run([sys.executable, *options, program], input=body, capture_output=True, timeout=60,
                              check=False, cwd=program.parent, env=environment)

    return run


def status(done) -> int:
    assert b"Traceback" not in done.stderr
    return int(done.stdout.split()[1])


def test_a_link_names_the_minter_beside_it(web: CommandClient, noidu) -> None:
    assert b"id: kt" in noidu("mint+1").stdout
    os.link(os.path.realpath(web.folder / "noidu_kt5"), web.folder / "noidu_hard")
    create_in_child(web.folder / "hard", "h.zd")
    assert b"id: h0" in noidu("mint+1", program=web.folder / "noidu_hard").stdout
    script = web.folder / "noidu_hard"
    assert b"id: h1" in noidu("mint+1", SCRIPT_FILENAME=str(script)).stdout
    assert b"id: h2" in noidu("mint+1", NOID=str(web.folder / "hard")).stdout
    (web.folder / "noidu_none").symlink_to(web.folder / "noidu_kt5")
    assert status(noidu("mint+1", program=web.folder / "noidu_none")) == 404


def test_bulk_by_cgi_reads_the_body_to_its_length_and_no_further(noidu) -> None:
    body = b"mint 1\nmint 1\n"
    done = noidu("-", body=body + b"mint 1\n", REQUEST_METHOD="POST", CONTENT_LENGTH=str(len(body)))
    assert status(done) == 200 and done.stdout.count(b"id: ") == 2
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="99")) == 400
    done = noidu("-", body=body, REQUEST_METHOD="POST", HTTP_TRANSFER_ENCODING="chunked")
    assert done.stdout.count(b"id: ") == 2
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="14", NOID_MAX_BODY="13")) == 413
    assert status(noidu("-", body=body, REQUEST_METHOD="POST", CONTENT_LENGTH="14", NOID_MAX_BODY="many")) == 200


def test_cgi_trusts_the_proxies_named_in_the_environment(web: CommandClient, noidu) -> None:
    done = noidu("bind+mint+new+x+y", NOID_PROXY="10.0.0.1 192.0.2.7", HTTP_X_FORWARDED_FOR="203.0.113.9")
    identifier = done.stdout.decode().split("Id:")[1].split()[0]
    (record,) = run_in_child(web.folder / "kt5", "fetch", identifier)
    assert b"alice@203.0.113.9" in record["circ"]


def test_a_client_that_goes_away_causes_no_traceback(web: CommandClient) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "REQUEST_METHOD": "GET", "QUERY_STRING": "mint+9000", "REMOTE_USER": "a",
                   "NOID": str(web.folder / "kt5")}
    done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noidu"], stdout=writing, stderr=subprocess.PIPE,
                          timeout=60, check=False, cwd=web.folder, env=environment)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_noidu_at_a_shell_explains_that_web_servers_start_it(noidu) -> None:
    done = noidu("", REQUEST_METHOD=None)
    assert done.returncode == 2 and b"web servers" in done.stderr and done.stdout == b""
