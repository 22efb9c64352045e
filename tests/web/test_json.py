"""Answers by URL as text and as JSON."""

from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noidtools.web.accept import prefers_json
from support.wsgi import USER, CommandClient, encode_word


def word(value: bytes | str) -> str:
    return encode_word(value.encode() if isinstance(value, str) else value).decode()


@pytest.mark.parametrize(("accept", "json"), [
    ("", False), ("*/*", False), ("application/json", True), ("application/*", False), ("text/html,*/*;q=0.8", False),
    ("application/json, text/plain, */*", True), ("application/json;q=0.5, text/plain", False),
    ("application/json;q=0.5, text/plain;q=0.4", True), ("application/json;q=0", False), ("APPLICATION/JSON", True),
    ("application/json;q=0.5", True), ("application/json; charset=utf-8", True), ("application/json;q=x", False),
    ("text/*;q=0.9, application/json;q=0.8", False), ("application/jsonx", False), (",,;;==", False),
    ("application/json;q=nan", False), ("application/json;q=9", True),
])
def test_json_is_sent_if_the_accept_header_prefers_it(accept: str, json: bool) -> None:
    assert prefers_json(accept) == json


def test_json_contains_bound_values_exactly(web: CommandClient) -> None:
    values = [b"plain", b"two\nlines\r\nand\rmore\n", b"\xff\x00\xfe", "Käse \u2028 \U0001f9c0".encode(), b'"\\', b""]
    for place, value in enumerate(values):
        assert web(f"bind+set+kt639k9+e{place}+{word(value)}", user=USER).status == 200
    records = web("get+kt639k9", accept="application/json").json["records"]
    assert [exactly(record["value"]) for record in records] == values
    (record,) = web("fetch+kt639k9", accept="application/json").json["records"]
    assert [exactly(element["value"]) for element in record["elements"]] == values
    assert record["hold"] is False


def exactly(value: str | dict[str, str]) -> bytes:
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


def test_a_refusal_in_json_has_its_kind(web: CommandClient) -> None:
    reply = web("get+nothing", accept="application/json")
    assert reply.status == 404
    assert reply.json["records"] == [] and reply.json["error"]["kind"] == "not found"
    reply = web("validate+-+kt+kt639k9", accept="application/json")
    assert reply.json["failed"] is True and [record["valid"] for record in reply.json["records"]] == [False, True]


HOSTILE = "\r\nSet-Cookie: a=b\r\n\r\nid: forged\nerror: forged"


def test_nothing_a_client_sends_adds_a_header_or_a_line_under_our_labels(web: CommandClient) -> None:
    for query in [f"bind+set+kt639k9+{word(HOSTILE)}+{word(HOSTILE)}", "fetch+kt639k9", f"get+kt639k9+{word(HOSTILE)}",
                  f"get+{word(HOSTILE)}", f"help+{word(HOSTILE)}", word(HOSTILE), f"mint+{word(HOSTILE)}",
                  f"note+{word(HOSTILE)}+x", f"validate+-+{word(HOSTILE)}", f"policy+{word(HOSTILE)}"]:
        reply = web(query, user=USER)
        assert "set-cookie" not in reply.headers
        lines = reply.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert not [line for line in lines if line.startswith(("id: forged", "error: forged", "Set-Cookie"))], reply


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="abkt059+%'\"\\-:/=&?", max_size=24), st.sampled_from(["GET", "POST", "HEAD"]))
def test_any_query_gets_an_answer(web: CommandClient, query: str, method: str) -> None:
    assert web(query, method=method).status in (200, 400, 401, 403, 404, 405)
