"""Backups of LMDB databases: a folder with `data.mdb`, compacted, and the `README` of the store."""

from __future__ import annotations

import os
from itertools import islice

import lmdb

from ...errors import NoidError, StoreError
from .. import files
from ..folders import adopt_permissions, aside_name, create_folder, readme_of, replace_folder, write_readme
from ..keys import true_item
from ..locks import TIMEOUT, WriterLock
from .database import DATA, LEAST_RESERVED, LOCK, LOCK_SIZE, PLACE, WRITER
from .errors import is_full, translated
from .transactions import LONGEST_KEY, OWN_TABLE, LmdbWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

# How many items of another engine are written in one transaction.
_CHUNK = 50_000


def back_up(location: str, destination: str, copy: Callable[[str], None]) -> int:
    """Make a folder with the data file that `copy` puts into it; returns the number of its items."""
    items = 0

    def fill(folder: str) -> None:
        nonlocal items
        try:
            copy(folder)
            data = os.path.join(folder, DATA)
            os.chmod(data, os.stat(os.path.join(location, DATA)).st_mode & 0o777)
            _sync(data)
            items = _count(data)
            write_readme(folder, readme_of(location))
        except (lmdb.Error, OSError) as error:
            raise translated(error, destination) from error

    create_folder(os.path.abspath(destination), fill, what="a backup")
    return items


def write_backup(destination: str, items: Iterable[tuple[bytes, bytes, bytes]], readme: bytes) -> int:
    """Make a backup of items of a store of another engine, each a table, a key and a value; returns their number.

    `readme` is a text for people.
    """
    count = 0

    def fill(folder: str) -> None:
        nonlocal count
        try:
            with lmdb.open(os.fsencode(folder), map_size=1 << 40, lock=False, mode=0o664) as environment:
                rest = iter(items)
                while chunk := list(islice(rest, _CHUNK)):
                    with environment.begin(write=True) as txn:
                        writer = LmdbWriter(txn)
                        for table, key, value in chunk:
                            writer.put(table, key, value)
            data = os.path.join(folder, DATA)
            _sync(data)
            count = _count(data)
            write_readme(folder, readme)
        except (lmdb.Error, OSError) as error:
            raise translated(error, destination) from error

    create_folder(os.path.abspath(destination), fill, what="a backup")
    return count


def read_backup(source: str) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The items of a backup, for a store of another engine: tables, keys and values.  Raises StoreError."""
    data = os.path.join(source, DATA) if os.path.isdir(source) else source
    try:
        if not os.path.getsize(data):
            raise StoreError(f"{data} is empty: it is no backup of a minter")
        _count(data)
        with _opened(data) as environment, environment.begin() as txn:
            yield from _all_items(txn)
    except (lmdb.Error, OSError) as error:
        raise _no_backup(error, data, os.path.dirname(data) or ".") from error


def _all_items(txn: Any) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Tables, keys and values of everything in an LMDB transaction that is not the engine's own."""
    for stored, value in txn.cursor():
        key, value = true_item(stored, value, LONGEST_KEY)
        if key[:1] != OWN_TABLE:
            yield key[:1], key[1:], value


def restore(location: str, source: str, adjust: Callable[[str], None]) -> str | None:
    """See `restore_store` of this package; `adjust` opens the new store in a folder and changes it.

    The source is the folder of a backup, or a data file.
    """
    data = os.path.join(source, DATA) if os.path.isdir(source) else source
    location = os.path.realpath(location)

    def fill(folder: str) -> None:
        _fill(folder, data)
        adjust(folder)
        if os.path.lexists(location):
            adopt_permissions(location, folder)

    if not os.path.lexists(location):
        create_folder(location, fill)
        return None
    aside = aside_name(location, "replaced")
    lock = WriterLock(os.path.join(location, WRITER))
    try:
        lock.acquire(TIMEOUT)
        try:
            replace_folder(location, fill, aside)
        finally:
            lock.release()
            lock.close()
    except OSError as error:
        raise translated(error, location) from error
    return aside


def _fill(folder: str, data: str) -> None:
    new, writer = os.path.join(folder, DATA), os.path.join(folder, WRITER)
    try:
        _copy_data(data, new)
    except (lmdb.Error, OSError) as error:
        raise _no_backup(error, data, folder) from error
    try:
        _count(new)
        files.ensure_allocated(os.path.join(folder, LOCK), LOCK_SIZE)
        os.close(os.open(writer, os.O_CREAT | os.O_RDWR, 0o664))
        # The permissions that a new file gets here.
        os.chmod(new, os.stat(writer).st_mode & 0o777)
        write_readme(folder, readme_of(os.path.dirname(data)))
        _sync(new)
    except (lmdb.Error, OSError) as error:
        raise translated(error, folder) from error


def _no_backup(error: Exception, data: str, folder: str) -> NoidError:
    if isinstance(error, FileNotFoundError) or "No such file" in str(error):
        return StoreError(f"there is no backup at {data}: name the folder that 'noid backup' made")
    if isinstance(error, lmdb.Error) and not is_full(folder):
        return StoreError(f"{data} is not a sound backup ({error}): nothing was changed")
    return translated(error, folder)


def _copy_data(data: str, new: str) -> None:
    """Copy a data file as LMDB reads it: the newest complete state in it, without free pages."""
    if not os.path.getsize(data):
        raise StoreError(f"{data} is empty: it is no backup of a minter")
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


def _opened(data: str) -> lmdb.Environment:
    """A data file that nobody writes to, without a lock file."""
    environment = lmdb.open(os.fsencode(data), subdir=False, readonly=True, lock=False, create=False, map_size=0)
    pages = int(environment.info()["last_pgno"]) + 1
    if os.path.getsize(data) < pages * int(environment.stat()["psize"]):
        # To read beyond the end of a mapped file kills the process (SIGBUS).
        environment.close()
        raise StoreError(f"{data} is shorter than it says: the copy was cut short")
    return environment


def _count(data: str) -> int:
    """Read a data file to its end; returns the number of its items, without those of the engine itself."""
    with _opened(data) as environment, environment.begin(buffers=True) as txn:
        expected = int(environment.stat()["entries"])
        found = sum(1 for _ in txn.cursor())
        own = txn.get(PLACE) is not None
    if found != expected:
        raise StoreError(f"{data} is damaged: it has {found} items and should have {expected}")
    return found - own


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

