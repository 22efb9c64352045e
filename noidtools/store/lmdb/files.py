"""The files of an LMDB database: how they are made and opened, which of them belong together, and what errors mean."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import sleep

import lmdb

from ...errors import BusyError, NoidError, NoMinterError, StoreError
from .. import folders

DATA, LOCK, WRITER = "data.mdb", "lock.mdb", "writer.lock"

LONGEST_KEY = 511
LEAST_RESERVED = 1 << 20
MOST_READERS = 1024

# What this engine stores for itself; tables of others have printable names.
OWN_TABLE = b"\0"

# The key of the record of the place of a database: the inodes of its data file and of the folder.
PLACE = OWN_TABLE + b"place"

# The size of LMDB's lock file for that many readers: a header, and a line of the processor's cache for each.
_LOCK_SIZE = 128 + 64 * MOST_READERS

# Seconds in which a writer extends the file to the length that its header states.
_WRITER_PAUSE = 0.1

# Bytes on a disk that is as good as full.
_LITTLE_ROOM = 1 << 20


# -- opening ---------------------------------------------------------------------------------------------------------


def create_files(folder: str) -> None:
    """Make an empty database in an empty folder."""
    try:
        folders.ensure_allocated(_path(folder, LOCK), _LOCK_SIZE)
        # py-lmdb takes a path that is no UTF-8 as bytes only.
        lmdb.open(os.fsencode(folder), map_size=LEAST_RESERVED, max_readers=MOST_READERS, mode=0o664).close()
        os.close(os.open(_path(folder, WRITER), os.O_CREAT | os.O_RDWR, 0o664))
    except (lmdb.Error, OSError) as error:
        raise translated(error, folder) from error


def add_lock_files(folder: str) -> None:
    """Make the other files of a database in a folder that has its data file."""
    data = _path(folder, DATA)
    for name in (LOCK, WRITER):
        folders.ensure_exists(_path(folder, name), data)
    folders.ensure_allocated(_path(folder, LOCK), _LOCK_SIZE)


def is_writable(location: str) -> bool:
    """Whether this process may write to the database and to its lock, which it makes if there is none."""
    lock = _path(location, WRITER)
    return os.access(_path(location, DATA), os.W_OK) and os.access(lock if os.path.exists(lock) else location, os.W_OK)


def ensure_files(location: str, *, writable: bool) -> None:
    """Make lock files that are missing; raises StoreError if a file is a link, or the data file empty."""
    found = [folders.ensure_regular(_path(location, name)) for name in (DATA, LOCK, WRITER)]
    if found[0] is not None and not found[0].st_size:
        raise StoreError(f"{_path(location, DATA)} is empty: it was damaged or never a minter's; restore a backup")
    if writable and (found[1] is None or found[2] is None or not folders.is_allocated(found[1], _LOCK_SIZE)):
        add_lock_files(location)


def open_checked(location: str, size: int, *, writable: bool) -> lmdb.Environment:
    """Open the database with a map of this size, or of less if the system does not grant it; raises StoreError if its
    files are not whole, or do not belong together."""
    ensure_files(location, writable=writable)
    environment = _open_environment(location, size, writable=writable)
    try:
        environment.reader_check()
        _ensure_same_transaction(environment, location)
        _ensure_length(environment, location, writable=writable)
        _ensure_in_place(environment, location)
    except BaseException:
        environment.close()
        raise
    return environment


def _open_environment(location: str, size: int, *, writable: bool) -> lmdb.Environment:
    length = os.path.getsize(_path(location, DATA))
    least = max(LEAST_RESERVED, length + (LEAST_RESERVED if writable else 0))
    size = max(size, least)
    while True:
        try:
            # Spare transactions would be lost to the child of a fork that closes the environment.
            return lmdb.open(os.fsencode(location), map_size=size, max_readers=MOST_READERS, create=False,
                             readonly=not writable, max_spare_txns=0, mode=0o664)
        except lmdb.MemoryError:
            # A limit on address space (ulimit -v, a container): try with less.
            if size <= least:
                raise
            size = max(least, size // 2)


# -- files that belong together --------------------------------------------------------------------------------------
#
# LMDB keeps the number of the last transaction in its lock file, and by that number chooses the state of the data
# file.  A data file that is put beside a lock file of another one, which some process has open, is therefore read and
# continued from a wrong state: transactions get lost, and identifiers are minted twice.


def file_of(location: str) -> tuple[tuple[int, int], int]:
    """Device and inode of the data file, and the inode of the lock file, 0 if there is none."""
    found = os.stat(_path(location, DATA))
    return (found.st_dev, found.st_ino), inode(_path(location, LOCK))


def inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _ensure_same_transaction(environment: lmdb.Environment, location: str) -> None:
    """Raise StoreError if the lock file of an environment that was just opened belongs to another data file.

    The newest state of the data file may be one ahead, if its writer is about to say so in the lock file, or was killed
    before it could.  Then `begin_write` decides.
    """
    # Others may commit between the two readings.
    least = int(environment.info()["last_txnid"]) - 1
    with environment.begin() as txn:
        number = txn.id()
    if not least <= number <= int(environment.info()["last_txnid"]):
        raise moved_in(location)


def _ensure_in_place(environment: lmdb.Environment, location: str) -> None:
    """Raise StoreError if a data file took the place of another one in the same folder, as its own record says."""
    with environment.begin() as txn:
        recorded = txn.get(PLACE, b"").split()
    found = _place(location).split()
    if recorded[:1] != found[:1] and recorded[1:] == found[1:]:
        raise moved_in(location)


def is_in_place(location: str) -> bool:
    """Whether the data file was last written in this folder, as its own record says."""
    # Without the lock file, which may be open already.
    with lmdb.open(os.fsencode(_path(location, DATA)), subdir=False, readonly=True, lock=False,
                   create=False) as environment, environment.begin() as txn:
        whole = os.path.getsize(_path(location, DATA)) >= length_of(environment)
        return whole and txn.get(PLACE) == _place(location)


def begin_write(environment: lmdb.Environment, location: str) -> lmdb.Transaction:
    """Begin a write transaction; raises StoreError if it would not continue from the newest state of the data file."""
    txn = environment.begin(write=True)
    try:
        if txn.id() != int(environment.info()["last_txnid"]) + 1:
            raise moved_in(location)
        place = _place(location)
        if txn.get(PLACE) != place:
            txn.put(PLACE, place)
    except BaseException:
        txn.abort()
        raise
    return txn


def _place(location: str) -> bytes:
    # In this order, so that a restore between both looks gives no pair that is the old one in part.
    return b"%d %d" % (inode(_path(location, DATA)), inode(location))


def moved_in(location: str) -> StoreError:
    data = _path(location, DATA)
    return StoreError(f"{data} was put there by other means than a restore, and going on with it could mint "
                      "identifiers twice", f"to use it run 'noid restore {data}', else restore a backup")


# -- the length of the data file -------------------------------------------------------------------------------------
#
# A look past the end of a mapped file kills the process (SIGBUS), so a file that was cut short must be refused.  A
# sound file may be shorter than its header says, too, because pages that are allocated and freed in one transaction are
# never written.  Therefore the file is made as long as it says after each commit.


def lengthen(environment: lmdb.Environment, location: str) -> None:
    """Make the data file as long as it says, after a commit; if that fails the commit stands all the same."""
    with suppress(lmdb.Error, OSError):  # the next process that opens the file tries again
        folders.ensure_length(_path(location, DATA), length_of(environment))


def length_of(environment: lmdb.Environment) -> int:
    """The length that a data file must have by what it says."""
    return (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])


def _ensure_length(environment: lmdb.Environment, location: str, *, writable: bool) -> None:
    data = _path(location, DATA)
    if os.path.getsize(data) >= length_of(environment):
        return
    sleep(_WRITER_PAUSE)  # a writer may be between its commit and the extension
    if os.path.getsize(data) >= length_of(environment):
        return
    if not writable:
        raise StoreError(f"{data} is shorter than it says, so it was cut short, or its last writer was killed", "run "
                         "'noid dbinfo' under an account that may write it, or restore a backup")
    try:
        read_all(data)
    except lmdb.Error:
        raise StoreError(f"{data} was cut short, and a part of the database is lost", "restore a backup with "
                         "'noid restore'") from None
    folders.ensure_length(data, length_of(environment))


def read_all(path: str) -> int:
    """Read a whole database, in a folder or in a file that nobody writes to; returns the number of its items.

    Another process reads it, since LMDB may end the process that reads a damaged page.  Raises lmdb.Error.
    """
    import subprocess

    reading = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reading.py")
    done = subprocess.run([sys.executable or "python3", reading, os.path.abspath(path)], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, cwd="/")
    name, _, reason = os.fsdecode(done.stdout).strip().partition(" ")
    if done.returncode < 0:
        raise lmdb.CorruptedError("a page of it cannot be read")
    if done.returncode:
        raise getattr(lmdb, name, lmdb.Error)(reason or "it cannot be read by another process")
    return int(name)


# -- errors ----------------------------------------------------------------------------------------------------------


def translated(error: Exception, location: str) -> NoidError:
    """What LMDB or the system raised, as a refusal that names the remedy."""
    text = str(error)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or "No such file" in text or "Not a dir" in text:
        return no_minter(location)
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return StoreError(f"no permission to use the database in {location}: even readers must be able to write "
                          f"{LOCK} there; change the owner or the permissions")
    if isinstance(error, lmdb.MapFullError):
        return StoreError(f"the transaction needs more room than was set aside for {location}; now there is more, so "
                          "do it again")
    if isinstance(error, lmdb.TxnFullError):
        return StoreError("this is too much for one transaction, so nothing was changed: do it in several")
    if "No space left" in text or "Disk quota" in text or ("Input/output" in text and is_full(location)):
        return StoreError(f"the disk under {location} is full: nothing was changed; make room and try again")
    if "mdb_txn_begin: Resource temporarily unavailable" in text:
        # LMDB locks, for each process that reads, the byte of the lock file whose offset is the process number.
        return StoreError(f"a process of the same number ({os.getpid()}) in another container uses the database in "
                          f"{location}, and by that number LMDB tells its users apart: let the containers share their "
                          "process numbers (docker run --pid=container:NAME, in Kubernetes shareProcessNamespace)")
    if isinstance(error, lmdb.ReadersFullError):
        return BusyError(f"{MOST_READERS} transactions are reading {location} at once, and there cannot be more: try "
                         "again, and if this lasts run fewer processes or threads, or end those that hang")
    if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
        return StoreError(f"{location} does not hold a database of noidtools: check the path")
    if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
        return StoreError(f"the database in {location} is damaged ({text})", "restore a backup with 'noid restore'")
    return StoreError(f"the database in {location} could not be used: {text}")


def no_minter(location: str) -> NoMinterError:
    return NoMinterError(f"there is no minter in {location}",
                         "create one with 'noid dbcreate', or name another folder")


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


def _path(location: str, name: str) -> str:
    # Opening needs a dozen paths, and os.path.join takes ten times as long.
    return f"{location}/{name}"
