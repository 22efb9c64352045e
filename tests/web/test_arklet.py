"""The API of arklet: each call as its clients send it, each refusal, and what a call changes."""

from __future__ import annotations

import json

import pytest

from noidtools.api import MinterMethods
from noidtools.minter.events import Actor
from noidtools.minter.folder import MinterFolder
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import HTML, Response, call, command_environment

URL = "https://example.org/a"
FIELDS = {"metadata": "", "commitment": "", "title": "", "type": "", "identifier": "", "format": "", "relation": "",
          "source": ""}


@pytest.fixture
def minter(tmp_path):
    """A minter of ten names with a shoulder, in a folder that is served."""
    (tmp_path / "served").mkdir()
    minter = Noid.created(tmp_path / "served" / "x9", "x9.sd", "medium", "99999")
    yield minter
    minter.close()


@pytest.fixture
def secret(minter):
    return minter.records("token", "new", "client", "--may", "mint,bind")[0]["token"]


@pytest.fixture
def send(minter, secret):
    application = Site(MinterFolder(str(minter.folder.parent)), interfaces=["arklet"])

    def send(method: str, path: str, data: object = None, *, body: bytes | None = None, key: str = f"Bearer {secret}",
             query: str = "") -> Response:
        sent = json.dumps(data).encode() if body is None else body
        environ = command_environment(query, user="", method=method, path=path, body=sent,
                                      CONTENT_TYPE="application/json", HTTP_AUTHORIZATION=key or None)
        return call(application, environ)

    return send


def elements(minter: Noid, name: str) -> dict[str, str]:
    return MinterMethods(minter.opened, Actor(b"me", b"test")).elements(name)


def mint(**more: object) -> dict[str, object]:
    return {"naan": 99999, "shoulder": "/x9", **more}


def test_an_ark_is_minted_with_what_is_bound_to_it(send, minter):
    reply = send("POST", "/mint", mint(url=URL, metadata="A letter", commitment=""))
    assert reply.status == 200 and reply.json == {"ark": "ark:/99999/x90"}
    assert elements(minter, "99999/x90") == {"_t": URL, "metadata": "A letter"}
    assert send("POST", "/mint", mint()).json == {"ark": "ark:/99999/x91"}
    assert send("POST", "/mint", {"naan": "99999", "shoulder": "/x9", "url": None}).json == {"ark": "ark:/99999/x92"}


@pytest.mark.parametrize("key", ["Bearer {}", "bearer {}", "Token {}", "{}"])
def test_the_last_word_of_the_authorization_is_the_key(send, secret, key):
    assert send("POST", "/mint", mint(), key=key.format(secret)).status == 200


@pytest.mark.parametrize("key", ["", "Bearer no", "Bearer noid_wrong", "noid_wrong"])
def test_without_a_key_of_this_minter_nothing_is_minted(send, minter, key):
    for method, path, data in (("POST", "/mint", mint()), ("POST", "/bulk_mint", {"naan": 99999, "data": [mint()]})):
        reply = send(method, path, data, key=key)
        assert reply.status == 403 and "www-authenticate" not in reply.headers
    assert minter.event_count() == 2


def test_the_key_of_another_minter_is_refused(send, tmp_path):
    other = Noid.created(tmp_path / "served" / "b5", "b5.sd", "medium", "12345")
    secret = other.records("token", "new", "other", "--may", "mint,bind")[0]["token"]
    other.close()
    assert send("POST", "/mint", mint(), key=f"Bearer {secret}").status == 403
    assert send("POST", "/mint", {"naan": 12345, "shoulder": "/b5"}, key=f"Bearer {secret}").status == 200


