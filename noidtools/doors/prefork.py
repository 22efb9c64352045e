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
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    Work = Callable[[socket, int], None]

# How the listening socket is handed to the process that takes our place.
INHERITED = "NOID_LISTENING"
_STOP = (signal.SIGTERM, signal.SIGINT)
_HEARD = {*_STOP, signal.SIGHUP, signal.SIGCHLD}
_GRACE_SECONDS = 30.0
# A worker that dies sooner than this was probably doomed: do not spend the machine on starting more of them.
_SHORT_LIFE = 1.0


class Prefork:
    """Keeps `workers` processes that each run `work(listener, lifeline)`."""

    def __init__(self, listener: socket, workers: int, work: Work) -> None:
        self._listener = listener
        self._wanted = workers
        self._work = work
        self._born: dict[int, float] = {}
        self._lifeline, self._grip = os.pipe()

    def run(self) -> None:
        """Until told to stop by SIGTERM or SIGINT.  SIGHUP reloads and does not return."""
        # Blocked and waited for, rather than handled: so none can come at a bad moment.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
        while True:
            self._replenish()
            told = signal.sigtimedwait(_HEARD, _SHORT_LIFE if len(self._born) < self._wanted else 3600)
            if told is None:
                continue
            if told.si_signo in _STOP:
                return self._stop()
            if told.si_signo == signal.SIGHUP:
                self._reload()
            self._reap()

    def _replenish(self) -> None:
        doomed = any(time.monotonic() - born < _SHORT_LIFE for born in self._born.values()) and self._died_young
        while len(self._born) < self._wanted and not doomed:
            pid = os.fork()
            if not pid:
                self._be_worker()
            self._born[pid] = time.monotonic()
