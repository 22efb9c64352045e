"""Locks: between the threads of one process, and between the writers of all processes."""

from __future__ import annotations

import fcntl
import os
import time
from _thread import allocate_lock

from ..errors import BusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable
    from typing import TypeVar
    T = TypeVar("T")

# Seconds that a writer waits for the others.
TIMEOUT = 30.0


class ReadersWriterLock:
    """Shared by many threads, or held by one alone.  Used as a context manager it is shared.

    Who waits to be alone keeps those out who come later, so the wait ends when those inside have left.  A thread that
    shares the lock must neither share it again nor ask to be alone.

    users   an entry for each thread that shares the lock.  Adding and removing one is atomic, so that sharing needs no
            lock of its own: a thread adds itself, and then leaves again if the lock is `closed`; the one who waits to
            be alone first closes it, and then looks for users.  One of the two always sees the other.
    closed  whether somebody is alone, or waits to be
    """

    __slots__ = ("users", "closed", "_entrance", "_emptied")

    def __init__(self) -> None:
        self.users: list[None] = []
        self.closed = False
        # Held by the thread that is alone, or waits to be.
        self._entrance = allocate_lock()
        # Released by those who may be the last to leave, if somebody waits for that.
        self._emptied = allocate_lock()

    def __enter__(self) -> None:
        self.users.append(None)
        while self.closed:
            self.leave()
            with self._entrance:
                pass  # the thread that was alone has released it
            self.users.append(None)

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """The end of a thread's sharing."""
        self.users.pop()
        if self.closed:
            self.wake()

    def wake(self) -> None:
        """Wake the thread that waits to be alone, if nobody is left; to be called after leaving a closed lock."""
        if not self.users:
            try:  # noqa: SIM105 - contextlib takes milliseconds to import
                self._emptied.release()
            except RuntimeError:
                pass  # another thread did so just now

    def acquire_alone(self, timeout: float = -1) -> bool:
        """Wait until nobody shares the lock, without limit if the timeout is -1; returns whether we are alone."""
        deadline = time.monotonic() + timeout
        if not _acquired(self._entrance, timeout):
            return False
        alone = False
        try:
            self.closed = True
            while self.users:
                # It may have been released too early or twice, so the users are checked again each time.
                if not _acquired(self._emptied, timeout if timeout < 0 else max(0.0, deadline - time.monotonic())):
                    break
            alone = not self.users
        finally:
            if not alone:
                self.release_alone()
        return alone

    def release_alone(self) -> None:
        self.closed = False
        self._entrance.release()

    def alone(self, action: Callable[[], T]) -> T:
        """Do something while nobody shares the lock."""
        self.acquire_alone()
        try:
            return action()
        finally:
            self.release_alone()


def _acquired(lock: LockType, timeout: float) -> bool:
    return lock.acquire(timeout=timeout) if timeout else lock.acquire(False)


_FLAGS = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW

# How long a process sleeps between two attempts to lock the file, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002


class WriterLock:
    """Held by the one who writes, first among the threads of this process, then among all processes.

    LMDB's own lock cannot be waited for with a limit, so this one stands in front of it.  The system releases it when
    its holder dies, however it dies.
    """

    __slots__ = ("_path", "_threads", "_descriptor")

    def __init__(self, path: str) -> None:
        self._path = path
        self._threads = allocate_lock()
        self._descriptor = -1

    def acquire(self, timeout: float) -> None:
        """Raises BusyError when the time is over."""
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=timeout):
            raise self._too_busy(timeout)
        try:
            self._lock_file(deadline, timeout)
        except BaseException:
            self._threads.release()
            raise

    def _lock_file(self, deadline: float, timeout: float) -> None:
        pause = _FIRST_PAUSE
        while True:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, _FLAGS, 0o664)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # The system has no lock of a file that can be waited for with a limit.
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
            self._threads.release()

    def close(self) -> bool:
        """Close the file, which the next holder opens again; returns False if somebody has the lock."""
        if not self._threads.acquire(False):
            return False
        try:
            self._close_file()
        finally:
            self._threads.release()
        return True

    def renew_in_child(self) -> None:
        """After a fork, in the child: the file is shared with the parent, one of whose threads may have the lock."""
        self._threads = allocate_lock()
        self._close_file()

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _too_busy(self, timeout: float) -> BusyError:
        folder = os.path.dirname(self._path)
        return BusyError(f"another process has been writing to {folder} for over {timeout:g} seconds; try again")
