"""Errors of LMDB and of the system, as refusals that say what to do."""

from __future__ import annotations

import os

import lmdb

from ...errors import BusyError, NoidError, NoMinterError, StoreError
from . import database

_LITTLE_ROOM = 1 << 20


def translated(error: Exception, location: str) -> NoidError:
    """What LMDB or the system raised, as a refusal that says what to do."""
    text = str(error)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or "No such file" in text or "Not a dir" in text:
        return NoMinterError(
            f"there is no minter in {location}: create one with 'noid dbcreate', or name its folder with -f"
        )
    if isinstance(error, PermissionError) or "Permission denied" in text:
        if not os.geteuid():
            return StoreError(f"no permission to use the database in {location}, which root uses as the owner of that "
                              "folder would: make all files in it writable for its owner, with chown or chmod")
        return StoreError(f"no permission to use the database in {location}: even readers must be able to write "
                          f"{database.LOCK} there; change the owner or the permissions")
    if "No space left" in text or "Disk quota" in text or ("Input/output" in text and is_full(location)):
        return StoreError(f"the disk under {location} is full: nothing was changed; make room and try again")
    if "mdb_txn_begin: Resource temporarily unavailable" in text:
        # LMDB locks, for each process that reads, the byte of the lock file whose offset is the process number.
        return StoreError(f"a process of the same number ({os.getpid()}) in another container uses the database in "
                          f"{location}, and by that number LMDB tells its users apart: let the containers share their "
                          "process numbers (docker run --pid=container:NAME, in Kubernetes shareProcessNamespace)")
    if isinstance(error, lmdb.ReadersFullError):
        return BusyError(f"{database.MOST_READERS} transactions are reading {location} at once, and there cannot be "
                         "more: try again, and if this lasts run fewer processes or threads, or end those that hang")
    if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
        return StoreError(f"{location} does not hold a database of noidtools: check the path")
    if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
        return StoreError(f"the database in {location} is damaged ({text}): restore a backup with 'noid restore'")
    return StoreError(f"the database in {location} could not be used: {text}")


def is_full(location: str) -> bool:
    """Whether the disk is nearly full: LMDB reports a write that a full disk cut short as an input/output error."""
    try:
        free = os.statvfs(location)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < _LITTLE_ROOM


def not_writable(location: str) -> str:
    """The sentence for a store that this process may not write to."""
    if os.statvfs(location).f_flag & os.ST_RDONLY:
        return f"{location} is on a file system that is mounted for reading only: nothing can be changed there"
    return f"{location} cannot be written by this user: change its owner or permissions"
