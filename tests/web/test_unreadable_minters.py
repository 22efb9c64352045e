"""A minter whose database cannot be opened: 503 for its names, logged once, and a /healthz that is not ok."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from noidtools.console import OccasionalLog
from noidtools.minter.folder import MinterFolder
from noidtools.resolution import catalogue
from noidtools.web import monitoring
from noidtools.web.site import Site
from support.minter import Noid
from support.served import Served
from support.templates import LONG_TERM
from support.wsgi import ResolverClient

NAME, OTHER = "ark:/13030/kt4x551", "ark:/13031/xx4x551"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two minters, each with a bound name."""
    for name, words in (("kt5", LONG_TERM), ("xx5", ("xx.reeded", "long", "13031", "x", "y"))):
        minter = Noid.created(tmp_path / name, *words)
        minter.mint_with_target(f"https://{name}.example/")
        minter.close()
    return tmp_path


@pytest.fixture(autouse=True)
def _nothing_was_logged_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_log", OccasionalLog())


@pytest.fixture
def ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ResolverClient:
    monkeypatch.setattr(catalogue, "_REFRESH_INTERVAL", 0.0)
    monkeypatch.setattr(monitoring, "_KEPT_SECONDS", 0.0)
    monkeypatch.setattr(monitoring, "_KEPT_TIMES", 0)
    return ResolverClient(Site(MinterFolder(str(folder))))


def move_away(database: Path) -> None:
    (database / "data.mdb").rename(database / "elsewhere")


def put_back(database: Path) -> None:
    (database / "elsewhere").rename(database / "data.mdb")


@pytest.mark.only("lmdb")
def test_a_missing_database_is_503_for_its_names_and_only_for_these(folder, ask, capfd):
    assert [ask(f"/{name}").status for name in (NAME, OTHER, "healthz")] == [302, 302, 200]
    move_away(folder / "kt5" / "NOID")
    answer = ask(f"/{NAME}")
    assert answer.status == 503 and "try again later" in answer.text and str(folder) not in answer.text
    assert ask(f"/{OTHER}").status == 302
    # What it was responsible for is remembered: names of others are not found, as before.
    assert ask("/ark:/13030/kt").status == 503 and ask("/ark:/13031/xx000").status == 404
    health = ask("/healthz")
    assert health.status == 503 and "1 minters cannot be read, 1 can" in health.text
    assert ask("/noidu_kt5?dbinfo").status == 503
    log = capfd.readouterr().err
    assert log.count("\n") == 1 and "the minter kt5 cannot be read, and its names are answered 503: " in log
    put_back(folder / "kt5" / "NOID")
    assert ask(f"/{NAME}").status == 302 and ask("/healthz").text == "ok\n"
    assert capfd.readouterr().err == "noid: the minter kt5 can be read again\n"


@pytest.mark.only("lmdb")
def test_of_a_minter_that_could_never_be_read_any_name_may_be(folder, ask):
    move_away(folder / "kt5" / "NOID")
    assert ask(f"/{OTHER}").status == 302
    assert ask("/ark:/99999/nothing").status == 503


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("damage", [
    lambda database: (database / "data.mdb").write_bytes(b""),
    lambda database: (database / "data.mdb").write_bytes(b"\xff" * 8192),
    lambda database: os.truncate(database / "data.mdb", 100),
], ids=["empty", "other", "cut"])
def test_a_damaged_database_is_503(folder, ask, damage):
    damage(folder / "kt5" / "NOID")
    assert [ask(f"/{name}").status for name in (NAME, OTHER, "healthz")] == [503, 302, 503]


def test_a_folder_of_minters_that_vanishes_is_503(folder, ask):
    assert ask(f"/{NAME}").status == 302
    folder.rename(folder.parent / "away")
    try:
        assert [ask(f"/{name}").status for name in (NAME, "healthz")] == [503, 503]
    finally:
        (folder.parent / "away").rename(folder)


def test_a_minter_that_was_deleted_is_unknown(folder, ask):
    assert ask(f"/{NAME}").status == 302
    (folder / "kt5").rename(folder / ".deleted")
    assert ask(f"/{NAME}").status == 404 and ask("/healthz").status == 200


@pytest.mark.slow
@pytest.mark.only("lmdb")
def test_each_process_logs_once_that_a_minter_cannot_be_read(folder):
    served = Served.start(folder / "log", "serve", "--minters", folder, "--http", "127.0.0.1:0", "--workers", "2")
    served.until(lambda: len(served.workers) == 2)
    move_away(folder / "kt5" / "NOID")
    for _ in range(40):
        assert served.get(f"/{NAME}").status == 503
    assert served.get("/healthz").status == 503
    log = served.log.read_text()
    assert served.stop() == 0
    assert 1 <= log.count("the minter kt5 cannot be read") <= 2 and log.count("\n") <= 3, log


@pytest.mark.slow
def test_a_killed_worker_of_the_service_is_logged(folder):
    served = Served.start(folder / "log", "serve", "--minters", folder, "--http", "127.0.0.1:0", "--workers", "1")
    served.until(lambda: len(served.workers) == 1)
    (worker,) = served.workers
    os.kill(worker, signal.SIGKILL)
    served.until(lambda: served.workers not in ([], [worker]))
    served.until(lambda: "Unexpected exit from worker-1" in served.log.read_text())
    served.until(lambda: served.accepts())
    assert served.get(f"/{NAME}").status == 302
    assert served.log.read_text().count("\n") == 2
    assert served.stop() == 0
