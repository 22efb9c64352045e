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
            """Commit a transaction, or make a savepoint part of what is around it; locks are released even if this
            raises."""

        def rollback(self) -> None:
            """Undo it; does nothing after its end, which `commit` is even if it raised."""


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
    remote   whether it is reached over the network
    """

    __slots__ = ("figures", "lines", "remote")

    def __init__(self, figures: dict[str, float], lines: Sequence[tuple[str, str]] = (), *,
                 remote: bool = False) -> None:
        self.figures = figures
        self.lines = list(lines)
        self.remote = remote


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
        # By which it is shared, and by how many (see `share`).
        self.key, self.users = "", 1
        self.process = os.getpid()
        self._state = _ThreadState()

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
        """An exception of the engine or the system as a refusal with its remedy; None for any other exception."""

    @abstractmethod
    def suspend(self) -> bool:
        """As `Store.suspend`."""

    @abstractmethod
    def _close(self) -> None:
        """Close the database, after the last transaction has ended; it is opened again only if the store is shared
        again meanwhile."""

    def abandon(self) -> bool:
        """Called in the child of a fork before the store is opened again: release what was inherited, without an effect
        on the parent.  Returns False if that is not possible."""
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
            if os.getpid() == self.process:  # else it is the parent's
                reader.close()

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT) -> T:
        self._ensure_usable()

        def write_once() -> T:
            with self._transaction(timeout) as writer:
                return work(writer)

        return write_once() if self.writing else self._repeat(write_once, timeout)

    @contextmanager
    def transaction(self, *, timeout: float = TIMEOUT) -> Iterator[Writer]:
        self._ensure_usable()
        is_savepoint = self.writing
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
            refusal = None if is_savepoint or error is of_caller else self._refusal(error)
            if refusal is None:
                raise
            # What makes a repetition possible is done, but only the caller can repeat the work.
            self._retry(error, 1, 0.0)
            raise refusal from error

    @contextmanager
    def _transaction(self, timeout: float) -> Iterator[EngineWriter]:
        """A write transaction, or a savepoint if this thread is in one."""
        state = self._state
        outer, before = state.writer, len(state.actions)
        if outer is None and state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        writer = self._begin_write(timeout) if outer is None else outer.savepoint()
        state.reader = state.writer = writer
        try:
            yield writer
            self._ensure_usable()
            state.reader = state.writer = outer
            writer.commit()
        except BaseException:
            state.reader = state.writer = outer
            del state.actions[before:]
            if os.getpid() == self.process:  # else it is the parent's
                writer.rollback()
            raise
        if outer is None:
            actions, state.actions = state.actions, []
            for action in actions:
                action()

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

    def _ensure_usable(self) -> None:
        if os.getpid() != self.process:
            raise StoreError(f"{self.location} was opened before a fork, by the parent of this process: open it again "
                             "in this one")
        if not self.users:
            raise StoreError(f"{self.location} was closed: open it again")

    # -- closing ---------------------------------------------------------------------------------------

    def close(self) -> None:
        if os.getpid() != self.process:
            return  # it is the parent's
        stores = _stores()
        with stores.guard:
            if self.users < 2 and self._state.reader is not None:
                raise StoreError(f"{self.location} cannot be closed inside its own transaction")
            self.users = max(0, self.users - 1)
            if self.users:
                return
        self._close()
        with stores.guard:
            # Another thread may have shared it again: then it stays the only one of its key.
            if not self.users and self not in stores.open and stores.shared.get(self.key) is self:
                del stores.shared[self.key]


# Each open store takes files and address space, and a process may serve thousands of them.  Beyond this number, those
# are suspended that have been unused for the longest time and have no open transaction.
MOST_OPEN = 64


class _Stores:
    """The stores of a process.

    shared  those in use, by key; after a fork also those of the parent, until they are opened again
    open    those whose database is open
    """

    def __init__(self, shared: dict[str, BaseStore]) -> None:
        self.process = os.getpid()
        self.guard = threading.Lock()
        self.shared = shared
        self.open: set[BaseStore] = set()


_of_process = _Stores({})


def _stores() -> _Stores:
    global _of_process
    if _of_process.process != os.getpid():
        _of_process = _Stores(_of_process.shared)
    return _of_process


def share(key: str, make: Callable[[], S]) -> S:
    """The store with this key, made if this process does not use it yet; each `close` ends one use."""
    stores = _stores()
    with stores.guard:
        known: S | None = stores.shared.get(key)  # type: ignore[assignment]
        if known is not None and known.process == stores.process:
            known.users += 1
            return known
        if known is not None and not known.abandon():
            raise StoreError(f"{known.location} was in use when this process was forked, and cannot be opened in it: "
                             "fork when no transaction is open")
        stores.shared[key] = store = make()
        store.key = key
        return store


def note_open(store: BaseStore) -> None:
    """To be called by an engine that has opened the database of a store; others are suspended if there are too many."""
    stores = _stores()
    with stores.guard:
        stores.open.add(store)
        surplus = len(stores.open) - MOST_OPEN
        oldest = sorted(stores.open - {store}, key=lambda other: other.last_used) if surplus > 0 else []
    for other in oldest:
        if surplus <= 0:
            break
        surplus -= other.suspend()


def note_shut(store: BaseStore) -> None:
    """To be called by an engine that has shut the database of a store."""
    stores = _stores()
    with stores.guard:
        stores.open.discard(store)
