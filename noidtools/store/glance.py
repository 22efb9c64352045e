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
    Who uses it has to look for that whenever `moment` says None, which it does after `lasts` seconds.
    """

    __slots__ = ("_store", "_begin", "_until", "_lasts")

    def __init__(self, store: Store, lasts: float) -> None:
        self._store = store
        self._lasts = lasts
        self._until = 0.0
        self._begin: Callable[[], lmdb.Transaction] | None = None

    def renew(self) -> None:
        """Begin another term: the database is still the same."""
        self._until = monotonic() + self._lasts

    def moment(self) -> int | None:
        """A number that differs after every commit; None when the term is over or nothing can be told."""
        begin = self._begin
        if begin is None or monotonic() > self._until:
            return None
        try:
            txn = begin()
            moment = txn.id()
            txn.abort()
        except lmdb.Error:
            self._begin = None
            return None
        return moment

    def look(self, work: Callable[[Reader, A], T], about: A) -> T:
        if self._begin is not None:
            try:
                with self._begin() as txn:
                    return work(Reader(txn), about)
            except lmdb.Error:
                self._begin = None  # the map has grown, or was closed: the store knows what to do
        result = self._store.read(lambda reader: work(reader, about))
        environment = self._store._environment
        self._begin = None if environment is None else environment.begin
        return result
