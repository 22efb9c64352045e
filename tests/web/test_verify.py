"""verify by URL."""

from __future__ import annotations

import pytest

from support.odd_server import OddServer
from support.wsgi import USER, CommandClient


@pytest.fixture
def web(tmp_path, noid):
    (tmp_path / "kt5").mkdir()
    noid("-f", "kt5", "dbcreate", "kt5.sdd")
    noid("-f", "kt5", "mint", "2", "_t", "https://example.org/")
    return CommandClient(tmp_path)


def test_verifying_through_the_web_is_for_administrators(web):
    assert web("verify").status == 401
    reply = web("verify+kt500+kt599", user=USER, accept="application/json")
    assert reply.status == 200 and reply.json["failed"] is True
    first, second, summary = reply.json["records"]
    assert first["id"] == "kt500" and first["holds"] is True
    assert {"quality": "resolvable", "verdict": "holds", "section": "9.9"} in first["findings"]
    assert second["holds"] is False and second["findings"][0]["detail"] == "nothing is known of it here"
    assert summary["verified"] == 2 and summary["qualities"]["resolvable"] == {
        "section": "9.9", "holds": 1, "fails": 0, "unknown": 0}


def test_links_checked_by_url_never_reach_private_addresses(web, noid):
    with OddServer() as server:
        noid("-f", "kt5", "bind", "set", "kt500", "_t", server.url("/200"))
        reply = web("verify+kt500+--links+--allow-private", user=USER)
        assert reply.status == 403 and "for the shell" in reply.text
        reply = web("verify+kt500+--links", user=USER)
        assert reply.status == 200 and "cannot reach" in reply.text
        assert server.requests == []


def test_verifying_all_identifiers_with_an_idempotency_key_is_refused(web):
    reply = web("verify", user=USER, HTTP_IDEMPOTENCY_KEY="k1")
    assert reply.status == 409 and "without" in reply.text
    assert web("verify+kt500", user=USER, HTTP_IDEMPOTENCY_KEY="k2").status == 200
