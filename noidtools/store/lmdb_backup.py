"""Backups of LMDB databases: a folder with `data.mdb`, compacted, and the `README` of the store."""

from __future__ import annotations

import os
import stat
import time

import lmdb

from ..errors import NoidError, StoreError
from . import TIMEOUT, files
from .folders import create_folder, replace_folder
from .lmdb_files import DATA, LOCK, LOCK_SIZE, README, WRITER, translated
from .locks import WriterLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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
            _copy_readme(os.path.join(location, README), folder)
        except (lmdb.Error, OSError) as error:
            raise translated(error, destination) from error

    create_folder(os.path.abspath(destination), fill, what="a backup")
    return items


def restore(location: str, source: str, adjust: Callable[[str], None]) -> str | None:
    """See `restore_store` of this package; `adjust` opens the new store in a folder and changes it.

    The source is the folder of a backup, or a data file.
    """
    data = os.path.join(source, DATA) if os.path.isdir(source) else source
    readme = os.path.join(os.path.dirname(data), README)
    location = os.path.realpath(location)

    def fill(folder: str) -> None:
        _fill(folder, data, readme)
        adjust(folder)
        _adopt_permissions(location, folder)

    if not os.path.lexists(location):
        create_folder(location, fill)
        return None
    aside = f"{location}-replaced-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
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


def _fill(folder: str, data: str, readme: str) -> None:
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
        _copy_readme(readme, folder)
        _sync(new)
    except (lmdb.Error, OSError) as error:
        raise translated(error, folder) from error


def _no_backup(error: Exception, data: str, folder: str) -> NoidError:
    if isinstance(error, FileNotFoundError) or "No such file" in str(error):
        return StoreError(f"there is no backup at {data}: name the folder that 'noid backup' made")
    if isinstance(error, lmdb.Error) and not files.is_full(folder):
        return StoreError(f"{data} is not a sound backup ({error}): nothing was changed")
    return translated(error, folder)


def _adopt_permissions(old: str, new: str) -> None:
    """Give the new files the permissions of those they replace, and their owner if this account may."""
    for name in (".", DATA, LOCK, WRITER, README):
        try:
            before = os.lstat(os.path.join(old, name))
        except OSError:
            continue  # no such file before
        path = os.path.join(new, name)
        if stat.S_ISLNK(before.st_mode) or not os.path.lexists(path):
            continue
        if os.geteuid() == 0:
            os.chown(path, before.st_uid, before.st_gid)
        os.chmod(path, before.st_mode & 0o7777)


def _copy_data(data: str, new: str) -> None:
    """Copy a data file as LMDB reads it: the newest complete state in it, without free pages."""
    if not os.path.getsize(data):
        raise StoreError(f"{data} is empty: it is no backup of a minter")
    # Also because LMDB copies a damaged file without looking.
    _count(data)
    with _opened(data) as environment:
        environment.copy(new, compact=True)


def _opened(data: str) -> lmdb.Environment:
    """A data file that nobody writes to, without a lock file."""
    environment = lmdb.open(data, subdir=False, readonly=True, lock=False, create=False, map_size=0)
    pages = int(environment.info()["last_pgno"]) + 1
    if os.path.getsize(data) < pages * int(environment.stat()["psize"]):
        # A look past the end of a file would kill this process.
        environment.close()
        raise StoreError(f"{data} is shorter than it says: the copy was cut short")
    return environment


def _count(data: str) -> int:
    """Read a data file to its end; returns the number of its items."""
    with _opened(data) as environment, environment.begin(buffers=True) as txn:
        expected = int(environment.stat()["entries"])
        found = sum(1 for _ in txn.cursor())
    if found != expected:
        raise StoreError(f"{data} is damaged: it has {found} items and should have {expected}")
    return found


def _copy_readme(readme: str, folder: str) -> None:
    from .folders import write_file

    try:
        with open(readme, "rb") as file:
            content = file.read()
    except OSError:
        return  # it is for people; a minter works without
    write_file(os.path.join(folder, README), content)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

