"""The store: ordered tables of bytes in transactions.  The only package that knows a database engine.

`Reader`, `Writer` and `Store` are all that the rest of the software may rely on.  A table is named by one byte; keys
and values are bytes of any length, and keys are in the order of their bytes.

A store has a location.  What is there decides which engine it is:

    a folder    LMDB, the embedded engine (the package lmdb), unless it contains the file `engine`
    a file      its first line is `engine: NAME`, one of `ENGINES`; the rest of the file is for that engine

An engine is a module or package with the functions of `Engine`, imported when a store of it is opened.  Its store is a
`base.BaseStore`.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import ConflictError, NoidError, NoMinterError, StoreError, UsageError
from .base import StoreStatus
from .folders import (
    ADDRESS_VARIABLE,
    ENGINE_FILE,
    aside_name,
    complete_replacement,
    copy_permissions,
    ensure_own,
    put_in_place,
    read_text,
    readme_of,
    write_file,
)
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

__all__ = [
    "ENGINES", "TIMEOUT", "Reader", "Readme", "Store", "StoreStatus", "Work", "Writer", "create_store", "engine_at",
    "ensure_readable", "exists", "foreign_items", "forget_destination", "is_embedded", "note_destination", "open_store",
    "readme_of", "remove_store", "replace_store", "restore_store", "set_aside",
]

# Name -> module; and the engine of a new store, or of a folder that names none.
ENGINES = {"lmdb": f"{__name__}.lmdb", "postgres": f"{__name__}.postgres"}
DEFAULT = "lmdb"

# The end of the name of a file beside a store that was moved, which says where it is now.
_MOVED = ".moved"

_ENGINE_LINE = "engine:"
_LONGEST_ENGINE_LINE = 200

# How the address of a PostgreSQL server begins.
_SERVERS = ("postgresql:", "postgres:")


# -- the protocol ----------------------------------------------------------------------------------------------------


class Reader(Protocol):
    """Reads one state of the store, together with what was written before in the same transaction."""

    def get(self, table: bytes, key: bytes) -> bytes | None:
        """The value of a key, None if it has none."""

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        """The values of many places, each a table and a key, in the same order and in one round trip."""

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Items whose keys begin with `prefix`, in the order of their keys, or with `reverse` the other way round.

        after  only what follows this key, in the direction of the scan
        limit  at most this many

        In a write, a scan goes on after the key it gave last: it sees what was put there since, and not what was
        deleted.  It ends with its transaction.
        """


class Writer(Reader, Protocol):
    """A reader that also changes the store; the changes of a transaction are committed together."""

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        """Give a key a value, instead of the one it had."""

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Put many items at once; sorted ones are quickest."""

    def delete(self, table: bytes, key: bytes) -> bool:
        """Remove a key; returns whether it was there."""

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        """Remove all keys that begin with `prefix`; returns how many there were."""


class Store(Protocol):
    """A database.  Safe to share between threads; after a fork the child has to open it again.

    location  where it is, as it was opened
    """

    location: str

    @property
    def writable(self) -> bool:
        """Whether this process may write to it."""

    @property
    def writing(self) -> bool:
        """Whether this thread is in a write transaction."""

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` in a read transaction and return its result.

        Inside a transaction of the same thread it joins that one.  `work` may be run again from the start, so it must
        have no effects but its result.
        """

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT) -> T:
        """Run `work` in a write transaction, which is on disk when this returns; if `work` raises, nothing happened.

        There is one writer at a time over all processes; BusyError is raised if the others take longer than `timeout`
        seconds.  Inside a write of the same thread it is a savepoint: if it raises, it alone is undone.  Inside a read
        it is refused.  `work` may be run again, as in `read`.
        """

    def transaction(self, *, timeout: float = TIMEOUT) -> AbstractContextManager[Writer]:
        """A write transaction as the body of a `with` statement, for what cannot be run again.

        Reads and writes of the same thread in the body join it, as they do in `write`; it is committed at the end, or
        undone if the body raises.  Inside a write of the same thread it is a savepoint.  StoreError is raised where
        `write` would have run its work again.
        """

    def after_commit(self, action: Callable[[], None]) -> None:
        """Call `action` after this thread's write transaction is on disk and its lock is released, before `write`
        returns; not if the transaction, or the savepoint in which this is called, is undone."""

    def version(self) -> object:
        """The version of what is committed now; in a read of this thread, of what it reads.

        Equal versions: nothing was committed between them.  A cache asks for the version first, and then reads: a newer
        value under an older version does no harm.  What was read in a write must not be cached.  A store opened for
        `resolving` may answer with a version of up to a second ago.
        """

    def identity(self) -> object:
        """Which database this is: it differs after a restore.  In a transaction of this thread, of the database that
        it reads."""

    def status(self) -> StoreStatus:
        """Figures and lines about the state of the database."""

    def backup(self, destination: str) -> int:
        """Write a copy of one state of the store, while others read and write; returns the number of its items.

        The copy is read to its end before it appears, atomically and on disk.  Raises ConflictError if something is at
        the destination.  `restore_store` makes a store of it.
        """

    def suspend(self) -> bool:
        """Give back files and memory until the next use, unless a transaction is open; returns whether it was done."""

    def close(self) -> None:
        """End the use of the store, once its transactions are over; to be called once for each `open_store`."""


