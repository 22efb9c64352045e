"""Reserved, published, unavailable, withdrawn: each command and each refusal."""

from __future__ import annotations

import pytest

from noidtools.errors import (
    ConflictError,
    ExhaustedError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    UsageError,
)
from noidtools.minter import lifecycle
from support.minter import START, Noid
from support.templates import CHECKED

URL = "https://example.org/a"


@pytest.fixture
def minter(tmp_path):
    """A medium-term minter of a hundred names."""
    minter = Noid.with_clock(tmp_path, "x.sdd")
    yield minter
    minter.close()


def bound(minter: Noid) -> str:
    (identifier,) = minter.mint()
    minter.records("bind", "set", identifier, "_t", URL)
    return identifier


# -- unavailable -----------------------------------------------------------------------------------------------------


def test_an_unavailable_identifier_shows_a_tombstone_until_it_is_published_again(minter):
    identifier = bound(minter)
    (made,) = minter.records("unavailable", identifier, "--reason", "under repair")
    assert (made["state"], made["reason"]) == ("unavailable", "under repair")
    assert minter.state(identifier) == "unavailable"
    assert minter.resolved(identifier) == minter.resolved(identifier + "/page/2") == "unavailable"
    assert minter.records("tombstone", identifier)[0]["reason"] == "under repair"
    minter.records("unavailable", identifier, "--reason", "lost")
    assert minter.records("tombstone", identifier)[0]["reason"] == "lost"
    minter.records("bind", "set", identifier, "_t", URL + "/new")
    minter.records("publish", identifier)
    assert minter.resolved(identifier) == URL + "/new"
    with pytest.raises(NotFoundError, match="has no tombstone"):
        minter.records("tombstone", identifier)
    assert minter.records("check")[0]["ok"]


def test_an_unavailable_identifier_keeps_what_is_bound_and_can_be_withdrawn(minter):
    identifier = bound(minter)
    minter.records("unavailable", identifier, "--reason", "under repair")
    assert "State: unavailable\n" in minter.text("fetch", identifier) and URL in minter.text("get", identifier, "_t")
    (gone,) = minter.records("withdraw", identifier, "--reason", "destroyed")
    assert (gone["state"], gone["reason"]) == ("withdrawn", "destroyed")
    assert minter.state(identifier) == "withdrawn"
    assert minter.records("check")[0]["ok"]


