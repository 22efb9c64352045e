"""Locks: between the threads of one process, and between the writers of all processes.

Ctrl-C raises KeyboardInterrupt in the main thread, between any two steps of it, and no lock must stay taken then.  In
CPython the steps are calls: an interruption comes when a function begins, when one that is written in C has returned,
or when a loop begins again.  So what takes a lock without `with`, and what gives one back, is either no call, or it is
done once more after an interruption.
"""

from __future__ import annotations

import fcntl
import os
import time
from _thread import _local, allocate_lock

from ...errors import BusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar
    T = TypeVar("T")

# Seconds that a writer waits for the others.
TIMEOUT = 30.0


# What is added to the users of a lock.
USER = (None,)

# Seconds after which the one who waits to be alone looks again: who was to wake it may have been interrupted.
_LOOK_AGAIN = 1.0


class ReadersWriterLock:
    """Shared by many threads, or held by one alone.

    Who waits to be alone keeps those out who come later, so the wait ends when those inside have left.  A thread that
    shares the lock must neither share it again nor ask to be alone.

    users   an entry for each thread that shares the lock.  Adding and removing one is atomic, so that sharing needs no
            lock of its own: a thread adds itself, and then leaves again if the lock is `closed`; the one who waits to
            be alone first closes it, and then looks for users.  One of the two always sees the other.
    closed  whether somebody is alone, or waits to be
    entrance  held by the thread that is alone, or waits to be

    After `share` a thread leaves like this, which an interruption cannot come before:

        finally:
            del lock.users[-1]
            if lock.closed:
                lock.wake()
    """

    __slots__ = ("users", "closed", "entrance", "_emptied")

    def __init__(self) -> None:
        self.users: list[None] = []
        self.closed = False
        self.entrance = allocate_lock()
        # Released by those who may be the last to leave, if somebody waits for that.
        self._emptied = allocate_lock()

    def share(self) -> None:
        users = self.users
        while True:
            users += USER
            if not self.closed:
                return
            del users[-1]
            self.wake()
            with self.entrance:
                pass  # the thread that was alone has released it

    def shared(self, action: Callable[[], T]) -> T:
        """Do something while nobody is alone."""
        self.share()
        try:
            return action()
        finally:
            del self.users[-1]
            if self.closed:
                self.wake()

    def leave(self) -> None:
        """The end of a thread's sharing, where an exception is raised already."""
        del self.users[-1]
        if self.closed:
            self.wake()

    def wake(self) -> None:
        """Wake the thread that waits to be alone, if nobody is left; to be called after leaving a closed lock."""
        if not self.users:
            try:  # noqa: SIM105 - contextlib takes milliseconds to import
                self._emptied.release()
            except RuntimeError:
                pass  # another thread did so just now

    def alone(self, action: Callable[[], T]) -> T:
        """Do something while nobody shares the lock."""
        with self.entrance:
            try:
                self.closed = True
                while self.users:
                    # It may have been released too early or twice, so the users are checked again each time.
                    self._emptied.acquire(timeout=_LOOK_AGAIN)
                return action()
            finally:
                self.closed = False

    def try_alone(self, action: Callable[[], bool]) -> bool:
        """Do something if nobody shares the lock now; returns what it returned, or False."""
        entered: list[bool] = []
        try:
            # In one step: an interruption after a call would come before its result is kept.
            entered += map(self.entrance.acquire, (False,))
            if entered == [False]:
                return False
            self.closed = True
            return not self.users and action()
        finally:
            if entered == [True]:
                self.closed = False
                self.entrance.release()

    def acquire_alone(self, timeout: float) -> bool:
        """Wait until nobody shares the lock; returns whether we are alone, until `release_alone`.  For forks, during
        which Python lets no exception through."""
        deadline = time.monotonic() + timeout
        entered: list[bool] = []
        alone = False
        try:
            entered += map(self.entrance.acquire, (True,), (timeout,))
            if entered == [True]:
                self.closed = True
                while self.users and self._emptied.acquire(timeout=max(0.0, deadline - time.monotonic())):
                    pass
                alone = not self.users
        finally:
            if not alone and entered == [True]:
                self.closed = False
                self.entrance.release()
        return alone

    def release_alone(self) -> None:
        self.closed = False
        self.entrance.release()


_FLAGS = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW

# How long a process sleeps between two attempts to lock the file, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002


class _Taken(_local):
    """What a thread got when it asked for a lock: [True] while it has it."""

    def __init__(self) -> None:
        self.answer: list[bool] = []


class WriterLock:
    """Held by the one who writes, first among the threads of this process, then among all processes.

    LMDB's own lock cannot be waited for with a limit, so this one stands in front of it.  The system releases it when
    its holder dies, however it dies.
    """

    __slots__ = ("_path", "_threads", "_taken", "_descriptor")

    def __init__(self, path: str) -> None:
        self._path = path
        self._threads = allocate_lock()
        self._taken = _Taken()
        self._descriptor = -1

    def acquire(self, timeout: float) -> None:
        """Raises BusyError when the time is over, or if this thread has the lock."""
        deadline = time.monotonic() + timeout
        answer = self._taken.answer
        if answer == [True]:
            raise self._too_busy(0)  # a signal's handler writes while the same thread is writing
        del answer[:]
        try:
            answer += map(self._threads.acquire, (True,), (timeout,))  # in one step, as above
            if answer == [False]:
                raise self._too_busy(timeout)
            self._lock_file(deadline, timeout)
        except BaseException:
            self.release()
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
        """Give the lock back, if this thread has it."""
        answer = self._taken.answer
        if answer == [True]:
            try:
                if self._descriptor >= 0:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            finally:
                del answer[:]
                self._threads.release()

    def close(self) -> bool:
        """Close the file, which the next holder opens again; returns False if somebody has the lock."""
        taken: list[bool] = []
        try:
            taken += map(self._threads.acquire, (False,))  # in one step, as above
            if taken == [False]:
                return False
            self._close_file()
            return True
        finally:
            if taken == [True]:
                self._threads.release()

    def renew_in_child(self) -> None:
        """After a fork, in the child: the file is shared with the parent, one of whose threads may have the lock."""
        self._threads, self._taken = allocate_lock(), _Taken()
        self._close_file()

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            # In this order: after an interruption the number may soon be another file's.
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _too_busy(self, timeout: float) -> BusyError:
        folder = os.path.dirname(self._path)
        return BusyError(f"another process has been writing to {folder} for over {timeout:g} seconds; try again")
