"""Backup and restore, with the processes that use the minter meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest

from noidtools.errors import ConflictError
from noidtools.minter import Minter
from noidtools.minter.copying import restore
from noidtools.minter.events import Actor
from noidtools.minter.minting import MintOptions, mint
from noidtools.store.lmdb.files import PLACE, is_in_place
from support.killed import RENAMES, run_killed
from support.minter import Noid, NoidCommand
from support.noidr import NoidrProcess
from support.process import NOIDR, NoidProcess, wait_until

pytestmark = pytest.mark.slow

REMEDY = "noid restore"


@pytest.fixture
def noid(noid: Noid) -> Noid:
    noid("dbcreate", "kt.sdddd")
    return noid


@pytest.fixture
def loop(noid):
    process = NoidrProcess("-f", str(noid.folder), program=NOIDR)
    process.ask(b"get kt0000 _t")
    yield process
    process.end()


def data_file(noid: NoidCommand) -> Path:
    return noid.folder / "NOID" / "data.mdb"


def drawn(noid: NoidCommand) -> str:
    (line,) = [line for line in noid("dbinfo").splitlines() if line.startswith("Drawn: ")]
    return line.removeprefix("Drawn: ")


def move_in(noid: NoidCommand, copy: Path) -> None:
    shutil.copy(copy, noid.folder / "moved")
    os.replace(noid.folder / "moved", data_file(noid))


# -- a data file that is moved in by hand ----------------------------------------------------------------------------


@pytest.mark.only("lmdb")
@pytest.mark.parametrize(("later", "recorded"), [(1, True), (2, True), (3, False)])
def test_a_file_moved_in_while_noidr_runs_is_refused_and_nothing_is_minted_twice(noid, loop, later, recorded):
    for _ in range(4):
        noid.ids(1)
    shutil.copy(data_file(noid), noid.folder / "copy")
    for _ in range(later):
        noid.ids(1)
    if not recorded:  # as release 0.1.0 left it
        os.truncate(noid.folder / "NOID" / "writer.lock", 0)
    move_in(noid, noid.folder / "copy")
    assert REMEDY in noid.refused("mint", "1")
    assert REMEDY in noid.refused("dbinfo")
    said = noid("restore", str(data_file(noid)), "--skip", str(later))
    assert "Replaced: " in said
    assert noid.ids(1) == [f"kt{4 + later:04}"]
    assert drawn(noid) == str(5 + later)


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("removed", ["everything", "writer.lock", "lock.mdb"])
def test_a_file_put_into_an_emptied_folder_is_refused_and_nothing_is_minted_twice(noid, loop, removed):
    noid.ids(4)
    shutil.copy(data_file(noid), noid.folder / "copy")
    noid.ids(2)
    for path in (noid.folder / "NOID").iterdir():
        if removed in ("everything", path.name):
            path.unlink()
    move_in(noid, noid.folder / "copy")
    assert REMEDY in noid.refused("mint", "1") and REMEDY in noid.refused("dbinfo")
    noid("restore", str(data_file(noid)), "--skip", "2")
    assert noid.ids(1) == ["kt0006"]


@pytest.mark.only("lmdb")
def test_a_restored_minter_does_not_keep_the_record_of_where_it_was(noid):
    noid.ids(1)
    noid("backup", "kept")
    noid("restore", "kept")
    with lmdb.open(str(noid.folder / "NOID"), readonly=True) as environment, environment.begin() as txn:
        assert txn.get(PLACE) == b"%d %d" % (data_file(noid).stat().st_ino, data_file(noid).parent.stat().st_ino)


@pytest.mark.only("lmdb")
def test_a_file_moved_in_is_refused_when_nothing_else_is_open(noid):
    noid.ids(3)
    shutil.copy(data_file(noid), noid.folder / "copy")
    noid.ids(1)
    move_in(noid, noid.folder / "copy")
    assert REMEDY in noid.refused("mint", "1")


@pytest.mark.only("lmdb")
def test_an_old_file_moved_under_two_workers_loses_nothing(tmp_path):
    old = Noid(tmp_path / "old")
    old("dbcreate", "kt.sdddd")
    old.ids(20)
    new = Noid(tmp_path / "new")
    new("dbcreate", "kt.sdddd")
    loops = [NoidrProcess("-f", str(new.folder)) for _ in range(2)]
    try:
        for loop in loops:
            loop.ask(b"get x")
        shutil.copy(data_file(old), new.folder / "moved")
        os.replace(new.folder / "moved", data_file(new))
        assert REMEDY in new.refused("mint", "5")
        new("restore", str(old.folder / "NOID"))
        assert new.ids(5) == [f"kt{number:04}" for number in range(20, 25)]
    finally:
        for loop in loops:
            loop.end()
    assert drawn(new) == "25" and new.ids(1) == ["kt0025"]


@pytest.mark.only("lmdb")
def test_a_compacted_copy_moved_in_is_refused_and_can_be_restored(noid, loop):
    noid.ids(3)
    noid("bind", "set", "kt0000", "_t", "https://a.example/")
    environment = lmdb.open(str(noid.folder / "NOID"), readonly=True, max_readers=1024)
    (noid.folder / "compact").mkdir()
    environment.copy(str(noid.folder / "compact"), compact=True)
    environment.close()
    move_in(noid, noid.folder / "compact" / "data.mdb")
    assert REMEDY in noid.refused("dbinfo")
    noid("restore", "compact")
    wait_until(lambda: loop.ask(b"get kt0000 _t") == b"https://a.example/", 1.5)
    assert noid.ids(1) == ["kt0003"]


def test_a_folder_that_was_copied_as_a_whole_is_used(noid, tmp_path):
    noid.ids(2)
    shutil.copytree(noid.folder / "NOID", tmp_path / "other" / "NOID")
    other = Noid(tmp_path / "other")
    assert other.ids(1) == ["kt0002"] and other.ids(1) == ["kt0003"]


# -- backup and restore ----------------------------------------------------------------------------------------------


def test_a_backup_made_while_others_mint_is_of_one_moment(noid, noid_process):
    process = noid_process.start("mint", "9000", stdout=subprocess.DEVNULL)
    counts = []
    for number in range(5):
        noid("backup", f"b{number}")
        drill = Noid(noid.folder / f"d{number}")
        drill("restore", f"../b{number}")
        counts.append(int(drawn(drill)))
        assert drill.ids(1) == [f"kt{counts[-1]:04}"]
    assert process.wait(60) == 0 and counts == sorted(counts)


def test_a_restore_is_noticed_by_everybody_within_a_second(noid, loop, tmp_path):
    noid.ids(1)
    noid("bind", "set", "kt0000", "_t", "https://before.example/")
    noid("backup", "kept")
    noid("bind", "set", "kt0000", "_t", "https://after.example/")
    wait_until(lambda: loop.ask(b"get kt0000 _t") == b"https://after.example/", 2)
    said = noid("restore", "kept")
    wait_until(lambda: loop.ask(b"get kt0000 _t") == b"https://before.example/", 1)
    (aside,) = [line.removeprefix("Replaced: ") for line in said.splitlines() if line.startswith("Replaced: ")]
    assert os.listdir(aside) and "--skip N" in said
    assert not [name for name in os.listdir(noid.folder) if name.startswith(".")]
    (noid.folder / "replaced").mkdir()
    os.rename(aside, noid.folder / "replaced" / "NOID")
    assert noid("-f", "replaced", "get", "kt0000", "_t") == "https://after.example/\n"


@pytest.mark.only("lmdb")
def test_a_restore_replaces_nothing_but_a_minter(noid):
    noid("backup", "copy")
    other = noid.folder / "other"
    (other / "NOID").mkdir(parents=True)
    (other / "NOID" / "thesis.txt").write_text("mine\n")
    assert "has something else than a minter" in noid.refused("-f", "other", "restore", "copy")
    assert [path.name for path in (other / "NOID").iterdir()] == ["thesis.txt"]
    (other / "NOID" / "thesis.txt").unlink()
    noid("-f", "other", "restore", "copy")


@pytest.mark.only("lmdb")
def test_a_restore_leaves_the_files_of_a_minter_and_no_others(noid):
    noid("backup", "kept")
    noid("restore", "kept")
    assert sorted(os.listdir(noid.folder / "NOID")) == ["README", "data.mdb", "lock.mdb", "writer.lock"]


def test_skipped_identifiers_are_never_minted_and_recorded(noid):
    noid.ids(2)
    noid("backup", "kept")
    given = noid.ids(3)
    assert "note: 3 identifiers were skipped" in noid("restore", "kept", "--skip", "3")
    assert not set(noid.ids(10)) & set(given)
    assert "what: restore" in noid("log") and "skipped 3" in noid("log")
    assert "no more are left" in noid("restore", "kept", "--skip", "20000")
    assert "at most 100000000 can be skipped" in noid.refused("restore", "kept", "--skip", "99999999999999999")


def test_a_restore_tells_how_many_were_drawn_after_the_backup(noid):
    noid.ids(2)
    noid("backup", "kept")
    noid.ids(3)
    assert "drawn 3 more, which it will mint again: restore again with --skip 3" in noid("restore", "kept")
    noid("restore", "kept", "--skip", "3")
    assert "1 identifier was skipped and will not be minted; the minter that was replaced had drawn 2 more" in (
        noid("restore", "kept", "--skip", "1"))
    assert noid("restore", "kept", "--skip", "3").endswith("3 identifiers were skipped and will not be minted\n\n")


@pytest.mark.only("lmdb")
def test_the_restore_of_a_damaged_minter_tells_that_it_is_not_known_how_many_were_drawn(noid):
    noid("backup", "kept")
    data_file(noid).write_bytes(b"")
    assert "restore again with --skip N" in noid("restore", "kept")


def test_a_restore_names_the_tokens_that_have_to_be_ended_again(noid):
    noid("token", "new", "kept", "--may", "mint")
    noid("token", "new", "lost", "--may", "mint")
    noid("backup", "old")
    noid("token", "revoke", "lost")
    said = noid("restore", "old")
    assert "revoked anew: lost\n" in said
    noid("token", "revoke", "lost")
    noid("backup", "new")
    assert "revoked" not in noid("restore", "new")


def test_labels_of_time_need_no_skipping(tmp_path):
    noid = Noid(tmp_path)
    noid("dbcreate", "--scheme", "pilin", "--prefix", "102.100.272")
    before = noid.ids(1)
    noid("backup", "kept")
    after = noid.ids(1)
    assert "nothing needs to be skipped" in noid("restore", "kept", "--skip", "5")
    assert not {*before, *after} & set(noid.ids(1))


@pytest.mark.parametrize("damage", ["empty", "garbage", "short", "missing", "other"])
def test_what_is_no_backup_is_refused_and_the_minter_left_as_it_was(noid, damage):
    noid.ids(3)
    noid("-", stdin=b"".join(b"bind set kt%04d e %s\n" % (n, b"v" * 3000) for n in range(60)))
    noid("backup", "kept")
    kept = noid.folder / "kept" / "data.mdb"
    if damage == "empty":
        kept.write_bytes(b"")
    elif damage == "garbage":
        kept.write_bytes(os.urandom(50_000))
    elif damage == "short":
        os.truncate(kept, kept.stat().st_size - 40_960)
    elif damage == "missing":
        kept.unlink()
    else:
        kept.unlink()
        with lmdb.open(str(noid.folder / "kept")) as environment, environment.begin(write=True) as txn:
            txn.put(b"a", b"b")
    noid.refused("restore", "kept", status=1)
    assert noid.ids(1) == ["kt0003"]
    assert sorted(os.listdir(noid.folder)) == ["NOID", "kept"]


def test_a_backup_never_overwrites(noid):
    noid("backup", "kept")
    assert "exists already" in noid.refused("backup", "kept")


# -- restores at the same time, and sources in use -------------------------------------------------------------------


ACTOR = Actor(b"test", b"python")


def minted(minter: Minter, count: int) -> list[bytes]:
    return [identifier for ids in mint(minter, ACTOR, count, MintOptions()) for identifier in ids]


@pytest.mark.only("lmdb")
def test_a_restored_file_says_that_it_was_written_in_its_folder_and_one_moved_in_does_not(noid):
    """By which both are told apart if the new folder has got the number of one that was deleted."""
    noid.ids(1)
    noid("backup", "kept")
    noid("restore", "kept")
    assert is_in_place(str(noid.folder / "NOID"))
    for source in (noid.folder / "kept" / "data.mdb", data_file(noid)):
        move_in(noid, source)
        assert not is_in_place(str(noid.folder / "NOID"))
        noid("restore", str(data_file(noid)))
    os.truncate(data_file(noid), 8192)
    assert not is_in_place(str(noid.folder / "NOID"))


@pytest.mark.parametrize("exists", [False, True])
def test_several_restores_at_once_in_one_process_do_not_disturb_each_other(noid, tmp_path, exists):
    noid.ids(5)
    noid("backup", "kept")
    other = Noid(tmp_path / "other")
    if exists:
        other("dbcreate", "xx.sdddd")
    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(restore, str(other.folder), str(noid.folder / "kept"), ACTOR) for _ in range(4)]
    refusals = [error for error in (run.exception() for run in runs) if error is not None]
    assert all(isinstance(error, ConflictError) for error in refusals), refusals
    assert len(refusals) == (0 if exists else 3)
    assert other.ids(1) == ["kt0005"] and "nothing is wrong" in other("check")
    assert not list(other.folder.glob(".NOID*"))


@pytest.mark.only("lmdb")
def test_a_minter_that_is_in_use_is_restored_elsewhere_between_its_writes(noid, tmp_path):
    noid.ids(1)
    other = NoidProcess(tmp_path / "other")
    other.folder.mkdir()
    minter = Minter(str(noid.folder))
    with minter.store.transaction():
        process = other.start("restore", str(noid.folder / "NOID"), stdout=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        minted(minter, 4)
    assert process.wait(60) == 0
    minter.close()
    assert other.ids(1) == ["kt0005"]


# -- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_killed_backup_or_restore_leaves_a_usable_minter(noid, noid_process, loop, command):
    noid("mint", "5000")
    noid("backup", "kept")
    for number in range(8):
        words = ["backup", f"b{number}"] if command == "backup" else ["restore", "kept"]
        process = noid_process.start(*words, stdout=subprocess.DEVNULL)
        time.sleep(0.03 + 0.018 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if command == "backup" and (noid.folder / f"b{number}").exists():
            Noid(noid.folder / f"d{number}")("restore", f"../b{number}")
        assert len(noid.ids(1)) == 1
    noid("restore", "kept")
    assert noid.ids(1) == ["kt5000"]
    assert not [name for name in os.listdir(noid.folder) if name.startswith(".NOID-new")]


@pytest.mark.only("lmdb")
def test_the_next_backup_removes_what_a_killed_restore_has_left(noid):
    noid("backup", "kept")
    assert run_killed(noid.folder, RENAMES, 1, "restore", "kept") == -signal.SIGKILL
    (left,) = noid.folder.glob(".NOID-new-*")
    assert (left / "data.mdb").exists()
    noid("backup", "next")
    assert not left.exists() and noid.ids(1) == ["kt0000"]


# -- all minters of a folder -----------------------------------------------------------------------------------------


@pytest.fixture
def night(tmp_path: Path):
    """Two minters, and a function that backs both up at a time."""
    noid = Noid(tmp_path)
    for name in ("ab", "cd"):
        (tmp_path / "minters").mkdir(exist_ok=True)
        noid("-f", f"minters/{name}", "dbcreate", f"{name}.sdd")

    def back_up(day: int, *words: str) -> subprocess.CompletedProcess[bytes]:
        (tmp_path / "clock").write_text(str(1_800_000_000 + day * 86_400))
        return noid.run("backup", "--minters", "minters", "backups", *words,
                        env={"NOIDTOOLS_CLOCK": str(tmp_path / "clock")})

    return back_up


def kept(tmp_path: Path, name: str) -> list[str]:
    return sorted(path.name for path in (tmp_path / "backups" / name).iterdir())


def test_every_minter_of_a_folder_is_backed_up_and_old_backups_go(night, tmp_path):
    noid = Noid(tmp_path)
    for day in (0, 1, 14):
        assert night(day).returncode == 0
    assert kept(tmp_path, "ab") == kept(tmp_path, "cd") == ["20270115080000", "20270116080000", "20270129080000"]
    noid("-f", "minters/ab", "mint", "3")
    done = night(15, "--keep", "14d")
    assert done.returncode == 0 and done.stdout.count(b"removed: 1 older backup\n") == 2, done
    assert kept(tmp_path, "ab") == ["20270116080000", "20270129080000", "20270130080000"]
    assert "Drawn: 3" in noid("-f", "drill", "restore", "backups/ab/20270130080000")


@pytest.mark.only("lmdb")
def test_the_backups_of_a_minter_stay_while_no_new_one_can_be_made(night, tmp_path):
    night(0)
    data = tmp_path / "minters" / "ab" / "NOID" / "data.mdb"
    whole = data.read_bytes()
    data.write_bytes(whole[:100])
    done = night(30, "--keep", "1d")
    assert done.returncode == 1 and b"minter: ab\nerror: " in done.stdout, done
    assert kept(tmp_path, "ab") == ["20270115080000"] and kept(tmp_path, "cd") == ["20270214080000"]
    data.write_bytes(whole)


def test_what_killed_backups_left_is_removed_and_other_things_stay(night, tmp_path):
    night(0)
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True, text=True).stdout.strip()
    folder = tmp_path / "backups" / "ab"
    for name in (f".20270116080000-new-{ended}", f".20270115080000-old-{ended}", ".snapshot", "notes", "2026"):
        (folder / name).mkdir()
    assert night(40, "--keep", "1d").returncode == 0
    assert kept(tmp_path, "ab") == [".snapshot", "2026", "20270224080000", "notes"]


@pytest.mark.parametrize("words", [("--keep", "14"), ("--keep", "0"), ("--keep", "two weeks"), ("--keep", "-1d")])
def test_a_time_that_is_none_is_refused_and_nothing_is_done(night, tmp_path, words):
    done = night(0, *words)
    assert done.returncode == 2 and b"such as 14d or 48h" in done.stderr
    assert not (tmp_path / "backups").exists()
