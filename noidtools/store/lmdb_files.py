"""The files of an LMDB database: their names, which of them belong together, and errors about them."""

from __future__ import annotations

import os
from time import monotonic, sleep

import lmdb

from ..errors import NoidError, NoMinterError, StoreError
from . import files

DATA, LOCK, WRITER, README = "data.mdb", "lock.mdb", "writer.lock", "README"

LEAST_RESERVED = 1 << 20
MOST_READERS = 1024

# What LMDB makes its lock file for so many readers: a header, and a line of the processor's cache for each.
LOCK_SIZE = 128 + 64 * MOST_READERS

# Seconds that a reader waits for a writer to make the file as long as it says.
_WRITER_PAUSE = 0.2

# The record in writer.lock: the inodes of the data file, the lock file, writer.lock itself and the folder.  Always of
# the same length, so that processes which write the same record at once do not disturb each other.
_RECORD = "files %020d %020d %020d %020d\n"
_RECORD_SIZE = len(_RECORD % (0, 0, 0, 0))


def translated(error: Exception, location: str) -> NoidError:
    """What LMDB or the system raised, as a refusal that says what to do."""
    text = str(error)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or "No such file" in text or "Not a dir" in text:
        return NoMinterError(
            f"there is no minter in {location}: create one with 'noid dbcreate', or name its folder with -f"
        )
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return StoreError(f"no permission to use the database in {location}: even readers must be able to write "
                          f"{LOCK} there; change the owner or the permissions")
    if "No space left" in text or "Disk quota" in text or ("Input/output" in text and files.is_full(location)):
        return StoreError(f"the disk under {location} is full: nothing was changed; make room and try again")
    if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
        return StoreError(f"{location} does not hold a database of noidtools: check the path")
    if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
        return StoreError(f"the database in {location} is damaged ({text}): restore a backup with 'noid restore'")
    return StoreError(f"the database in {location} could not be used: {text}")


def open_environment(location: str, size: int, *, writable: bool) -> lmdb.Environment:
    """Open the database with a map of this size, or of less if the system does not grant it."""
    length = os.path.getsize(os.path.join(location, DATA))
    least = max(LEAST_RESERVED, length + (LEAST_RESERVED if writable else 0))
    size = max(size, least)
    while True:
        try:
            return lmdb.open(location, map_size=size, max_readers=MOST_READERS, create=False, readonly=not writable,
                             max_spare_txns=8, mode=0o664)
        except lmdb.MemoryError:
            # A limit on address space (ulimit -v, a container): be content with less.
            if size <= least:
                raise
            size = max(least, size // 2)


# -- files that belong together --------------------------------------------------------------------------------------
#
# LMDB keeps the number of the last transaction in its lock file, and by that number chooses the state of the data
# file.  A data file that is put beside a lock file of another one, which some process has open, is therefore read and
# continued from a wrong state: transactions get lost, and identifiers are minted twice.


def identity(location: str) -> tuple[int, int, int] | None:
    """Device and inode of the data file and the inode of the lock file, 0 if there is none; None without a database."""
    try:
        data = os.stat(os.path.join(location, DATA))
    except (OSError, ValueError):
        return None
    return data.st_dev, data.st_ino, _inode(os.path.join(location, LOCK))


def ensure_together(location: str, *, writable: bool) -> None:
    """Raise StoreError if the data file was replaced while the files around it stayed.

    `writer.lock` holds a record of the files that belong together.  Where it has none, as in databases of release
    0.1.0, or one of another folder, which was copied as a whole, a process that may write makes one.
    """
    writer = os.path.join(location, WRITER)
    found = tuple(_inode(os.path.join(location, name)) for name in (DATA, LOCK, WRITER, "."))
    recorded = _recorded(writer)
    if recorded == found:
        return
    if recorded is not None and recorded[0] != found[0] and recorded[1:] == found[1:]:
        raise moved_in(location)
    if writable:
        _record(writer, found)


def moved_in(location: str) -> StoreError:
    data = os.path.join(location, DATA)
    return StoreError(f"{data} was put there by other means than 'noid restore', and going on with it could mint "
                      f"identifiers twice: to use it say 'noid restore {data}', else restore a backup")


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _recorded(writer: str) -> tuple[int, ...] | None:
    try:
        descriptor = os.open(writer, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # there is none, or this account may not read it
    try:
        name, *numbers = os.read(descriptor, _RECORD_SIZE).split() or [b""]
    finally:
        os.close(descriptor)
    if name != b"files" or len(numbers) != 4 or not all(number.isdigit() for number in numbers):
        return None
    return tuple(map(int, numbers))


def _record(writer: str, found: tuple[int, ...]) -> None:
    try:
        descriptor = os.open(writer, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o664)
    except OSError:
        return
    try:
        if not found[2]:
            found = (*found[:2], os.fstat(descriptor).st_ino, found[3])
        os.pwrite(descriptor, (_RECORD % found).encode(), 0)
    except OSError:
        pass  # a full disk must not keep readers out, and writers will be refused by themselves
    finally:
        os.close(descriptor)


def ensure_same_transaction(environment: lmdb.Environment, location: str) -> None:
    """Raise StoreError if the lock file of an environment that was just opened belongs to another data file.

    The newest state of the data file may be one ahead, if its writer is about to say so in the lock file, or was killed
    before it could.  Then `begin_write` decides.
    """
    # Others may commit between these looks.
    least = int(environment.info()["last_txnid"]) - 1
    with environment.begin() as txn:
        number = txn.id()
    if not least <= number <= int(environment.info()["last_txnid"]):
        raise moved_in(location)


def begin_write(environment: lmdb.Environment, location: str) -> lmdb.Transaction:
    """Begin a write transaction; raises StoreError if it would not continue from the newest state of the data file."""
    txn = environment.begin(write=True)
    if txn.id() != int(environment.info()["last_txnid"]) + 1:
        txn.abort()
        raise moved_in(location)
    return txn


def ensure_length(environment: lmdb.Environment, data: str, *, writable: bool) -> None:
    """Make the data file as long as it says, or raise StoreError if it is shorter and this process may not write.

    A look past the end of a file kills the process.  A file that was cut short and made longer again is found damaged.
    A sound file may be shorter too, because pages that are allocated and freed in one transaction are never written;
    `lengthen` makes it longer after each commit.
    """
    deadline = 0.0
    while True:
        length = (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])
        if os.path.getsize(data) >= length:
            return
        if writable:
            files.ensure_length(data, length)
            return
        # A writer may be just between both.
        deadline = deadline or monotonic() + _WRITER_PAUSE
        if monotonic() > deadline:
            raise StoreError(f"{data} is shorter than it says, so it was cut short, or its last writer was killed: run "
                             "'noid dbinfo' under an account that may write it, or restore a backup")
        sleep(0.01)


def lengthen(environment: lmdb.Environment, data: str) -> None:
    """Make the data file as long as it says, after a commit; if that fails the commit stands all the same."""
    try:  # noqa: SIM105 - contextlib takes milliseconds to import
        ensure_length(environment, data, writable=True)
    except (lmdb.Error, OSError):
        pass  # whoever opens the file next tries again
