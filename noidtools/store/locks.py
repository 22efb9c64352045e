"""Locks: among the threads of one process, and among the writers of all processes."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from contextlib import contextmanager

from ..errors import BusyError
from .folders import complete_replacement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds that a writer waits for the others.
TIMEOUT = 30.0


def lock_file(path: str, flags: int = os.O_RDWR | os.O_CREAT, *, shared: bool = False) -> int | None:
    """Lock a file or folder until the returned descriptor is closed; None if another process has locked it."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


class ReadersWriterLock:
    """Shared by many threads, or held by one exclusively.

    A thread that waits for exclusive use keeps later ones out, so it waits only for those that have the lock already.
    A thread that shares the lock must neither share it again nor ask for exclusive use.
    """

    __slots__ = ("_condition", "_shared", "_exclusive")

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._shared = 0
        self._exclusive = False

    @property
    def is_free(self) -> bool:
        return not self._shared and not self._exclusive

    def acquire_shared(self) -> None:
        with self._condition:
            while self._exclusive:
                self._condition.wait()
            self._shared += 1

    def release_shared(self) -> None:
        with self._condition:
            self._shared -= 1
            if not self._shared and self._exclusive:
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until no other thread has the lock, and hold it for the `with` block.

        Raises BusyError if others have it for too long: threads in the transactions of two stores might wait for each
        other.
        """
        with self._condition:
            while self._exclusive:
                self._condition.wait()
            self._exclusive = True
            try:
                if not self._condition.wait_for(lambda: not self._shared, TIMEOUT):
                    raise BusyError(f"another thread has been in a transaction for over {TIMEOUT:g} seconds; try again")
            except BaseException:
                self._end_exclusive()
                raise
        try:
            yield
        finally:
            with self._condition:
                self._end_exclusive()

    @contextmanager
    def exclusive_if_free(self) -> Iterator[bool]:
        """Hold the lock for the `with` block if no other thread has it now; the value says whether it is held."""
        with self._condition:
            free = not self._shared and not self._exclusive
            if free:
                self._exclusive = True
        try:
            yield free
        finally:
            if free:
                with self._condition:
                    self._end_exclusive()

    def _end_exclusive(self) -> None:
        self._exclusive = False
        self._condition.notify_all()


_FLAGS = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW

# How long a process sleeps between two attempts to lock the file, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002


class WriterLock:
    """Held by the writer: a lock among the threads of this process, then a locked file among all processes.

    LMDB's own lock cannot be waited for with a limit, so this one is taken before it.  The system releases it when its
    holder dies, however it dies.
    """

    __slots__ = ("_path", "_thread_lock", "_descriptor")

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread_lock = threading.Lock()
        self._descriptor = -1

    def acquire(self, timeout: float) -> None:
        """Raises BusyError when the time is over."""
        deadline = time.monotonic() + timeout
        if not self._thread_lock.acquire(timeout=timeout):
            raise self._too_busy(timeout)
        try:
            self._lock_file(deadline, timeout)
        except BaseException:
            self._thread_lock.release()
            raise

    def _lock_file(self, deadline: float, timeout: float) -> None:
        pause = _FIRST_PAUSE
        while True:
            if self._descriptor < 0:
                try:
                    self._descriptor = os.open(self._path, _FLAGS, 0o664)
                except FileNotFoundError:
                    if not complete_replacement(os.path.dirname(self._path)):
                        raise
                    continue
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # flock cannot be waited for with a limit.
                if time.monotonic() >= deadline:
                    raise self._too_busy(timeout) from None
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                continue
            if self.is_in_place():
                return
            # The whole folder was replaced during the wait: the other writers lock another file now.
            self._close_file()

    def is_in_place(self) -> bool:
        """Whether the file that is locked is the one at the path, not one that was moved away."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        try:
            if self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._thread_lock.release()

    def close(self) -> bool:
        """Close the file, which the next holder opens again; returns False if the lock is held."""
        if not self._thread_lock.acquire(blocking=False):
            return False
        try:
            self._close_file()
        finally:
            self._thread_lock.release()
        return True

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _too_busy(self, timeout: float) -> BusyError:
        folder = os.path.dirname(self._path)
        return BusyError(f"another process has been writing to {folder} for over {timeout:g} seconds; try again")
