"""LMDB, the embedded engine: a folder with the files `data.mdb`, `lock.mdb` and `writer.lock`.

LMDB's own rules are kept in here: keys of at most 511 bytes, a map that has a
size, one environment for a file in a process, none across a fork.
"""

from __future__ import annotations

import os
from time import monotonic

import lmdb

from ..errors import NoidError, NoMinterError, StoreError
from . import registry
from .lmdb_transactions import LmdbReader, LmdbWriter
from .locks import ReadersWriterLock, WriterLock
from .transactions import ThreadState, TransactionalStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from . import Reader, Writer
    T = TypeVar("T")

_DATA, _LOCK, _WRITER, _README = "data.mdb", "lock.mdb", "writer.lock", "README"

# Address space, not memory nor disk.  Halved until the system grants it, and grown when it fills.
RESERVED = 1 << 40
_LEAST_RESERVED = 1 << 20
_MOST_READERS = 1024

# What LMDB makes its lock file for so many readers: a header, and a line of the processor's cache for each.
_LOCK_SIZE = 128 + 64 * _MOST_READERS
_STALE_READERS_EVERY = 60.0

_LITTLE_ROOM = 1 << 20


# -- errors ----------------------------------------------------------------------------------------------------------


def _translated(error: Exception, location: str) -> NoidError:
    """What LMDB or the system raised, as a refusal that says what to do."""
    text = str(error)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) or "No such file" in text or "Not a dir" in text:
        return NoMinterError(
            f"there is no minter in {location}: create one with 'noid dbcreate', or name its folder with -f"
        )
    if isinstance(error, PermissionError) or "Permission denied" in text:
        return StoreError(f"no permission to use the database in {location}: even readers must be able to write "
                          f"{_LOCK} there; change the owner or the permissions")
    if "No space left" in text or "Disk quota" in text or ("Input/output" in text and _is_full(location)):
        return StoreError(f"the disk under {location} is full: nothing was changed; make room and try again")
    if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
        return StoreError(f"{location} does not hold a database of noidtools: check the path")
    if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
        return StoreError(f"the database in {location} is damaged ({text}): restore it from a backup")
    return StoreError(f"the database in {location} could not be used: {text}")


def _is_full(location: str) -> bool:
    # A write that was cut short by a full disk reaches us as an input/output error.
    try:
        free = os.statvfs(location)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < _LITTLE_ROOM


# -- the store -------------------------------------------------------------------------------------------------------


