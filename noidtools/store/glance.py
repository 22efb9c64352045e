"""Quick looks into a store, for a process that does little else."""

from __future__ import annotations

from time import monotonic

import lmdb

from .transactions import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from .environment import Store

    A = TypeVar("A")
    T = TypeVar("T")


class Glance:
    """Reads like `Store.read` and several times as fast, for a process of one thread that never writes.

    Every look sees all that was committed before it began, but not whether the database was replaced by another.
    Who uses it has to look for that when `unchanged` says no, which it does after `lasts` seconds at the latest.
    """

    __slots__ = ("_store", "_begin", "_moment", "_until", "_lasts")

    def __init__(self, store: Store, lasts: float) -> None:
        self._store = store
        self._lasts = lasts
        self._until = 0.0
        self._moment = -1
        self._begin: Callable[[], lmdb.Transaction] = _closed

    def unchanged(self) -> bool:
        """Whether it is sure that nothing was committed since `renew`, which may not be long ago."""
        try:
            return monotonic() < self._until and self._begin().id() == self._moment
        except lmdb.Error:
            return False

    def renew(self) -> bool:
        """Begin another term; whether nothing was committed since the last one began."""
        before = self._moment
        try:
            self._moment = self._begin().id()
        except lmdb.Error:
            self._moment = -1
        self._until = monotonic() + self._lasts
        return self._moment == before != -1

    def look(self, work: Callable[[Reader, A], T], about: A) -> T:
        try:
            with self._begin() as txn:
                return work(Reader(txn), about)
        except lmdb.Error:
            pass  # not open yet, or closed, or the map has grown: the store knows what to do
        result = self._store.read(lambda reader: work(reader, about))
        environment = self._store._environment
        self._begin = _closed if environment is None else environment.begin
        return result


def _closed() -> lmdb.Transaction:
    raise lmdb.Error("not open")