@pytest.mark.parametrize(("data", "refusal"), [
    (mint(shoulder="x9"), {"shoulder": ["Shoulders must start with a forward slash"]}),
    (mint(url="a letter"), {"url": ["Enter a valid URL."]}),
    (mint(url="javascript:alert(1)"), {"url": ["Enter a valid URL."]}),
    (mint(naan=None), {"naan": ["This field is required."]}),
    (mint(naan=[1]), {"naan": ["Enter a whole number."]}),
    (mint(naan="9/9"), {"naan": ["Enter a whole number."]}),
    ({"naan": 99999}, {"shoulder": ["This field is required."]}),
    (mint(shoulder="/q1"), {"shoulder": ["no minter here mints names that begin with 99999/q1"]}),
    (mint(metadata={"a": 1}), {"metadata": ["Enter a text."]}),
    (mint(_t=URL), {"_t": ["There is no field of this name; the target is the url."]}),
    ([mint()], {"data": ["A row is an object of fields."]}),
])
def test_a_wrong_field_is_named(send, minter, data, refusal):
    before = minter.event_count()
    reply = send("POST", "/mint", data)
    assert (reply.status, reply.json) == (400, refusal)
    assert minter.event_count() == before


@pytest.mark.parametrize("body", [b"", b"{", b"naan=99999", b"\xff", b"[" * 100_000, b'{"naan": 1e999}', b"null", b"7"])
def test_a_body_of_another_kind_is_refused_in_a_sentence(send, minter, body):
    before = minter.event_count()
    for method, path in (("POST", "/mint"), ("PUT", "/update"), ("POST", "/bulk_mint"), ("POST", "/bulk_update"),
                         ("POST", "/bulk_query")):
        reply = send(method, path, body=body)
        assert reply.status == 400 and all(reply.json.values()), (path, reply)
    assert minter.event_count() == before


def test_other_methods_are_not_allowed(send):
    for path, allowed in (("/mint", "POST"), ("/update", "PUT"), ("/bulk_query", "POST")):
        reply = send("GET", path)
        assert reply.status == 405 and reply.headers["allow"] == allowed
    assert send("POST", "/ark:/99999/x90", query="json").status == 405


def test_an_update_changes_the_fields_that_are_sent_and_answers_the_record(send, minter):
    send("POST", "/mint", mint(url=URL, title="One", metadata="m"))
    reply = send("PUT", "/update", {"ark": "ark:/99999/x90", "title": "Two", "metadata": ""})
    assert reply.json == {"ark": "ark:/99999/x90", "url": URL, **FIELDS, "title": "Two"}
    assert elements(minter, "99999/x90") == {"_t": URL, "title": "Two"}
    assert send("PUT", "/update", {"ark": "ark:99999/x9-0", "url": f"{URL}/2"}).json["url"] == f"{URL}/2"


def test_an_update_of_an_unknown_or_withdrawn_ark_is_refused(send, minter):
    assert send("PUT", "/update", {"ark": "ark:/99999/x97", "title": "One"}).status == 404
    assert send("PUT", "/update", {"title": "One"}).json == {"ark": ["This field is required."]}
    send("POST", "/mint", mint())
    minter.records("withdraw", "99999/x90")
    for row in {}, {"title": "One"}, {"title": ""}:
        assert send("PUT", "/update", {"ark": "ark:/99999/x90", **row}).status == 409


def test_many_are_minted_in_one_transaction(send, minter):
    rows = [{"shoulder": "/x9", "title": "One"}, {"shoulder": "/x9", "url": URL}]
    reply = send("POST", "/bulk_mint", {"naan": 99999, "data": rows})
    assert reply.json == {"num_received": 2, "arks_created": [
        {"ark": "ark:/99999/x90", "url": "", **FIELDS, "title": "One"},
        {"ark": "ark:/99999/x91", "url": URL, **FIELDS}]}
    assert send("POST", "/bulk_mint", {"naan": 99999, "data": [{"shoulder": "/x9"}] * 9}).status == 410
    assert send("POST", "/mint", mint()).json == {"ark": "ark:/99999/x92"}


def test_many_are_updated_in_one_transaction(send, minter):
    send("POST", "/bulk_mint", {"naan": 99999, "data": [{"shoulder": "/x9"}] * 2})
    rows = [{"ark": "ark:/99999/x90", "title": "One"}, {"ark": "ark:/99999/x91", "title": "Two"}]
    assert send("POST", "/bulk_update", {"data": rows}).json == {"num_received": 2, "num_updated": 2}
    assert elements(minter, "99999/x91") == {"title": "Two"}
    rows = [{"ark": "ark:/99999/x90", "title": "Three"}, {"ark": "ark:/99999/x97", "title": "None"}]
    assert send("POST", "/bulk_update", {"data": rows}).status == 404
    assert elements(minter, "99999/x90") == {"title": "One"}


