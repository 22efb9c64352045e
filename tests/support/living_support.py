"""A minter in this process, with a clock that stands where it is set, for tests of what happens over time."""

from __future__ import annotations

import calendar
import time
from pathlib import Path

from noidtools.clock import SECOND, Clock
from noidtools.commands import Call, Session, run
from noidtools.commands.answers import anvl, json_ready
from noidtools.errors import NoidError
from noidtools.minter.events import Actor, Event, read_event
from noidtools.minter.tables import EVENTS

START = "20261116000000"
LONG = ("f5.reedeedk", "long", "13030", "cdlib.org", "oac")


class SetClock(Clock):
    __slots__ = ("now", "on_sleep")

    def __init__(self, digits: str) -> None:
        super().__init__()
        self.on_sleep = None
        self.set(digits)

    def set(self, digits: str) -> None:
        self.now = calendar.timegm(time.strptime(digits, "%Y%m%d%H%M%S")) * SECOND

    def __call__(self) -> int:
        return self.now

    def sleep(self, nanoseconds: int) -> None:
        self.now += nanoseconds
        if self.on_sleep:
            self.on_sleep()


class Room:
    """Commands given to one minter.  Answers come as JSON would have them, or as text."""

    def __init__(self, folder: Path, *template: str, door: bytes = b"shell") -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.clock = SetClock(START)
        self.session = Session(str(folder), Actor(b"me/us", door, self.clock))
        run(Call(self.session, [b"dbcreate", *(word.encode() for word in template)]))

    def _answer(self, words: tuple[str | bytes, ...]):
        encoded = [word.encode() if isinstance(word, str) else word for word in words]
        return run(Call(self.session, encoded))

    def __call__(self, *words: str | bytes) -> list[dict]:
        return [json_ready(data) for record in self._answer(words).records for data in record.data()]

    def text(self, *words: str | bytes) -> str:
        return b"".join(anvl(record) for record in self._answer(words).records).decode()

    def refused(self, *words: str | bytes) -> NoidError:
        """The refusal; it must leave no trace."""
        before = self.count()
        try:
            self(*words)
        except NoidError as error:
            assert self.count() == before, "a refused command left an event"
            assert error.message and "Traceback" not in error.message
            return error
        raise AssertionError(f"{words} was not refused")

    def mint(self, count: int = 1) -> list[str]:
        return [record["id"] for record in self("mint", str(count))]

    def state(self, identifier: str) -> str | None:
        from noidtools.minter.lifecycle import state_of
        from noidtools.minter.records import find

        key = identifier.encode()
        return self.minter.read(lambda reader: state_of(reader, key, find(reader, key)))

    def leads(self, name: str) -> str:
        """Where a name leads, or the word for why it does not."""
        from noidtools.resolution import resolve

        outcome = resolve(self.minter, name.encode())
        return outcome.targets[0].url.decode() if outcome.targets else outcome.kind

    def count(self) -> int:
        newest = self.minter.read(lambda reader: reader.last(EVENTS))
        return int.from_bytes(newest[0], "big") if newest else 0

    def newest(self) -> Event:
        found = self.minter.read(lambda reader: read_event(reader, self.count()))
        assert found is not None
        return found

    def whats(self, identifier: str) -> list[str]:
        return [record["what"] for record in self("history", identifier)]

    @property
    def minter(self):
        return self.session.minter

    def close(self) -> None:
        self.session.close()