class LmdbStore(TransactionalStore):
    """A folder with a database in it.  A process has one object for each folder: see `open_store`."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location
        self.generation = 0
        self.writable = False
        self.last_used = 0.0
        self.closed = False
        self._data = os.path.join(location, _DATA)
        self._writer_lock = WriterLock(os.path.join(location, _WRITER))
        # Shared by transactions; who opens, closes or resizes the environment must be alone.
        self._lock = ReadersWriterLock()
        self._environment: lmdb.Environment | None = None
        self._file = (0, 0)
        # The environment of the parent process, if a transaction was open in it when this process was forked.
        self._of_parent: lmdb.Environment | None = None
        self._checked = self._readers_checked = 0.0

    # -- opening ---------------------------------------------------------------------------------------

    def ensure_open(self) -> None:
        try:
            self._ensure_current()
        except (lmdb.Error, OSError) as error:
            raise _translated(error, self.location) from error

    def _ensure_current(self) -> None:
        """Open the environment, or open it anew if a restore put another file in its place."""
        with self._lock:
            if self._is_current(0.0):
                return
        self._lock.alone(self._reopen)

    def _is_current(self, max_age: float) -> bool:
        """Whether the environment is open, and of the file that is in place now, or was `max_age` seconds ago."""
        if self._environment is None:
            return False
        self.last_used = now = monotonic()
        return now - self._checked < max_age or not self._was_replaced()

    def _was_replaced(self) -> bool:
        try:
            status = os.stat(self._data)
        except OSError:
            return False  # between a move away and a move in place; what is open still answers
        if (status.st_dev, status.st_ino) != self._file:
            return True
        self._checked = monotonic()
        return False

    def _reopen(self) -> None:
        if self._environment is not None and not self._was_replaced():
            return  # another thread did this while we waited to be alone
        if self._of_parent is not None:
            raise StoreError(f"{self.location} was in a transaction when this process was forked, and cannot be used "
                             "in it: fork when no transaction is open")
        if self.closed:
            raise StoreError(f"{self.location} was closed: open it again")
        self._shut()
        with registry.opening:
            self._open()
            registry.add_open(self)
        registry.suspend_surplus()

    def _open(self) -> None:
        status = os.stat(self._data)
        if not status.st_size:
            raise StoreError(f"{self._data} is empty: it was damaged or never a minter's; restore a backup")
        self._file = (status.st_dev, status.st_ino)
        writer_lock = os.path.join(self.location, _WRITER)
        self.writable = os.access(self._data, os.W_OK) and os.access(
            writer_lock if os.path.exists(writer_lock) else self.location, os.W_OK
        )
        if self.writable:
            _allocate_lock_file(self.location)
        environment = self._map(RESERVED)
        environment.reader_check()
        if self.writable:
            self._ensure_length(environment)
        self._environment = environment
        self.last_used = self._checked = monotonic()
        self.generation += 1

    def _map(self, size: int) -> lmdb.Environment:
        least = max(_LEAST_RESERVED, os.path.getsize(self._data) + (_LEAST_RESERVED if self.writable else 0))
        size = max(size, least)
        while True:
            try:
                return lmdb.open(
                    self.location, map_size=size, max_readers=_MOST_READERS, create=False,
                    readonly=not self.writable, max_spare_txns=8, mode=0o664,
                )
            except lmdb.MemoryError:
                # A limit on address space (ulimit -v, a container): be content with less.
                if size <= least:
                    raise
                size = max(least, size // 2)

    def _ensure_length(self, environment: lmdb.Environment) -> None:
        """Let a file that was cut short be found damaged, where a look past its end would kill the process.

        Pages that were allocated and freed in one transaction are never written, so a sound file may be
        shorter than its last page too; what is put there then is never read.
        """
        length = (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])
        if os.path.getsize(self._data) < length:
            descriptor = os.open(self._data, os.O_RDWR | os.O_CLOEXEC)
            try:
                # Unlike truncate it cannot shorten a file to which another process writes just now.
                os.posix_fallocate(descriptor, length - 1, 1)
            finally:
                os.close(descriptor)

    # -- closing ---------------------------------------------------------------------------------------

    def suspend(self) -> bool:
        if not self._lock.acquire_alone(timeout=0):
            return False
        try:
            if not self._writer_lock.close():
                return False
            self._shut()
        finally:
            self._lock.release_alone()
        return True

    def close(self) -> None:
        if self._state.reader is not None:
            raise StoreError(f"{self.location} cannot be closed inside its own transaction")
        if registry.release(self):
            self.closed = True
            self._lock.alone(self._shut)
            self._writer_lock.close()

    def _shut(self) -> None:
        registry.discard_open(self)
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    # -- what it is ------------------------------------------------------------------------------------

    def size(self) -> int:
        try:
            return os.path.getsize(self._data)
        except OSError as error:
            raise _translated(error, self.location) from error

    def identity(self) -> object | None:
        try:
            status = os.stat(self._data)
        except (OSError, ValueError):
            return None
        return status.st_dev, status.st_ino

    def version(self, *, max_age: float = 0.0) -> object | None:
        if monotonic() - self._checked >= max_age and self._was_replaced():
            return None
        lock = self._lock
        # As `with lock` would, without the cost of its calls.
        lock.users.append(None)
        try:
            if lock.closed or self._environment is None:
                return None
            return self.generation, self._environment.begin().id()
        except lmdb.Error:
            return None  # the map has grown, or there are too many readers: a read finds out what to do
        finally:
            lock.users.pop()
            if lock.closed:
                lock.wake()

    # -- transactions ----------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        state, lock = self._state, self._lock
        if state.reader is not None:
            return self._read_inside(state.reader, work)
        try:
            while True:
                try:
                    # As `with lock` would, without the cost of its calls.
                    lock.users.append(None)
                    try:
                        environment = self._environment
                        if not lock.closed and environment is not None and (
                            monotonic() - self._checked < max_age or self._is_current(0.0)
                        ):
                            with environment.begin() as txn:
                                state.reader = reader = LmdbReader(txn, self.generation)
                                try:
                                    return work(reader)
                                finally:
                                    state.reader = None
                    finally:
                        lock.users.pop()
                        if lock.closed:
                            lock.wake()
                    lock.alone(self._reopen)
                except lmdb.MapResizedError:
                    self._lock.alone(self._adopt_size)
                except lmdb.ReadersFullError:
                    with self._lock:
                        if not self._check_readers():
                            raise
        except (lmdb.Error, OSError) as error:
            raise _translated(error, self.location) from error

    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        try:
            self._acquire_writer_lock(timeout)
            try:
                return self._write_locked(run)
            finally:
                self._writer_lock.release()
        except (lmdb.Error, OSError) as error:
            raise _translated(error, self.location) from error

    def _acquire_writer_lock(self, timeout: float) -> None:
        while True:
            self._ensure_current()
            if not self.writable:
                raise StoreError(self._not_writable())
            self._writer_lock.acquire(timeout)
            try:
                self._ensure_current()
                # If the folder was replaced meanwhile, its writers wait at another file.
                if self._writer_lock.is_in_place():
                    return
            except BaseException:
                self._writer_lock.release()
                raise
            self._writer_lock.release()

    def _write_locked(self, run: Callable[[Writer], T]) -> T:
        while True:
            try:
                with self._lock:
                    if self._is_current(0.0) and self._environment is not None:
                        self._check_stale_readers()
                        with self._environment.begin(write=True) as txn:
                            return run(LmdbWriter(txn))
                self._lock.alone(self._reopen)
            except lmdb.MapFullError:
                self._lock.alone(self._grow)
            except lmdb.MapResizedError:
                self._lock.alone(self._adopt_size)

    def _write_child(self, outer: Writer, run: Callable[[Writer], T]) -> T:
        assert self._environment is not None and isinstance(outer, LmdbWriter)
        with outer.begin_child(self._environment) as txn:
            return run(LmdbWriter(txn))

    # -- transactions as blocks, whose work is not run again -------------------------------------------

    def _begin(self, timeout: float) -> LmdbWriter:
        try:
            self._acquire_writer_lock(timeout)
            try:
                return self._begin_locked()
            except BaseException:
                self._writer_lock.release()
                raise
        except (lmdb.Error, OSError) as error:
            raise _translated(error, self.location) from error

    def _begin_locked(self) -> LmdbWriter:
        """Begin a transaction with `_lock` shared, until `_end` leaves it."""
        while True:
            action = self._reopen
            self._lock.__enter__()
            try:
                if self._is_current(0.0) and self._environment is not None:
                    self._check_stale_readers()
                    return LmdbWriter(self._environment.begin(write=True))
            except lmdb.MapResizedError:
                action = self._adopt_size
            except BaseException:
                self._lock.__exit__()
                raise
            self._lock.__exit__()
            self._lock.alone(action)

    def _end(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, LmdbWriter)
        full = self._state.full
        self._state.full = False
        try:
            try:
                if commit:
                    writer.commit()
                else:
                    writer.abort()
            finally:
                self._lock.__exit__()
                if full:
                    self._lock.alone(self._grow)
        except (lmdb.Error, OSError) as error:
            raise _translated(error, self.location) from error
        finally:
            self._writer_lock.release()

    def _begin_child(self, outer: Writer) -> LmdbWriter:
        assert self._environment is not None and isinstance(outer, LmdbWriter)
        return LmdbWriter(outer.begin_child(self._environment))

    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, LmdbWriter)
        if commit:
            writer.commit()
        else:
            writer.abort()

    def _refusal(self, error: Exception) -> NoidError | None:
        if isinstance(error, lmdb.MapFullError):
            self._state.full = True
            return StoreError(f"the transaction needs more room than was set aside for {self.location}: more will be, "
                              "so undo it and do it again")
        return _translated(error, self.location) if isinstance(error, (lmdb.Error, OSError)) else None

    def _not_writable(self) -> str:
        if os.statvfs(self.location).f_flag & os.ST_RDONLY:
            return f"{self.location} is on a file system that is mounted for reading only: nothing can be changed there"
        return f"{self.location} cannot be written by this user: change its owner or permissions"

    def _grow(self) -> None:
        if self._environment is not None:
            self._environment.set_mapsize(2 * int(self._environment.info()["map_size"]))

    def _adopt_size(self) -> None:
        if self._environment is not None:
            self._environment.set_mapsize(0)

    def _check_readers(self) -> int:
        """Clear the entries of readers that were killed; returns how many there were."""
        return 0 if self._environment is None else self._environment.reader_check()

    def _check_stale_readers(self) -> None:
        # A killed reader would otherwise keep old pages from being used again.
        now = monotonic()
        if now - self._readers_checked > _STALE_READERS_EVERY:
            self._readers_checked = now
            self._check_readers()

    # -- forks -----------------------------------------------------------------------------------------

    def before_fork(self, deadline: float) -> bool:
        """Shut the environment and keep it shut until the fork is over; False if a transaction goes on in it."""
        timeout = 0.0 if self._state.reader is not None else max(0.0, deadline - monotonic())
        if not self._lock.acquire_alone(timeout):
            return False
        self._shut()
        return True

    def after_fork_in_parent(self) -> None:
        self._lock.release_alone()

    def after_fork_in_child(self) -> None:
        # Whatever threads the parent had, they are not here to release their locks.
        self._lock = ReadersWriterLock()
        self._state = ThreadState()
        self._writer_lock.renew_in_child()
        if self._environment is not None:
            # It must be neither used nor closed here: that would end the parent's transactions.
            self._of_parent, self._environment = self._environment, None
            _never_finalize(self._of_parent)

    def _abandon(self, writer: Writer) -> None:
        _never_finalize(writer)


def _never_finalize(thing: object) -> None:
    """Keep an object that belongs to the parent process when this one ends: LMDB would clear the parent's places in
    the lock file that both share."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


