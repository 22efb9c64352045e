"""`log --archive`: old events in a file, from which the history is still read."""

from __future__ import annotations

import json
import os

import pytest

from noidtools.minter import history
from support.minter import Noid

BEFORE = "2026-11-17"


@pytest.fixture
def minter(tmp_path):
    made = Noid.with_clock(tmp_path / "m", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    made.text("mint", "3")
    for number in range(6):
        made.text("bind", "set", "13030/kt4x551", "what", f"value {number} " + "x" * 300)
    made.text("bind", "set", "13030/kt154d9", "what", b"\xff\x00bytes" + b"y" * 200)
    made.text("hold", "set", "13030/ktwd3s9")
    made.text("withdraw", "13030/kt154d9", "--reason", "by mistake " + "z" * 200)
    yield made
    made.close()


def histories(minter: Noid) -> list[str]:
    names = ("13030/kt4x551", "13030/kt154d9", "13030/ktwd3s9")
    return [minter.text("history", name, *words) for name in names for words in ((), ("--json",))]


def archived(minter: Noid, file: str, before: str = BEFORE) -> str:
    return minter("log", "--archive", before, str(minter.folder.parent / file))


def test_the_history_is_the_same_and_the_database_sound(minter):
    before, log, facts = histories(minter), minter.text("log"), minter.text("fetch", "13030/kt4x551")
    done = archived(minter, "old.jsonl")
    assert done.startswith("ok: 7 events moved to ") and int(done.split("freed: ")[1].split()[0]) > 2000
    assert histories(minter) == before and minter.text("fetch", "13030/kt4x551") == facts
    assert minter.text("log").startswith(log) and "what: log archive" in minter.text("log")
    assert "error" not in minter.text("check")
    # What is left in the database names the archive.
    dumped = minter.text("dbinfo", "dump")
    assert "value 0" not in dumped and "value 5" in dumped
    lines = (minter.folder.parent / "old.jsonl").read_text().splitlines()
    assert [json.loads(line)["what"] for line in lines] == ["bind set"] * 7


@pytest.mark.only("lmdb")
def test_what_was_moved_leaves_room_in_the_database_and_in_its_backups(minter):
    name, folder = "13030/kt4x551", minter.folder.parent
    targets = [f"https://library.example/collection/{number}/{'x' * 100}" for number in range(2000)]
    minter("-", stdin="".join(f"bind set {name} _t {target}\n" for target in targets).encode())
    minter("backup", str(folder / "before"))
    size = (minter.folder / "NOID" / "data.mdb").stat().st_size
    freed = int(archived(minter, "old.jsonl", "2100").split("freed: ")[1].split()[0])
    minter("backup", str(folder / "after"))
    before, after = ((folder / name / "data.mdb").stat().st_size for name in ("before", "after"))
    assert freed > 300_000 and before - after > freed * 0.7, (before, after, freed)
    # What comes next is written where the events were; without that the file would grow by half.
    minter("-", stdin="".join(f"bind set {name} _t {target}\n" for target in targets[:1000]).encode())
    assert (minter.folder / "NOID" / "data.mdb").stat().st_size < size * 1.35
    assert minter("history", name).count("what: bind set") == 3006 and "nothing is wrong" in minter("check")


def test_nobody_reads_an_archive_through_a_file_that_was_there_before(minter):
    new = minter.folder.parent / "old.jsonl.new"
    new.touch(mode=0o666)
    with new.open() as kept_open:
        assert archived(minter, "old.jsonl").startswith("ok: 7 events moved to ")
        assert kept_open.read() == ""
    assert (minter.folder.parent / "old.jsonl").stat().st_mode & 0o007 == 0


def test_several_archives_and_new_events_are_read_in_order(minter):
    archived(minter, "one.jsonl")
    minter.at("1795000000").text("bind", "set", "13030/kt4x551", "what", "later " + "x" * 300)
    minter.at("1795000001").text("bind", "set", "13030/kt4x551", "what", "last")
    before = histories(minter)
    assert archived(minter, "two.jsonl", "2027").startswith("ok: ")
    assert histories(minter) == before and before[0].count("what: bind set") == 8


def test_an_archive_that_is_away_is_named_and_found_again_beside_the_minter(minter):
    before = histories(minter)
    archived(minter, "old.jsonl")
    os.rename(minter.folder.parent / "old.jsonl", minter.folder.parent / "elsewhere")
    without = minter.text("history", "13030/kt4x551")
    assert without.count("the rest is in the archive old.jsonl, which cannot be read here (No such file") == 6
    assert "what: bind set" in without and "6 others changed is not known" in minter.run("check").stdout.decode()
    os.rename(minter.folder.parent / "elsewhere", minter.folder / "old.jsonl")
    assert histories(minter) == before
    (minter.folder / "old.jsonl").write_text("{damaged\n")
    assert "(it is damaged)" in minter.text("history", "13030/kt4x551")


def test_what_cannot_be_done_is_refused_and_nothing_is_moved(minter):
    before = minter.text("dbinfo", "dump")
    taken = minter.folder.parent / "taken"
    taken.write_text("mine")
    for date, file, expected in [
        (BEFORE, str(taken), "exists: choose the name of a new file"), ("2020", "new", "nothing was done"),
        (BEFORE, "/nonexistent/folder/x", "cannot be written: No such file or directory"),
        ("yesterday", "new", "yesterday"), (BEFORE, "", "exists"), (BEFORE, "/dev/full/x", "cannot be written"),
    ]:
        assert expected in minter.refused("log", "--archive", date, file)
    assert "use log" in minter.refused("log", "--archive", BEFORE)
    assert minter.text("dbinfo", "dump") == before and taken.read_text() == "mine"
    assert not list(minter.folder.parent.glob("*.new"))


def test_a_run_that_was_killed_is_finished_by_the_next(minter, monkeypatch):
    before = histories(minter)

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(history, "_shorten", killed)
    assert minter.run("log", "--archive", BEFORE, str(minter.folder.parent / "one.jsonl")).returncode == 1
    monkeypatch.undo()
    assert histories(minter) == before
    assert archived(minter, "two.jsonl").startswith("ok: ") and histories(minter) == before
    assert "error" not in minter.text("check")