class Engine(Protocol):
    """The module or package of an engine; its functions are those below without the suffix of the same name."""

    def open_store(self, location: str, *, resolving: bool) -> Store:
        """An engine without replicas ignores `resolving`."""

    def create_store(
        self, location: str, fill: Work, *, chunks: Iterable[Work], readme: Readme, address: str = "", read: str = ""
    ) -> Store:
        """An embedded engine takes no `address` and no `read`."""

    def restore_store(self, location: str, source: str, adjust: Work, before: Iterable[Work]) -> str | None: ...

    def remove_store(self, location: str) -> None: ...

    def set_aside(self, location: str, aside: str) -> None: ...

    def exists(self, location: str) -> bool: ...

    def ensure_readable(self, location: str) -> None: ...


# -- stores ----------------------------------------------------------------------------------------------------------


def open_store(location: str, *, resolving: bool = False) -> Store:
    """The store at a location.  Raises NoMinterError if there is none, StoreError if it cannot be used.

    `resolving`: for resolvers, which may read a state that is a moment old; from a replica, if the store has one.
    """
    ensure_own(location)
    try:
        return engine_at(location).open_store(location, resolving=resolving)
    except NoMinterError:
        destination = _destination(location)
        if not destination:
            raise
        raise NoMinterError(f"there is no minter in {location}: it was moved to {destination}") from None


def exists(location: str) -> bool:
    """Whether a store exists at a location, even a damaged one."""
    try:
        return engine_at(location).exists(location)
    except (OSError, ValueError, StoreError):
        return False


def ensure_folder_name(path: str) -> None:
    """Raise UsageError for the address of a database server in place of a folder; it is not repeated, because it may
    hold a password."""
    if path.startswith(_SERVERS) and not os.path.isdir(path):
        raise UsageError("the address of a database server is not a folder: name the folder of the minter",
                         "'noid -f FOLDER dbcreate --store ADDRESS' makes it")


def ensure_readable(location: str) -> None:
    """Raise StoreError if a part of the store at a location is damaged so that it cannot be read.

    To read all of it takes some time; who is about to do that should ask before, or may be ended by a signal.
    """
    ensure_own(location)
    if exists(location):
        engine_at(location).ensure_readable(location)


def create_store(
    location: str, fill: Work, *, chunks: Iterable[Work] = (), readme: Readme = b"", address: str = "", read: str = ""
) -> Store:
    """Make a store with what `fill` writes, and open it.  It appears atomically.

    chunks  written before `fill`, each perhaps in a transaction of its own, so that a store of any size is made in
            little memory.  Each is run before the next is asked for, and may be run again as in `Store.write`.
    readme  a text for people, stored beside the database; or a function for one that is known only after `fill`
    address where the database server is, such as postgresql://host/database; by default the embedded engine is used,
            unless the environment variable NOIDTOOLS_STORE has an address
    read    an address at which resolvers may read, such as that of a standby

    Raises ConflictError if something is at the location, or if a store was moved from there, before any chunk is asked
    for.
    """
    ensure_own(location)
    _ensure_not_moved(location)
    address = address or os.environ.get(ADDRESS_VARIABLE, "")
    if not address:
        if read:
            raise UsageError("an address to read from goes with that of the database server (store)")
        return engine_at(location).create_store(location, fill, chunks=chunks, readme=readme)
    if not address.startswith(_SERVERS):
        # It is not repeated, because it may hold a password.
        raise UsageError("the store must be the address of a database server: write it as in "
                         "postgresql://host/database")
    return _engine_module("postgres").create_store(location, fill, chunks=chunks, readme=readme, address=address,
                                                   read=read)


