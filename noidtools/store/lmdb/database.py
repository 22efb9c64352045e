"""The files of an LMDB database: their names, and which of them belong together."""

from __future__ import annotations

import os
from time import monotonic, sleep, time

import lmdb

from ...errors import StoreError
from .. import files
from .transactions import OWN_TABLE

DATA, LOCK, WRITER = "data.mdb", "lock.mdb", "writer.lock"

LEAST_RESERVED = 1 << 20
MOST_READERS = 1024

# The size of LMDB's lock file for so many readers: a header, and a line of the processor's cache for each.
LOCK_SIZE = 128 + 64 * MOST_READERS

# Seconds that a reader waits for a writer to extend the file to the length that its header states.
_WRITER_PAUSE = 0.2

# Seconds within which two changes of a file may have the same time.
_COARSEST_TIME = 2.0

# The record in writer.lock: the inodes of the data file, the lock file, writer.lock itself and the folder.  Always of
# the same length, so that processes which write the same record at once do not disturb each other.
_RECORD = "files %020d %020d %020d %020d\n"
_RECORD_SIZE = len(_RECORD % (0, 0, 0, 0))

# The key of a record in the database itself: the inodes of the data file and the folder.
PLACE = OWN_TABLE + b"place"


def size(path: str) -> int | None:
    """Bytes of a data file; None if there is none."""
    try:
        return os.path.getsize(path)
    except OSError:
        return None


