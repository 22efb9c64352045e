"""Backups of LMDB databases: a folder with `data.mdb`, compacted, and the `README` of the store.

A backup of a store of another engine is the same; and databases of other programs are read here, too.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from itertools import islice

import lmdb

from ...errors import ConflictError, InvalidError, NoidError, StoreError
from ..folders import (
    ENGINE_FILE,
    README,
    aside_name,
    copy_permissions,
    create_folder,
    ensure_own,
    readme_of,
    remove_unfinished,
    replace_folder,
    sync_folder,
    write_readme,
)
from ..keys import stored_key, stored_value, true_item
from ..locks import TIMEOUT, WriterLock
from .files import (
    DATA,
    LEAST_RESERVED,
    LOCK,
    LONGEST_KEY,
    OWN_TABLE,
    PLACE,
    WRITER,
    add_lock_files,
    is_full,
    length_of,
    read_all,
    translated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Held by the thread that copies a backup, since a process may open a file once.
_copying = threading.Lock()

# How many items of another engine are written in one transaction.
_CHUNK = 50_000

# One of these is in every folder of a minter, however damaged it is.
_OF_A_MINTER = frozenset((DATA, LOCK, WRITER, README, ENGINE_FILE))


# -- writing ---------------------------------------------------------------------------------------------------------


def back_up(location: str, destination: str, copy: Callable[[str], None]) -> int:
    """Make a backup with the data file that `copy` puts into a folder; returns the number of its items."""
    def fill(folder: str) -> None:
        copy(folder)
        os.chmod(os.path.join(folder, DATA), os.stat(os.path.join(location, DATA)).st_mode & 0o777)

    remove_unfinished(os.path.realpath(location))  # a killed restore leaves a whole copy
    return _make_backup(destination, fill, readme_of(location))


def write_backup(destination: str, items: Iterable[tuple[bytes, bytes, bytes]], readme: bytes) -> int:
    """Make a backup of items of a store of another engine, each a table, a key and a value; returns their number.

    `readme` is a text for people.
    """
    def fill(folder: str) -> None:
        with lmdb.open(os.fsencode(folder), map_size=1 << 40, lock=False, mode=0o664) as environment:
            rest = iter(items)
            while chunk := list(islice(rest, _CHUNK)):
                with environment.begin(write=True) as txn:
                    for table, key, value in chunk:
                        key = table + key
                        txn.put(stored_key(key, LONGEST_KEY), stored_value(key, value, LONGEST_KEY))

    return _make_backup(destination, fill, readme)


def _make_backup(destination: str, fill: Callable[[str], None], readme: bytes) -> int:
    items = 0

    def fill_folder(folder: str) -> None:
        nonlocal items
        try:
            fill(folder)
            data = os.path.join(folder, DATA)
            sync_folder(data)
            items = _count(data)
            write_readme(folder, readme)
        except lmdb.CorruptedError as error:
            raise StoreError(f"the copy is damaged ({error}), so no backup was made: the database may be damaged, too; "
                             "restore an earlier backup, and look for a fault of the disk or of the memory") from error
        except (lmdb.Error, OSError) as error:
            raise translated(error, destination) from error

    create_folder(os.path.abspath(destination), fill_folder, what="a backup")
    return items


# -- reading ---------------------------------------------------------------------------------------------------------


def read_backup(source: str) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The items of a backup, for a store of another engine: tables, keys and values.  Raises StoreError."""
    data = _data_of(source)
    try:
        with _unwritten(data):
            _count(data)
            with _opened(data) as environment, environment.begin() as txn:
                for stored, value in txn.cursor():
                    key, value = true_item(stored, value, LONGEST_KEY)
                    if key[:1] != OWN_TABLE:
                        yield key[:1], key[1:], value
    except (lmdb.Error, OSError) as error:
        raise _no_backup(error, data, os.path.dirname(data) or ".") from error


def restore(location: str, source: str, adjust: Callable[[str], None]) -> str | None:
    """See `restore_store`; `adjust` opens the new store in a folder and changes it.

    The source is the folder of a backup, or a data file.
    """
    data = _data_of(source)
    location = os.path.realpath(location)

    def fill(folder: str) -> None:
        with _unwritten(data, location):
            _fill(folder, data)
        adjust(folder)
        if os.path.lexists(location):
            copy_permissions(location, folder)

    if not os.path.lexists(location):
        create_folder(location, fill)
        return None
    try:
        found = os.listdir(location)
        if found and _OF_A_MINTER.isdisjoint(found):
            raise ConflictError(f"{location} has something else than a minter, which is not replaced: move it away "
                                "first")
        with _locked(location):
            aside = aside_name(location, "replaced")
            replace_folder(location, fill, aside)
    except OSError as error:
        raise translated(error, location) from error
    return aside


