"""Imports of more than fits into one transaction: in batches, which can be repeated."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError
from noidtools.minter import changes
from support.minter import Noid

COUNT = 30
TABLE = "id,element,value\n" + "".join(f"n{number:02},title,T{number}\n" for number in range(COUNT))


@pytest.fixture
def minter(free: Noid, monkeypatch) -> Noid:
    """A minter for which thirty lines are many, and eight names and bindings a batch."""
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 5)
    monkeypatch.setattr(changes, "BATCH", 8)
    (free.folder / "table.csv").write_text(TABLE)
    free.records("hold", "set", "n01")
    free.records("bind", "set", "n02", "other", "v")
    return free


def load(minter: Noid, *words: str) -> str:
    return minter.text("import", "csv", str(minter.folder / "table.csv"), *words)


def failed(minter: Noid) -> str:
    """The sentence with which the import ends, after it has written something."""
    with pytest.raises(NoidError) as caught:
        load(minter)
    return caught.value.message


def state(minter: Noid) -> list[str]:
    """All that is stored, but the record of changes and the time of creation."""
    history = ("EVENTS/", "HISTORY/", "CHANGES/", "META/foreign", "META/settings", "META/extended event")
    return [line for line in minter("dbinfo", "dump").splitlines() if not line.startswith(history)]


def before_batch(monkeypatch, batch: int, action) -> None:
    """Have something done before a certain transaction of a bulk change."""
    write, left = changes.BulkEvent.write, [batch]

    def watched(self, work, before=None):
        left[0] -= 1
        if not left[0]:
            action()
        return write(self, work, before)

    monkeypatch.setattr(changes.BulkEvent, "write", watched)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_it_is_one_event_with_the_same_report_as_in_one_transaction(minter, monkeypatch, tmp_path):
    together = []
    write = changes.BulkEvent.write
    monkeypatch.setattr(changes.BulkEvent, "write", lambda self, *work: together.append(write(self, *work)) or (
        together[-1]))
    events = minter.event_count()
    report = load(minter)
    assert len(together) > 5 and minter.event_count() == events + 1 and minter.newest_event().bulk == COUNT
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 1000)
    together.clear()
    other = Noid.created(tmp_path / "other")
    (other.folder / "table.csv").write_text(TABLE)
    other.records("hold", "set", "n01")
    other.records("bind", "set", "n02", "other", "v")
    assert load(other) == report and state(other) == state(minter) and len(together) == 1
    assert "nothing is wrong" in minter("check")


@pytest.mark.parametrize("more", ["n30,title\n", "n30,title,\xff\n", 'n30,title,"open\n', "n30\0,title,x\n"])
def test_a_line_that_cannot_be_read_is_found_before_anything_is_written(minter, more):
    (minter.folder / "table.csv").write_bytes((TABLE + more).encode("latin-1"))
    before = minter.opened.store.version()
    assert minter.refusal("import", "csv", str(minter.folder / "table.csv")).message.startswith(f"line {COUNT + 2}: ")
    assert minter.opened.store.version() == before


def test_a_dry_run_writes_nothing_and_says_the_same(minter):
    version = minter.opened.store.version()
    preview = load(minter, "--dry-run")
    assert minter.opened.store.version() == version
    lines = [line for line in load(minter).splitlines() if line.startswith("line")]
    assert lines and lines == [line for line in preview.splitlines() if line.startswith("line")]


@pytest.mark.parametrize(("more", "message"), [
    ("n02,other,w\n", "another value is bound to it already"), ("n00,title,Z\n", "an earlier line of the file"),
])
def test_a_line_that_conflicts_ends_it_and_what_was_imported_before_is_named(minter, more, message):
    with (minter.folder / "table.csv").open("a") as file:
        file.write(more)
    refusal = failed(minter)
    assert refusal.startswith(f"line {COUNT + 2}: ") and message in refusal
    assert f"so the 28 records before were imported (event {minter.event_count()})" in refusal
    (minter.folder / "table.csv").write_text(TABLE)
    assert "Bindings: 2 bound, 28 unchanged\n" in load(minter)
    assert "nothing is wrong" in minter("check")


def test_an_interrupted_one_says_how_to_go_on_and_the_same_import_does(minter, monkeypatch, tmp_path):
    with monkeypatch.context() as patched:
        before_batch(patched, 4, interrupt)
        said = failed(minter)
    number = minter.event_count()
    assert said.startswith("interrupted after 12 records or a few more: import the file again to go on, or run ")
    assert f"'noid undo {number}'" in said and "nothing is wrong" in minter("check")
    assert "Bindings: 18 bound, 12 unchanged\n" in load(minter) and "Bindings: 30 unchanged\n" in load(minter)
    assert minter.event_count() == number + 1 and "nothing is wrong" in minter("check")


def test_what_was_imported_before_an_interruption_can_be_undone(minter, monkeypatch):
    with monkeypatch.context() as patched:
        before_batch(patched, 4, interrupt)
        failed(minter)
    assert "ok: 12 changes taken back\n" in minter.text("undo", str(minter.event_count()))
    assert "title" not in "".join(state(minter)) and "nothing is wrong" in minter("check")
    assert "Bindings: 30 bound\n" in load(minter)


def test_others_change_something_between_two_batches(minter, monkeypatch):
    with monkeypatch.context() as patched:
        before_batch(patched, 4, lambda: minter.records("bind", "set", "n20", "title", "mine"))
        assert failed(minter).startswith("line 22: title under n20: another value is bound to it already")
    assert minter.text("get", "n20", "title") == "mine\n"
    assert "Bindings: 9 bound, 20 unchanged, 1 kept as they were\n" in load(minter, "--on-conflict", "keep")


def test_two_of_the_same_file_at_once_bind_everything_once(minter, monkeypatch):
    others = []
    with monkeypatch.context() as patched:
        before_batch(patched, 4, lambda: others.append(load(minter)))
        first = load(minter)
    assert "Bindings: 12 bound, 18 unchanged\n" in first and "Bindings: 18 bound, 12 unchanged\n" in others[0]
    assert "nothing is wrong" in minter("check")


def test_a_value_given_twice_is_the_last_one_and_one_change(minter):
    with (minter.folder / "table.csv").open("a") as file:
        file.write("n00,title,Z\n")
    load(minter, "--on-conflict", "replace")
    assert minter.text("get", "n00", "title") == "Z\n" and minter.newest_event().bulk == COUNT
    assert "nothing is wrong" in minter("check")
    load(minter, "--on-conflict", "replace")
    assert minter.text("get", "n00", "title") == "Z\n" and "nothing is wrong" in minter("check")


def test_keep_going_leaves_out_lines_of_any_batch(minter):
    (minter.folder / "table.csv").write_text(TABLE + "n02,other,w\n,e,v\n")
    done = minter.run("import", "csv", "table.csv", "--keep-going")
    assert done.returncode == 1 and b"Refused: 2\n" in done.stdout and b"line: 33: refused: " in done.stdout
    assert minter.newest_event().bulk == COUNT
