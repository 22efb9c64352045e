"""The store: ordered tables of bytes in transactions.  The only package that knows a database engine.

The module `interface` says what a store offers; here stores are opened, created and replaced.

A store has a location.  What lies there decides which engine it is:

    a folder    LMDB, the embedded engine (the package lmdb), unless it contains the file `engine`
    a file      its first line is `engine: NAME`, one of `ENGINES`; the rest of the file is for that engine

An engine is a module or package with the functions of `interface.Engine`.  It is imported when a store of it is
opened.
"""

from __future__ import annotations

import os

from ..errors import NoidError, NoMinterError, StoreError, UsageError
from .files import ADDRESS_VARIABLE, ENGINE_FILE
from .locks import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .interface import Engine, Reader, Readme, Store, Work, Writer

__all__ = [
    "ENGINES", "TIMEOUT", "Reader", "Readme", "Store", "Work", "Writer", "create_store", "exists",
    "foreign_items", "move_store", "open_store", "readme_of", "replace_store", "restore_store",
]

# Name -> module; and the engine of a new store.
ENGINES = {"lmdb": f"{__name__}.lmdb", "postgres": f"{__name__}.postgres"}
DEFAULT = "lmdb"

# How the address of a database server begins, and its engine.
_SERVERS = {"postgresql:": "postgres", "postgres:": "postgres"}
_ENGINE_LINE = "engine:"
_LONGEST_ENGINE_LINE = 200


def __getattr__(name: str) -> object:
    # Only type checkers need the protocols, and every process would pay for importing them.
    if name not in ("Reader", "Store", "Writer"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import interface

    return getattr(interface, name)


def open_store(location: str, *, resolving: bool = False) -> Store:
    """The store at a location.  Raises NoMinterError if there is none, StoreError if it cannot be used.

    `resolving`: for resolvers, which may read a state that is a moment old; from a replica, if the store has one.
    """
    try:
        return _engine(location).open_store(location, resolving=resolving)
    except NoMinterError as error:
        from .moves import why_missing

        raise NoMinterError(why_missing(location) or error.message) from None


def create_store(
    location: str, fill: Work, *, chunks: Iterable[Work] = (), readme: Readme = b"", address: str = "", read: str = ""
) -> Store:
    """Make a store with what `fill` writes, and open it.  It appears complete, in one step, or not at all.

    chunks  written before `fill`, each perhaps in a transaction of its own, so that a store of any size is made in
            little memory.  Each is run before the next is asked for, and may be run again as in `Store.write`.
    readme  a text for people, stored beside the database; or a function for one that is known only after `fill`
    address where the database server is, such as postgresql://host/database; by default the embedded engine is used,
            unless the environment variable NOIDTOOLS_STORE has an address
    read    an address at which resolvers may read, such as that of a standby

    Raises ConflictError if something is at the location, or on its way to it, before any chunk is asked for.
    """
    from .moves import ensure_no_move

    ensure_no_move(location)
    address = address or os.environ.get(ADDRESS_VARIABLE, "")
    if not address:
        if read:
            raise UsageError("an address to read from is for a minter in a database server: give --store, too")
        return _engine(location).create_store(location, fill, chunks=chunks, readme=readme)
    name = next((name for start, name in _SERVERS.items() if address.startswith(start)), "")
    if not name:
        raise UsageError(f"{address[:100]!r} is no address of a database server: write it as in "
                         "postgresql://host/database")
    return _module(name).create_store(location, fill, chunks=chunks, readme=readme, address=address, read=read)


def restore_store(location: str, source: str, adjust: Work) -> str | None:
    """Put the content of a backup at a location, in place of the store there, if there is one.

    The backup is copied and read to its end, and changed by `adjust`; only then, and when no other process writes,
    does it take the place of the store, in one step.  All who have the store open notice it when they next use it.  If
    anything is raised before, the store is left as it was.  Returns the path at which the store lies that was
    replaced, None if there was none.  Raises StoreError for what is no sound backup, ConflictError if another store is
    on its way to the location.
    """
    from .moves import ensure_no_move

    ensure_no_move(location)
    return _engine(location).restore_store(location, source, adjust)


def move_store(location: str, destination: str) -> None:
    """Move a store to another location, in one step; processes that have it open do not find it any more.

    Raises ConflictError if something is at the destination.  To be called when nobody writes to it.
    """
    from .folders import move_folder

    move_folder(location, destination)


def replace_store(location: str, new: str) -> str:
    """Put a store, of any engine, in the place of another one, in one step; returns where that one is from then on.

    The new one, which this process has made, gets the owner and the permissions of the other.  All who have that one
    open notice it when they next use it.  To be called when nobody writes to either.  If it cannot be done, both are
    where they were; if this is interrupted, nothing is at `new`, and neither is lost.
    """
    from .folders import adopt_permissions, aside_name, put_in_place

    aside = aside_name(location, "moved")
    try:
        adopt_permissions(location, new)
        put_in_place(new, location, aside)
    except OSError as error:
        raise StoreError(f"{new} cannot take the place of {location}: {error.strerror}") from None
    return aside


def remove_store(location: str) -> None:
    """Delete a store that this process has made, and that nobody uses; if that fails, what is left does not matter."""
    from contextlib import suppress

    with suppress(NoidError):
        _engine(location).remove_store(location)


def readme_of(location: str) -> bytes:
    """The text for people beside a store; nothing if there is none."""
    from .folders import readme_of

    return readme_of(location)


def exists(location: str) -> bool:
    """Whether there is a store at a location, be it one that cannot be opened."""
    try:
        return _engine(location).exists(location)
    except (OSError, ValueError, StoreError):
        return False


def foreign_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of an LMDB database of another program, in the order of the keys; nobody may be using it.

    Raises InvalidError for what is no such database.
    """
    from .lmdb.foreign import foreign_items

    return foreign_items(path)


def _engine(location: str) -> Engine:
    name = DEFAULT
    if os.path.isdir(location):
        file = os.path.join(location, ENGINE_FILE)
        name = _engine_name(file) if os.path.isfile(file) else "lmdb"
    elif os.path.isfile(location):
        name = _engine_name(location)
    elif os.environ.get(ADDRESS_VARIABLE):
        name = "postgres"
    if name not in ENGINES:
        raise StoreError(f"{location} names the engine {name[:60]!r}, which this release of noidtools does not have")
    return _module(name)


def _module(name: str) -> Engine:
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
