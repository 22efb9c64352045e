"""Killed at any commit: import, retarget and undo leave nothing to repair, and going on works."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from noidtools.minter import changes, schema
from support.killed import COMMITS, RENAMES, every_kill, run_killed
from support.minter import Noid
from support.process import NoidProcess

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]

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


# With a stride that is not even, kills before a commit and after one come in turn.
at_more_steps = pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])


@pytest.fixture
def batches(monkeypatch) -> None:
    """Make the limits so small that the changes here take several transactions, in child processes, too."""
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 1000)
    monkeypatch.setattr(changes, "BATCH", 400)


def examine(minter: Noid) -> None:
    """Find the database sound."""
    assert "nothing is wrong" in minter("check")


@at_more_steps
@pytest.mark.parametrize("new", [NEW, OTHER])
def test_a_killed_retarget_is_finished_by_the_same_command(folder, batches, new, stride):
    for made in every_kill(folder, COMMITS, "retarget", "--from", OLD, "--to", new, stride=stride):
        minter = Noid(made)
        examine(minter)
        minter("retarget", "--from", OLD, "--to", new)
        assert targets(minter) == expected(new)
        examine(minter)
        minter.close()


@at_more_steps
def test_a_killed_undo_is_finished_by_the_same_command(folder, batches, stride):
    def retargeted() -> Path:
        made = Noid(folder())
        made(*RETARGET)
        made.close()
        return made.folder

    for made in every_kill(retargeted, COMMITS, "undo", "3", stride=stride):
        minter = Noid(made)
        assert "left" not in minter("undo", "3")
        assert targets(minter) == expected(OLD)
        examine(minter)
        minter.close()


@at_more_steps
def test_a_killed_import_is_finished_by_the_same_command_or_undone(folder, batches, stride):
    for made in every_kill(folder, COMMITS, *IMPORT, stride=2 * stride + 1):
        examine(Noid(made))
        back = Noid(shutil.copytree(made, made.with_suffix(".back")))
        if back.event_count() == 3:
            back("undo", "3")
        assert targets(back) == expected(OLD)
        examine(back)
        back.close()
        minter = Noid(made)
        minter(*IMPORT)
        assert targets(minter) == expected(OTHER, 100) and "Held: 1600\n" in minter("dbinfo")
        examine(minter)
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
        examine(minter)
        minter.close()
    assert found == [expected(OLD), changed]


def test_a_killed_import_that_keeps_going_is_finished_by_the_next(folder, batches):
    for made in every_kill(folder, COMMITS, *IMPORT, "--keep-going", stride=5):
        minter = Noid(made)
        examine(minter)
        minter(*IMPORT, "--keep-going")
        assert targets(minter) == expected(OTHER, 100)
        examine(minter)
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
        assert copy.text("dbinfo", "dump") == whole
        examine(copy)
        copy.close()


def test_an_interrupted_retarget_says_how_to_go_on(minter, batches):
    words = ("retarget", "--from", OLD, "--to", OTHER)
    assert run_killed(minter.folder, COMMITS, 3, *words, with_signal=signal.SIGINT) == 1
    said = (minter.folder / "errors").read_text()
    assert said.startswith("error: interrupted after ") and said.count("\n") == 1 and "noid undo 3" in said
    minter(*words)
    assert targets(minter) == expected(OTHER)


def test_others_mint_and_bind_while_a_retarget_runs(minter):
    process = NoidProcess(minter.folder).start(*RETARGET, stdout=subprocess.DEVNULL)
    bound = 0
    while process.poll() is None:
        minter.records("bind", "set", f"other{bound}", "e", "v")
        bound += 1
    assert process.returncode == 0 and bound > 3
    assert {key: value for key, value in targets(minter).items() if key.startswith(b"name")} == expected(NEW)


@pytest.mark.parametrize("large", [False, True])
def test_a_killed_mint_for_a_table_gives_no_row_a_second_identifier(tmp_path, monkeypatch, large):
    rows, numbers = 60, count()
    if large:
        monkeypatch.setattr(changes, "MOST_AT_ONCE", 20)
        monkeypatch.setattr(changes, "BATCH", 40)
    words = "import", "csv", "table.csv", "--mint", "--output", "back.csv"

    def folder() -> Path:
        minter = Noid.created(tmp_path / str(next(numbers)), "f5.reedeedk", "long", "13030", "a.example", "test")
        minter.close()
        (minter.folder / "table.csv").write_text("title\n" + "Same\n" * rows)
        return minter.folder

    kills = 0
    for made in every_kill(folder, COMMITS, *words):
        minter = Noid(made)
        examine(minter)
        assert minter.run(*words).returncode == 0
        ids = [line.partition(",")[0] for line in (made / "back.csv").read_text().splitlines()[1:]]
        assert len(set(ids)) == rows and f"Drawn: {rows}\n" in minter("dbinfo")
        assert all(minter.text("get", identifier, "title") == "Same\n" for identifier in ids[::20])
        before = (made / "back.csv").read_bytes()
        assert minter.run(*words).returncode == 0 and (made / "back.csv").read_bytes() == before
        examine(minter)
        minter.close()
        kills += 1
    assert kills >= (6 if large else 2)
