"""Turns: work at many hosts, done by many hands, but never two at one host, and never without a pause between."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from typing import Generic, TypeVar

Work = TypeVar("Work")

# Hosts that were asked a while ago are forgotten once there are so many of them.
_MOST_REMEMBERED = 1000


class Turns(Generic[Work]):
    """A line of work for each host.  Any thread may put work in; a thread that takes some gives the host back."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._changed = threading.Condition()
        # Of hosts that have work waiting, or somebody at work.
        self._lines: dict[str, deque[Work]] = {}
        # Hosts with work and nobody at it: a heap by when they may be asked.
        self._waiting: list[tuple[float, str]] = []
        # When hosts without work may be asked again.
        self._rested: dict[str, float] = {}
        self._stopped = False

    def put(self, host: str, work: Work, *, first: bool = False) -> None:
        with self._changed:
            line = self._lines.get(host)
            if line is not None:
                line.appendleft(work) if first else line.append(work)
                return
            self._lines[host] = deque([work])
            heapq.heappush(self._waiting, (self._rested.pop(host, 0.0), host))
            self._changed.notify()

    def take(self) -> tuple[str, Work] | None:
        """The work of a host whose turn it is, as soon as there is one; None when no more will be done."""
        with self._changed:
            while not self._stopped:
                pause = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if pause is not None and pause <= 0:
                    host = heapq.heappop(self._waiting)[1]
                    return host, self._lines[host].popleft()
                self._changed.wait(pause)
            return None

    def give_back(self, host: str) -> None:
        """The work taken is done; others may go to this host after a pause."""
        with self._changed:
            again = time.monotonic() + self._pause
            if self._lines[host]:
                heapq.heappush(self._waiting, (again, host))
                self._changed.notify()
                return
            del self._lines[host]
            if len(self._rested) >= _MOST_REMEMBERED:
                now = time.monotonic()
                self._rested = {name: when for name, when in self._rested.items() if when > now}
            if self._pause:
                self._rested[host] = again

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
