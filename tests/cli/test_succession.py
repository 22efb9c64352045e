"""Sites, bundles and departures among processes: while others mint, and if one is killed."""

from __future__ import annotations

import os
import subprocess
from itertools import count
from pathlib import Path

import pytest

from noidtools.errors import ConflictError
from noidtools.minter import Minter
from noidtools.minter.departure import depart
from noidtools.minter.events import Actor
from noidtools.preservation.bundle import restore_bundle
from support.killed import COMMITS, RENAMES, run_killed
from support.minter import Noid
from support.process import NOID, NoidProcess, wait_until
from support.templates import LONG_TERM

pytestmark = pytest.mark.slow


def verified(site: Path) -> None:
    """Every file of a site is as its digest says."""
    for sums in (site / "SHA256SUMS", *site.glob("noid-site/data/*/*.sha256")):
        subprocess.run(["sha256sum", "--quiet", "--strict", "-c", sums.relative_to(site)], cwd=site, check=True)


def ids_in(path: Path) -> list[bytes]:
    return [line[4:] for line in path.read_bytes().splitlines() if line.startswith(b"id: ")]


class Minting:
    """A process that mints without pause, until it is refused; `path` has what it printed."""

    def __init__(self, noid: NoidProcess) -> None:
        self.path = noid.folder / "minted"
        with self.path.open("wb") as out, (noid.folder / "refusal").open("wb") as errors:
            self.process = subprocess.Popen(["sh", "-c", 'while "$@" mint 50; do :; done', "sh", *NOID],
                                            cwd=noid.folder, stdout=out, stderr=errors, start_new_session=True)
        wait_until(lambda: len(ids_in(self.path)) >= 100, seconds=60)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
        self.process.wait()


def test_a_site_is_of_one_moment_while_minting_goes_on(noid_process, tmp_path):
    noid_process("dbcreate", *LONG_TERM)
    minting = Minting(noid_process)
    try:
        noid_process("export", "--site", str(tmp_path / "site"))
        verified(tmp_path / "site")
        pages = {f"13030/{path.name}".encode() for path in (tmp_path / "site/ark:/13030").iterdir()}
        # A transaction is in it or not; those that are end where the site was read.
        order = ids_in(minting.path)
        assert len(pages) % 50 == 0 and {*order[: len(pages)]} == pages & {*order}
    finally:
        minting.stop()


def test_what_is_minted_during_a_departure_is_never_minted_again(noid_process, tmp_path):
    noid_process("dbcreate", *LONG_TERM)
    minting = Minting(noid_process)
    try:
        answer = noid_process("depart", "The new library", "--to", "https://new.example/")
        # Minting is refused from then on, so the loop ends by itself.
        wait_until(lambda: minting.process.poll() is not None, seconds=60)
    finally:
        minting.stop()
    assert b"handed over to The new library" in (noid_process.folder / "refusal").read_bytes()
    before = ids_in(minting.path)
    assert f"Last: {before[-1].decode()}\n" in answer and f"Drawn: {len(before)}\n" in answer
    noid_process("bundle", str(tmp_path / "names.tar"))
    successor = Noid(tmp_path / "new")
    successor("succeed", str(tmp_path / "names.tar"))
    after = successor.ids(500)
    assert len({*before, *(name.encode() for name in after)}) == len(before) + 500
    successor.close()


def finished(minter: Noid, site: Path) -> None:
    """The next export makes the site that a new one would be."""
    minter("export", "--site", str(site))
    verified(site)
    other = site.parent / "other"
    minter("export", "--site", str(other))
    own = ("SHA256SUMS", "noid-site/nginx-http.conf", "noid-site/nginx-server.conf", "noid-site/site.json")
    of_both = [{path.relative_to(folder): path.read_bytes() if path.is_file() and not str(path).endswith(own) else None
                for path in folder.rglob("*")} for folder in (site, other)]
    assert of_both[0] == of_both[1]
    minter.close()


@pytest.mark.parametrize("step", [1, 2, 3, 5, 9, 14, 20])
def test_a_killed_export_is_finished_by_the_next_one(tmp_path, step):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    names = minter.ids(8)
    site = tmp_path / "site"
    minter("export", "--site", str(site))
    for name in names:
        minter("bind", "set", name, "_t", "https://a.example/")
    minter("reserve", names[0])
    late = minter.ids(3)
    minter("hold", "set", "13030/with blank")
    minter("bind", "set", "13030/with blank", "_t", "https://a.example/blank")
    minter.close()
    assert run_killed(tmp_path / "m", RENAMES, step, "export", "--site", str(site)) == -9
    # What was public when the export was killed is hidden again, and what was changed is as before.
    for name in (*late, "13030/with blank"):
        minter("reserve", name)
    for name in names[1:]:
        minter("bind", "delete", name, "_t")
    finished(minter, site)


