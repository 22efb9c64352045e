"""`noid copy`: whole minters to other folders and engines, while processes use them and when it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from noidtools.errors import ConflictError, StoreError
from noidtools.minter.copying import copy_minter
from noidtools.minter.events import Actor
from noidtools.store.sql_tables import TABLES
from support.killed import COMMITS, RENAMES, every_kill, run_killed
from support.minter import Noid
from support.noidr import NoidrProcess
from support.postgres import postgres_address, shared_server
from support.process import NOID, NoidProcess, wait_until
from support.served import Served

pytestmark = [pytest.mark.only("lmdb"), pytest.mark.slow]


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a minter that has a little of everything, in its subfolder a."""
    noid = Noid(tmp_path_factory.mktemp("template"))
    (noid.folder / "a").mkdir()
    noid("-f", "a", "dbcreate", "kt.sdddddd")
    noid("-f", "a", "-", stdin=b"mint 30\npeppermint 1\nbind set kt000000 _t https://a.example/\nqueue first kt000003\n"
         b"hold set kt000004\nalias other kt000000\nwithdraw kt000005\nnote n v\nbind set :idmap/^x e y\n"
         + b"bind set kt000001 long %s\n" % (b"v" * 100_000) + b"bind set kt000002 %s v\n" % (b"k" * 3000))
    return noid.folder


@pytest.fixture
def noid(template: Path, tmp_path: Path) -> Noid:
    """The command in this process, in a folder with a copy of that minter."""
    shutil.copytree(template / "a", tmp_path / "a")
    return Noid(tmp_path)


def dump(noid: Noid, folder: str) -> list[str]:
    """All that is stored but the events, of which a copy has one more."""
    return [line for line in noid("-f", folder, "dbinfo", "dump").splitlines() if not line.startswith("EVENTS/")]


def ids(text: str) -> list[str]:
    return [line[4:] for line in text.splitlines() if line.startswith("id: ")]


def moved(printed: str) -> Path:
    (path,) = [line.removeprefix("Moved: ") for line in printed.splitlines() if line.startswith("Moved: ")]
    return Path(path)


def test_a_copy_holds_everything_and_says_that_both_would_mint_the_same(noid):
    printed = noid("copy", "a", "b")
    assert printed.startswith("ok: ") and "items copied and compared\n" in printed and "note: both are" in printed
    assert dump(noid, "a") == dump(noid, "b") and os.listdir(noid.folder / "b") == ["NOID"]
    assert (noid.folder / "b/NOID/README").read_bytes() == (noid.folder / "a/NOID/README").read_bytes()
    assert "nothing is wrong" in noid("-f", "b", "check")
    assert ids(noid("-f", "b", "mint", "3")) == ids(noid("-f", "a", "mint", "3"))
    assert "what: copy\n" in noid("-f", "b", "log")


def test_a_moved_minter_is_no_longer_where_it_was(noid):
    kept = moved(noid("copy", "a", "b", "--move"))
    assert kept.parent == noid.folder / "a" and (kept / "data.mdb").exists()
    assert noid.refused("-f", "a", "mint", "1") == f"there is no minter in a/NOID: it was moved to {noid.folder}/b/NOID"
    assert ids(noid("-f", "b", "mint", "2")) == ["kt000003", "kt000031"]


def test_no_other_minter_takes_the_place_of_one_that_was_moved(noid):
    noid("-f", "a", "backup", "backup")
    (noid.folder / "export").write_text(noid("-f", "a", "export", "jsonl", "--history"))
    kept = moved(noid("copy", "a", "b", "--move"))
    for words in (("restore", "backup"), ("restore", str(kept)), ("import", "jsonl", "export"),
                  ("dbcreate", "kt.rdddddd")):
        refusal = noid.refused("-f", "a", *words)
        assert f"was moved to {noid.folder}/b/NOID" in refusal, words
    assert "remove a/NOID.moved" in noid.refused("-f", "a", "restore", "backup")
    assert not (noid.folder / "a/NOID").exists()
    (noid.folder / "a/NOID.moved").unlink()
    noid("-f", "a", "restore", str(kept))
    assert ids(noid("-f", "a", "mint", "1")) == ["kt000003"]