# -- opening and creating --------------------------------------------------------------------------------------------


def open_store(location: str) -> LmdbStore:
    """The store in a folder: the same object for all who open it in this process, since LMDB allows only one
    environment for a file."""
    store = registry.share(os.path.realpath(location), lambda: LmdbStore(location))
    try:
        store.ensure_open()
    except BaseException:
        store.close()
        raise
    return store


def create_store(location: str, fill: Callable[[Writer], None], *, readme: bytes = b"") -> LmdbStore:
    def fill_folder(folder: str) -> None:
        try:
            _allocate_lock_file(folder)
            lmdb.open(folder, map_size=_LEAST_RESERVED, max_readers=_MOST_READERS, mode=0o664).close()
            os.close(os.open(os.path.join(folder, _WRITER), os.O_CREAT | os.O_RDWR, 0o664))
        except (lmdb.Error, OSError) as error:
            raise _translated(error, folder) from error
        store = open_store(folder)
        try:
            store.write(fill)
        finally:
            store.close()
        if readme:
            write_file(os.path.join(folder, _README), readme)

    from .folders import create_folder, write_file

    create_folder(location, fill_folder)
    return open_store(location)


def exists(location: str) -> bool:
    return os.path.exists(os.path.join(location, _DATA))


def _allocate_lock_file(folder: str) -> None:
    """Give the lock file its place on disk, before LMDB maps it: on a full disk a map with holes kills its user."""
    path = os.path.join(folder, _LOCK)
    try:
        if os.stat(path).st_blocks * 512 >= _LOCK_SIZE:
            return
    except FileNotFoundError:
        pass
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o664)
    try:
        os.posix_fallocate(descriptor, 0, _LOCK_SIZE)
    finally:
        os.close(descriptor)
