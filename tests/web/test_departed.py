"""A minter whose names were handed over refuses to mint through every interface, with the successor's name."""

from __future__ import annotations

import io
import json

import pytest

import noidtools
from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import call

REQUESTS = {
    "URL": ("/noidu_kt", "mint+1", b""),
    "bulk": ("/noidu_kt", "-", b"mint 1\n"),
    "identify": ("/noidu_kt", "identify+item", b""),
    "JSON": ("/api/v1/minters/kt/identifiers", "", json.dumps({}).encode()),
    "EZID": ("/shoulder/ark:/12345/x", "", b"_target: https://a.example/\n"),
    "arklet": ("/mint", "", json.dumps({"naan": "12345", "shoulder": "/x"}).encode()),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "kt", "x.sdd", "medium", "12345")
    minter("depart", "The new library", "--to", "https://new.example/", "--contact", "ark@new.example")
    minter.close()
    return tmp_path / "served"


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_to_mint_is_answered_with_the_successor(folder, kind):
    path, query, body = REQUESTS[kind]
    reply = call(Site(MinterFolder(str(folder)), interfaces=["json", "ezid", "arklet"]), {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
        "SERVER_NAME": "id.example", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "id.example",
        "REMOTE_ADDR": "192.0.2.1", "REMOTE_USER": "alice", "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/json" if body[:1] == b"{" else "text/plain", "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https", "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True, "wsgi.multiprocess": True, "wsgi.run_once": False,
    })
    assert "handed over to The new library" in reply.text and "ark@new.example" in reply.text, reply
    assert reply.status >= 400 or kind == "bulk"


def test_python_is_told_the_successor(folder):
    with noidtools.open(folder / "kt") as minter:
        with pytest.raises(noidtools.ConflictError, match="handed over to The new library"):
            minter.mint()
        with pytest.raises(noidtools.ConflictError, match="ark@new.example"):
            minter.identify("item")