def stamp(path: str) -> tuple[int, ...] | None:
    """A value that is another one after each commit to a data file; None if the last one was just now, since the next
    may get the same time."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if abs(time() - found.st_mtime) < _COARSEST_TIME:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _path(location: str, name: str) -> str:
    # Opening needs a dozen paths, and os.path.join takes ten times as long.
    return f"{location}/{name}"


def is_writable(location: str) -> bool:
    """Whether this process may write the database."""
    data = _path(location, DATA)
    if not files.is_writable(data, _path(location, WRITER)):
        return False
    if os.geteuid():
        return True
    from ..privileges import ActingAsOwner

    # Root, who acts as the owner of the folder, may write what the owner may.
    with ActingAsOwner(location) as folder:
        try:
            os.close(os.open(_path(folder, DATA), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
        except OSError:
            return False  # for lack of permissions, or because it is a link, which is refused when it is opened
    return True


def open_checked(location: str, size: int, *, writable: bool) -> lmdb.Environment:
    """Open the database with a map of this size, or of less if the system does not grant it; raises StoreError if its
    files are not whole, or do not belong together."""
    _ensure_files(location, writable=writable)
    _ensure_together(location, writable=writable)
    environment = _open_environment(location, size, writable=writable)
    try:
        environment.reader_check()
        _ensure_same_transaction(environment, location)
        _ensure_length(environment, _path(location, DATA), writable=writable)
        _ensure_in_place(environment, location)
    except BaseException:
        environment.close()
        raise
    return environment


def _ensure_files(location: str, *, writable: bool) -> None:
    """Raise StoreError for links in place of files; make the files that were deleted, if this process may write."""
    data, lock, writer = (_path(location, name) for name in (DATA, LOCK, WRITER))
    _, lock_found, writer_found = (files.ensure_regular(path) for path in (data, lock, writer))
    if not writable:
        return
    if lock_found is None or not files.is_allocated(lock_found, LOCK_SIZE):
        files.ensure_exists(lock, data)
        files.ensure_allocated(lock, LOCK_SIZE)
    if writer_found is None:
        files.ensure_exists(writer, data)


def _import_all_of_lmdb() -> None:
    """Import what some versions of lmdb import at the first opening, when root acts as an owner who may not read it."""
    try:  # noqa: SIM105 - contextlib takes milliseconds to import
        import lmdb._envid  # noqa: F401 - for the effect alone
    except ImportError:
        pass


def _open_environment(location: str, size: int, *, writable: bool) -> lmdb.Environment:
    length = os.path.getsize(_path(location, DATA))
    least = max(LEAST_RESERVED, length + (LEAST_RESERVED if writable else 0))
    size = max(size, least)
    while True:
        try:
            return _open_as_owner(location, size, writable) if not os.geteuid() else _open(location, size, writable)
        except lmdb.MemoryError:
            # A limit on address space (ulimit -v, a container): try with less.
            if size <= least:
                raise
            size = max(least, size // 2)


def _open_as_owner(location: str, size: int, writable: bool) -> lmdb.Environment:
    from ..privileges import ActingAsOwner

    _import_all_of_lmdb()
    # LMDB follows symbolic links.
    with ActingAsOwner(location) as folder:
        return _open(folder, size, writable)


def _open(folder: str, size: int, writable: bool) -> lmdb.Environment:
    return lmdb.open(os.fsencode(folder), map_size=size, max_readers=MOST_READERS, create=False,
                     readonly=not writable, max_spare_txns=8, mode=0o664)


# -- files that belong together --------------------------------------------------------------------------------------
#
# LMDB keeps the number of the last transaction in its lock file, and by that number chooses the state of the data
# file.  A data file that is put beside a lock file of another one, which some process has open, is therefore read and
# continued from a wrong state: transactions get lost, and identifiers are minted twice.


def identity(data: str, lock: str) -> tuple[int, int, int] | None:
    """Device and inode of the data file and the inode of the lock file, 0 if there is none; None without a database.

    Where a store of another engine was put in its place, it is a value that no database has.
    """
    try:
        found = os.stat(data)
    except (OSError, ValueError):
        beside = os.path.join(os.path.dirname(data), files.ENGINE_FILE)
        return (0, 0, 0) if "\0" not in beside and os.path.exists(beside) else None
    return found.st_dev, found.st_ino, _inode(lock)


def _ensure_together(location: str, *, writable: bool) -> None:
    """Raise StoreError if the data file was replaced while the files around it stayed.

    `writer.lock` holds a record of the files that belong together.  Where it has none, as in databases of release
    0.1.0, or one of another folder, which was copied as a whole, a process that may write makes one.
    """
    writer = _path(location, WRITER)
    found = tuple(_inode(_path(location, name)) for name in (DATA, LOCK, WRITER, "."))
    recorded = _recorded(writer)
    if recorded == found:
        return
    if recorded is not None and recorded[0] != found[0] and recorded[1:] == found[1:]:
        raise moved_in(location)
    if writable:
        _record(writer, found)


def moved_in(location: str) -> StoreError:
    data = _path(location, DATA)
    return StoreError(f"{data} was put there by other means than 'noid restore', and going on with it could mint "
                      f"identifiers twice: to use it say 'noid restore {data}', else restore a backup")


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


def _recorded(writer: str) -> tuple[int, ...] | None:
    try:
        descriptor = os.open(writer, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
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
        descriptor = os.open(writer, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o664)
    except OSError:
        return
    try:
        if not found[2]:
            found = (*found[:2], os.fstat(descriptor).st_ino, found[3])
        os.pwrite(descriptor, (_RECORD % found).encode(), 0)
    except OSError:
        pass  # a full disk must not keep readers out; writers are refused when they write
    finally:
        os.close(descriptor)


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
    return b"%d %d" % (_inode(_path(location, DATA)), _inode(location))


def _ensure_length(environment: lmdb.Environment, data: str, *, writable: bool) -> None:
    """Make the data file as long as it says; raises StoreError if it is shorter and was cut off, or if it is shorter
    and this process may not write.

    A look past the end of a file kills the process.  A sound file may be shorter, too, because pages that are allocated
    and freed in one transaction are never written; `lengthen` makes it longer after each commit.
    """
    deadline = monotonic() + _WRITER_PAUSE
    while os.path.getsize(data) < _length(environment):
        if monotonic() > deadline:
            break
        sleep(0.01)  # a writer may be between its commit and the extension
    else:
        return
    if not writable:
        raise StoreError(f"{data} is shorter than it says, so it was cut short, or its last writer was killed: run "
                         "'noid dbinfo' under an account that may write it, or restore a backup")
    if not _is_readable(data):
        raise StoreError(f"{data} was cut short, and a part of the database is lost: restore a backup with "
                         "'noid restore'")
    files.ensure_length(data, _length(environment))


def _length(environment: lmdb.Environment) -> int:
    return (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])


def _is_readable(data: str) -> bool:
    """Whether all of a database can be read, which is tried by another process: it may be killed by that."""
    import subprocess
    import sys

    from . import reading

    return bool(sys.executable) and not subprocess.run(
        [sys.executable, reading.__file__, data], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode


def lengthen(environment: lmdb.Environment, data: str) -> None:
    """Make the data file as long as it says, after a commit; if that fails the commit stands all the same."""
    try:  # noqa: SIM105 - as above
        files.ensure_length(data, _length(environment))
    except (lmdb.Error, OSError):
        pass  # whoever opens the file next tries again