def test_a_minter_can_be_moved_back_and_restored_there(noid):
    noid("-f", "a", "backup", "backup")
    noid("copy", "a", "b", "--move")
    noid("copy", "b", "a", "--move")
    assert "was moved" in noid.refused("-f", "b", "restore", "backup")
    noid("-f", "a", "restore", "backup")
    assert ids(noid("-f", "a", "mint", "1")) == ["kt000003"]


def test_nothing_is_overwritten_and_a_refused_copy_leaves_nothing(noid):
    noid("copy", "a", "b")
    assert "exists already" in noid.refused("copy", "a", "b")
    assert "there is no minter in none" in noid.refused("copy", "none", "c")
    assert "cannot be made" in noid.refused("copy", "a", "no/such/folder")
    assert "database server" in noid.refused("copy", "a", "c", "--store", "http://x.example/")
    assert sorted(os.listdir(noid.folder)) == ["a", "b"] and os.listdir(noid.folder / "a") == ["NOID"]


def test_of_copies_to_one_folder_at_once_in_one_process_one_is_made(noid):
    def copy() -> None:
        copy_minter(str(noid.folder / "a"), str(noid.folder / "b"), Actor(b"test", b"python"))

    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(copy) for _ in range(4)]
    refusals = [error for error in (run.exception() for run in runs) if error is not None]
    assert [type(error) for error in refusals] == [ConflictError] * 3, refusals
    assert dump(noid, "a") == dump(noid, "b") and os.listdir(noid.folder / "b") == ["NOID"]


def test_a_copy_in_place_keeps_the_permissions(noid):
    (noid.folder / "a/NOID").chmod(0o2770)
    (noid.folder / "a/NOID/data.mdb").chmod(0o660)
    noid("copy", "a", "a")
    new = noid.folder / "a/NOID"
    assert new.stat().st_mode & 0o7777 == 0o2770 and (new / "data.mdb").stat().st_mode & 0o777 == 0o660


@pytest.mark.slow
def test_what_is_changed_while_it_is_copied_is_copied_too(noid):
    """Many copies in place, while others mint: none gets an identifier twice, and none that was given is unknown."""
    script = 'while [ ! -e stop ]; do "$@" -f a mint 7; done'
    outputs = [(noid.folder / f"out{number}").open("w+b") for number in range(2)]
    minters = [subprocess.Popen(["sh", "-c", script, "sh", *NOID], cwd=noid.folder, stdout=output,
                                stderr=subprocess.PIPE) for output in outputs]
    loop = NoidrProcess("-f", str(noid.folder / "a"))
    for turn in range(3):
        size = sum(Path(output.name).stat().st_size for output in outputs)
        wait_until(lambda: sum(Path(output.name).stat().st_size for output in outputs) > size)  # noqa: B023
        noid("copy", "a", "a")
        noid("-f", "a", "bind", "set", "kt000000", "_t", f"https://{turn}.example/")
        wait_until(lambda: loop.ask(b"kt000000") == b"https://%d.example/" % turn, 2)  # noqa: B023
    assert loop.end() == 0
    (noid.folder / "stop").touch()
    for minter in minters:
        assert minter.communicate(timeout=30)[1] == b""
    given = []
    for output in outputs:
        output.seek(0)
        given += ids(output.read().decode())
        output.close()
    assert len(given) == len(set(given)) > 20
    assert "nothing is wrong" in noid("-f", "a", "check")
    known = {line.split("/", 1)[1].split(":")[0] for line in dump(noid, "a") if line.startswith("IDS/")}
    assert set(given) <= known and len(os.listdir(noid.folder / "a")) == 4


def minters(folder: Path) -> dict[str, str]:
    """What the examination of both folders says, and whether another minter can be made there."""
    noid, found = Noid(folder), {}
    for name in ("a", "b"):
        (folder / name).mkdir(exist_ok=True)
        sound = noid.run("-f", name, "check").returncode == 0
        found[name] = "sound" if sound else noid.refused("-f", name, "mint", "1")
    return found


