"""Backup and restore of a minter that is being served, by FastCGI workers and by the threads of one process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from support.http import ids_in
from support.minter import create_in_child
from support.process import NoidProcess, script_command, script_environment, wait_until
from support.served import Served

pytestmark = pytest.mark.slow


class Service:
    """A server, however it is reached, and the minter that it serves."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served = served
        self.noid = NoidProcess(folder)
        self.data = folder / "NOID" / "data.mdb"

    def ask(self, query: str) -> tuple[int, bytes]:
        if isinstance(self.served.address, tuple):
            return self.served.http("GET", f"/noidu_kt5?{query}")
        status, _, body = self.served.fastcgi(query)
        return status, body

    def target(self) -> bytes:
        status, body = self.ask("get+kt0000+_t")
        assert status == 200, body
        return body.strip()

    def drawn(self) -> int:
        return int(self.noid("dbinfo").partition("Drawn: ")[2].split()[0])


@pytest.fixture(params=["fcgi", "http"])
def service(request, tmp_path):
    create_in_child(tmp_path / "kt5", "kt.sdddd")
    words = (("--fcgi", str(tmp_path / "noid.sock"), "--workers", "2") if request.param == "fcgi" else
             ("--http", "127.0.0.1:0", "--user", "alice", "--threads", "4"))
    log = tmp_path / "log"
    served = Served.start(log, "serve", "--minters", str(tmp_path), *words, cwd=tmp_path)
    yield Service(served, tmp_path / "kt5")
    served.stop()
    assert "Traceback" not in log.read_text()


class Clients:
    """Four clients that go on asking: when each of them asked, and the answer."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.answers: list[tuple[float, object]] = []
        self._ask = ask
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(4)]

    def _run(self) -> None:
        while not self._stopping.is_set():
            asked = time.monotonic()
            self.answers.append((asked, self._ask()))
            time.sleep(0.03)

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def test_every_worker_and_thread_notices_a_restore_within_a_second(engine, service):
    service.noid.ids(1)
    service.noid("bind", "set", "kt0000", "_t", "before")
    service.noid("backup", "kept")
    service.noid("bind", "set", "kt0000", "_t", "after")
    with Clients(service.target) as clients:
        wait_until(lambda: len(clients.answers) > 8, 60)
        service.noid("restore", "kept")
        restored = time.monotonic()
        wait_until(lambda: len([asked for asked, _ in clients.answers if asked > restored + 1]) > 8, 60)
    assert clients.answers[0][1] == b"after"
    assert {answer for asked, answer in clients.answers if asked > restored + 1} == {b"before"}


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("service", ["fcgi"], indirect=True)
def test_an_old_data_file_moved_under_a_service_loses_nothing_and_mints_nothing_twice(service, tmp_path):
    old = NoidProcess(tmp_path / "old")
    old.folder.mkdir()
    old("dbcreate", "kt.sdddd")
    old.ids(50)
    minted = [name for _ in range(3) for name in ids_in(service.ask("mint+1")[1])]
    assert len(minted) == 3
    shutil.copy(old.folder / "NOID" / "data.mdb", tmp_path / "moved")
    os.replace(tmp_path / "moved", service.data)
    for _ in range(6):
        status, body = service.ask("mint+5")
        assert status == 503 and b"id:" not in body
    assert "noid restore" in service.noid.refused("mint", "1")
    service.noid("restore", str(old.folder / "NOID"))
    given = [name for _ in range(4) for name in ids_in(service.ask("mint+5")[1])]
    assert given == [f"kt{number:04}" for number in range(50, 70)]
    service.served.stop()
    assert service.drawn() == 70 and service.noid.ids(1) == ["kt0070"]


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("service", ["http"], indirect=True)
def test_an_old_data_file_put_into_the_emptied_folder_of_a_service_is_refused(service, tmp_path):
    assert len(ids_in(service.ask("mint+4")[1])) == 4
    shutil.copy(service.data, tmp_path / "old")
    assert len(ids_in(service.ask("mint+2")[1])) == 2
    for path in service.data.parent.iterdir():
        path.unlink()
    shutil.copy(tmp_path / "old", service.data)
    assert [service.ask("mint+1")[0] for _ in range(4)] == [503] * 4
    assert "noid restore" in service.noid.refused("mint", "1")
    service.noid("restore", str(service.data), "--skip", "2")
    assert ids_in(service.ask("mint+1")[1]) == ["kt0006"]


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("service", ["fcgi"], indirect=True)
def test_a_data_file_overwritten_in_place_is_not_continued_from_another_state(service, tmp_path):
    assert len(ids_in(service.ask("mint+1")[1])) == 1
    old = service.data.read_bytes()
    for _ in range(5):
        assert len(ids_in(service.ask("mint+1")[1])) == 1
    with open(service.data, "r+b") as file:
        file.write(old)
    status, body = service.ask("mint+1")
    assert status == 503 and b"id:" not in body, body


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("service", ["http"], indirect=True)
def test_a_compacted_copy_moved_under_a_service_is_refused_and_can_be_restored(service, tmp_path):
    service.noid.ids(3)
    service.noid("bind", "set", "kt0000", "_t", "kept")
    assert service.target() == b"kept"
    (tmp_path / "compact").mkdir()
    with lmdb.open(str(service.data.parent), readonly=True, max_readers=1024) as environment:
        environment.copy(str(tmp_path / "compact"), compact=True)
    shutil.copy(tmp_path / "compact" / "data.mdb", tmp_path / "moved")
    os.replace(tmp_path / "moved", service.data)
    assert [service.ask("mint+1")[0] for _ in range(4)] == [503] * 4
    service.noid("restore", str(tmp_path / "compact"))
    assert [service.target() for _ in range(6)] == [b"kept"] * 6
    assert ids_in(service.ask("mint+1")[1]) == ["kt0003"]


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_a_restore_that_is_killed_between_its_steps_leaves_a_minter_that_works(tmp_path, place):
    noid = NoidProcess(tmp_path / "kt5")
    noid.folder.mkdir()
    noid("dbcreate", "kt.sdddd")
    noid.ids(2)
    noid("backup", "kept")
    noid.ids(3)
    done = subprocess.run(script_command("restore_killed", place, "kept"), cwd=noid.folder, env=script_environment(),
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done
    # Before the old folder is taken away nothing has happened to the minter, and then everything.
    assert noid.ids(1) == (["kt0005"] if place == "before" else ["kt0002"])
    assert "Replaced: " in noid("restore", "kept", "--skip", "4")
    assert noid.ids(1) == ["kt0006"]
    assert not [name for name in os.listdir(noid.folder) if name.startswith(".")]
