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

    def send(method: str, handle: str = "", data: object = None, *, query: str = "", body: bytes | None = None,
             user: str = "alice", kind: str = "application/json") -> Response:
        sent = body if body is not None else None if data is None else json.dumps(data).encode()
        path = f"/api/handles/{handle}" if handle else "/api/handles"
        return call(application, command_environment(query, user=user, method=method, path=path, body=sent,
                                                     CONTENT_TYPE=kind))

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
                                  b'[{"index": "000000000001234567890123", "type": "A", "data": "x"}]',
                                  '[{"index": "\u00b2", "type": "A", "data": "x"}]'.encode(),
                                  '[{"index": 1, "ttl": "\u00b2", "type": "A", "data": "x"}]'.encode(),
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


def test_post_reads_with_the_parameters_in_the_body(send):
    handle = send("PUT", "12345/", [URL, {**URL, "index": 7, "type": "E.A"}], query="mintNewSuffix=true").json["handle"]
    for sent, kind in ((b"type=E.&index=9", "application/x-www-form-urlencoded"), (b"", "text/plain"),
                       (b'{"type": ["E.A"], "index": 7, "auth": true}', "application/json")):
        reply = send("POST", handle, body=sent, kind=kind, user="", query="" if sent else "type=E.A")
        assert code(reply) == (200, 1) and [one["index"] for one in reply.json["values"]] == [7], sent
    for sent in (b"[]", b"{", b'{"type": {}}', b'{"index": ["x"]}', b'{"type": null}', b"\xff"):
        assert code(send("POST", handle, body=sent, user="")) == (400, 4), sent
    assert code(send("POST", "12345/none", body=b"overwrite=true", kind="", user=""))[0] in (400, 404)


def test_the_handles_of_a_prefix_are_listed_page_by_page_for_administrators(send, minter):
    made = sorted(send("PUT", "12345/", [URL], query="mintNewSuffix=true").json["handle"] for _ in range(5))
    minter.records("withdraw", f"hdl:{made[0]}")
    reply = send("GET", query="prefix=12345")
    assert code(reply) == (200, 1) and reply.json["totalCount"] == 4 and reply.json["handles"] == made[1:]
    pages = [send("GET", query=f"prefix=12345/&page={page}&pageSize=3").json["handles"] for page in range(3)]
    assert pages == [made[1:4], made[4:], []]
    assert send("POST", body=b'{"prefix": "12345", "pageSize": 1}').json["handles"] == made[1:2]
    assert code(send("GET", query="prefix=12345", user="bob")) == (403, 401)
    assert code(send("GET", query="prefix=99999"))[0] == 400
    for query in ("prefix=12345&pageSize=0", "prefix=12345&page=x", "prefix=12345&pageSize=99999"):
        assert code(send("GET", query=query)) == (400, 4)
    assert code(send("GET")) == (400, 102)
    assert code(send("PUT", "", [URL], query="prefix=12345")) == (400, 102)


def test_a_handle_that_was_bound_elsewhere_has_the_holder_of_the_prefix_as_its_administrator(send, minter):
    identifier = minter.ids(1)[0]
    minter.records("bind", "set", identifier, "_t", "https://example.org/1")
    minter.records("bind", "set", identifier, "title", "A title")
    handle = identifier.removeprefix("hdl:")
    values = send("GET", handle).json["values"]
    assert [(one["index"], one["type"]) for one in values] == [(1, "URL"), (2, "title"), (100, "HS_ADMIN")]
    assert values[2]["data"] == {
        "format": "admin", "value": {"handle": "0.NA/12345", "index": 200, "permissions": "011111110011"}}
    assert [one["index"] for one in send("GET", handle, query="type=HS_ADMIN").json["values"]] == [100]
    assert code(send("PUT", handle, [{**URL, "data": "https://example.org/2"}], query="index=1")) == (200, 1)
    assert "HS_ADMIN" not in minter.text("fetch", identifier), "it is not stored"
    assert [one["index"] for one in send("GET", handle).json["values"]] == [1, 2]


@pytest.mark.parametrize("minter", [("x.sd", "medium", "12345")], indirect=True)
def test_a_prefix_is_served_beside_other_minters_whatever_its_handles_begin_with(send, minter):
    for name, label in (("a", "ark:/"), ("b", "hdl:")):
        other = Noid.created(minter.folder.parent / name, "--label", label, f"{name}.sd", "medium", "12345")
        other.records("policy", "admin", "alice")
        (first,) = other.ids(1)
        other.close()
        assert first.removeprefix(label) == f"12345/{name}0"
    assert code(send("PUT", "12345/Some-Thing", [URL])) == (201, 1)
    assert send("GET", "12345/Some-Thing", user="").json["values"][0]["data"]["value"] == URL["data"]
    assert send("PUT", "12345/", [URL], query="mintNewSuffix=true").json["handle"] == "12345/b1"
    assert send("PUT", "12345/x", [URL], query="mintNewSuffix=true").json["handle"] == "12345/x0"
    assert code(send("PUT", "12345/a", [URL], query="mintNewSuffix=true")) == (400, 301), "these are ARKs"
    assert code(send("DELETE", "12345/a0")) == code(send("GET", "12345/a0")) == (404, 100)
    handles = send("GET", query="prefix=12345").json["handles"]
    assert sorted(handles) == ["12345/Some-Thing", "12345/b0", "12345/b1", "12345/x0"]


def test_sessions_and_unknown_endpoints_are_refused_as_handle_net_refuses_them(minter):
    application = Site(MinterFolder(str(minter.folder.parent)), interfaces=["json", "handle"])

    def ask(path: str, method: str = "GET") -> Response:
        return call(application, command_environment("", user="", method=method, path=path))

    for method in ("GET", "POST", "PUT", "DELETE"):
        for path in ("/api/sessions", "/api/sessions/", "/api/sessions/this"):
            assert code(ask(path, method)) == (501, 5)
    assert code(ask("/api/elsewhere")) == code(ask("/api/handlesx")) == (404, 4)
    assert code(ask("/api/handles")) == (400, 102)
    assert ask("/api/v1/minters").json["minters"]
