"""Requests whose commit was made by the database server, which was then lost before it could say so."""

from __future__ import annotations

import pytest

from noidtools.store.postgres.connection import ServerError, Session
from support.minter import Noid
from support.postgres import shared_server
from support.relay import Relay
from support.wsgi import USER, CommandClient

pytestmark = [pytest.mark.servers, pytest.mark.only("postgres")]
UNKNOWN = "it is not known whether this was done, because the minter's database was lost during the commit: see what " \
          "is there before you send it again"


@pytest.fixture
def relay():
    made = Relay(shared_server().socket)
    yield made
    made.close()


@pytest.fixture
def web(relay, tmp_path, monkeypatch):
    """A client of a minter behind the relay; the waits for a lost server are short."""
    monkeypatch.setattr("noidtools.store.postgres.writer._SETTLE_TIMEOUT", 0.3)
    address = f"postgresql://noid@127.0.0.1:{relay.port}/postgres?connect_timeout=2"
    minter = Noid.created(tmp_path / "kt5", "kt.reeded", "--store", address)
    assert minter.mint() == ["kt4x551"]
    minter.records("bind", "set", "kt4x551", "note", ".")
    minter.close()
    return CommandClient(tmp_path)


@pytest.fixture
def lose_next_answer(relay, monkeypatch):
    """Has the server lost when it has made the next commit, before its answer arrives."""
    commit = Session.commit
    armed = []

    def lost(self, steps, seconds, **options):
        done = commit(self, steps, seconds, **options)
        if armed:
            armed.pop()
            relay.stop_forwarding()
            self.close()
            raise ServerError("the server did not answer in time", lost=True)
        return done

    monkeypatch.setattr(Session, "commit", lost)
    return lambda: armed.append(True)


def note(web: CommandClient, relay: Relay) -> bytes:
    relay.forward()
    return web("get+kt4x551+note").body


def test_a_change_whose_outcome_is_unknown_is_said_to_be_so(web, relay, lose_next_answer):
    lose_next_answer()
    reply = web("bind+append+kt4x551+note+a", user=USER, accept="application/json")
    assert reply.status == 500 and reply.json["error"] == {"kind": "outcome unknown", "message": UNKNOWN}
    assert "retry-after" not in reply.headers
    relay.forward()
    lose_next_answer()
    assert web.post("bind append kt4x551 note b\n").text.startswith(f"error: {UNKNOWN}\n")
    assert note(web, relay) == b".ab\n"


def test_a_request_with_an_idempotency_key_is_repeated_without_being_done_twice(web, relay, lose_next_answer):
    lose_next_answer()
    first = web("bind+append+kt4x551+note+a", user=USER, HTTP_IDEMPOTENCY_KEY="one")
    relay.forward()
    again = web("bind+append+kt4x551+note+a", user=USER, HTTP_IDEMPOTENCY_KEY="one")
    assert (first.status, again.status) == (500, 200)
    assert again.headers["idempotency-replayed"] == "true" and note(web, relay) == b".a\n"
