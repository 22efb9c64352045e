"""Imports of all lines or none that are too large for one transaction."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError
from noidtools.minter import bulk_changes, circulation
from noidtools.transfer import importer
from support.minter import Noid

COUNT = 30
TABLE = "id,element,value\n" + "".join(f"n{number:02},title,T{number}\n" for number in range(COUNT))


@pytest.fixture
def minter(free: Noid, monkeypatch) -> Noid:
    """A minter for which thirty lines are many."""
    monkeypatch.setattr(importer, "AT_ONCE", 5)
    monkeypatch.setattr(bulk_changes.ChunkSize, "__init__", lambda self: setattr(self, "size", 8))
    monkeypatch.setattr(bulk_changes.ChunkSize, "adapt", lambda *_: None)
    (free.folder / "table.csv").write_text(TABLE)
    free.records("hold", "set", "n01")
    free.records("bind", "set", "n02", "other", "v")
    return free


def load(minter: Noid, *words: str) -> str:
    return minter.text("import", "csv", str(minter.folder / "table.csv"), *words)


def failed(minter: Noid) -> str:
    """The sentence with which the import is refused, after it has written something."""
    with pytest.raises(NoidError) as caught:
        load(minter)
    return caught.value.message


def state(minter: Noid) -> list[str]:
    """All that is stored, but the record of changes and the time of creation."""
    history = ("EVENTS/", "HISTORY/", "CHANGES/", "META/foreign", "META/settings")
    return [line for line in minter("dbinfo", "dump").splitlines() if not line.startswith(history)]


def before_step(monkeypatch, step: int, action) -> None:
    """Have something done before a certain transaction of a bulk change."""
    write, steps = bulk_changes.BulkEvent.write, [step]

    def watched(self, work, **options):
        steps[0] -= 1
        if not steps[0]:
            action()
        return write(self, work, **options)

    monkeypatch.setattr(bulk_changes.BulkEvent, "write", watched)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_it_is_one_event_with_the_same_report_as_in_one_transaction(minter, monkeypatch, tmp_path):
    together = []
    write = bulk_changes.BulkEvent.write
    monkeypatch.setattr(bulk_changes.BulkEvent, "write", lambda self, work, **options: together.append(
        write(self, work, **options)) or together[-1])
    events = minter.event_count()
    report = load(minter)
    assert len(together) > 5 and minter.event_count() == events + 1 and minter.newest_event().bulk == COUNT
    monkeypatch.setattr(importer, "AT_ONCE", 1000)
    other = Noid.created(tmp_path / "other")
    (other.folder / "table.csv").write_text(TABLE)
    other.records("hold", "set", "n01")
    other.records("bind", "set", "n02", "other", "v")
    assert load(other) == report and state(other) == state(minter)
    assert "nothing is wrong" in minter("check") and "note" not in minter("check")


@pytest.mark.parametrize(("more", "message"), [
    ("n02,other,w\n", "another value is bound to it already"), ("n00,title,Z\n", "an earlier line of the file"),
])
def test_a_line_that_is_refused_is_found_before_anything_is_written(minter, more, message):
    with (minter.folder / "table.csv").open("a") as file:
        file.write(more)
    before = minter.opened.store.version()
    refusal = minter.refusal("import", "csv", str(minter.folder / "table.csv")).message
    assert refusal.startswith(f"line {COUNT + 2}: ") and message in refusal
    assert minter.opened.store.version() == before


def test_a_dry_run_writes_nothing_and_says_the_same(minter):
    version = minter.opened.store.version()
    preview = load(minter, "--dry-run")
    assert minter.opened.store.version() == version
    lines = [line for line in load(minter).splitlines() if line.startswith("line")]
    assert lines and lines == [line for line in preview.splitlines() if line.startswith("line")]


def test_all_is_taken_back_if_somebody_else_binds_another_value_meanwhile(minter, monkeypatch):
    before = state(minter)
    before_step(monkeypatch, 4, lambda: minter.records("bind", "set", "n20", "title", "mine"))
    refusal = failed(minter)
    assert refusal.startswith("line 22: title under n20: another value is bound to it already")
    assert "what was imported until then was taken back (event 4)" in refusal
    minter.records("bind", "purge", "n20", "title")
    assert state(minter) == before
    assert "nothing is wrong" in minter("check") and "note" not in minter("check")
    assert [record["what"] for record in minter.records("history", "n00")] == ["import", "undo import"]
    number = str(minter.event_count() - 1)
    assert "import the file again" in minter.refusal("undo", number).message
    assert "Bindings: 30 bound\n" in load(minter)


def test_a_name_that_others_used_meanwhile_stays_recorded(minter, monkeypatch):
    def others() -> None:
        minter.records("bind", "set", "n00", "mine", "v")
        minter.records("bind", "set", "n20", "title", "mine")

    before_step(monkeypatch, 4, others)
    failed(minter)
    record = minter.read(lambda reader: circulation.find(reader, b"n00"))
    assert record is not None and record.foreign and record.held
    assert minter.text("get", "n00", "mine") == "v\n" and "nothing is wrong" in minter("check")
    assert minter.read(lambda reader: circulation.find(reader, b"n03")) is None


def test_an_interrupted_one_is_taken_back(minter, monkeypatch):
    before = state(minter)
    before_step(monkeypatch, 4, interrupt)
    assert failed(minter) == "interrupted: what was imported was taken back"
    assert state(minter) == before
    assert "nothing is wrong" in minter("check")


def test_one_that_is_taken_back_while_it_runs_ends(minter, monkeypatch):
    before_step(monkeypatch, 4, lambda: minter.records("undo", str(minter.event_count())))
    assert "was ended by another process" in failed(minter)
    assert "title" not in "".join(state(minter)) and "nothing is wrong" in minter("check")
    assert "Bindings: 30 bound\n" in load(minter)


def test_rebind_takes_back_the_values_that_it_has_changed(minter, monkeypatch):
    load(minter)
    before = state(minter)
    (minter.folder / "new.csv").write_text(TABLE.replace(",T", ",U"))
    before_step(monkeypatch, 4, interrupt)
    with pytest.raises(NoidError, match="taken back"):
        minter.records("rebind", str(minter.folder / "new.csv"))
    assert state(minter) == before
