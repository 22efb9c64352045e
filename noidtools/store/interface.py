"""What an engine of the store offers.

`Reader`, `Writer` and `Store` are all that the rest of the software may rely on, and `Engine` is what the package
opens stores with.  A table is named by one byte; keys and values are bytes of any length, and keys are in the order of
their bytes.

Only type checkers need these classes, so that no process that runs a command imports this module.
"""

from __future__ import annotations

from .locks import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol, TypeVar
    T = TypeVar("T")
    Work = Callable[["Writer"], None]
    Readme = bytes | Callable[[], bytes]
else:
    # Importing the real one takes milliseconds, and only type checkers need it.
    Protocol = object


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
    """A reader that also changes the store; the changes of a transaction are committed together, or not at all."""

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
    generation  rises whenever the database is opened again, since it may be another one: what was cached from it must
                be read again.  It does not change within a transaction.
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

    def get_many(
        self, places: Sequence[tuple[bytes, bytes]], max_age: float = 0.0
    ) -> tuple[list[bytes | None], object | None]:
        """What `Reader.get_many` and `Reader.version` return in a read transaction; `max_age` is as in `read`."""

    def get_both(
        self, table: bytes, key: bytes, other_table: bytes, other_key: bytes, max_age: float = 0.0
    ) -> tuple[bytes | None, bytes | None, object | None]:
        """The values of two places and the version, as `get_many` reads them.

        This is the quickest way to read, for a process that does little else.
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
        """Call `action` after this thread's write transaction is on disk and its lock is released, before `write`
        returns; not if the transaction, or the savepoint in which this is called, is undone."""

    def version(self, max_age: float = 0.0) -> object | None:
        """The version of what is committed now.  Equal versions: nothing was committed between them.  None: unknown."""

    def stamp(self) -> object | None:
        """A value that is another one after each commit, for who looks at many stores: the database is not opened for
        it.  None: it cannot be told now."""

    def identity(self) -> object | None:
        """A value that differs when another database lies at the location, as after a restore; None if none does.  Of a
        restore in a database server it is known after the next read."""

    def size(self) -> int | None:
        """Bytes on disk; None if unknown."""

    def status(self) -> list[tuple[str, str]]:
        """Names and values for people about the state of the database, such as how far a replica is behind; empty for
        an engine without such states."""

    def figures(self) -> dict[str, float]:
        """Numbers for those who watch the database, as far as its engine knows them.

            size_bytes                    what it takes on disk
            free_bytes                    what is left on that disk
            readers                       processes and threads that have it open for reading
            oldest_reader_seconds         for how long, at least, the oldest read transaction is open
            oldest_reader_transactions    how many transactions were committed since that began
            replica_lag_seconds           how far the replica at which names are looked up is behind
        """

    def backup(self, destination: str) -> int:
        """Write a copy of one moment of the store, while others read and write; returns the number of its items.

        The copy is read to its end before it appears, complete and on disk, or not at all.  Raises ConflictError if
        something is at the destination.  `restore_store` makes a store of it.
        """

    def retire(self) -> Callable[[str | None], None]:
        """In a write transaction, which ends with this: keep away all who reach the database otherwise than by its
        location, such as other computers, because a copy is to take its place.

        What is returned must be called with the new location of the store, or with None if it stays where it is, so
        that they may use it again.
        """

    def suspend(self) -> bool:
        """Give back files and memory until the next use, unless a transaction is open; returns whether it was done."""

    def close(self) -> None:
        """End the use of the store, once its transactions are over; to be called once for each `open_store`."""


class Engine(Protocol):
    """The module or package of an engine."""

    def open_store(self, location: str, *, resolving: bool) -> Store:
        """As `store.open_store`; an engine without replicas ignores `resolving`."""

    def create_store(
        self, location: str, fill: Work, *, chunks: Iterable[Work], readme: Readme, address: str = "", read: str = ""
    ) -> Store:
        """As `store.creation.create_store`; an embedded engine takes no `address` and no `read`."""

    def restore_store(self, location: str, source: str, adjust: Work) -> str | None:
        """As `store.creation.restore_store`."""

    def remove_store(self, location: str) -> None:
        """As `store.creation.remove_store`."""

    def exists(self, location: str) -> bool:
        """As `store.exists`."""
