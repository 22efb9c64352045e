"""What all engines share: which transaction each thread is in, savepoints, repetition, and one store object for all its
users in a process.

An engine derives its store from `BaseStore`, and adds how transactions begin, what its errors mean, and the rest of the
protocol `Store`.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from time import monotonic

from ..errors import NoidError, StoreError
from .locks import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol, TypeVar

    from . import Reader, Writer
    T = TypeVar("T")
    S = TypeVar("S", bound="BaseStore")

    class EngineReader(Reader, Protocol):
        """A read transaction of an engine."""

        def close(self) -> None:
            """End the transaction."""

    class EngineWriter(Writer, Protocol):
        """A write transaction of an engine, or a savepoint in one."""

        def savepoint(self) -> EngineWriter:
            """Begin a savepoint in this transaction or savepoint."""

        def commit(self) -> None:
            """Commit a transaction, or make a savepoint part of what is around it; whatever happens, locks are given
            back."""

        def rollback(self) -> None:
            """Undo it; nothing if it has ended, as it has after `commit`, even after one that raised."""


class StoreStatus:
    """The state of a database.

    figures  numbers for monitoring, as far as the engine knows them:
                 size_bytes                    what it takes on disk
                 free_bytes                    what is left on that disk
                 readers                       processes and threads that have it open for reading
                 oldest_reader_seconds         for how long, at least, the oldest read transaction has been open
                 oldest_reader_transactions    how many transactions were committed since that began
                 replica_lag_seconds           how far the replica at which names are looked up is behind
    lines    names and values for people, such as which server answers
    """

    __slots__ = ("figures", "lines")

    def __init__(self, figures: dict[str, float], lines: Sequence[tuple[str, str]] = ()) -> None:
        self.figures = figures
        self.lines = list(lines)


class _ThreadState(threading.local):
    """The transaction that a thread is in."""

    # The innermost reader or writer; None outside a transaction.
    reader: Reader | None = None
    # The same if it is a writer.
    writer: EngineWriter | None = None

    def __init__(self) -> None:
        # What is to be done after the commit.
        self.actions: list[Callable[[], None]] = []


class BaseStore(ABC):
    """A store.  It belongs to the process that opened it."""

    def __init__(self, location: str) -> None:
        self.location = location
        # When it was used last, on the monotonic clock.
        self.last_used = 0.0
        self._state = _ThreadState()
        self._process = os.getpid()
        self._closed = False

    # -- what an engine adds ---------------------------------------------------------------------------

    @abstractmethod
    def _begin_read(self) -> EngineReader:
        """Begin a read transaction."""

    @abstractmethod
    def _begin_write(self, timeout: float) -> EngineWriter:
        """Begin a write transaction; raises BusyError if others write for longer than `timeout` seconds."""

    @abstractmethod
    def _retry(self, error: Exception, attempt: int, deadline: float) -> bool:
        """Whether work that failed with an error of the engine is to be run again, after doing what is needed for that.

        The transaction was rolled back.  `attempt` counts from 1; `deadline` is on the monotonic clock.
        """

    @abstractmethod
    def _refusal(self, error: Exception) -> NoidError | None:
        """What the engine or the system raised, as a refusal that names the remedy; None for any other exception."""

    @abstractmethod
    def suspend(self) -> bool:
        """As `Store.suspend`."""

    @abstractmethod
    def _close(self) -> None:
        """Close the database for good; no transaction is open."""

    def _abandon(self) -> bool:
        """In the child of a fork, before the store is opened again: give back what was inherited without disturbing the
        parent; returns False if that is not possible."""
        return True

    # -- transactions ----------------------------------------------------------------------------------

    @property
    def writing(self) -> bool:
        return self._state.writer is not None

    def after_commit(self, action: Callable[[], None]) -> None:
        if not self.writing:
            raise StoreError("nothing is going to be committed: this thread is in no write transaction")
        self._state.actions.append(action)

    def read(self, work: Callable[[Reader], T]) -> T:
        self._ensure_usable()
        reader = self._state.reader
        if reader is not None:
            return work(reader)
        return self._repeat(lambda: self._read_once(work), TIMEOUT)

    def _read_once(self, work: Callable[[Reader], T]) -> T:
        state = self._state
        state.reader = reader = self._begin_read()
        try:
            return work(reader)
        finally:
            state.reader = None
            if os.getpid() == self._process:  # else it is the parent's
                reader.close()

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT) -> T:
        self._ensure_usable()
        if self.writing:
            with self._savepoint() as writer:
                return work(writer)
        self._ensure_no_read()
        return self._repeat(lambda: self._write_once(work, timeout), timeout)

    def _write_once(self, work: Callable[[Writer], T], timeout: float) -> T:
        with self._transaction(timeout) as writer:
            return work(writer)

    @contextmanager
    def transaction(self, *, timeout: float = TIMEOUT) -> Iterator[Writer]:
        self._ensure_usable()
        if self.writing:
            with self._savepoint() as writer:
                yield writer
            return
        self._ensure_no_read()
        of_caller: BaseException | None = None
        try:
            with self._transaction(timeout) as writer:
                try:
                    yield writer
                except OSError as error:
                    of_caller = error
                    raise
        except NoidError:
            raise
        except Exception as error:
            refusal = None if error is of_caller else self._refusal(error)
            if refusal is None:
                raise
            # What makes a repetition possible is done, but only the caller can repeat the work.
            self._retry(error, 1, 0.0)
            raise refusal from error

    @contextmanager
    def _transaction(self, timeout: float) -> Iterator[EngineWriter]:
        state = self._state
        writer = self._begin_write(timeout)
        state.reader = state.writer = writer
        actions: list[Callable[[], None]] = []
        state.actions = actions
        try:
            yield writer
            self._ensure_usable()
            state.reader = state.writer = None
            writer.commit()
        except BaseException:
            state.reader = state.writer = None
            if os.getpid() == self._process:  # else it is the parent's
                writer.rollback()
            raise
        for action in actions:
            action()

    @contextmanager
    def _savepoint(self) -> Iterator[EngineWriter]:
        state = self._state
        outer, before = state.writer, len(state.actions)
        assert outer is not None
        inner = outer.savepoint()
        state.reader = state.writer = inner
        try:
            yield inner
            self._ensure_usable()
            state.reader = state.writer = outer
            inner.commit()
        except BaseException:
            del state.actions[before:]
            state.reader = state.writer = outer
            if os.getpid() == self._process:
                inner.rollback()
            raise

    def _repeat(self, work: Callable[[], T], timeout: float) -> T:
        """Run work, and again for as long as the engine says so."""
        deadline = monotonic() + timeout
        attempt = 0
        while True:
            attempt += 1
            try:
                return work()
            except NoidError:
                raise
            except Exception as error:
                refusal = self._refusal(error)
                if refusal is None:
                    raise
                if not self._retry(error, attempt, deadline):
                    raise refusal from error

    def _ensure_no_read(self) -> None:
        if self._state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")

    def _ensure_usable(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(f"{self.location} was opened before a fork, by the parent of this process: open it again "
                             "in this one")
        if self._closed:
            raise StoreError(f"{self.location} was closed: open it again")

    # -- closing ---------------------------------------------------------------------------------------

    def close(self) -> None:
        if os.getpid() != self._process:
            return  # it is the parent's
        if self._state.reader is not None:
            raise StoreError(f"{self.location} cannot be closed inside its own transaction")
        if _stores().release(self):
            self._closed = True
            self._close()


# Each open store takes files and address space, and a process may serve thousands of them: beyond this number those
# that were not used for longest are suspended, if no transaction is open in them.
MOST_OPEN = 64


class _Stores:
    """The stores of this process: those in use by key, with the number of users, and those whose database is open."""

    def __init__(self, inherited: dict[str, tuple[BaseStore, int]]) -> None:
        self.process = os.getpid()
        self._guard = threading.Lock()
        self.shared: dict[str, tuple[BaseStore, int]] = {}
        self._open: set[BaseStore] = set()
        # Those of the parent, if this process was forked.
        self._inherited = inherited

    def share(self, key: str, make: Callable[[], S]) -> S:
        with self._guard:
            inherited = self._inherited.get(key)
            if inherited is not None:
                if not inherited[0]._abandon():
                    raise StoreError(f"{inherited[0].location} was in use when this process was forked, and cannot be "
                                     "opened in it: fork when no transaction is open")
                del self._inherited[key]
            known, users = self.shared.get(key, (None, 0))
            store: S = make() if known is None else known  # type: ignore[assignment]
            self.shared[key] = (store, users + 1)
            return store

    def release(self, store: BaseStore) -> bool:
        """Count one user less; returns whether that was the last."""
        with self._guard:
            for key, (known, users) in self.shared.items():
                if known is store:
                    if users > 1:
                        self.shared[key] = (store, users - 1)
                        return False
                    del self.shared[key]
                    return True
        return False

    def add_open(self, store: BaseStore) -> None:
        """Note that the database of a store is open, and suspend others if there are too many."""
        with self._guard:
            self._open.add(store)
            surplus = len(self._open) - MOST_OPEN
            oldest = sorted(self._open - {store}, key=lambda other: other.last_used) if surplus > 0 else []
        for other in oldest:
            if surplus <= 0:
                break
            surplus -= other.suspend()

    def discard_open(self, store: BaseStore) -> None:
        with self._guard:
            self._open.discard(store)


_of_process = _Stores({})


def _stores() -> _Stores:
    global _of_process
    if _of_process.process != os.getpid():
        _of_process = _Stores(_of_process.shared)
    return _of_process


def share(key: str, make: Callable[[], S]) -> S:
    """The store with this key, made if this process does not use it yet; each `close` ends one use."""
    return _stores().share(key, make)


def note_open(store: BaseStore) -> None:
    """To be called by an engine that has opened the database of a store."""
    _stores().add_open(store)


def note_shut(store: BaseStore) -> None:
    """To be called by an engine that has shut the database of a store."""
    _stores().discard_open(store)