def restore_store(location: str, source: str, adjust: Work, before: Iterable[Work] = ()) -> str | None:
    """Put the content of a backup at a location, in place of the store there, if there is one.

    The backup is copied and read to its end, and changed by the works of `before`, each in a transaction of its own,
    and by `adjust`, during which no other process writes to the store that is replaced; only then does it take the
    place of the store.  All who have the store open notice it when they next use it.  If anything is raised before, the
    store is left as it was.  Returns the path of the store that was replaced, None if there was none.  Raises
    StoreError for what is no sound backup, ConflictError if a store was moved from the location.
    """
    ensure_own(location)
    _ensure_not_moved(location)
    return engine_at(location).restore_store(location, source, adjust, before)


def is_embedded(location: str) -> bool:
    """Whether the store at a location is reached by that alone, not by a database server."""
    return not os.path.isfile(os.path.join(location, ENGINE_FILE))


def set_aside(location: str) -> str:
    """Take a store away from its location, to another name beside it, which is returned.

    To be called when nobody writes to it.  Processes that have it open do not find it any more.
    """
    location = os.path.realpath(location)
    aside = aside_name(location, "moved")
    engine_at(location).set_aside(location, aside)
    return aside


def note_destination(location: str, destination: str) -> None:
    """Leave a note where a store is moved: users of the old location are told, and no store is made there."""
    write_file(location + _MOVED, os.fsencode(destination) + b"\n")


def forget_destination(location: str) -> None:
    """Remove that note, if there is one."""
    with suppress(FileNotFoundError):
        os.unlink(location + _MOVED)


def _destination(location: str) -> str:
    """Where the store was moved that was at a location; empty if it was not."""
    return read_text(location + _MOVED).decode("utf-8", "replace").strip()


def _ensure_not_moved(location: str) -> None:
    destination = _destination(location)
    if destination:
        raise ConflictError(f"the minter in {location} was moved to {destination}, and another one here could mint the "
                            f"same identifiers again: use that one, or if it is gone remove {location}{_MOVED}")


def replace_store(location: str, new: str) -> str:
    """Put a store, of any engine, in the place of another one, whose permissions it gets; returns where that one is
    then."""
    aside = aside_name(location, "moved")
    try:
        copy_permissions(location, new)
        put_in_place(new, location, aside, engine_at(location).set_aside)
    except OSError as error:
        raise StoreError(f"{new} cannot take the place of {location}: {error.strerror}") from None
    return aside


def remove_store(location: str) -> None:
    """Delete a store that this process has made, and that nobody uses; if that fails, what is left does not matter."""
    with suppress(NoidError):
        engine_at(location).remove_store(location)


def foreign_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of an LMDB database of another program, in the order of the keys; nobody may be using it.

    Raises InvalidError for what is no such database.
    """
    from .lmdb.backup import foreign_items

    return foreign_items(path)


# -- engines ---------------------------------------------------------------------------------------------------------


def engine_at(location: str) -> Engine:
    """The engine of the store at a location, or of one that is to be made there."""
    name = DEFAULT
    if os.path.isdir(location) or complete_replacement(location) and os.path.isdir(location):
        file = os.path.join(location, ENGINE_FILE)
        name = _engine_name(file) if os.path.isfile(file) else DEFAULT
    elif os.path.isfile(location):
        name = _engine_name(location)
    elif os.environ.get(ADDRESS_VARIABLE):
        name = "postgres"
    if name not in ENGINES:
        raise StoreError(f"{location} names the engine {name[:60]!r}, which this release of noidtools does not have")
    return _engine_module(name)


def _engine_module(name: str) -> Engine:
    # importlib.import_module would do the same, after a millisecond of imports of its own.
    try:
        engine: Engine = __import__(ENGINES[name], fromlist=["*"])
    except ImportError as error:
        if (error.name or "").partition(".")[0] == __name__.partition(".")[0]:
            raise
        raise StoreError(f"the engine {name!r} cannot be used here ({error}): install noidtools[{name}]") from None
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
