"""A parent that keeps worker processes running, and does nothing else, so that nothing can hurt it.

Stopping is graceful: workers finish the request they are at.  They learn that
they should go when their lifeline breaks: the far end of a pipe that only the
parent holds.  So they also go when the parent is killed, and when it replaces
itself, which is how it reloads: the same process begins anew with the code and
the packages as they now are, and keeps listening all the while.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

from .cli import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Work = Callable[[socket.socket, tuple[int, ...]], None]

# How the listening socket is handed to the process that takes our place.
INHERITED = "NOID_LISTENING"
_STOP = (signal.SIGTERM, signal.SIGINT)
_HEARD = {*_STOP, signal.SIGHUP, signal.SIGCHLD}
_GRACE_SECONDS = 30.0
# If workers die as soon as they are born, do not spend the machine on starting more of them: so many at most in
# place of each in this time.
_MOST_LIVES = 4
_SECONDS = 1.0


class Prefork:
    """Keeps `workers` processes that each run `work(listener, farewells)`.

    Work ends itself as soon as one of the descriptors in `farewells` becomes readable.
    """

    def __init__(self, listener: socket.socket, workers: int, work: Work) -> None:
        self._listener = listener
        self._wanted = workers
        self._work = work
        self._workers: set[int] = set()
        self._born: list[float] = []
        self._lifeline, self._grip = os.pipe()

    def run(self) -> None:
        """Until told to stop by SIGTERM or SIGINT.  SIGHUP reloads, which ends this process's old self."""
        # Blocked and waited for, rather than handled: so none can come at a bad moment.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
        while True:
            self._replenish()
            told = signal.sigtimedwait(_HEARD, 3600 if len(self._workers) == self._wanted else _SECONDS)
            if told is not None and told.si_signo in _STOP:
                return self._stop()
            if told is not None and told.si_signo == signal.SIGHUP:
                self._reload()
            while self._reap():
                pass

    def _replenish(self) -> None:
        now = time.monotonic()
        self._born = [born for born in self._born if now - born < _SECONDS]
        while len(self._workers) < self._wanted and len(self._born) < _MOST_LIVES * self._wanted:
            pid = os.fork()
            if not pid:
                self._be_worker()
            self._workers.add(pid)
            self._born.append(now)

    def _be_worker(self) -> NoReturn:
        status = 1
        try:
            os.close(self._grip)
            told, teller = os.pipe()
            os.set_blocking(teller, False)
            signal.set_wakeup_fd(teller)
            for number in _STOP:
                signal.signal(number, _only_wake)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
            self._work(self._listener, (self._lifeline, told))
            status = 0
        except Exception as error:  # noqa: BLE001 - a fault of ours: said in one line, and the parent starts another
            complain(f"a worker failed: {type(error).__name__}: {error}")
        finally:
            # Without the parent's exit handlers.
            os._exit(status)

    def _reap(self) -> bool:
        """Whether there was a dead worker."""
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        self._workers.discard(pid)
        return bool(pid)

    def _stop(self) -> None:
        os.close(self._grip)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self._workers and time.monotonic() < deadline:
            if not self._reap():
                signal.sigtimedwait({signal.SIGCHLD}, min(1.0, _GRACE_SECONDS))
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _reload(self) -> None:
        os.set_inheritable(self._listener.fileno(), True)
        os.environ[INHERITED] = str(self._listener.fileno())
        try:
            # Our end of the lifeline closes with this, and the workers finish what they are at and go.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        except OSError as error:
            complain(f"cannot reload: {error}")


def _only_wake(*_: object) -> None:
    """The descriptor set for it tells the worker; a handler of its own would interrupt a request."""


def inherited() -> socket.socket | None:
    """The listening socket of the process whose place we took, if there was one."""
    number = os.environ.pop(INHERITED, None)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return socket.socket(fileno=int(number))
