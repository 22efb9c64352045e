"""The command history: every change is an event, with what was before and after."""

from __future__ import annotations

import hashlib
import json

import pytest

from noidtools.commands.answers import anvl
from noidtools.minter import minting
from noidtools.minter.events import LONGEST_VALUE
from noidtools.minter.schema import EVENTS, HISTORY
from support.minter import Noid
from support.templates import CHECKED


@pytest.fixture
def minter(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sdd")
    yield minter
    minter.close()


def size(minter: Noid, table: bytes) -> int:
    return minter.read(lambda reader: sum(1 for _ in reader.scan(table)))


# -- what an event says ----------------------------------------------------------------------------------------------


def test_an_event_records_who_when_through_which_interface_and_each_value_before_and_after(minter):
    minter.mint()
    minter.records("bind", "set", "x00", "_t", "first")
    minter.clock.set("20270102030405")
    minter.records("bind", "append", "x00", "_t", " and second")
    assert minter.records("history", "x00")[-1] == {
        "event": 4, "date": "20270102030405", "who": "me/us", "interface": "shell", "what": "bind append",
        "ids": ["x00"],
        "changes": [{"id": "x00", "element": "_t", "before": "first", "after": "first and second"}],
    }
    assert minter.text("history", "x00").split("\n\n")[-2] == (
        "event: 4\ndate: 20270102030405\nwho: me/us\ninterface: shell\nwhat: bind append\nid: x00\n"
        "element: _t\nbefore: first\nafter: first and second")


@pytest.mark.parametrize(("words", "what", "changes"), [
    (["hold", "set", "x05"], "hold set", [("hold", None, "held")]),
    (["hold", "release", "x09"], "hold release", [("hold", "held", None)]),
    (["queue", "now", "x05"], "queue now", [("queue", None, "20261116000000")]),
    (["bind", "set", "x00", "e", "w"], "bind set", [("e", "v", "w")]),
    (["bind", "delete", "x00", "e"], "bind delete", [("e", "v", None)]),
    (["bind", "purge", "x00", "e"], "bind purge", [("e", "v", None)]),
    (["bind", "prepend", "x00", "e", "u"], "bind prepend", [("e", "v", "uv")]),
    (["bind", "new", "x01", "e", "v"], "bind new", [("e", None, "v")]),
    (["bind", "set", ":idmap/^x", "e", "y"], "bind set", [("e", None, "y")]),
    (["note", "n", "text"], "note", [("n", None, "text")]),
    (["policy", "mint", "anyone"], "config", [("policy/mint", None, "anyone")]),
    (["policy", "association", "books"], "config", [("commitment/association", None, "books")]),
    (["reserve", "x00"], "reserve", [("state", "published", "reserved")]),
    (["reserve", "x05"], "reserve", [("state", None, "reserved"), ("hold", None, "held")]),
    (["withdraw", "x00", "--reason", "r"], "withdraw", [("state", "published", "withdrawn"), ("reason", None, "r")]),
    (["alias", "x01", "x00"], "alias", [("alias-of", None, "x00"), ("hold", None, "held")]),
    (["synonym", "x00", "y", "--authority", "me", "--from", "2020"], "synonym",
     [("synonym", None, "y"), ("authority", None, "me"), ("from", None, "20200101000000")]),
    (["custodian", "set", "Jane", "--contact", "j@x"], "custodian",
     [("custodian", None, "Jane"), ("contact", None, "j@x")]),
    (["custodian", "set", "Jane", "x00"], "custodian", [("custodian", None, "Jane")]),
], ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else "")
def test_every_changing_command_is_one_event(minter, words, what, changes):
    minter.mint(2)
    minter.records("bind", "set", "x00", "e", "v")
    minter.records("hold", "set", "x09")
    before = minter.event_count()
    minter.records(*words)
    assert minter.event_count() == before + 1
    (newest,) = minter.records("log", "--since", str(before))
    assert newest["what"] == what
    assert [(c.get("what") or c["element"], c["before"], c["after"]) for c in newest["changes"]] == changes


def test_commands_that_only_read_leave_no_event(minter):
    minter.mint()
    minter.records("bind", "set", "x00", "e", "v")
    before = minter.event_count()
    for words in (["fetch", "x00"], ["get", "x00"], ["history", "x00"], ["log"], ["relations", "x00"], ["custodian"],
                  ["policy"], ["dbinfo"], ["validate", "-", "x00"]):
        minter.records(*words)
    assert minter.event_count() == before


def test_commands_that_change_nothing_leave_no_event(minter):
    minter.mint()
    minter.records("hold", "set", "x05")
    before = minter.event_count()
    for words in (["hold", "set", "x05"], ["hold", "release", "x06"], ["bind", "purge", "x00", "e"],
                  ["publish", "x00"], ["policy", "minting", "publish"], ["policy", "association", "default"]):
        minter.records(*words)
    assert minter.event_count() == before


def test_a_long_value_is_recorded_by_its_size_and_digest(minter):
    minter.mint()
    value = "é" * LONGEST_VALUE
    minter.records("bind", "set", "x00", "e", "short")
    minter.records("bind", "set", "x00", "e", value)
    digest = {"size": 2 * LONGEST_VALUE, "sha256": hashlib.sha256(value.encode()).hexdigest()}
    assert minter.records("history", "x00")[-1]["changes"] == [
        {"id": "x00", "element": "e", "before": "short", "after": digest}]
    assert f"after: {2 * LONGEST_VALUE} bytes, sha256 {digest['sha256']}" in minter.text("history", "x00")
    minter.records("bind", "set", "x00", "e", "x" * LONGEST_VALUE)
    (change,) = minter.records("history", "x00")[-1]["changes"]
    assert (change["before"], change["after"]) == (digest, "x" * LONGEST_VALUE)


def test_values_are_recorded_exactly_and_cannot_be_mistaken_for_another_event(minter):
    minter.mint()
    minter.records("bind", "set", "x00", b"\xff", b"\xfe\nevent: 99")
    (change,) = minter.records("history", "x00")[-1]["changes"]
    assert change["element"] == {"base64": "/w=="} and change["after"] == {"base64": "/gpldmVudDogOTk="}
    text = b"".join(anvl(record) for record in minter.answer("history", "x00").records)
    assert b"\nevent: 99" not in text and b"\n event: 99" in text


def test_no_pepper_is_in_the_log_or_the_database(minter):
    ids = [record["id"] for record in minter.records("peppermint", "2", "t", "v")]
    ids += [record["id"] for record in minter.records("bind", "peppermint", "new", "t", "v")]
    minter.records("bind", "set", ids[0], "t", "w")
    minter.records("hold", "set", ids[0])
    minter.records("hold", "release", ids[0])
    minter.records("queue", "now", ids[0])
    minter.records("custodian", "set", "Jane", ids[1])
    minter.records("synonym", ids[1], "y", "--authority", "me")
    log = minter.text("log", "--json") + minter.text("dbinfo", "dump")
    for identifier in ids:
        bare, _, pepper = identifier.partition("!")
        assert pepper and pepper not in log and bare in log


# -- what it costs ---------------------------------------------------------------------------------------------------


def test_a_minting_of_any_size_is_one_event_and_needs_no_index(tmp_path):
    minter = Noid.with_clock(tmp_path, *CHECKED)
    answer = minter.answer("mint", "25000")
    ids = [identifier.decode() for record in answer.records for identifier in record.ids]
    assert size(minter, EVENTS) == 2 and size(minter, HISTORY) == 0
    newest = minter.records("log")[-1]
    assert newest | {"first": ids[0], "last": ids[-1], "made": 25000, "asked": 25000} == newest
    for identifier in (ids[0], ids[12000], ids[-1]):
        assert [e["event"] for e in minter.records("history", identifier)] == [2]
    minter.close()


def test_a_slow_minting_begins_a_new_event_every_minute(tmp_path):
    minter = Noid.with_clock(tmp_path, ".zd")
    records = iter(minter.answer("mint", "25000").records)
    next(records)
    minter.clock.set("20261116000059")
    next(records)
    minter.clock.set("20261116000102")
    assert [(e["made"], e["asked"]) for e in minter.records("log")[1:]] == [(20000, 25000)]
    assert list(records)
    assert [(e["date"], e["made"], e["asked"]) for e in minter.records("log")[1:]] == [
        ("20261116000000", 20000, 25000), ("20261116000102", 5000, 5000)]
    assert minter.records("history", "24999")[0]["date"] == "20261116000102"
    minter.close()


def test_a_minting_that_ends_early_records_how_many_were_requested(tmp_path):
    minter = Noid.with_clock(tmp_path, ".sd")
    with pytest.raises(Exception, match="no identifier is left"):
        minter.records("mint", "12")
    assert (minter.newest_event().tally.minted, minter.newest_event().tally.requested) == (10, 12)
    assert "made: 10 of 12\n" in minter.text("log")
    before = minter.event_count()
    with pytest.raises(Exception, match="no identifier is left"):
        minter.records("mint", "1")
    assert minter.event_count() == before, "nothing happened, so there is no event"
    minter.close()


# -- nothing is lost -------------------------------------------------------------------------------------------------


def test_the_history_keeps_bindings_that_issuing_again_clears(minter):
    minter.mint()
    minter.records("bind", "set", "x00", "who", "Kunze")
    minter.records("bind", "set", "x00", "what", "noid")
    minter.records("queue", "now", "x00")
    assert minter.mint() == ["x00"]
    minter.refusal("get", "x00")
    assert minter.events_of("x00") == ["mint", "bind set", "bind set", "queue now", "mint", "clear"]
    assert [(c["element"], c["before"], c["after"]) for c in minter.records("history", "x00")[-1]["changes"]] == [
        ("what", "noid", None), ("who", "Kunze", None)]


def test_the_event_of_a_minting_has_the_element_it_binds_and_the_value_it_replaces(minter):
    minter.records("mint", "2", "state", "new")
    assert minter.records("history", "x00")[0]["changes"] == [{"element": "state", "before": None, "after": "new"}]
    minter.records("queue", "now", "x00")
    minter.records("mint", "1", "state", "newest")
    assert minter.records("history", "x00")[-1]["changes"] == [
        {"id": "x00", "element": "state", "before": "new", "after": "newest"}]
    assert minter.state("x00") == "published"


def test_the_history_has_every_event_of_circulation(minter):
    minter.mint()
    for _ in range(3):
        minter.records("queue", "now", "x00")
        minter.records("queue", "delete", "x00")
        minter.records("queue", "now", "x00")
        minter.mint()
    minter.records("hold", "set", "x00")
    minter.records("hold", "release", "x00")
    turn = ["queue now", "queue delete", "queue now", "mint"]
    assert minter.events_of("x00") == ["mint", *turn * 3, "hold set", "hold release"]


def test_the_history_of_a_wrapped_minter_has_every_pass(tmp_path):
    minter = Noid.with_clock(tmp_path, ".sd", "short")
    minter.mint(10)
    minter.records("bind", "set", "3", "e", "v")
    minter.mint(10)
    minter.mint(10)
    assert minter.events_of("3") == ["mint", "bind set", "mint", "clear", "mint"]
    minter.close()


def test_a_minting_that_starts_over_in_a_later_transaction_has_an_event_for_each_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(minting, "CHUNK", 10)
    minter = Noid.with_clock(tmp_path, ".sd", "short")
    assert len(minter.mint(25)) == 25
    assert minter.events_of("3") == ["mint", "mint", "mint"]
    minter.close()


def test_a_refused_command_leaves_no_event_and_its_neighbours_do(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"bind set a e 1\nbind new a e 2\nalias a a\nbind set a e 3\n")
    assert done.returncode == 1
    lines = [json.loads(line) for line in noid("history", "a", "--json").splitlines()]
    assert [line["what"] for line in lines] == ["bind set", "bind set"]
    assert lines[1]["changes"][0]["before"] == "1"


def test_events_of_a_long_name_are_its_own(minter, tmp_path):
    free = Noid.with_clock(tmp_path / "free")
    names = ["n" * 600, "n" * 600 + "a", "n" * 600 + "\0", "n" * 599]
    for name in names:
        free.records("bind", "set", name, "e", name[-3:])
    for name in names:
        assert [c["after"] for e in free.records("history", name) for c in e["changes"]] == [name[-3:]]
    free.close()


def test_a_rule_has_a_history_too(minter):
    minter.records("bind", "set", ":idmap/^x", "e", "y")
    minter.records("bind", "set", ":idmap/^x", "e", "z")
    assert [e["changes"][0]["before"] for e in minter.records("history", ":idmap/^x")] == [None, "y"]
    assert minter.records("history", ":idmap/^x")[0]["ids"] == [":idmap/^x"]


def test_names_are_shown_with_the_minters_label_if_they_are_its_own(tmp_path):
    minter = Noid.with_clock(tmp_path, "--label", "ark:/", *CHECKED)
    (identifier,) = minter.mint()
    minter.records("synonym", identifier, "doi:10.1000/182", "--authority", "me")
    assert minter.records("history", identifier)[-1]["ids"] == [identifier, "doi:10.1000/182"]
    minter.close()


# -- by commands in this process, as text and JSON --------------------------------------------------------------------


def test_history_and_log_are_printed_as_text_and_as_lines_of_json(noid):
    noid("dbcreate", "x.sdd")
    noid("mint", "2")
    noid("bind", "set", "x00", "e", "line\nbreak é")
    text = noid("history", "x00")
    assert text.count("event: ") == 2 and text.endswith("after: line\n break é\n\n")
    lines = [json.loads(line) for line in noid("history", "x00", "--json").splitlines()]
    assert [line["what"] for line in lines] == ["mint", "bind set"]
    assert lines[1]["changes"][0]["after"] == "line\nbreak é"
    assert [json.loads(line)["event"] for line in noid("log", "--json", "--since", "1").splitlines()] == [2, 3]
    assert noid("-", stdin=b"log --since 2 --json\nhello\n").endswith("]}\n\nHello.\n\n")
    noid.refused("history", "x05", status=1)
    noid.refused("log", "x05", status=2)


def test_the_history_of_an_identifier_does_not_list_the_others_of_a_command_on_many(noid):
    noid("dbcreate", ".sdd")
    noid("queue", "now", *(f"{number:02}" for number in range(50)))
    (event,) = [json.loads(line) for line in noid("history", "07", "--json").splitlines()]
    assert event["ids"] == ["07"] and event["details"] == ["and 49 other identifiers"] and len(event["changes"]) == 1