def test_the_rows_of_a_call_belong_to_one_minter(send, tmp_path):
    Noid.created(tmp_path / "served" / "x8", "x8.sd", "medium", "99999").close()
    rows = [{"shoulder": "/x9"}, {"shoulder": "/x8"}]
    assert "one minter" in send("POST", "/bulk_mint", {"naan": 99999, "data": rows}).json["shoulder"][0]
    send("POST", "/mint", mint())
    reply = send("POST", "/bulk_update", {"data": [{"ark": "ark:/99999/x90"}, {"ark": "ark:/99999/x80"}]})
    assert reply.status in (400, 403)


def test_a_query_answers_the_known_arks_by_their_names(send, minter):
    send("POST", "/mint", mint(title="One"))
    minter.records("reserve", "99999/x95")
    rows = [{"ark": f"ark:/99999/{name}"} for name in ("x97", "x90", "x95")]
    reply = send("POST", "/bulk_query", rows, key="")
    assert json.loads(reply.body) == [{"ark": "ark:/99999/x90", "url": "", **FIELDS, "title": "One"}]
    assert send("POST", "/bulk_query", {"ark": "ark:/99999/x90"}).json == {"data": ["This field is required."]}
    assert send("POST", "/bulk_query", [{"ark": "x"}] * 10_001).status == 400


def test_a_query_of_those_who_may_only_read_has_a_thousand_rows(send):
    send("POST", "/mint", {"naan": 99999, "shoulder": "/x9"})
    rows = [{"ark": "ark:/99999/x90"}] * 1001
    refused = send("POST", "/bulk_query", rows, key="")
    assert refused.status == 413 and "send several" in refused.json["detail"][0]
    assert len(send("POST", "/bulk_query", rows[1:], key="").json) == 1000
    assert len(send("POST", "/bulk_query", rows).json) == 1001


def test_json_of_an_ark_names_the_property_of_each_field(send):
    send("POST", "/mint", mint(url=URL, title="One"))
    found = send("GET", "/ark:/99999/x90", query="json", key="").json
    assert found["title"] == {"property": "http://purl.org/dc/elements/1.1/title", "type": "xsd:string", "value": "One"}
    assert found["url"] == {"type": "xsd:anyURI", "value": URL} and "ark" not in found
    assert send("GET", "/ark:/99999/x97", query="json", key="").status == 404


def test_names_lead_on_and_resolve_leads_to_names(send):
    send("POST", "/mint", mint(url=URL))
    assert send("GET", "/ark:/99999/x90", key="").headers["location"] == URL
    reply = send("GET", "/resolve/ark:/99999/x90", query="info", key="")
    assert (reply.status, reply.headers["location"]) == (302, "/ark:/99999/x90?info")


def test_json_of_an_unknown_ark_is_answered_by_the_resolver(minter, send):
    assert send("GET", "/ark:/99999/x97", query="json", key="").json["error"]["code"] == "unknown-name"
    naan = send("GET", "/ark:/99999", query="json", key="")
    assert naan.status == 200 and [one["id"] for one in naan.json["shoulders"]] == ["ark:/99999/x9"]
    application = Site(MinterFolder(str(minter.folder.parent)), interfaces=["arklet"])
    browser = {**HTML, "HTTP_USER_AGENT": "Mozilla/5.0", "HTTP_SEC_FETCH_MODE": "navigate"}
    page = call(application, command_environment("json", user="", path="/ark:/99999/x97", **browser))
    assert page.status == 404 and "<h1" in page.text and page.headers["content-type"].startswith("text/html")


def test_without_the_interface_its_paths_are_names(minter):
    application = Site(MinterFolder(str(minter.folder.parent)))
    assert call(application, command_environment("", method="POST", path="/mint", body=b"{}")).status == 405
