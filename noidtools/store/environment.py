"""A folder with a database in it: opening, and transactions."""

from __future__ import annotations

import os
import time
from _thread import _local

import lmdb

from ..exceptions import StoreError
from .errors import LOCK, Mapped
from .gate import Gate
from .transactions import Reader, Writer
from .turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")
    R = TypeVar("R", bound=Reader)

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
        self._turn = Turn(os.path.join(folder, _TURN))
        self._gate = Gate()
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
                self._gate = Gate()
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
