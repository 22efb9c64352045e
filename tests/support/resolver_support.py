"""Minters in this process, for tests of resolving that need many of them quickly."""

from __future__ import annotations

from pathlib import Path

from noidtools.commands import Call, Session, run
from noidtools.commands.answers import anvl
from noidtools.minter import records
from noidtools.minter.events import Actor
from noidtools.minter.tables import ALIASES

LONG = ("kt.reeded", "long", "13030", "cdlib.org", "dpg")
CHECKED = ("f5.reedeedk", "long", "13030", "cdlib.org", "oac")


def as_bytes(word: str | bytes) -> bytes:
    return word if isinstance(word, bytes) else word.encode("utf-8", "surrogateescape")


class Live:
    """A minter and the commands given to it, without a process for each."""

    def __init__(self, folder: Path, *template: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.session = Session(str(folder), Actor(b"me", b"test"))
        run(Call(self.session, [b"dbcreate", *(word.encode() for word in template)]))

    def __call__(self, *words: str | bytes) -> str:
        answer = run(Call(self.session, [as_bytes(word) for word in words]))
        return b"".join(anvl(record) for record in answer.records).decode("utf-8", "surrogateescape")

    @property
    def minter(self):
        return self.session.minter

    def mint(self) -> str:
        return self("mint", "1").split()[1]

    def target(self, name: str | bytes, value: str | bytes, element: str = "_t") -> None:
        self("bind", "set", name, element, value)

    def minted(self, value: str | bytes) -> str:
        """A new identifier with this target."""
        name = self.mint()
        self.target(name, value)
        return name

    def alias(self, name: str, other: str) -> None:
        self.minter.write(lambda writer: writer.put(ALIASES, name.encode(), other.encode()))

    def withdraw(self, name: str) -> None:
        def work(writer) -> None:
            record = records.find(writer, name.encode()) or records.Circulation()
            record.flags |= records.WITHDRAWN
            records.save(writer, name.encode(), record)

        self.minter.write(work)

    def close(self) -> None:
        self.session.close()