def copies_of(template: Path, tmp_path: Path) -> Iterator[Path]:
    for number in count():
        shutil.copytree(template / "a", tmp_path / str(number) / "a")
        yield tmp_path / str(number)


@pytest.mark.parametrize(("kind", "stride"), [(RENAMES, 1), (COMMITS, 11)])
def test_a_killed_move_leaves_one_minter_or_says_how_to_finish_it_and_the_same_command_does(
    template, tmp_path, kind, stride
):
    made = copies_of(template, tmp_path)
    for folder in every_kill(lambda: next(made), kind, "copy", "a", "b", "--move", stride=stride):
        noid, found = Noid(folder), minters(folder)
        sound = [name for name, said in found.items() if said == "sound"]
        assert len(sound) <= 1
        assert sound or "again to finish it" in found["a"], found
        if (folder / "a" / "NOID").exists():
            refusal = noid.refused("-f", "a", "dbcreate", "kt.sdddddd")
            assert "exists already" in refusal or "was moved to" in refusal
            noid("copy", "a", "b", "--move")
        assert minters(folder)["b"] == "sound" and f"moved to {folder}/b/NOID" in noid.refused("-f", "a", "mint", "1")
        assert ids(noid("-f", "b", "mint", "2")) == ["kt000003", "kt000031"]
        assert os.listdir(folder / "b") == ["NOID"]
        shutil.rmtree(folder)


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_copy_killed_at_any_renaming_leaves_the_minter_and_can_be_made_again(template, tmp_path, target):
    made = copies_of(template, tmp_path)
    for folder in every_kill(lambda: next(made), RENAMES, "copy", "a", target):
        noid = Noid(folder)
        assert "nothing is wrong" in noid("-f", "a", "check")
        if target == "a" or not (folder / "b" / "NOID").exists():
            noid("copy", "a", target)
        assert "nothing is wrong" in noid("-f", target, "check")
        assert ids(noid("-f", target, "mint", "2")) == ["kt000003", "kt000031"]
        assert not [name for name in os.listdir(folder / target) if name.startswith(".")]


def test_a_move_that_was_not_begun_is_forgotten_and_another_folder_can_be_chosen(noid):
    noid.close()
    assert run_killed(noid.folder, RENAMES, 2, "copy", "a", "b", "--move") == -signal.SIGKILL
    assert "nothing is wrong" in noid("-f", "a", "check")
    noid("copy", "a", "c", "--move")
    assert "nothing is wrong" in noid("-f", "c", "check")


def test_a_minter_whose_move_was_interrupted_is_not_moved_elsewhere_but_can_be_restored(template, tmp_path):
    made = copies_of(template, tmp_path)
    for folder in every_kill(lambda: next(made), COMMITS, "copy", "a", "b", "--move"):
        noid = Noid(folder)
        if noid.run("-f", "a", "mint", "1").returncode:
            break
    for words in (("copy", "a", "c", "--move"), ("copy", "a", "c")):
        assert "was moved to" in noid.refused(*words)
    noid("-f", "a", "restore", "a/NOID/data.mdb")
    assert "nothing is wrong" in noid("-f", "a", "check")


def test_those_who_had_the_minter_open_are_told_that_it_was_moved(noid):
    process = NoidProcess(noid.folder).start("-f", "a", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"mint 1\n")
    process.stdin.flush()
    noid.close()
    noid("copy", "a", "b", "--move")
    printed, _ = process.communicate(b"mint 1\n", timeout=30)
    given = ids(printed.decode())
    assert len(given) <= 2 and not set(given) & set(ids(noid("-f", "b", "mint", "2")))


# -- to a database server and back -----------------------------------------------------------------------------------