@contextmanager
def _locked(location: str) -> Iterator[None]:
    """Keep writers away from the database in a folder."""
    lock = WriterLock(os.path.join(location, WRITER))
    lock.acquire(TIMEOUT)
    try:
        yield
    finally:
        lock.release()
        lock.close()


@contextmanager
def _unwritten(data: str, locked: str = "") -> Iterator[None]:
    """Keep writers away from a data file while it is copied, if it is a minter's; those in `locked` are away."""
    folder = os.path.dirname(os.path.realpath(data))
    with _copying:
        if folder == locked or not os.path.exists(os.path.join(folder, WRITER)):
            yield
            return
        if not os.access(os.path.join(folder, WRITER), os.W_OK):
            raise StoreError(f"{folder} is a minter's, and this account cannot lock it",
                             "make a backup of it with 'noid backup', and restore that")
        with _locked(folder):
            yield


def _data_of(source: str) -> str:
    """The data file of a backup.  Raises StoreError if it is another account's, and this is root."""
    data = os.path.join(source, DATA) if os.path.isdir(source) else source
    ensure_own(data)
    return data


def _fill(folder: str, data: str) -> None:
    new = os.path.join(folder, DATA)
    try:
        _copy_data(data, new)
    except (lmdb.Error, OSError) as error:
        raise _no_backup(error, data, folder) from error
    try:
        _count(new)
        write_readme(folder, readme_of(os.path.dirname(data)))
        # The permissions that a new file gets here.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(new, 0o664 & ~mask)
        add_lock_files(folder)
        sync_folder(new)
    except (lmdb.Error, OSError) as error:
        raise translated(error, folder) from error


def _copy_data(data: str, new: str) -> None:
    """Copy a data file as LMDB reads it: the newest complete state in it, without free pages."""
    # First, because LMDB copies a damaged file without noticing.
    _count(data)
    with _opened(data) as environment:
        environment.copy(os.fsencode(new), compact=True)  # type: ignore[arg-type]
    # The number of a folder that was deleted may be that of the new one.
    size = os.path.getsize(new) + LEAST_RESERVED
    with (
        lmdb.open(os.fsencode(new), subdir=False, map_size=size, lock=False) as environment,
        environment.begin(write=True) as txn,
    ):
        txn.delete(PLACE)


def _no_backup(error: Exception, data: str, folder: str) -> NoidError:
    if isinstance(error, FileNotFoundError) or "No such file" in str(error):
        return StoreError(f"there is no backup at {data}", "name the folder that 'noid backup' made")
    if isinstance(error, lmdb.Error) and not is_full(folder):
        return StoreError(f"{data} is not a sound backup ({error}): nothing was changed")
    return translated(error, folder)


def _opened(data: str) -> lmdb.Environment:
    """A data file that nobody writes to, without a lock file."""
    if not os.path.getsize(data):
        raise StoreError(f"{data} is empty: it is not a backup of a minter")
    environment = lmdb.open(os.fsencode(data), subdir=False, readonly=True, lock=False, create=False, map_size=0)
    if os.path.getsize(data) < length_of(environment):
        # To read beyond the end of a mapped file kills the process (SIGBUS).
        environment.close()
        raise StoreError(f"{data} is shorter than it says: the copy was cut short")
    return environment


def _count(data: str) -> int:
    """Read a data file to its end; returns the number of its items, without those of the engine itself."""
    with _opened(data) as environment:
        found = read_all(data)
        with environment.begin() as txn:
            return found - (txn.get(PLACE) is not None)


# -- databases of other programs -------------------------------------------------------------------------------------


def foreign_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a database that is one file, in the order of the keys.

    The file must not be in use: it is opened without a lock.  Raises InvalidError for what is no such database.
    """
    try:
        with lmdb.open(os.fsencode(path), subdir=False, readonly=True, lock=False, create=False,
                       max_spare_txns=0) as environment:
            length = length_of(environment)
            if os.stat(path).st_size < length:
                # A sound file may be shorter than it says, too, if its last pages were freed before they were written.
                raise InvalidError(f"{path} has {os.stat(path).st_size} bytes, but its database {length}, so it is cut "
                                   "off; if it is no longer where it comes from, 'mdb_copy -nc' makes a whole copy of "
                                   "it there")
            with environment.begin() as txn, txn.cursor() as cursor:
                yield from cursor
    except lmdb.Error as error:
        raise InvalidError(f"{path} is not an LMDB database, or is damaged: {error}") from None