def test_an_unavailable_identifier_is_neither_queued_nor_minted_again(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sd", "short")
    (first, *_) = minter.mint(10)
    minter.records("unavailable", first)
    with pytest.raises(ConflictError, match="publish it before you queue it"):
        minter.records("queue", "now", first)
    assert first not in minter.mint(9)
    assert minter.records("check")[0]["ok"]
    minter.close()


def test_only_a_published_identifier_can_be_made_unavailable(minter):
    identifier = bound(minter)
    minter.records("reserve", identifier)
    with pytest.raises(ConflictError, match="only a published identifier"):
        minter.records("unavailable", identifier)
    minter.records("publish", identifier)
    minter.records("unavailable", identifier)
    with pytest.raises(ConflictError, match="and the public knows of it"):
        minter.records("reserve", identifier)
    with pytest.raises(ConflictError, match="a successor is for one that was withdrawn"):
        minter.records("tombstone", identifier, "--successor", "x99")
    with pytest.raises(NotFoundError):
        minter.records("unavailable", "x77")
    minter.records("withdraw", identifier)
    with pytest.raises(ConflictError, match="cannot be made unavailable"):
        minter.records("unavailable", identifier)


# -- states ----------------------------------------------------------------------------------------------------------


def test_a_minted_identifier_is_published_and_fetch_prints_no_state(minter):
    identifier = bound(minter)
    assert minter.state(identifier) == "published" and minter.resolved(identifier) == URL
    assert "State" not in minter.text("fetch", identifier)
    assert minter.records("fetch", identifier)[0]["state"] == "published"


def test_a_reserved_identifier_does_not_resolve_and_fetch_says_so(minter):
    identifier = bound(minter)
    assert minter.records("reserve", identifier) == [{"id": identifier, "state": "reserved"}]
    assert minter.resolved(identifier) == minter.resolved(identifier + "/page/2") == "reserved"
    assert "State: reserved\n" in minter.text("fetch", identifier)
    assert minter.records("fetch", identifier)[0]["state"] == "reserved"
    assert minter.records("publish", identifier) == [{"id": identifier, "state": "published"}]
    assert minter.resolved(identifier) == URL and minter.resolved(identifier + "/page/2") == URL + "/page/2"


def test_a_reserved_name_is_resolved_by_no_rule_and_no_fallback(minter):
    identifier = bound(minter)
    minter.records("bind", "purge", identifier, "_t")
    minter.records("bind", "set", ":idmap/^x", "_t", "https://example.org/rule/")
    minter.records("resolver", "fallback", "https://n2t.example/")
    assert minter.resolved(identifier).startswith("https://example.org/rule/")
    minter.records("reserve", identifier)
    assert minter.resolved(identifier) == "reserved"


def test_a_name_that_was_not_minted_is_held_when_it_is_reserved(minter):
    assert minter.records("reserve", "x05") == [{"id": "x05", "state": "reserved"}]
    assert "x05" not in minter.mint(20)
    minter.records("bind", "set", "x05", "_t", URL)
    assert minter.resolved("x05") == "reserved"
    minter.records("publish", "x05")
    assert minter.resolved("x05") == URL
    assert "x05" not in minter.mint(79) and "\nHeld: 1\n" in minter.text("dbinfo")


def test_reserving_takes_a_name_out_of_the_queue_and_says_so(minter):
    minter.records("queue", "now", "x05")
    assert minter.records("reserve", "x05")[1] == {"note": "x05 taken out of the queue"}
    assert minter.mint() == ["x00"]
    assert minter.events_of("x05") == ["queue now", "reserve"]


def test_a_name_that_is_only_held_or_queued_counts_as_reserved(minter):
    minter.records("hold", "set", "x05")
    minter.records("queue", "now", "x06")
    assert minter.state("x05") == minter.state("x06") == "reserved"
    assert minter.state("x07") is None
    minter.records("bind", "set", "x05", "_t", URL)
    assert minter.state("x05") == "published"


def test_publishing_and_reserving_again_changes_nothing_and_leaves_no_event(minter):
    identifier = bound(minter)
    before = minter.event_count()
    assert minter.records("publish", identifier, identifier) == [{"id": identifier, "state": "published"}]
    assert minter.event_count() == before
    minter.records("reserve", identifier)
    minter.records("reserve", identifier, identifier)
    assert minter.event_count() == before + 1


def test_a_command_on_many_identifiers_is_one_event_or_nothing(minter):
    ids = minter.mint(3)
    before = minter.event_count()
    minter.records("reserve", *ids)
    assert minter.event_count() == before + 1 and [minter.state(i) for i in ids] == ["reserved"] * 3
    minter.records("withdraw", ids[0])
    assert isinstance(minter.refusal("publish", ids[1], ids[0]), ConflictError)
    assert minter.state(ids[1]) == "reserved"


def test_there_must_be_something_to_publish(minter):
    minter.records("reserve", "x05")
    assert "bind something first" in minter.refusal("publish", "x05").message
    assert isinstance(minter.refusal("publish", "x06"), NotFoundError)
    assert isinstance(minter.refusal("publish", "y06"), InvalidError)
    assert isinstance(minter.refusal("publish"), UsageError)
    assert isinstance(minter.refusal("reserve"), UsageError)
    assert isinstance(minter.refusal("reserve", "new"), InvalidError)


def test_a_minter_may_reserve_what_it_mints(minter):
    assert minter.records("policy", "minting", "reserve") == [{"minting": "reserve"}]
    first, second = minter.mint(2)
    minter.records("bind", "set", first, "_t", URL)
    assert minter.state(first) == minter.state(second) == "reserved" and minter.resolved(first) == "reserved"
    assert minter.records("history", first)[0]["changes"] == [{"what": "state", "before": None, "after": "reserved"}]
    minter.records("publish", first)
    assert minter.resolved(first) == URL
    assert minter.records("policy", "minting", "default") == [{"minting": "publish"}]
    assert minter.state(minter.mint()[0]) == "published"
    assert isinstance(minter.refusal("policy", "minting", "hide"), UsageError)


def test_a_long_term_minter_that_reserves_counts_each_hold_once(tmp_path):
    minter = Noid.with_clock(tmp_path, *CHECKED)
    minter.records("policy", "minting", "reserve")
    (first, *_) = minter.mint(5)
    assert "\nHeld: 5\n" in minter.text("dbinfo")
    minter.records("reserve", first)
    assert "\nHeld: 5\n" in minter.text("dbinfo")
    minter.close()


def test_an_identifier_issued_again_has_the_state_of_a_new_one(minter):
    identifier = bound(minter)
    minter.records("reserve", identifier)
    minter.records("queue", "now", identifier)
    assert minter.mint() == [identifier]
    assert minter.state(identifier) == "published"


# -- withdrawing -----------------------------------------------------------------------------------------------------


def test_a_withdrawn_identifier_leaves_a_tombstone(minter):
    identifier = bound(minter)
    other = bound(minter)
    minter.clock.set("20261201120000")
    answer = minter.records("withdraw", identifier, "--reason", "a duplicate", "--successor", other)
    assert answer == [{"id": identifier, "state": "withdrawn", "withdrawn": "20261201120000", "reason": "a duplicate",
                       "successor": other}]
    tombstone = minter.read(lambda reader: lifecycle.tombstone_of(reader, identifier.encode()))
    assert (tombstone.date, tombstone.minted) == (b"20261201120000", START.encode())
    assert (tombstone.reason, tombstone.successor) == (b"a duplicate", other.encode())
    assert minter.resolved(identifier) == minter.resolved(identifier + "/page") == "gone"
    assert minter.read(lambda reader: lifecycle.state_since(reader, identifier.encode())) == b"20261201120000"
    assert minter.read(lambda reader: lifecycle.state_since(reader, other.encode())) == START.encode()


def test_a_withdrawn_identifier_answers_with_its_tombstone_and_its_bindings_stay_in_its_history(minter):
    """9.4: it is no longer maintained; the association may still be recovered from the log."""
    identifier, other = bound(minter), bound(minter)
    minter.records("withdraw", identifier, "--reason", "a duplicate.", "--successor", other)
    assert minter.text("fetch", identifier) == (
        f"id:    {identifier}\nCirc:  i|{START}|me/us|1\nState: withdrawn\nWithdrawn: {START}\n"
        f"Reason: a duplicate.\nSuccessor: {other}\n")
    assert minter.records("fetch", identifier)[0]["elements"] == []
    sentence = f"{identifier} was withdrawn on 2026-11-16: a duplicate; use {other} instead"
    for words in (["get", identifier], ["get", identifier, "_t"], ["fetch", identifier, "_t"],
                  ["get", identifier, "computed"]):
        refusal = minter.refusal(*words)
        assert isinstance(refusal, GoneError) and refusal.message == sentence, words
    assert f"after: {URL}" in minter.text("history", identifier)
    assert f"note: {sentence}\n" in minter.text("cite", identifier)
    (unbound,) = minter.mint()
    minter.records("withdraw", unbound)
    assert minter.text("fetch", unbound).endswith(f"State: withdrawn\nWithdrawn: {START}\n")


def test_nothing_more_can_be_done_to_a_withdrawn_identifier(minter):
    identifier, other = bound(minter), bound(minter)
    authority = ["--authority", "The Library"]
    minter.records("synonym", identifier, "doi:10.1/1", *authority)
    minter.records("relate", identifier, "equivalent", "doi:10.1/1", *authority)
    minter.records("relate", identifier, "equivalent", other, *authority)
    minter.records("quality", "state", "trusted", identifier, *authority)
    minter.records("custodian", "set", "Jo", identifier)
    for name in (identifier, other):
        minter.records("withdraw", name, "--reason", "r")
    events = minter.event_count()
    for words in (["publish", identifier], ["reserve", identifier], ["hold", "set", identifier],
                  ["hold", "release", identifier], ["queue", "now", identifier], ["queue", "first", identifier],
                  ["bind", "set", identifier, "e", "v"], ["bind", "purge", identifier, "_t"],
                  ["alias", identifier, "x50"], ["alias", "old/1", identifier], ["withdraw", identifier],
                  ["withdraw", identifier, "--reason", "again"], ["synonym", identifier, "doi:10.9/9", *authority],
                  ["synonym", "doi:10.9/9", identifier, *authority], ["prefer", identifier, *authority],
                  ["custodian", "set", "Kim", identifier], ["custodian", "remove", identifier],
                  ["quality", "state", "reliable", identifier, *authority],
                  ["quality", "remove", "trusted", identifier, *authority],
                  ["relate", identifier, "equivalent", "doi:10.9/9", *authority],
                  ["relate", "doi:10.9/9", "equivalent", identifier, *authority],
                  ["relate", "--remove", identifier, "equivalent", other]):
        refusal = minter.refusal(*words)
        assert isinstance(refusal, ConflictError) and "withdrawn" in refusal.message, words
    assert minter.event_count() == events


def test_what_is_claimed_of_a_withdrawn_identifier_and_another_name_can_be_taken_back(minter):
    identifier, authority = bound(minter), ["--authority", "The Library"]
    minter.records("synonym", identifier, "doi:10.1/1", *authority)
    minter.records("relate", "doi:10.1/1", "equivalent", identifier, *authority)
    minter.records("withdraw", identifier)
    minter.records("synonym", "--remove", identifier, "doi:10.1/1")
    minter.records("relate", "--remove", identifier, "equivalent", "doi:10.1/1")
    assert minter.records("relations", "doi:10.1/1") == []


def test_only_reason_and_successor_of_a_tombstone_can_be_changed(minter):
    identifier = bound(minter)
    other = bound(minter)
    minter.records("withdraw", identifier, "--reason", "first")
    minter.clock.set("20270101000000")
    answer = minter.records("tombstone", identifier, "--successor", other)
    assert answer == minter.records("tombstone", identifier)
    assert answer[0]["withdrawn"] == START and answer[0]["reason"] == "first"
    assert [r["relation"] for r in minter.records("relations", other)] == ["predecessor"]
    assert isinstance(minter.refusal("tombstone", other), NotFoundError)
    assert isinstance(minter.refusal("tombstone", other, "--reason", "r"), NotFoundError)
    assert isinstance(minter.refusal("tombstone", identifier, "--reason", "r" * 5000), InvalidError)
    minter.records("tombstone", identifier, "--reason", "second", "--successor", "")
    assert minter.records("relations", other) == []
    assert minter.records("history", identifier)[-1]["changes"] == [
        {"id": identifier, "what": "reason", "before": "first", "after": "second"},
        {"id": identifier, "what": "successor", "before": other, "after": None},
    ]


@pytest.mark.parametrize("template", [["x.sd"], ["x.sd", "short"], ["--at-last", "wrap", "x.rd", "medium"],
                                      ["x.rd", "short"]], ids=" ".join)
def test_a_withdrawn_name_is_never_minted_again(tmp_path, template):
    minter = Noid.with_clock(tmp_path, *template)
    minter.records("queue", "now", "x7")
    minter.records("withdraw", "x7", "--reason", "it was queued")
    minter.records("hold", "set", "x3")
    minter.records("withdraw", "x3", "--reason", "it was held")
    (first,) = minter.mint()
    minter.records("withdraw", first)
    minted = []
    for _ in range(40):
        try:
            minted += minter.mint()
        except ExhaustedError:
            break
    assert minted and not {"x7", "x3", first} & set(minted)
    minter.close()


def test_a_name_that_is_not_known_cannot_be_withdrawn(minter):
    assert "neither minted nor bound" in minter.refusal("withdraw", "x07").message
    assert isinstance(minter.refusal("withdraw", "nonsense"), InvalidError)
    assert isinstance(minter.refusal("withdraw"), UsageError)
    assert isinstance(minter.refusal("withdraw", "x1", "x2"), UsageError)
    (identifier,) = minter.mint()
    assert isinstance(minter.refusal("withdraw", identifier, "--reason", "r" * 5000), InvalidError)
    assert isinstance(minter.refusal("withdraw", identifier, "--why", "r"), UsageError)


def test_a_successor_is_another_name_that_is_in_use(minter):
    first, second = minter.mint(2)
    assert "its own successor" in minter.refusal("withdraw", first, "--successor", first).message
    minter.records("withdraw", second)
    assert "withdrawn" in minter.refusal("withdraw", first, "--successor", second).message
    answer = minter.records("withdraw", first, "--successor", "https://doi.org/10.1000/182")
    assert answer[0]["successor"] == "doi:10.1000/182"


def test_the_state_of_a_peppered_identifier_changes_only_with_its_pepper(minter):
    (record,) = minter.records("peppermint", "1")
    peppered = record["id"]
    bare, _, pepper = peppered.partition("!")
    for words in (["reserve", bare], ["withdraw", bare], ["alias", bare, "x50"], ["publish", bare + "!wrong"]):
        assert isinstance(minter.refusal(*words), ForbiddenError), words
    minter.records("reserve", peppered)
    minter.records("publish", peppered)
    minter.records("alias", peppered, "x50")
    assert isinstance(minter.refusal("alias", "--remove", bare), ForbiddenError)
    minter.records("alias", "--remove", peppered)
    minter.records("withdraw", peppered)
    assert minter.state(bare) == "withdrawn"
    assert pepper not in minter.text("log") + minter.text("dbinfo", "dump")


def test_a_reserved_name_is_left_out_of_exported_maps(minter, tmp_path):
    first, second, third = bound(minter), bound(minter), bound(minter)
    minter.records("reserve", first)
    minter.records("withdraw", second)
    minter.records("export", "--map", "txt", str(tmp_path / "map.txt"))
    text = (tmp_path / "map.txt").read_text()
    assert third in text and first not in text and second not in text


def test_an_identifier_is_reserved_published_and_withdrawn_by_commands(noid):
    noid("dbcreate", "x.sdd")
    noid("mint", "2")
    noid("bind", "set", "x00", "_t", URL)
    assert noid("reserve", "x00", "x01") == "id: x00\nState: reserved\nid: x01\nState: reserved\n\n"
    assert noid("fetch", "x00").splitlines()[2] == "State: reserved"
    assert "reserved" in noid.refused("resolve", "x00", status=1)
    assert noid("publish", "x00") == "id: x00\nState: published\n\n"
    assert noid("resolve", "x00") == f"{URL}\n"
    out = noid("withdraw", "x00", "--reason", "bad: idea", "--successor", "x01")
    assert out.splitlines()[0:2] == ["id: x00", "State: withdrawn"]
    assert out.splitlines()[3:5] == ["Reason: bad: idea", "Successor: x01"]
    assert "withdrawn" in noid.refused("resolve", "x00", status=1)
    noid.refused("publish", "x00", status=1)
    noid.refused("withdraw", status=2)


def test_a_reserved_name_is_neither_released_nor_minted(noid):
    noid("dbcreate", "x.sd", "short")
    noid("reserve", "x1")
    noid("bind", "set", "x1", "_t", "http://secret.example/")
    assert "publish it first" in noid.refused("hold", "release", "x1", status=1)
    assert noid.ids(2) == ["x0", "x2"]
    assert "reserved" in noid.refused("resolve", "x1")