@pytest.mark.servers
def test_a_living_minter_moves_to_a_database_server_and_back(noid, tmp_path):
    """Processes that have it open refuse to go on, and use it after a restart."""
    noid("copy", "a", "kept")

    def start() -> tuple[Served, NoidrProcess]:
        # One worker: another one might not have opened the minter yet.
        return (Served.start(tmp_path / "log", "serve", "--minters", str(noid.folder), "--http", "127.0.0.1:0",
                             "--workers", "1"),
                NoidrProcess("-f", str(noid.folder / "a")))

    def end(served: Served, loop: NoidrProcess) -> None:
        loop.close()
        served.stop()

    served, loop = start()
    try:
        assert loop.ask(b"kt000000") == b"https://a.example/"
        assert served.get("/noidu_a?get+kt000000+_t").status == 200
        aside = moved(noid("copy", "a", "a", "--store", postgres_address()))
        assert (aside / "data.mdb").exists() and sorted(os.listdir(noid.folder / "a/NOID")) == ["README", "engine"]
        assert dump(noid, "a") == dump(noid, "kept")
        refused = served.get("/noidu_a?get+kt000000+_t")
        assert refused.status == 503
        end(served, loop)
        served, loop = start()
        assert loop.ask(b"kt000000") == b"https://a.example/"
        assert ids(noid("-f", "a", "mint", "2")) == ["kt000003", "kt000031"]
        assert "nothing is wrong" in noid("-f", "a", "check")
        moved(noid("copy", "a", "a"))
        assert "data.mdb" in os.listdir(noid.folder / "a/NOID")
        assert ids(noid("-f", "a", "mint", "1")) == ["kt000032"]
        assert "nothing is wrong" in noid("-f", "a", "check")
    finally:
        end(served, loop)


@pytest.mark.servers
@pytest.mark.parametrize("words", [("a", "a"), ("a", "elsewhere", "--move")])
def test_other_machines_do_not_find_a_minter_that_was_moved_out_of_the_database(noid, words):
    moved(noid("copy", "a", "a", "--store", postgres_address()))
    shutil.copytree(noid.folder / "a", noid.folder / "other machine")
    assert ids(noid("-f", "other machine", "mint", "1")) == ["kt000003"]
    aside = moved(noid("copy", *words))
    assert "has no minter 'a-" in noid.refused("-f", "other machine", "mint", "1")
    assert ids(noid("-f", words[1], "mint", "1")) == ["kt000031"]
    # It is kept where the answer says, but nobody mints there.
    (noid.folder / "kept").mkdir()
    aside.rename(noid.folder / "kept" / "NOID")
    assert "was moved to" in noid.refused("-f", "kept", "mint", "1")


@pytest.mark.servers
def test_a_minter_that_cannot_be_moved_after_all_is_used_as_before(noid, monkeypatch):
    moved(noid("copy", "a", "a", "--store", postgres_address()))

    def fail(*_: object, **__: object) -> str:
        raise StoreError("it cannot be exchanged")

    monkeypatch.setattr("noidtools.minter.copying.replace_store", fail)
    before = names_in_database()
    assert noid.refused("copy", "a", "a") == "it cannot be exchanged"
    assert noid.refused("copy", "a", "a", "--store", postgres_address()) == "it cannot be exchanged"
    assert names_in_database() == before and sorted(os.listdir(noid.folder / "a")) == sorted(
        ["NOID", *(name for name in os.listdir(noid.folder / "a") if name.startswith("NOID-moved-"))])
    assert ids(noid("-f", "a", "mint", "1")) == ["kt000003"]


def names_in_database() -> list[str]:
    """The names of all minters in the shared database server."""
    shared_server().sql(TABLES)
    return shared_server().sql("SELECT name FROM noid_minters ORDER BY name").split()


@pytest.mark.servers
def test_of_two_who_create_a_minter_in_one_folder_the_second_leaves_nothing_in_the_database(noid, monkeypatch):
    rename = os.rename
    (noid.folder / "new").mkdir()

    def overtaken(source: str, target: str) -> None:
        monkeypatch.undo()
        (noid.folder / "new" / "NOID" / "x").mkdir(parents=True)
        rename(source, target)

    before = names_in_database()
    monkeypatch.setattr("noidtools.store.folders.os.rename", overtaken)
    assert "another process created it just now" in noid.refused("-f", "new", "dbcreate", ".sd", "--store",
                                                                 postgres_address())
    assert names_in_database() == before
