"""Lets many in at once, or one alone."""

from __future__ import annotations

import fcntl
import os
import time
from _thread import allocate_lock

from ..errors import BusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable



class ReadersWriterLock:
    """Many transactions at once, or one resizing of the map, which LMDB allows only when none is open."""

    __slots__ = ("_lock", "_inside")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1

    def if_empty(self, action: Callable[[], None]) -> bool:
        with self._lock:
            if self._inside:
                return False
            action()
            return True

    def alone(self, action: Callable[[], None]) -> None:
        while not self.if_empty(action):
            time.sleep(0.0005)

# -- The writers' queue of one folder: first among threads, then among processes -------------------------------------

_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002


class WriterLock:
    """Taken before writing, with a limit to the waiting.

    LMDB's own lock cannot be waited for with a limit, so this one stands in front of it.  The system drops it
    when its holder dies, however it dies.
    """

    __slots__ = ("_path", "_threads", "_descriptor", "_pid")

    def __init__(self, path: str) -> None:
        self._path = path
        self._threads = allocate_lock()
        self._descriptor = -1
        self._pid = os.getpid()

    def take(self, patience: float) -> None:
        if self._pid != os.getpid():
            # The file would be shared with the parent, and one of its threads may have had the lock.
            self._threads = allocate_lock()
            self.forget()
            self._pid = os.getpid()
        deadline = time.monotonic() + patience
        if not self._threads.acquire(timeout=patience):
            raise self._too_busy(patience)
        try:
            self._wait(deadline, patience)
        except BaseException:
            self._threads.release()
            raise

    def _wait(self, deadline: float, patience: float) -> None:
        pause = _FIRST_PAUSE
        while True:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o664)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._too_busy(patience) from None
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                continue
            if self.is_here():
                return
            # The whole folder was replaced while we waited: the queue is at another file now.
            self.forget()

    def is_here(self) -> bool:
        """Whether what we have is the turn of the folder that is in place now."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def leave(self) -> None:
        try:
            if self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def forget(self) -> None:
        """Close the file; the next to take the turn opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _too_busy(self, patience: float) -> BusyError:
        folder = os.path.dirname(self._path)
        return BusyError(f"another process has been writing to {folder} for over {patience:g} seconds; try again")
