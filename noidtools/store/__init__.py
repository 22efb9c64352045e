"""The store: ordered tables of bytes in transactions.  The only package that knows a database engine.

The module `interface` says what a store offers; here stores are opened, and in `creation` they are made and replaced.

A store has a location.  What lies there decides which engine it is:

    a folder    LMDB, the embedded engine (the package lmdb), unless it contains the file `engine`
    a file      its first line is `engine: NAME`, one of `ENGINES`; the rest of the file is for that engine

An engine is a module or package with the functions of `interface.Engine`.  It is imported when a store of it is
opened.
"""

from __future__ import annotations

import os

from ..errors import NoMinterError, StoreError
from .files import ADDRESS_VARIABLE, ENGINE_FILE
from .locks import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .interface import Engine, Reader, Readme, Store, Work, Writer

__all__ = [
    "ENGINES", "TIMEOUT", "Reader", "Readme", "Store", "Work", "Writer", "engine_at", "engine_module", "exists",
    "open_store", "open_through",
]

# Name -> module; and the engine of a new store.
ENGINES = {"lmdb": f"{__name__}.lmdb", "postgres": f"{__name__}.postgres"}
DEFAULT = "lmdb"

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
        return engine_at(location).open_store(location, resolving=resolving)
    except NoMinterError as error:
        from .moves import why_missing

        raise NoMinterError(why_missing(location) or error.message) from None


def open_through(opener: Callable[[Callable[[], None]], None]) -> None:
    """Open stores in this process from now on by calling `opener` with a function that opens one, which may write to
    its files: for a process that has to know when it writes."""
    from .shared import open_through

    open_through(opener)


def exists(location: str) -> bool:
    """Whether there is a store at a location, be it one that cannot be opened."""
    try:
        return engine_at(location).exists(location)
    except (OSError, ValueError, StoreError):
        return False


def engine_at(location: str) -> Engine:
    """The engine of the store at a location, or of one that is to be made there."""
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
    return engine_module(name)


def engine_module(name: str) -> Engine:
    """The engine of that name."""
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
