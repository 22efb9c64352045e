"""What the engine and the system raise, said as one sentence."""

from __future__ import annotations

import os
import time
from _thread import _local
from time import monotonic

import lmdb

from ..errors import NoidError, NoMinterError, StoreError
from .locks import ReadersWriterLock, WriterLock
from .transactions import Reader, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar
    T = TypeVar("T")
    R = TypeVar("R", bound=Reader)
    A = TypeVar("A")

LOCK = "lock.mdb"
_LITTLE_ROOM = 1 << 20


class Mapped:
    """Turns what LMDB and the system raise into StoreErrors that say what to do."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, (lmdb.Error, OSError)) and not isinstance(error, NoidError):
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            if missing or "No such file" in str(error) or "Not a directory" in str(error):
                raise NoMinterError(
                    f"there is no minter in {self._folder}: create one with 'noid dbcreate', or name its folder with -f"
                ) from error
            raise StoreError(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        folder, text = self._folder, str(error)
        if isinstance(error, PermissionError) or "Permission denied" in text:
            return (f"no permission to use the database in {folder}: even readers must be able to write "
                    f"{LOCK} there; change the owner or the permissions")
        if "No space left" in text or "Disk quota" in text or ("Input/output" in text and self._no_room()):
            return f"the disk under {folder} is full: nothing was changed; make room and try again"
        if isinstance(error, (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.NotFoundError)):
            return f"{folder} does not hold a database of noidtools: check the path"
        if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)):
            return f"the database in {folder} is damaged ({text}): restore it from a backup"
        return f"the database in {folder} could not be used: {text}"

    def _no_room(self) -> bool:
        # A write that was cut short by a full disk reaches us as an input/output error.
        try:
            free = os.statvfs(self._folder)
        except OSError:
            return False
        return free.f_bavail * free.f_frsize < _LITTLE_ROOM

# -- A folder with a database in it: opening, and transactions -------------------------------------------------------


# Address space, not memory nor disk.  Halved until the system grants it, and grown when it fills.
RESERVED = 1 << 40
_LEAST_RESERVED = 1 << 20
_MOST_READERS = 1024

# What LMDB makes its lock file for so many readers: a header, and a line of the processor's cache for each.
_LOCK_SIZE = 128 + 64 * _MOST_READERS
_PATIENCE = 30.0
_STALE_READERS_EVERY = 60.0
_DATA, _TURN = "data.mdb", "writer.lock"


class Store:
    """A folder with a database in it.  Safe to share between threads; reopens itself after a fork."""

    def __init__(self, folder: str, *, reserve: int = RESERVED) -> None:
        self.folder = folder
        self._reserve = reserve
        self._data = os.path.join(folder, _DATA)
        self._mine = _local()
        self._turn = WriterLock(os.path.join(folder, _TURN))
        self._gate = ReadersWriterLock()
        self._readers_checked = 0.0
        self._environment: lmdb.Environment | None = None
        self._open()
        _open_stores.append(self)

    @classmethod
    def create(cls, folder: str) -> Store:
        """Make an empty database in an existing empty folder."""
        with Mapped(folder):
            _allocate_lock_file(folder)
            lmdb.open(folder, map_size=_LEAST_RESERVED, max_readers=_MOST_READERS, mode=0o664).close()
            os.close(os.open(os.path.join(folder, _TURN), os.O_CREAT | os.O_RDWR, 0o664))
        return cls(folder)

    # -- opening ---------------------------------------------------------------------------------------

    def _open(self) -> None:
        with Mapped(self.folder):
            status = os.stat(self._data)
            if not status.st_size:
                raise StoreError(f"{self._data} is empty: it was damaged or never a minter's; restore a backup")
            self._pid = os.getpid()
            self._file = (status.st_dev, status.st_ino)
            turn = os.path.join(self.folder, _TURN)
            self.writable = os.access(self._data, os.W_OK) and os.access(
                turn if os.path.exists(turn) else self.folder, os.W_OK
            )
            if self.writable:
                _allocate_lock_file(self.folder)
            self._environment = self._map(self._reserve)
            self._environment.reader_check()
            if self.writable:
                self._ensure_length(self._environment)

    def _map(self, size: int) -> lmdb.Environment:
        least = max(_LEAST_RESERVED, os.path.getsize(self._data) + (_LEAST_RESERVED if self.writable else 0))
        size = max(size, least)
        while True:
            try:
                return lmdb.open(
                    self.folder, map_size=size, max_readers=_MOST_READERS, create=False,
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

    def close(self) -> None:
        if self in _open_stores:
            _open_stores.remove(self)
        self._turn.forget()
        self._shut()

    def _shut(self) -> None:
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def size(self) -> int:
        """Bytes on disk."""
        with Mapped(self.folder):
            return os.path.getsize(self._data)

    def shut_before_fork(self) -> None:
        """Parent and child each open the database anew when they next need it."""
        self._gate.if_empty(self._shut)

    def _current(self) -> lmdb.Environment:
        """The environment, opened anew after a fork or when a restore put another file in its place."""
        if self._environment is None:
            if self._pid != os.getpid():
                # Whatever threads the parent had, they are not here to open these again.
                self._gate = ReadersWriterLock()
                self._mine = _local()
            self._gate.alone(self._open)
        elif self._pid != os.getpid():
            raise StoreError(f"{self.folder} was in use when this process was forked: open it again")
        else:
            try:
                status = os.stat(self._data)
            except OSError:
                # Between a move away and a move in place; what is open still answers.
                return self._environment
            if (status.st_dev, status.st_ino) != self._file:
                self._gate.alone(self._reopen)
        assert self._environment is not None
        return self._environment

    def _reopen(self) -> None:
        self._shut()
        self._open()

    # -- transactions ----------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T]) -> T:
        outer: Reader | None = getattr(self._mine, "reader", None)
        if outer is not None:
            return work(outer)
        with Mapped(self.folder):
            while True:
                environment = self._current()
                try:
                    with self._gate:
                        if environment is not self._environment:
                            continue  # another thread reopened the database between the two lines above
                        with environment.begin() as txn:
                            return self._run(work, Reader(txn), None)
                except lmdb.MapResizedError:
                    self._gate.alone(self._adopt_size)
                except lmdb.ReadersFullError:
                    if not environment.reader_check():
                        raise

    def write(self, work: Callable[[Writer], T], *, patience: float = _PATIENCE) -> T:
        outer: Reader | None = getattr(self._mine, "reader", None)
        if isinstance(outer, Writer):
            return self._write_child(work, outer)
        if outer is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        with Mapped(self.folder):
            while True:
                self._current()
                if not self.writable:
                    raise StoreError(self._not_writable())
                self._turn.take(patience)
                try:
                    self._current()
                    if self._turn.is_here():
                        self._check_stale_readers()
                        return self._write_outer(work)
                finally:
                    self._turn.leave()

    def _not_writable(self) -> str:
        if os.statvfs(self.folder).f_flag & os.ST_RDONLY:
            return f"{self.folder} is on a file system that is mounted for reading only: nothing can be changed there"
        return f"{self.folder} cannot be written by this user: change its owner or permissions"

    def _write_outer(self, work: Callable[[Writer], T]) -> T:
        while True:
            environment = self._current()
            try:
                with self._gate:
                    if environment is not self._environment:
                        continue
                    with environment.begin(write=True) as txn:
                        return self._run(work, Writer(txn), None)
            except lmdb.MapFullError:
                self._gate.alone(self._grow)
            except lmdb.MapResizedError:
                self._gate.alone(self._adopt_size)

    def _write_child(self, work: Callable[[Writer], T], outer: Writer) -> T:
        assert self._environment is not None
        with self._environment.begin(write=True, parent=outer._txn) as txn:
            return self._run(work, Writer(txn), outer)

    def _run(self, work: Callable[[R], T], own: R, outer: Reader | None) -> T:
        """Do the work, with what this thread does meanwhile in the same transaction."""
        self._mine.reader = own
        try:
            return work(own)
        finally:
            self._mine.reader = outer

    def _grow(self) -> None:
        assert self._environment is not None
        self._environment.set_mapsize(2 * int(self._environment.info()["map_size"]))

    def _adopt_size(self) -> None:
        assert self._environment is not None
        self._environment.set_mapsize(0)

    def _check_stale_readers(self) -> None:
        # A killed reader would otherwise keep old pages from being used again.
        now = time.monotonic()
        if now - self._readers_checked > _STALE_READERS_EVERY:
            self._readers_checked = now
            self._current().reader_check()


def _allocate_lock_file(folder: str) -> None:
    """Give the lock file its place on disk, before LMDB maps it: on a full disk a map with holes kills its user."""
    path = os.path.join(folder, LOCK)
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

# The one piece of state a module keeps here: LMDB's environments must be shut when the process forks, and
# only the interpreter knows when that is.
_open_stores: list[Store] = []


def _shut_all() -> None:
    for store in _open_stores:
        store.shut_before_fork()
os.register_at_fork(before=_shut_all)


# -- Quick looks into a store, for a process that does little else ---------------------------------------------------



class Glance:
    """Reads like `Store.read` and several times as fast, for a process of one thread that never writes.

    Every look sees all that was committed before it began, but not whether the database was replaced by another.
    Who uses it has to look for that when `unchanged` says no, which it does after `lasts` seconds at the latest.
    """

    __slots__ = ("_store", "_begin", "_moment", "_until", "_lasts")

    def __init__(self, store: Store, lasts: float) -> None:
        self._store = store
        self._lasts = lasts
        self._until = 0.0
        self._moment = -1
        self._begin: Callable[[], lmdb.Transaction] = _closed

    def unchanged(self) -> bool:
        """Whether it is sure that nothing was committed since `renew`, which may not be long ago."""
        try:
            return monotonic() < self._until and self._begin().id() == self._moment
        except lmdb.Error:
            return False

    def renew(self) -> bool:
        """Begin another term; whether nothing was committed since the last one began."""
        before = self._moment
        try:
            self._moment = self._begin().id()
        except lmdb.Error:
            self._moment = -1
        self._until = monotonic() + self._lasts
        return self._moment == before != -1

    def look(self, work: Callable[[Reader, A], T], about: A) -> T:
        try:
            with self._begin() as txn:
                return work(Reader(txn), about)
        except lmdb.Error:
            pass  # not open yet, or closed, or the map has grown: the store knows what to do
        result = self._store.read(lambda reader: work(reader, about))
        environment = self._store._environment
        self._begin = _closed if environment is None else environment.begin
        return result


def _closed() -> lmdb.Transaction:
    raise lmdb.Error("not open")
