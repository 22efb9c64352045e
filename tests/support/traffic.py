"""Clients that mint and bind without pause, through FastCGI and the shell, and remember what was acknowledged."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from noidtools.minter import Minter
from noidtools.minter.circulation import value_of
from noidtools.minter.schema import IDS
from support import gateway
from support.process import NOID
from support.served import Served

# Longer than any request may take.
_PATIENCE = 150


class Traffic:
    """Six clients of one minter: four of a FastCGI server with two processes, and two that start the shell's program.

    minted  identifiers that were given, each with the time
    bound   targets whose binding was acknowledged, by identifier
    """

    def __init__(self, dbdir: Path, folder: Path) -> None:
        self.dbdir = dbdir
        self.minted: list[tuple[float, str]] = []
        self.bound: dict[str, str] = {}
        self.refused: Counter[str] = Counter()
        self._stop = threading.Event()
        self._server = Served.start(folder / "serve.log", "-f", str(dbdir), "serve", "--workers", "2", "--fcgi",
                                    str(folder / "fcgi.sock"), cwd=folder)
        clients = [self._by_fastcgi] * 4 + [self._by_shell] * 2
        self._threads = [threading.Thread(target=self._run, args=(client,)) for client in clients]
        for thread in self._threads:
            thread.start()

    def _run(self, client: object) -> None:
        assert callable(client)
        while not self._stop.is_set():
            identifier = client("mint", "1").partition("id: ")[2].strip()
            if not identifier:
                time.sleep(0.05)
                continue
            self.minted.append((time.monotonic(), identifier))
            target = f"https://example.org/{identifier}"
            if "ok" in client("bind", "set", identifier, "_t", target):
                self.bound[identifier] = target

    def _by_fastcgi(self, *words: str) -> str:
        """The answer; empty if there was none."""
        try:
            with gateway.connect(str(self._server.address)) as peer:
                peer.settimeout(_PATIENCE)
                peer.sendall(gateway.request_bytes(gateway.environ("+".join(words), user="alice")))
                status, _, body = gateway.answer(peer)
        except (OSError, EOFError) as error:
            self.refused[f"{type(error).__name__}: {error}"] += 1
            return ""
        if status != 200:
            self.refused[body.decode("utf-8", "replace")] += 1
            return ""
        return body.decode()

    def _by_shell(self, *words: str) -> str:
        done = subprocess.run([*NOID, "-f", str(self.dbdir), *words], capture_output=True, text=True, check=False,
                              timeout=_PATIENCE)
        assert "Traceback" not in done.stderr
        if done.returncode:
            self.refused[done.stderr] += 1
        return done.stdout

    def wait_for_more(self, count: int, timeout: float = 180) -> None:
        """Wait until so many further identifiers were given."""
        wanted = len(self.minted) + count
        deadline = time.monotonic() + timeout
        while len(self.minted) < wanted:
            assert time.monotonic() < deadline, f"no more is minted: {self.refused}\n{self._server.log.read_text()}"
            time.sleep(0.02)

    def pause_after(self, start: float) -> float:
        """The longest time without a new identifier since a moment."""
        times = [start, *sorted(moment for moment, _ in list(self.minted) if moment >= start)]
        return max((after - before for before, after in zip(times, times[1:], strict=False)), default=0.0)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._server.stop()
        assert "Traceback" not in self._server.log.read_text()

    def ensure_nothing_twice_and_nothing_lost(self) -> None:
        """Compare what was acknowledged with what the minter holds."""
        given = [identifier for _, identifier in self.minted]
        assert len(given) == len(set(given)), [name for name, times in Counter(given).items() if times > 1]
        minter = Minter(str(self.dbdir))
        try:
            known = minter.read(lambda reader: {key.decode() for key, _ in reader.scan(IDS)})
            assert set(given) <= known, f"{len(set(given) - known)} identifiers that were given are not known"
            # A mint that is done twice makes an identifier that nobody gets; so may one without an answer, or whose
            # answer is that its outcome is not known.
            unanswered = sum(count for text, count in self.refused.items()
                             if not text.startswith("error: ") or "known whether" in text)
            surplus = len(known - set(given))
            print(f"{surplus} identifiers that nobody got, {unanswered} requests without an answer")
            assert surplus <= unanswered
            stored = minter.read(lambda reader: {
                name: (value_of(reader, name.encode(), b"_t") or b"").decode() for name in self.bound
            })
            assert stored == self.bound
        finally:
            minter.close()
