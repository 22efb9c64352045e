"""The command log: events in order, since a number or a date, followed as they come."""

from __future__ import annotations

import pytest

from noidtools.errors import NotFoundError, UsageError
from noidtools.minter import history
from support.minter import Noid


@pytest.fixture
def minter(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sdd")
    yield minter
    minter.close()


def test_a_name_issued_twice_in_one_minting_has_two_events(tmp_path):
    minter = Noid.with_clock(tmp_path, ".sd", "short")
    minter.records("hold", "set", *"01234567")
    assert minter.mint(5) == ["8", "9", "8", "9", "8"]
    assert [(e["made"], e["asked"], e["first"], e["last"]) for e in minter.records("log")[2:]] == [
        (2, 5, "8", "9"), (2, 3, "8", "9"), (1, 1, "8", "8")]
    assert minter.events_of("8") == ["mint"] * 3 and minter.events_of("9") == ["mint"] * 2
    minter.close()


def test_the_log_begins_after_a_number_or_with_a_date(minter):
    for day in range(1, 6):
        minter.clock.set(f"2026120{day}120000")
        minter.records("note", "n", str(day))
    assert [e["event"] for e in minter.records("log")] == [1, 2, 3, 4, 5, 6]
    assert [e["event"] for e in minter.records("log", "--since", "4")] == [5, 6]
    assert [e["event"] for e in minter.records("log", "--since", "2026-12-04")] == [5, 6]
    assert [e["event"] for e in minter.records("log", "--since", "20261204120001")] == [6]
    assert [e["event"] for e in minter.records("log", "--since", "2026-12")] == [2, 3, 4, 5, 6]
    assert minter.records("log", "--since", "999999999999") == minter.records("log", "--since", "2027-01") == []


def test_events_dated_before_a_clock_was_set_back_are_all_listed(minter):
    minter.clock.set("20261201000000")
    minter.records("note", "n", "1")
    minter.clock.set("20261110000000")
    minter.records("note", "n", "2")
    minter.clock.set("20261202000000")
    minter.records("note", "n", "3")
    assert [e["event"] for e in minter.records("log", "--since", "2026-12-01")] == [2, 4]
    assert [e["event"] for e in minter.records("log", "--since", "2")] == [3, 4]


def test_a_log_of_many_pages_is_whole_and_in_order(minter):
    def work(writer):
        from noidtools.minter.events import record_event

        for number in range(2300):
            record_event(writer, minter.session.actor, b"test", b"%d" % number)

    minter.write(work)
    assert [e["event"] for e in minter.records("log")] == list(range(1, 2302))
    assert minter.records("log")[-1]["details"] == ["2299"]


def test_following_yields_new_events_and_a_growing_minting_repeatedly(minter):
    events = history.follow(minter.opened, minter.clock)
    assert next(events).number == 1
    pauses = []

    def meanwhile() -> None:
        pauses.append(1)
        if len(pauses) == 2:
            minter.clock.on_sleep = None
            minter.records("note", "n", "new")

    minter.clock.on_sleep = meanwhile
    assert next(events).verb == b"note" and len(pauses) == 2
    many = Noid.with_clock(minter.folder / "many", ".zd")
    minting = iter(many.answer("mint", "30000").records)
    events = history.follow(many.opened, many.clock, after=1)
    next(minting)
    seen = [next(events).tally.minted]
    next(minting)
    seen.append(next(events).tally.minted)
    assert list(minting)
    seen.append(next(events).tally.minted)
    assert seen == [10000, 20000, 30000]
    many.records("note", "n", "after")
    assert next(events).number == 3
    many.close()


def test_following_from_a_future_date_reads_only_new_events(minter):
    scans = []
    read = minter.opened.store.read
    minter.opened.store.read = lambda work, **options: scans.append(1) or read(work, **options)
    events = history.follow(minter.opened, minter.clock, since=b"20270101000000")

    def meanwhile() -> None:
        if len(scans) > 10:
            minter.clock.on_sleep = None
            minter.clock.set("20270101000000")
            minter.records("note", "n", "new year")

    minter.clock.on_sleep = meanwhile
    assert next(events).number == 2


@pytest.mark.parametrize(("words", "kind"), [
    (["history"], UsageError), (["history", "x00", "x01"], UsageError), (["history", "x77"], NotFoundError),
    (["history", "x00", "--since", "1"], UsageError), (["log", "x00"], UsageError),
    (["log", "--since", "soon"], UsageError), (["log", "--since", "2026-13-01"], UsageError),
    (["log", "--since"], UsageError), (["log", "--until", "2027"], UsageError),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_history_and_log_refuse_unknown_names_and_wrong_words(minter, words, kind):
    assert isinstance(minter.refusal(*words), kind)


def test_a_number_beyond_the_last_event_is_not_taken_for_a_date(noid):
    noid("dbcreate", ".sd")
    assert "a date is written" in noid.refused("log", "--since", "20261116", status=2)
