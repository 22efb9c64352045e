"""A target whose host is outside ASCII, through the commands, the rewrite map and the web resolver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from noidtools.minter.folder import SingleMinter
from noidtools.web.site import Site
from support.project import ROOT

BOUND, SENT = "https://müller.example/ä", "https://xn--mller-kva.example/%C3%A4"


@pytest.fixture
def minter(noid):
    noid("dbcreate")
    noid("bind", "set", "good", "_t", BOUND)
    noid("bind", "set", "bad", "_t", "https://müller..example/")
    return noid


def _get(folder: Path, path: str) -> tuple[str, dict[str, str], bytes]:
    head: list = []
    site = Site(SingleMinter(str(folder)))
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": "", "REQUEST_URI": path,
               "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "localhost",
               "wsgi.url_scheme": "http"}
    body = site(environ, lambda status, headers, exc_info=None: head.extend([status, dict(headers)]))
    return head[0], head[1], b"".join(body)


def test_the_web_resolver_redirects_to_the_ascii_form(minter):
    status, headers, _ = _get(minter.folder, "/good")
    assert (status[:3], headers["Location"]) == ("302", SENT)


def test_the_web_resolver_describes_a_name_whose_target_has_an_invalid_host(minter):
    status, headers, body = _get(minter.folder, "/bad")
    assert status[:3] == "200" and "Location" not in headers and "müller..example" in body.decode()


def test_the_rewrite_map_writes_the_ascii_form(minter):
    done = subprocess.run([sys.executable, str(ROOT / "cgi-bin" / "noidr")], input=b"good\n", capture_output=True,
                          cwd=minter.folder, env={"NOID": str(minter.folder), "PYTHONPATH": str(ROOT)}, check=True)
    assert done.stdout == SENT.encode() + b"\n"


def test_a_map_contains_the_ascii_form_and_leaves_out_an_invalid_host(minter):
    minter("export", "--map", "txt", "map")
    lines = (minter.folder / "map").read_text().splitlines()
    assert lines[1:] == [f"good {SENT}"]


def test_verify_names_the_invalid_host(minter):
    done = minter.run("verify", "good", "bad")
    good, bad, _ = done.stdout.decode().split("\n\n", 2)
    assert "resolvable: holds" in good
    assert "resolvable: fails (9.9): müller..example is not a valid host name: empty Label" in bad
    assert done.returncode == 1
