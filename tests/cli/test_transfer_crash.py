"""Killed at any commit: import, retarget and undo leave nothing to repair, and going on works."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from noidtools.minter import schema
from support.killed import COMMITS, RENAMES, every_kill, run_killed
from support.minter import Noid
from support.process import NoidProcess

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]

# More than is imported in one transaction.
COUNT = 1500
OLD, NEW, OTHER = "https://old.example/", "https://old.example/new/", "https://other.example/"
RETARGET = ("retarget", "--from", OLD, "--to", NEW)
IMPORT = ("import", "csv", "other.csv", "--on-conflict", "replace")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a minter that has many targets, a table with others for them and for new names, and a complete
    export."""
    minter = Noid.created(tmp_path_factory.mktemp("template"))
    for name, base, more in (("table.csv", OLD, 0), ("other.csv", OTHER, 100)):
        (minter.folder / name).write_text("id,_t\n" + "".join(
            f"name{number},{base}{number}\n" for number in range(COUNT + more)))
    minter("import", "csv", "table.csv")
    minter("export", "jsonl", "all.jsonl", "--history")
    return minter.folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes folders with a copy of that minter."""
    numbers = count()
    return lambda: shutil.copytree(template, tmp_path / str(next(numbers)))


@pytest.fixture
def minter(folder) -> Noid:
    return Noid(folder())


def targets(minter: Noid) -> dict[bytes, bytes]:
    return dict(minter.read(lambda reader: list(reader.scan(schema.ELEMENTS))))


def expected(base: str, more: int = 0) -> dict[bytes, bytes]:
    return {b"name%d\0\0_t" % number: f"{base}{number}".encode() for number in range(COUNT + more)}


def examine(minter: Noid) -> bool:
    """Find the database sound, and return whether an event is named that has not come to its end."""
    found = minter("check")
    assert "nothing is wrong" in found
    return "has not come to its end" in found


def test_a_killed_retarget_is_continued_and_changes_nothing_twice(folder):
    for made in every_kill(folder, COMMITS, *RETARGET):
        minter = Noid(made)
        begun = sum(value.startswith(NEW.encode()) for value in targets(minter).values())
        if examine(minter) or not begun:
            minter(*RETARGET)
        assert targets(minter) == expected(NEW)
        assert minter.event_count() == 3 and minter.newest_event().bulk == COUNT and not examine(minter)
        minter.close()


def test_a_killed_undo_is_continued_as_one_event(folder):
    def retargeted() -> Path:
        made = Noid(folder())
        made(*RETARGET)
        return made.folder

    for made in every_kill(retargeted, COMMITS, "undo", "3"):
        minter = Noid(made)
        if examine(minter) or targets(minter) == expected(NEW):
            assert "left" not in minter("undo", "3")
        assert targets(minter) == expected(OLD) and not examine(minter)
        assert minter.event_count() == 4 and minter.newest_event().bulk == COUNT
        minter("undo", "4")
        assert targets(minter) == expected(NEW)
        minter.close()


def test_a_killed_import_is_finished_by_the_same_command_or_taken_back(folder):
    for made in every_kill(folder, COMMITS, *IMPORT, stride=3):
        if examine(Noid(made)):
            back = Noid(shutil.copytree(made, made.with_suffix(".back")))
            back("undo", "3")
            assert targets(back) == expected(OLD) and not examine(back)
            assert "Held: 1500\n" in back("dbinfo")
            back.close()
        minter = Noid(made)
        minter(*IMPORT)
        assert targets(minter) == expected(OTHER, 100) and not examine(minter)
        assert minter.event_count() == 3 and "Held: 1600\n" in minter("dbinfo")
        minter.close()


def test_one_that_is_killed_while_it_is_taken_back_can_be_taken_back_or_made_again(folder):
    def half_imported() -> Path:
        made = folder()
        assert run_killed(made, COMMITS, 6, *IMPORT) == -signal.SIGKILL
        return made

    for made in every_kill(half_imported, COMMITS, "undo", "3"):
        again = Noid(shutil.copytree(made, made.with_suffix(".again")))
        examine(again)
        again(*IMPORT)
        assert targets(again) == expected(OTHER, 100) and not examine(again)
        again.close()
        minter = Noid(made)
        if examine(minter):
            minter("undo", "3")
        assert targets(minter) == expected(OLD) and not examine(minter) and "Held: 1500\n" in minter("dbinfo")
        minter.close()


def test_a_killed_import_of_a_small_file_is_there_completely_or_not_at_all(folder):
    def with_small_file() -> Path:
        made = folder()
        (made / "other.csv").write_text("id,_t\n" + "".join(f"name{n},{OTHER}{n}\n" for n in range(500)))
        return made

    changed = expected(OLD) | {b"name%d\0\0_t" % n: f"{OTHER}{n}".encode() for n in range(500)}
    found = []
    for made in every_kill(with_small_file, COMMITS, *IMPORT):
        minter = Noid(made)
        found.append(targets(minter))
        assert not examine(minter)
        minter.close()
    assert found == [expected(OLD), changed]


def test_a_killed_import_that_keeps_going_is_finished_by_the_next(folder):
    for made in every_kill(folder, COMMITS, *IMPORT, "--keep-going", stride=5):
        minter = Noid(made)
        examine(minter)
        minter(*IMPORT, "--keep-going")
        assert targets(minter) == expected(OTHER, 100) and not examine(minter)
        minter.close()


@pytest.mark.parametrize("kind", [COMMITS, RENAMES])
def test_a_killed_import_of_a_whole_minter_leaves_none_or_the_complete_one(template, tmp_path, kind):
    numbers = count()

    def empty() -> Path:
        made = tmp_path / str(next(numbers))
        made.mkdir()
        shutil.copy(template / "all.jsonl", made)
        return made

    whole = Noid(template).text("dbinfo", "dump")
    for made in every_kill(empty, kind, "import", "jsonl", "all.jsonl"):
        copy = Noid(made)
        if not (made / "NOID").exists():
            copy("import", "jsonl", "all.jsonl")
        assert sorted(path.name for path in made.iterdir()) == ["NOID", "all.jsonl"]
        assert copy.text("dbinfo", "dump") == whole and not examine(copy)
        copy.close()


def test_an_interrupted_retarget_says_how_to_go_on(minter):
    assert run_killed(minter.folder, COMMITS, 2, *RETARGET, with_signal=signal.SIGINT) == 1
    said = (minter.folder / "errors").read_text()
    assert said.startswith("error: interrupted after ") and said.count("\n") == 1 and "noid undo 3" in said
    minter(*RETARGET)
    assert targets(minter) == expected(NEW)


def test_others_mint_and_bind_while_a_retarget_runs(minter):
    process = NoidProcess(minter.folder).start(*RETARGET, stdout=subprocess.DEVNULL)
    bound = 0
    while process.poll() is None:
        minter.records("bind", "set", f"other{bound}", "e", "v")
        bound += 1
    assert process.returncode == 0 and bound > 3
    assert {key: value for key, value in targets(minter).items() if key.startswith(b"name")} == expected(NEW)
