"""The record: every change is in it, whole, in order, with what was before and after; and it costs little."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time

import pytest
from conftest import NOID
from living_support import LONG, Room
from url_support import USER, Web, command, create

from noidtools.commands.answers import anvl
from noidtools.errors import NotFoundError, UsageError
from noidtools.minter import history
from noidtools.minter.events import LONGEST_VALUE
from noidtools.minter.tables import EVENTS, HISTORY


@pytest.fixture
def room(tmp_path):
    room = Room(tmp_path, "x.sdd")
    yield room
    room.close()


def size(room: Room, table: bytes) -> int:
    return room.minter.read(lambda reader: sum(1 for _ in reader.scan(table)))


# -- what an event says ----------------------------------------------------------------------------------------------


def test_an_event_says_who_when_through_which_door_what_and_before_and_after(room):
    room.mint()
    room("bind", "set", "x00", "_t", "first")
    room.clock.set("20270102030405")
    room("bind", "append", "x00", "_t", " and second")
    assert room("history", "x00")[-1] == {
        "event": 4, "date": "20270102030405", "who": "me/us", "door": "shell", "what": "bind append", "ids": ["x00"],
        "changes": [{"id": "x00", "element": "_t", "before": "first", "after": "first and second"}],
    }
    assert room.text("history", "x00").split("\n\n")[-2] == (
        "event: 4\ndate: 20270102030405\nwho: me/us\ndoor: shell\nwhat: bind append\nid: x00\n"
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
def test_every_changing_command_is_one_event(room, words, what, changes):
    room.mint(2)
    room("bind", "set", "x00", "e", "v")
    room("hold", "set", "x09")
    before = room.count()
    room(*words)
    assert room.count() == before + 1
    (newest,) = room("log", "--since", str(before))
    assert newest["what"] == what
    assert [(c.get("what") or c["element"], c["before"], c["after"]) for c in newest["changes"]] == changes


def test_commands_that_only_read_leave_no_event(room):
    room.mint()
    room("bind", "set", "x00", "e", "v")
    before = room.count()
    for words in (["fetch", "x00"], ["get", "x00"], ["history", "x00"], ["log"], ["relations", "x00"], ["custodian"],
                  ["policy"], ["dbinfo"], ["validate", "-", "x00"]):
        room(*words)
    assert room.count() == before


def test_commands_that_change_nothing_leave_no_event(room):
    room.mint()
    room("hold", "set", "x05")
    before = room.count()
    for words in (["hold", "set", "x05"], ["hold", "release", "x06"], ["bind", "purge", "x00", "e"],
                  ["publish", "x00"], ["policy", "minting", "publish"], ["policy", "association", "default"]):
        room(*words)
    assert room.count() == before


def test_a_long_value_is_known_by_its_size_and_digest(room):
    room.mint()
    value = "é" * LONGEST_VALUE
    room("bind", "set", "x00", "e", "short")
    room("bind", "set", "x00", "e", value)
    digest = {"size": 2 * LONGEST_VALUE, "sha256": hashlib.sha256(value.encode()).hexdigest()}
    assert room("history", "x00")[-1]["changes"] == [{"id": "x00", "element": "e", "before": "short", "after": digest}]
    assert f"after: {2 * LONGEST_VALUE} bytes, sha256 {digest['sha256']}" in room.text("history", "x00")
    room("bind", "set", "x00", "e", "x" * LONGEST_VALUE)
    (change,) = room("history", "x00")[-1]["changes"]
    assert (change["before"], change["after"]) == (digest, "x" * LONGEST_VALUE)


def test_values_are_exact_and_cannot_pass_for_another_event(room):
    room.mint()
    room("bind", "set", "x00", b"\xff", b"\xfe\nevent: 99")
    (change,) = room("history", "x00")[-1]["changes"]
    assert change["element"] == {"base64": "/w=="} and change["after"] == {"base64": "/gpldmVudDogOTk="}
    text = b"".join(anvl(record) for record in room._answer(("history", "x00")).records)
    assert b"\nevent: 99" not in text and b"\n event: 99" in text


def test_no_pepper_is_ever_in_the_record(room):
    ids = [record["id"] for record in room("peppermint", "2", "t", "v")]
    ids += [record["id"] for record in room("bind", "peppermint", "new", "t", "v")]
    room("bind", "set", ids[0], "t", "w")
    room("hold", "set", ids[0])
    room("hold", "release", ids[0])
    room("queue", "now", ids[0])
    room("custodian", "set", "Jane", ids[1])
    room("synonym", ids[1], "y", "--authority", "me")
    log = room.text("log", "--json") + room.text("dbinfo", "dump")
    for identifier in ids:
        bare, _, pepper = identifier.partition("!")
        assert pepper and pepper not in log and bare in log


# -- what it costs ---------------------------------------------------------------------------------------------------


def test_a_minting_of_any_size_is_one_event_and_needs_no_index(tmp_path):
    room = Room(tmp_path, *LONG)
    answer = room._answer(("mint", "25000"))
    ids = [identifier.decode() for record in answer.records for identifier in record.ids]
    assert size(room, EVENTS) == 2 and size(room, HISTORY) == 0
    assert room("log")[-1] | {"first": ids[0], "last": ids[-1], "made": 25000, "asked": 25000} == room("log")[-1]
    for identifier in (ids[0], ids[12000], ids[-1]):
        assert [e["event"] for e in room("history", identifier)] == [2]
    room.close()


def test_a_slow_minting_begins_a_new_event_every_minute(tmp_path):
    room = Room(tmp_path, ".zd")
    records = iter(room._answer(("mint", "25000")).records)
    next(records)
    room.clock.set("20261116000059")
    next(records)
    room.clock.set("20261116000102")
    assert [(e["made"], e["asked"]) for e in room("log")[1:]] == [(20000, 25000)]
    assert list(records)
    assert [(e["date"], e["made"], e["asked"]) for e in room("log")[1:]] == [
        ("20261116000000", 20000, 25000), ("20261116000102", 5000, 5000)]
    assert room("history", "24999")[0]["date"] == "20261116000102"
    room.close()


def test_a_minting_that_ends_early_says_how_many_were_asked_for(tmp_path):
    room = Room(tmp_path, ".sd")
    with pytest.raises(Exception, match="no identifier is left"):
        room("mint", "12")
    assert (room.newest().tally.made, room.newest().tally.asked) == (10, 12)
    assert "made: 10 of 12\n" in room.text("log")
    before = room.count()
    with pytest.raises(Exception, match="no identifier is left"):
        room("mint", "1")
    assert room.count() == before, "nothing happened, so there is no event"
    room.close()


# -- nothing is lost -------------------------------------------------------------------------------------------------


def test_what_re_issuing_clears_is_kept_in_the_record(room):
    room.mint()
    room("bind", "set", "x00", "who", "Kunze")
    room("bind", "set", "x00", "what", "noid")
    room("queue", "now", "x00")
    assert room.mint() == ["x00"]
    room.refused("get", "x00")
    assert room.whats("x00") == ["mint", "bind set", "bind set", "queue now", "mint", "clear"]
    assert [(c["element"], c["before"], c["after"]) for c in room("history", "x00")[-1]["changes"]] == [
        ("what", "noid", None), ("who", "Kunze", None)]


def test_what_minting_binds_is_in_its_event_and_what_it_replaces_is_kept(room):
    room("mint", "2", "state", "new")
    assert room("history", "x00")[0]["changes"] == [{"element": "state", "before": None, "after": "new"}]
    room("queue", "now", "x00")
    room("mint", "1", "state", "newest")
    assert room("history", "x00")[-1]["changes"] == [
        {"id": "x00", "element": "state", "before": "new", "after": "newest"}]
    assert room.state("x00") == "published"


def test_the_history_keeps_every_turn_of_circulation(room):
    room.mint()
    for _ in range(3):
        room("queue", "now", "x00")
        room("queue", "delete", "x00")
        room("queue", "now", "x00")
        room.mint()
    room("hold", "set", "x00")
    room("hold", "release", "x00")
    turn = ["queue now", "queue delete", "queue now", "mint"]
    assert room.whats("x00") == ["mint", *turn * 3, "hold set", "hold release"]


def test_a_wrapped_minter_remembers_all_passes(tmp_path):
    room = Room(tmp_path, ".sd", "short")
    room.mint(10)
    room("bind", "set", "3", "e", "v")
    room.mint(10)
    room.mint(10)
    assert room.whats("3") == ["mint", "bind set", "mint", "clear", "mint"]
    room.close()


def test_a_refused_command_leaves_no_event_and_its_neighbours_do(noid):
    noid("dbcreate")
    done = noid.run("-", stdin=b"bind set a e 1\nbind new a e 2\nalias a a\nbind set a e 3\n")
    assert done.returncode == 1
    lines = [json.loads(line) for line in noid("history", "a", "--json").splitlines()]
    assert [line["what"] for line in lines] == ["bind set", "bind set"]
    assert lines[1]["changes"][0]["before"] == "1"


def test_events_of_a_long_name_are_its_own(room, tmp_path):
    free = Room(tmp_path / "free")
    names = ["n" * 600, "n" * 600 + "a", "n" * 600 + "\0", "n" * 599]
    for name in names:
        free("bind", "set", name, "e", name[-3:])
    for name in names:
        assert [c["after"] for e in free("history", name) for c in e["changes"]] == [name[-3:]]
    free.close()


def test_a_rule_has_a_history_too(room):
    room("bind", "set", ":idmap/^x", "e", "y")
    room("bind", "set", ":idmap/^x", "e", "z")
    assert [e["changes"][0]["before"] for e in room("history", ":idmap/^x")] == [None, "y"]
    assert room("history", ":idmap/^x")[0]["ids"] == [":idmap/^x"]


def test_names_are_shown_with_the_minters_label_if_they_are_its_own(tmp_path):
    room = Room(tmp_path, "--label", "ark:/", *LONG)
    (identifier,) = room.mint()
    room("synonym", identifier, "doi:10.1000/182", "--authority", "me")
    assert room("history", identifier)[-1]["ids"] == [identifier, "doi:10.1000/182"]
    room.close()


# -- the log ---------------------------------------------------------------------------------------------------------


def test_a_name_that_comes_round_twice_in_one_minting_has_two_events(tmp_path):
    room = Room(tmp_path, ".sd", "short")
    room("hold", "set", *"01234567")
    assert room.mint(5) == ["8", "9", "8", "9", "8"]
    assert [(e["made"], e["asked"], e["first"], e["last"]) for e in room("log")[2:]] == [
        (2, 5, "8", "9"), (2, 3, "8", "9"), (1, 1, "8", "8")]
    assert room.whats("8") == ["mint"] * 3 and room.whats("9") == ["mint"] * 2
    room.close()


def test_the_log_begins_after_a_number_or_with_a_date(room):
    for day in range(1, 6):
        room.clock.set(f"2026120{day}120000")
        room("note", "n", str(day))
    assert [e["event"] for e in room("log")] == [1, 2, 3, 4, 5, 6]
    assert [e["event"] for e in room("log", "--since", "4")] == [5, 6]
    assert [e["event"] for e in room("log", "--since", "2026-12-04")] == [5, 6]
    assert [e["event"] for e in room("log", "--since", "20261204120001")] == [6]
    assert [e["event"] for e in room("log", "--since", "2026-12")] == [2, 3, 4, 5, 6]
    assert room("log", "--since", "999999999999") == room("log", "--since", "2027-01") == []


def test_a_clock_that_was_set_back_hides_nothing(room):
    room.clock.set("20261201000000")
    room("note", "n", "1")
    room.clock.set("20261110000000")
    room("note", "n", "2")
    room.clock.set("20261202000000")
    room("note", "n", "3")
    assert [e["event"] for e in room("log", "--since", "2026-12-01")] == [2, 4]
    assert [e["event"] for e in room("log", "--since", "2")] == [3, 4]


def test_a_log_of_many_pages_is_whole_and_in_order(room):
    def work(writer):
        from noidtools.minter.events import record_event

        for number in range(2300):
            record_event(writer, room.session.actor, b"test", b"%d" % number)

    room.minter.write(work)
    assert [e["event"] for e in room("log")] == list(range(1, 2302))
    assert room("log")[-1]["details"] == ["2299"]


def test_following_gives_what_happens_and_a_growing_minting_again(room):
    events = history.follow(room.minter, room.clock)
    assert next(events).number == 1
    pauses = []

    def meanwhile() -> None:
        pauses.append(1)
        if len(pauses) == 2:
            room.clock.on_sleep = None
            room("note", "n", "new")

    room.clock.on_sleep = meanwhile
    assert next(events).verb == b"note" and len(pauses) == 2
    many = Room(room.folder / "many", ".zd")
    minting = iter(many._answer(("mint", "30000")).records)
    events = history.follow(many.minter, many.clock, after=1)
    next(minting)
    seen = [next(events).tally.made]
    next(minting)
    seen.append(next(events).tally.made)
    assert list(minting)
    seen.append(next(events).tally.made)
    assert seen == [10000, 20000, 30000]
    many("note", "n", "after")
    assert next(events).number == 3
    many.close()


def test_a_follower_of_a_late_date_does_not_read_everything_again_and_again(room):
    scans = []
    read = room.minter.store.read
    room.minter.store.read = lambda work: scans.append(1) or read(work)
    events = history.follow(room.minter, room.clock, since=b"20270101000000")

    def meanwhile() -> None:
        if len(scans) > 10:
            room.clock.on_sleep = None
            room.clock.set("20270101000000")
            room("note", "n", "new year")

    room.clock.on_sleep = meanwhile
    assert next(events).number == 2


@pytest.mark.parametrize(("words", "kind"), [
    (["history"], UsageError), (["history", "x00", "x01"], UsageError), (["history", "x77"], NotFoundError),
    (["history", "x00", "--since", "1"], UsageError), (["log", "x00"], UsageError),
    (["log", "--since", "soon"], UsageError), (["log", "--since", "2026-13-01"], UsageError),
    (["log", "--since"], UsageError), (["log", "--until", "2027"], UsageError),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_cannot_be_told_is_refused(room, words, kind):
    assert isinstance(room.refused(*words), kind)


# -- through the doors -----------------------------------------------------------------------------------------------


def test_the_record_at_the_shell_as_text_and_as_lines_of_json(noid):
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


def follower(noid, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*NOID, "log", "--follow", "--json", *words], cwd=noid.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def test_a_follower_at_the_shell_sees_what_others_do_until_it_is_interrupted(noid):
    noid("dbcreate", "x.sdd")
    with follower(noid, "--since", "1") as process:
        for number in range(3):
            noid("note", "n", str(number))
            assert json.loads(process.stdout.readline())["changes"][0]["after"] == str(number)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) in (0, 1, -signal.SIGINT)
        assert process.stderr.read() == b""


def test_a_follower_ends_when_nobody_listens(noid):
    noid("dbcreate", "x.sdd")
    with follower(noid) as process:
        assert process.stdout.readline()
        process.stdout.close()
        noid("note", "n", "1")
        assert process.wait(timeout=10) == 1
        assert b"Traceback" not in process.stderr.read()


def test_the_record_by_url_and_as_json(tmp_path):
    create(tmp_path / "kt5", "x.sdd")
    command(tmp_path / "kt5", "mint", "1")
    web = Web(tmp_path)
    assert web("bind+set+x00+e+v", user=USER).status == 200
    records = web("history+x00", accept="application/json").json["records"]
    assert [(r["what"], r["door"], r["who"]) for r in records] == [
        ("mint", "shell", "shell"), ("bind set", "web", "alice@192.0.2.7")]
    assert web("history+x00+--json").text.count("\n") == 2
    assert web("history+x55").status == 404
    assert web("log").status == 401
    assert [r["event"] for r in web("log+--since+1", user=USER, accept="application/json").json["records"]] == [2, 3]
    refused = web("log+--follow", user=USER)
    assert refused.status == 400 and "for the shell" in refused.text


def test_an_event_and_its_change_are_of_one_commit(noid):
    """Whatever is killed when: the number of events of an element is the number of times it was set."""
    noid("dbcreate")
    commands = noid.folder / "commands"
    commands.write_bytes(b"bind add a e x\n" * 20000)
    for delay in (0, 0.05, 0.1, 0.15):
        with commands.open("rb") as lines, subprocess.Popen(
            [*NOID, "-"], cwd=noid.folder, stdin=lines, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout.readline()
            time.sleep(delay)
            process.kill()
    done = noid.run("get", "a", "e")
    events = noid.run("history", "a", "--json").stdout.count(b"\n")
    assert len(done.stdout.strip()) == events > 0


def test_a_command_about_very_many_identifiers_does_not_fill_the_history_of_each(noid):
    noid("dbcreate", ".sdd")
    noid("queue", "now", *(f"{number:02}" for number in range(50)))
    (event,) = [json.loads(line) for line in noid("history", "07", "--json").splitlines()]
    assert event["ids"] == ["07"] and event["details"] == ["and 49 other identifiers"] and len(event["changes"]) == 1


def test_a_number_beyond_the_last_event_is_not_taken_for_a_date(noid):
    noid("dbcreate", ".sd")
    assert "a date is written" in noid.refused("log", "--since", "20261116", status=2)
