"""Clocks that tests set, and minters of the schemes of time."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conftest import Noid

from noidtools.clock import SECOND, Clock
from noidtools.commands import Call, Session, run
from noidtools.commands.answers import anvl
from noidtools.minter.events import Actor
from noidtools.schemes.timegrid import Date, parse_date

IBI = ["dbcreate", "--scheme", "ibi", "--computer", "mtc-m18.sid.inpe.br", "--port", "80"]
IBIP = ["dbcreate", "--scheme", "ibip", "--ip", "150.163.34.243", "--port", "800"]
PILIN = ["dbcreate", "--scheme", "pilin", "--prefix", "102.100.272"]


class TimedNoid(Noid):
    """The noid command with a clock in a file, which stands still but for the waiting of the command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir(exist_ok=True)
        self._clock = folder / "clock"
        self.set("1287587646")

    def set(self, seconds: str) -> None:
        self._clock.write_text(seconds)

    @property
    def seconds(self) -> str:
        return self._clock.read_text()

    def run(self, *words: str | bytes, **options: object) -> subprocess.CompletedProcess[bytes]:
        return super().run(*words, env={"NOIDTOOLS_CLOCK": str(self._clock)}, **options)

    def at(self, seconds: str, *words: str) -> str:
        """What a command says at that time."""
        self.set(seconds)
        return self(*words)

    def mint_at(self, seconds: str, count: int = 1) -> list[str]:
        self.set(seconds)
        return self.ids(count)


class SetClock(Clock):
    """A clock in memory.  `jumps` are moves that the next sleeps add, beside the time slept."""

    __slots__ = ("now", "slept", "jumps")

    def __init__(self, seconds: str) -> None:
        super().__init__()
        self.now = parse_date(seconds.encode()).floor(9)
        self.slept = 0
        self.jumps: list[int] = []

    def __call__(self) -> int:
        return self.now

    def sleep(self, nanoseconds: int) -> None:
        self.slept += nanoseconds
        self.now += nanoseconds + (self.jumps.pop(0) * SECOND if self.jumps else 0)

    @property
    def date(self) -> Date:
        return Date(self.now, 9)


def session(folder: Path, clock: Clock, words: list[str]) -> Session:
    """A session with a new minter."""
    opened = Session(str(folder), Actor(b"tester", b"test", clock))
    run(Call(opened, [word.encode() for word in words]))
    return opened


def answer(session: Session, *words: str) -> str:
    records = run(Call(session, [word.encode() for word in words])).records
    return b"".join(anvl(record) for record in records).decode()


def minted(session: Session, count: int = 1) -> list[str]:
    return [line.removeprefix("id: ") for line in answer(session, "mint", str(count)).splitlines()]
