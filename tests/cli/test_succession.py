"""Sites, bundles and departures among processes: while others mint, and if one is killed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.killed import RENAMES, run_killed
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


@pytest.mark.parametrize("step", [1, 2, 3, 5, 9, 14])
def test_a_killed_export_is_finished_by_the_next_one(tmp_path, step):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    names = minter.ids(8)
    site = tmp_path / "site"
    minter("export", "--site", str(site))
    for name in names:
        minter("bind", "set", name, "_t", "https://a.example/")
    minter("reserve", names[0])
    minter.close()
    assert run_killed(tmp_path / "m", RENAMES, step, "export", "--site", str(site)) == -9
    minter("export", "--site", str(site))
    verified(site)
    minter("export", "--site", str(tmp_path / "other"))
    assert sorted(path.relative_to(site) for path in site.rglob("*")) == sorted(
        path.relative_to(tmp_path / "other") for path in (tmp_path / "other").rglob("*"))
    minter.close()


@pytest.mark.parametrize("step", range(1, 5))
def test_a_killed_succession_leaves_no_minter_or_a_complete_one(tmp_path, step):
    minter = Noid.created(tmp_path / "m", *LONG_TERM)
    minter.ids(3)
    minter("depart", "The new library", "--to", "https://new.example/")
    minter("bundle", str(tmp_path / "names.tar"))
    minter.close()
    (tmp_path / "new").mkdir()
    run_killed(tmp_path / "new", RENAMES, step, "succeed", str(tmp_path / "names.tar"))
    successor = Noid(tmp_path / "new")
    if not (tmp_path / "new/NOID").exists():
        successor("succeed", str(tmp_path / "names.tar"))
    assert len(successor.ids(1)) == 1 and "nothing is wrong" in successor("check")
    assert sorted(os.listdir(tmp_path / "new")) == ["NOID", "errors"]
    successor.close()


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
