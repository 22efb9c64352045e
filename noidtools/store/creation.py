"""Stores that are made, restored, moved, replaced and removed, each in one step."""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import NoidError, StoreError, UsageError
from . import engine_at, engine_module
from .files import ADDRESS_VARIABLE
from .folders import adopt_permissions, aside_name, move_folder, put_in_place
from .moves import ensure_no_move

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .interface import Readme, Store, Work

# How the address of a database server begins, and its engine.
_SERVERS = {"postgresql:": "postgres", "postgres:": "postgres"}


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
    ensure_no_move(location)
    address = address or os.environ.get(ADDRESS_VARIABLE, "")
    if not address:
        if read:
            raise UsageError("an address to read from is for a minter in a database server: give --store, too")
        return engine_at(location).create_store(location, fill, chunks=chunks, readme=readme)
    name = next((name for start, name in _SERVERS.items() if address.startswith(start)), "")
    if not name:
        raise UsageError(f"{address[:100]!r} is no address of a database server: write it as in "
                         "postgresql://host/database")
    return engine_module(name).create_store(location, fill, chunks=chunks, readme=readme, address=address, read=read)


def restore_store(location: str, source: str, adjust: Work) -> str | None:
    """Put the content of a backup at a location, in place of the store there, if there is one.

    The backup is copied and read to its end, and changed by `adjust`; only then, and when no other process writes,
    does it take the place of the store, in one step.  All who have the store open notice it when they next use it.  If
    anything is raised before, the store is left as it was.  Returns the path at which the store lies that was
    replaced, None if there was none.  Raises StoreError for what is no sound backup, ConflictError if another store is
    on its way to the location.
    """
    ensure_no_move(location)
    return engine_at(location).restore_store(location, source, adjust)


def move_store(location: str, destination: str) -> None:
    """Move a store to another location, in one step; processes that have it open do not find it any more.

    Raises ConflictError if something is at the destination.  To be called when nobody writes to it.
    """
    move_folder(location, destination)


def replace_store(location: str, new: str) -> str:
    """Put a store, of any engine, in the place of another one, in one step; returns where that one is from then on.

    The new one, which this process has made, gets the owner and the permissions of the other.  All who have that one
    open notice it when they next use it.  To be called when nobody writes to either.  If it cannot be done, both are
    where they were; if this is interrupted, nothing is at `new`, and neither is lost.
    """
    aside = aside_name(location, "moved")
    try:
        adopt_permissions(location, new)
        put_in_place(new, location, aside)
    except OSError as error:
        raise StoreError(f"{new} cannot take the place of {location}: {error.strerror}") from None
    return aside


def remove_store(location: str) -> None:
    """Delete a store that this process has made, and that nobody uses; if that fails, what is left does not matter."""
    with suppress(NoidError):
        engine_at(location).remove_store(location)


def readme_of(location: str) -> bytes:
    """The text for people beside a store; nothing if there is none."""
    from .folders import readme_of

    return readme_of(location)


def foreign_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of an LMDB database of another program, in the order of the keys; nobody may be using it.

    Raises InvalidError for what is no such database.
    """
    from .lmdb.foreign import foreign_items

    return foreign_items(path)
