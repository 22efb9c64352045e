"""The base of the Python interface: the open minter, the actor, and transactions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from ..errors import StoreError
from ..minter import Minter
from ..minter.events import Actor
from ..store import TIMEOUT, Reader, Writer
from .text import to_text

T = TypeVar("T")


class MinterBase:
    """An open minter and an actor.  May be shared between threads."""

    _minter: Minter | None = None

    def __init__(self, minter: Minter, actor: Actor) -> None:
        self._minter = minter
        self._actor = actor

    @property
    def _open(self) -> Minter:
        if self._minter is None:
            raise StoreError("this minter was closed: open it again")
        return self._minter

    @property
    def who(self) -> str:
        """The actor, as events record it."""
        return to_text(self._actor.who)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._minter is None

    def close(self) -> None:
        """End the use of the minter.  Closing it again does nothing."""
        if self._minter is not None:
            self._minter.close()
            self._minter = None

    def transaction(self, *, timeout: float = TIMEOUT) -> AbstractContextManager[object]:
        """All calls in the body of the `with` statement are one transaction: all of them happen, or none.

        The transaction is on disk when the statement ends.  If the body raises, it is undone: identifiers minted in
        it are not used up, and no event records them.  A transaction inside another is a savepoint: if it raises, it
        alone is undone, and the outer one goes on if the exception is caught there.

        It belongs to the thread that began it; calls in other threads are no part of it.  Meanwhile nobody else can
        write, so a body should be short.  Raises BusyError if others write for longer than `timeout` seconds.
        """
        return self._open.store.transaction(timeout=timeout)

    def _read(self, work: Callable[[Reader], T]) -> T:
        return self._open.read(work)

    def _write(self, work: Callable[[Writer], T]) -> T:
        return self._open.write(work)

    def _display(self, identifier: bytes) -> str:
        """A stored identifier as the minter writes it."""
        return to_text(self._open.namespace.display(identifier))
