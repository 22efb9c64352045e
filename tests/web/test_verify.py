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
    noid("-f", "kt5", "policy", "admin", "authenticated")
    return CommandClient(tmp_path)


def test_readers_verify_identifiers_and_administrators_record_that_or_verify_all(web):
    """9.12: verifying is no curatorial action."""
    for words in ("verify", "verify+kt500+--record", "verify+kt500+--links"):
        assert web(words).status == 401, words
    web("custodian+set+Jo+--contact+tel:1", user=USER)
    web("policy+persistence+kept", user=USER)
    assert web("verify+kt500").text.split("\n\n")[0].splitlines()[-1] == "answer: yes"
    assert "Verified" not in web("describe+kt500").text
    reply = web("verify+kt500+kt599", accept="application/json")
    assert [record.get("answer") for record in reply.json["records"]] == [True, False, None]
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
        # Nor is it disclosed to which of them a name leads.
        noid("-f", "kt5", "bind", "set", "kt500", "_t", server.url("/200", "localhost"))
        reply = web("verify+kt500+--links", user=USER)
        assert "localhost has an address that the public cannot reach" in reply.text
        for text in (reply.text, web("describe+kt500").text):
            assert "127.0.0.1" not in text and "::1" not in text
        assert server.requests == []


def test_verifying_all_identifiers_with_an_idempotency_key_is_refused(web):
    reply = web("verify+--record", user=USER, HTTP_IDEMPOTENCY_KEY="k1")
    assert reply.status == 400 and "cannot be sent with an Idempotency-Key" in reply.text
    assert web("verify+kt500+--record", user=USER, HTTP_IDEMPOTENCY_KEY="k2").status == 200
