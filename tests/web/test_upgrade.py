"""A database of an earlier version goes into service under this one, and through a reload, while requests come in."""

from __future__ import annotations

import lzma
import signal
import threading
import time
from pathlib import Path

import pytest

from noidtools.minter.schema import FORMAT
from support import gateway
from support.http import ids_in
from support.minter import Noid
from support.process import NoidProcess, wait_until
from support.served import Served

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "format-1" / "data.mdb.xz"


class Client(threading.Thread):
    """Mints by FastCGI, and binds what it minted, until it is told to stop."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__()
        self._address, self._number = address, number
        self.bound: dict[str, str] = {}
        self.wrong: list[object] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            minted = self._ask("mint+1")
            for name in ids_in(minted):
                value = f"https://target.example/{self._number}/{len(self.bound)}"
                if b"ok" in self._ask(f"bind+set+{name}+_t+{value}"):
                    self.bound[name] = value

    def _ask(self, query: str) -> bytes:
        status, _, body = gateway.fastcgi(self._address, query, b"", path="/noidu_ark", user="alice")
        if status == 503 and b"try again" in body:
            return b""  # a busy machine: nothing was done
        if status != 200:
            self.wrong.append((query, status, body))
        return body


@pytest.mark.slow
def test_a_database_of_an_earlier_version_is_upgraded_under_load(tmp_path: Path) -> None:
    minters, path = tmp_path / "minters", str(tmp_path / "noid.sock")
    (minters / "ark" / "NOID").mkdir(parents=True)
    (minters / "ark" / "NOID" / "data.mdb").write_bytes(lzma.decompress(FIXTURE.read_bytes()))
    old = Noid(minters / "ark")
    format_before = [line for line in old.text("dbinfo", "dump").splitlines() if line.startswith("META/format")]
    dumped = old.text("dbinfo", "dump").splitlines()
    issued_before = {line for line in dumped if line.startswith("IDS/")}
    queued_before = {line.split(":")[0].replace("QUEUED/", "IDS/") for line in dumped if line.startswith("QUEUED/")}
    old.close()
    served = Served.start(tmp_path / "log", "serve", "--minters", minters, "--fcgi", path, "--workers", "2")
    clients = [Client(path, number) for number in range(3)]
    try:
        for client in clients:
            client.start()
        for _ in range(2):
            time.sleep(0.4)
            served.process.send_signal(signal.SIGHUP)
        # Meanwhile somebody works at the shell.
        shell = NoidProcess(minters)("-f", "ark", "mint", "20")
        wait_until(lambda: sum(len(client.bound) for client in clients) > 20, 30)
    finally:
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
        served.stop()
    assert not any(client.wrong for client in clients), [client.wrong[:3] for client in clients]
    bound = {name: value for client in clients for name, value in client.bound.items()}
    minted = [*bound, *ids_in(shell.encode())]
    assert len(bound) > 20 and sum(len(client.bound) for client in clients) == len(bound)
    assert len(set(minted)) == len(minted)
    after = Noid(minters / "ark")
    for name, value in bound.items():
        assert after.text("get", name, "_t") == f"{value}\n"
    # Nothing that the old release had issued was minted again, and all of it is there.
    known = {line.split(":")[0] for line in issued_before}
    assert not (known - queued_before) & {f"IDS/{name.removeprefix('ark:/')}" for name in minted}
    dumped = after.text("dbinfo", "dump").splitlines()
    assert known <= {line.split(":")[0] for line in dumped if line.startswith("IDS/")}
    # The format is the same, so that the old release does not refuse the database.
    assert [line for line in dumped if line.startswith("META/format")] == format_before and FORMAT == 1
    after.close()
