"""A folder with a database in it: opening, transactions, the writers' queue."""

from __future__ import annotations

import fcntl
import os
import time
from _thread import _local, allocate_lock

import lmdb

from ..exceptions import BusyError, StoreError
from .errors import Mapped
from .gate import Gate
from .transactions import Reader, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

# Address space, not memory nor disk.  Halved until the system grants it, and grown when it fills.
RESERVED = 1 << 40
_LEAST_RESERVED = 1 << 20
_MOST_READERS = 1024
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
        self._thread_turn = allocate_lock()
        self._gate = Gate()
        self._turn_fd = -1
        self._readers_checked = 0.0
        self._environment: lmdb.Environment | None = None
        self._open()
        _open_stores.append(self)

    @classmethod
    def create(cls, folder: str) -> Store:
        """Make an empty database in an existing empty folder."""
        with Mapped(folder):
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
            self._environment = self._map(self._reserve)
            self._environment.reader_check()

    def _map(self, size: int) -> lmdb.Environment:
        least = max(_LEAST_RESERVED, 2 * os.path.getsize(self._data))
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

    def close(self) -> None:
        if self in _open_stores:
            _open_stores.remove(self)
        self._shut()

    def _shut(self) -> None:
        if self._turn_fd >= 0:
            os.close(self._turn_fd)
            self._turn_fd = -1
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
        outer: Writer | None = getattr(self._mine, "writer", None)
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
                            return work(Reader(txn))
                except lmdb.MapResizedError:
                    self._gate.alone(self._adopt_size)
                except lmdb.ReadersFullError:
                    if not environment.reader_check():
                        raise

    def write(self, work: Callable[[Writer], T], *, patience: float = _PATIENCE) -> T:
        outer: Writer | None = getattr(self._mine, "writer", None)
        if outer is not None:
            return self._write_child(work, outer)
        with Mapped(self.folder):
            self._current()
            if not self.writable:
                raise StoreError(f"{self.folder} cannot be written by this user: change its owner or permissions")
            self._take_turn(patience)
            try:
                return self._write_outer(work)
            finally:
                self._leave_turn()

    def _write_outer(self, work: Callable[[Writer], T]) -> T:
        while True:
            environment = self._current()
            try:
                with self._gate:
                    if environment is not self._environment:
                        continue
                    with environment.begin(write=True) as txn:
                        self._mine.writer = Writer(txn)
                        try:
                            return work(self._mine.writer)
                        finally:
                            self._mine.writer = None
            except lmdb.MapFullError:
                self._gate.alone(self._grow)
            except lmdb.MapResizedError:
                self._gate.alone(self._adopt_size)

    def _grow(self) -> None:
        environment = self._current()
        environment.set_mapsize(2 * int(environment.info()["map_size"]))

    def _adopt_size(self) -> None:
        self._current().set_mapsize(0)

    def _write_child(self, work: Callable[[Writer], T], outer: Writer) -> T:
        assert self._environment is not None
        with self._environment.begin(write=True, parent=outer._txn) as txn:
            self._mine.writer = Writer(txn)
            try:
                return work(self._mine.writer)
            finally:
                self._mine.writer = outer

    # -- the writers' queue ----------------------------------------------------------------------------

    def _take_turn(self, patience: float) -> None:
        """Wait, within the limit, for our turn to write: first among threads, then among processes.

        LMDB's own lock cannot be waited for with a limit, so ours stands in front of it.  The system
        drops it when its holder dies, however it dies.
        """
        deadline = time.monotonic() + patience
        if not self._thread_turn.acquire(timeout=patience):
            raise self._too_busy(patience)
        try:
            if self._turn_fd < 0:
                path = os.path.join(self.folder, _TURN)
                self._turn_fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o664)
            pause = 0.00005
            while True:
                try:
                    fcntl.flock(self._turn_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= deadline:
                        raise self._too_busy(patience) from None
                time.sleep(pause)
                pause = min(pause * 1.5, 0.01)
            self._check_stale_readers()
        except BaseException:
            self._thread_turn.release()
            raise

    def _leave_turn(self) -> None:
        fcntl.flock(self._turn_fd, fcntl.LOCK_UN)
        self._thread_turn.release()

    def _too_busy(self, patience: float) -> BusyError:
        return BusyError(f"another process has been writing to {self.folder} for over {patience:g} seconds; try again")

    def _check_stale_readers(self) -> None:
        # A killed reader would otherwise keep old pages from being used again.
        now = time.monotonic()
        if now - self._readers_checked > _STALE_READERS_EVERY:
            self._readers_checked = now
            self._current().reader_check()


# The one piece of state a module keeps here: LMDB's environments must be shut when the process forks, and
# only the interpreter knows when that is.
_open_stores: list[Store] = []


def _shut_all() -> None:
    for store in _open_stores:
        store.shut_before_fork()


os.register_at_fork(before=_shut_all)