@pytest.mark.parametrize("step", [1, 2, 4, 17])
def test_a_killed_first_export_is_finished_by_the_next_one(tmp_path, step):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    minter.ids(3)
    minter.close()
    assert run_killed(tmp_path / "m", RENAMES, step, "export", "--site", str(tmp_path / "site")) == -9
    finished(minter, tmp_path / "site")


@pytest.mark.only("lmdb")
def test_a_departure_while_a_restore_waits_is_kept(tmp_path):
    """The backup is older, and the restore has begun before the departure is committed."""
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    minter("backup", str(tmp_path / "backup"))
    opened = minter.opened
    with opened.store.transaction() as writer:
        depart(opened, writer, Actor(b"me", b"test"), b"The new library", b"https://new.example/")
        restore = subprocess.Popen([*NOID, "restore", str(tmp_path / "backup")], cwd=tmp_path / "m",
                                   stdout=subprocess.DEVNULL)
        wait_until(lambda: has_open(restore.pid, "writer.lock") or restore.poll() is not None, seconds=60)
    assert restore.wait(60) == 0
    assert "handed over to The new library" in minter.refused("mint", "1")
    minter.close()


def has_open(pid: int, name: str) -> bool:
    """Whether a process has a file of this name open; no if it opens or closes one just now."""
    try:
        return any(link.readlink().name == name for link in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return False


def departed_bundle(folder: Path) -> Path:
    minter = Noid.created(folder / "m", *LONG_TERM)
    minter.ids(3)
    minter("depart", "The new library", "--to", "https://new.example/")
    minter("bundle", str(folder / "names.tar"))
    minter.close()
    return folder / "names.tar"


def test_of_two_who_succeed_at_once_in_a_folder_one_is_refused(tmp_path):
    bundle = departed_bundle(tmp_path)
    (tmp_path / "new").mkdir()
    first = NoidProcess(tmp_path / "new")
    given: list[str] = []

    def be_quicker(_: Minter) -> None:
        first("succeed", str(bundle))
        given.extend(first.ids(5))

    with pytest.raises(ConflictError, match="there is a minter"):
        restore_bundle(str(first.folder), str(bundle), Actor(b"me", b"test"), adjust=be_quicker)
    assert not set(first.ids(20)) & set(given)
    assert os.listdir(first.folder) == ["NOID"]


@pytest.mark.parametrize("step", range(1, 7))
def test_a_killed_succession_leaves_no_minter_or_a_complete_one(tmp_path, step):
    bundle = departed_bundle(tmp_path)
    (tmp_path / "new").mkdir()
    run_killed(tmp_path / "new", RENAMES, step, "succeed", str(bundle))
    successor = Noid(tmp_path / "new")
    if not (tmp_path / "new/NOID").exists():
        successor("succeed", str(bundle))
    assert len(successor.ids(1)) == 1 and "nothing is wrong" in successor("check")
    successor("backup", str(tmp_path / "backup"))
    assert sorted(os.listdir(tmp_path / "new")) == ["NOID", "errors"]
    successor.close()


@pytest.mark.parametrize("kind", [RENAMES, pytest.param(COMMITS, marks=pytest.mark.only("lmdb"))])
def test_a_killed_bundle_leaves_nothing_once_another_was_made(tmp_path, kind):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    minter.ids(3)
    minter.close()
    for step in count(1):
        done = run_killed(tmp_path / "m", kind, step, "bundle", str(tmp_path / "names.tar"))
        if done != -9:
            break
        if (tmp_path / "names.tar").exists():
            minter("bundle", "verify", str(tmp_path / "names.tar"))
    assert step > 2 and done == 0
    assert sorted(os.listdir(tmp_path)) == ["m", "names.tar"]
    minter.close()


def test_a_bundle_is_of_one_moment_while_minting_goes_on(noid_process, tmp_path):
    noid_process("dbcreate", *LONG_TERM)
    minting = Minting(noid_process)
    try:
        noid_process("bundle", str(tmp_path / "names.tar"))
    finally:
        minting.stop()
    again = Noid(tmp_path / "again")
    drawn = int(next(line for line in again("restore", str(tmp_path / "names.tar")).splitlines()
                     if line.startswith("Drawn: ")).removeprefix("Drawn: "))
    order = ids_in(minting.path)
    assert drawn % 50 == 0 and [name.encode() for name in again.ids(50)] == order[drawn : drawn + 50]
    again.close()
