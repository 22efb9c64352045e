"""Handle.net's REST interface: each request and each refusal with its code, and what it changes."""

from __future__ import annotations

import json

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import Response, call, command_environment

URL = {"index": 1, "type": "URL", "data": "https://example.org/1"}


@pytest.fixture(params=[("x.sd", "medium", "12345"), ("--scheme", "pilin", "--prefix", "12345")], ids=["noid", "pilin"])
def minter(request, tmp_path):
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "h", "--label", "hdl:", *request.param)
    minter.records("policy", "admin", "alice")
    yield minter
    minter.close()


@pytest.fixture
def send(minter):
    application = Site(MinterFolder(str(minter.folder.parent)), interfaces=["handle"])

    def send(method: str, handle: str, data: object = None, *, query: str = "", body: bytes | None = None,
             user: str = "alice", kind: str = "application/json") -> Response:
        sent = body if body is not None else None if data is None else json.dumps(data).encode()
        return call(application, command_environment(query, user=user, method=method, path=f"/api/handles/{handle}",
                                                     body=sent, CONTENT_TYPE=kind))

    return send


def code(reply: Response) -> tuple[int, int]:
    return reply.status, reply.json["responseCode"]


def test_a_minted_handle_is_read_written_and_deleted(send):
    reply = send("PUT", "12345/", [URL], query="mintNewSuffix=true")
    assert code(reply) == (201, 1)
    handle = reply.json["handle"]
    (value,) = send("GET", handle, user="").json["values"]
    assert value.pop("timestamp").endswith("Z")
    assert value == {**URL, "data": {"format": "string", "value": URL["data"]}, "ttl": 86400}
    assert code(send("PUT", handle, [URL], query="overwrite=false")) == (409, 101)
    assert code(send("PUT", handle, [URL], query="index=1&overwrite=false")) == (409, 201)
    assert code(send("PUT", handle, [{**URL, "index": 7, "type": "E.A"}], query="index=7")) == (201, 1)
    assert code(send("PUT", handle, [{**URL, "index": 7, "type": "E.A"}], query="index=8")) == (400, 4)
    assert [one["index"] for one in send("GET", handle, query="type=E.").json["values"]] == [7]
    assert code(send("GET", handle, query="type=NONE")) == (200, 200)
    assert code(send("DELETE", handle, query="index=9")) == (400, 200)
    assert code(send("DELETE", handle, query="index=7")) == (200, 1)
    assert code(send("DELETE", handle, user="")) == (401, 402)
    assert code(send("DELETE", handle)) == (200, 1)
    assert code(send("GET", handle)) == code(send("DELETE", handle)) == (404, 100)


@pytest.mark.parametrize("body", [b"", b"{", b"7", b"null", b'"x"', b"[7]", b"[" * 100_000, b'[{"index": 1}]',
                                  b'{"values": 7}', b'[{"index": -1, "type": "URL", "data": "x"}]',
                                  b'[{"index": 1, "type": "_t", "data": "x"}]',
                                  b'[{"index": "9999999999999999999999", "type": "A", "data": "x"}]',
                                  b'[{"index": 1, "type": "A", "data": {"format": "hex", "value": "zz"}}]',
                                  b'[{"index": 1, "type": "A", "data": {"format": "site", "value": {}}}]',
                                  b'[{"index": 1, "type": "A", "data": {"format": ["string"], "value": "x"}}]',
                                  b'[{"index": 1, "type": "A", "data": "x"}, {"index": 2, "type": "A", "data": "x"}]'])
def test_a_wrong_body_is_refused_with_a_sentence_and_changes_nothing(send, minter, body):
    before = minter.event_count()
    reply = send("PUT", "12345/", body=body, query="mintNewSuffix=true")
    assert reply.status == 400 and reply.json["message"]
    assert minter.event_count() == before


def test_what_is_not_served_or_not_supported_has_its_code(send):
    assert code(send("GET", "12345")) == (400, 102)
    assert code(send("GET", "12345/x", query="callback=f")) == (501, 5)
    assert code(send("GET", "12345/x", query="index=x")) in ((400, 4), (404, 100))
    assert code(send("PUT", "99999/x0", [URL])) == (400, 301)
    assert code(send("PUT", "12345/", [URL], query="mintNewSuffix=true", kind="text/plain")) == (400, 4)
    assert code(send("PUT", "12345/", [URL], query="mintNewSuffix=true", user="")) == (401, 402)
    assert code(send("PATCH", "12345/x0")) == (405, 4)
