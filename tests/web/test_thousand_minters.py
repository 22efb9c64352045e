"""A thousand minters in one folder, served by threads: no failure, and few open files."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.store import base
from noidtools.store.lmdb.store import LmdbStore
from noidtools.web.site import Site
from support.minter import Noid
from support.wsgi import ResolverClient

pytestmark = pytest.mark.slow

COUNT, THREADS, SECONDS = 1000, 6, 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thousand")
    first = Noid.created(folder / "m0", ".sddd")
    first.set_target("000", "https://target.example/")
    first.close()
    _age(folder / "m0")
    for number in range(1, COUNT):
        shutil.copytree(folder / "m0", folder / f"m{number}")
    return folder


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_thousand_minters_are_served_by_threads_with_few_open_files(folder):
    site = Site(MinterFolder(str(folder)))
    before, most = open_files(), 0
    wrong: list[object] = []
    served = [0] * THREADS
    deadline = time.monotonic() + SECONDS

    def ask(number: int) -> None:
        nonlocal most
        dice, web = random.Random(number), ResolverClient(site)
        while time.monotonic() < deadline or served[number] < 50:
            chosen = dice.randrange(COUNT)
            answers = [(web(f"/noidu_m{chosen}?get+000+_t"), 200), (web("/000"), 302)]
            if number == 0 and served[0] % 200 == 0:
                answers.append((web("/healthz"), 200))  # this reads them all
            wrong.extend((answer.status, answer.text[:200]) for answer, status in answers if answer.status != status)
            served[number] += 1
            most = max(most, open_files() - before)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and min(served) >= 50
    # Each open store has at most three files; those in which a transaction is open come on top.
    assert most <= 3 * (base.MOST_OPEN + 2 * THREADS)


@pytest.mark.only("lmdb")
def test_a_name_that_no_minter_claims_opens_none_of_them_again(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "MOST_OPEN", 2)
    dbdirs = [tmp_path / f"m{letter}" for letter in "bcdfgh"]
    for dbdir in dbdirs:
        Noid.created(dbdir, f"{dbdir.name}.sdd", "long", "13030", "a", "b").close()
        _age(dbdir)
    minters = MinterFolder(str(tmp_path))
    web = ResolverClient(Site(minters))
    assert web("/nonsense").status == 404
    opened = opened_stores(monkeypatch)
    assert [web(f"/nonsense{number}").status for number in range(20)] == [404] * 20
    assert opened == []
    noid = Noid(dbdirs[3])
    noid.set_target(noid.mint()[0], "https://target.example/")
    noid("alias", "nonsense7", "13030/mf00")
    noid("resolver", "fallback", "https://elsewhere.example/")
    noid.close()
    for _ in range(2):
        assert web("/nonsense7").headers["location"] == "https://target.example/"
        assert web("/nonsense8").headers["location"] == "https://elsewhere.example/nonsense8"
        _age(dbdirs[3])


def _age(dbdir):
    """Let the last change of a database be a while ago."""
    data = dbdir / "NOID" / "data.mdb"
    if data.exists():
        changed = data.stat().st_mtime - 60
        os.utime(data, (changed, changed))


def opened_stores(monkeypatch) -> list[str]:
    """A list to which the locations of databases are added that are opened from now on."""
    opened, really_open = [], LmdbStore._open

    def open_and_note(store: LmdbStore) -> None:
        opened.append(store.location)
        really_open(store)

    monkeypatch.setattr(LmdbStore, "_open", open_and_note)
    return opened


def test_looking_for_minters_is_no_use_of_them(folder, monkeypatch):
    """A minter that is used stays open, however often the folder is looked through."""
    from noidtools.resolution.catalogue import Catalogue

    minters = MinterFolder(str(folder))
    catalogue = Catalogue(minters)
    assert len(catalogue.entries()) == COUNT
    used = minters.open(str(folder / "m7"), "m7").store
    used.read(lambda _: None)
    opened = opened_stores(monkeypatch)
    for _ in range(3):
        catalogue._refreshed = float("-inf")
        assert len(catalogue.entries()) == COUNT
    used.read(lambda _: None)
    assert used.location not in opened
