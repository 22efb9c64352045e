"""The store: ordered tables of bytes in transactions.  The only package that knows a database engine.

`Reader`, `Writer` and `Store` are what an engine offers, and all that the rest
of the software may rely on.  A table is named by one byte; keys and values are
bytes of any length, and keys are in the order of their bytes.

A store has a location.  What lies there decides which engine it is:

    a folder    LMDB, the embedded engine (see lmdb.py)
    a file      its first line is `engine: NAME`, one of `ENGINES`; the rest of the file is for that engine

An engine is one module with the functions `open_store`, `create_store`,
`restore_store` and `exists` of this one.  It is imported when a store of it is opened.
"""

from __future__ import annotations

import os

from ..errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol, TypeVar
    T = TypeVar("T")
else:
    # Importing the real one takes milliseconds, and only type checkers need it.
    Protocol = object

# Seconds that a writer waits for the others.
TIMEOUT = 30.0

# Name -> module; and the engine of a new store.
ENGINES = {"lmdb": f"{__name__}.lmdb"}
DEFAULT = "lmdb"
_ENGINE_LINE = "engine:"
_LONGEST_ENGINE_LINE = 200


class Reader(Protocol):
    """Reads one moment of the store, together with what was written before in the same transaction."""

    def version(self) -> object | None:
        """The version of the store that the transaction reads, as `Store.version` has it; None in a write."""

    def get(self, table: bytes, key: bytes) -> bytes | None:
        """The value of a key, None if it has none."""

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        """The values of many places, each a table and a key, in the same order and in one round trip."""

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Items whose keys begin with `prefix`, in the order of their keys, or with `reverse` the other way round.

        after  only what comes behind this key, in the direction of the scan
        limit  at most so many

        In a write, a scan goes on behind the key it gave last: it sees what was put there meanwhile, and not what was
        deleted.  It ends with its transaction.
        """


class Writer(Reader, Protocol):
    """A reader that also changes the store; all changes of a transaction stand or fall together."""

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        """Give a key a value, instead of the one it had."""

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Put many items at once; sorted ones are quickest."""

    def delete(self, table: bytes, key: bytes) -> bool:
        """Remove a key; returns whether it was there."""

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        """Remove all keys that begin with `prefix`; returns how many there were."""


class Store(Protocol):
    """A database.  Safe to share between threads, and usable in parent and child after a fork.

    location    where it lies, as it was opened
    writable    whether this process may write to it
    generation  changes when the database was opened anew, be it another one: what was learned from it before must be
                read again.  It does not change within a transaction.
    """

    location: str

    @property
    def writable(self) -> bool: ...

    @property
    def generation(self) -> int: ...

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        """Run `work` in a read transaction and return its result.

        Inside a transaction of the same thread it joins that one.  `work` may be run again from the start, so it must
        have no effects but its result.  A database that was put in the place of this one may go unnoticed for
        `max_age` seconds, which saves looking for it.
        """

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT, shared: bool = False) -> T:
        """Run `work` in a write transaction, which is on disk when this returns; if `work` raises, nothing happened.

        There is one writer at a time over all processes; BusyError is raised if the others take longer than `timeout`
        seconds.  Inside a write of the same thread it is a savepoint: if it raises, it alone is undone.  Inside a read
        it is refused.  `work` may be run again, as in `read`.  `shared` says that several independent commands share
        the transaction.
        """

    def transaction(self, *, timeout: float = TIMEOUT) -> AbstractContextManager[Writer]:
        """A write transaction as the body of a `with` statement, for what cannot be run again.

        Reads and writes of the same thread in the body join it, as they do in `write`; it is committed at the end, or
        undone if the body raises.  Inside a write of the same thread it is a savepoint.  StoreError is raised where
        `write` would have run its work again.
        """

    @property
    def writing(self) -> bool:
        """Whether this thread is in a write transaction."""

    @property
    def shared(self) -> bool:
        """Whether this thread is in a write transaction that independent commands share."""

    def after_commit(self, action: Callable[[], None]) -> None:
        """Have something done when this thread's write transaction is on disk and others may write, before `write`
        returns.  It is forgotten if the transaction, or the savepoint in which we are, is undone."""

    def version(self, *, max_age: float = 0.0) -> object | None:
        """The version of what is committed now.  Equal versions: nothing was committed between them.  None: unknown."""

    def identity(self) -> object | None:
        """A value that differs when another database lies at the location, as after a restore; None if none does."""

    def size(self) -> int | None:
        """Bytes on disk; None if unknown."""

    def backup(self, destination: str) -> int:
        """Write a copy of one moment of the store, while others read and write; returns the number of its items.

        The copy is read to its end before it appears, complete and on disk, or not at all.  Raises ConflictError if
        something is at the destination.  `restore_store` makes a store of it.
        """

    def suspend(self) -> bool:
        """Give back files and memory until the next use, unless a transaction is open; returns whether it was done."""

    def close(self) -> None:
        """End the use of the store, once its transactions are over; to be called once for each `open_store`."""


def open_store(location: str) -> Store:
    """The store at a location.  Raises NoMinterError if there is none, StoreError if it cannot be used."""
    store: Store = _engine(location).open_store(location)
    return store


def create_store(location: str, fill: Callable[[Writer], None], *, readme: bytes = b"") -> Store:
    """Make a store with what `fill` writes, and open it.  It appears complete, in one step, or not at all.

    `readme` is a text for people, stored beside the database.  Raises ConflictError if something is at the location.
    """
    store: Store = _engine(location).create_store(location, fill, readme=readme)
    return store


def restore_store(location: str, source: str, adjust: Callable[[Writer], None]) -> str | None:
    """Put the content of a backup at a location, in place of the store there, if there is one.

    The backup is copied and read to its end, and changed by `adjust`; only then, and when no other process writes,
    does it take the place of the store, in one step.  All who have the store open notice it when they next use it.  If
    anything is raised before, the store is left as it was.  Returns the path at which the store lies that was
    replaced, None if there was none.  Raises StoreError for what is no sound backup.
    """
    aside: str | None = _engine(location).restore_store(location, source, adjust)
    return aside


def exists(location: str) -> bool:
    """Whether there is a store at a location; whether it can be opened is another question."""
    try:
        found: bool = _engine(location).exists(location)
    except (OSError, ValueError, StoreError):
        return False
    return found


def _engine(location: str) -> _Engine:
    name = "lmdb" if os.path.isdir(location) else DEFAULT
    if os.path.isfile(location):
        name = _engine_name(location)
    if name not in ENGINES:
        raise StoreError(f"{location} names the engine {name[:60]!r}, which this release of noidtools does not have")
    # importlib.import_module would do the same, after a millisecond of imports of its own.
    engine: _Engine = __import__(ENGINES[name], fromlist=["*"])
    return engine


def _engine_name(path: str) -> str:
    try:
        with open(path, "rb") as file:
            line = file.readline(_LONGEST_ENGINE_LINE).decode("utf-8", "replace")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if not line.startswith(_ENGINE_LINE):
        raise StoreError(f"{path} is a file that names no engine: check the path")
    return line.removeprefix(_ENGINE_LINE).strip()


class _Engine(Protocol):
    """A module of an engine."""

    def open_store(self, location: str) -> Store: ...

    def create_store(self, location: str, fill: Callable[[Writer], None], *, readme: bytes) -> Store: ...

    def restore_store(self, location: str, source: str, adjust: Callable[[Writer], None]) -> str | None: ...

    def exists(self, location: str) -> bool: ...
