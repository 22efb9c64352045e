"""Counts how often names are resolved: a number for each name and day, and nothing about who asked.

A minter's counts are in an SQLite database beside its store, not in it: they are no facts about identifiers, a lookup
must not write to the store, and a restored backup must not take them back.  They are collected in memory and written
every few seconds by a thread of their own.  Whatever goes wrong there, the disk is full or the file is damaged, costs
counts and never an answer.  A process that is killed loses those of the last seconds.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress

from ..console import OccasionalLog
from ..resolution import DEPARTURE, FOUND
from .database import add_resolutions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..resolution import Outcome

    # By folder of the minter, day since 1970, and name.
    Counts = dict[tuple[str, int, bytes], int]

# Names that rules compute, or that are sent on to a successor, are as many as readers make up: they are counted
# together, under this name.
COMPUTED = b""
_MADE_UP = ("rule", DEPARTURE)

# Seconds between two writes: this is lost if the process is killed.
INTERVAL = 5.0
# How many names are kept in memory; while the counts cannot be written, others are not counted.
_MOST_NAMES = 50_000
_DAY = 86_400


def counted_name(outcome: Outcome) -> bytes | None:
    """The name to count for an outcome; None if it is not to be counted."""
    if not outcome.counted or outcome.kind != FOUND or outcome.by == "fallback":
        return None
    return COMPUTED if outcome.by in _MADE_UP else outcome.identifier


class ResolutionCounter:
    """The counts of this process.  Threads may share one; `clock` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counts: Counts = {}
        self._lock = threading.Lock()
        # The process whose thread writes them; a fork has the counts of its parent, but not the thread.
        self._writer = 0
        self._log = OccasionalLog()

    def add(self, dbdir: str, name: bytes) -> None:
        """Count a resolution of a name of the minter in a folder."""
        key = dbdir, int(self._clock()) // _DAY, name
        with self._lock:
            if self._writer != os.getpid():
                self._start()
            self._add(key, 1)

    def _add(self, key: tuple[str, int, bytes], number: int) -> None:
        if key in self._counts or len(self._counts) < _MOST_NAMES:
            self._counts[key] = self._counts.get(key, 0) + number

    def _start(self) -> None:
        if self._writer:
            self._counts.clear()  # the parent writes them
        self._writer = os.getpid()
        with suppress(RuntimeError):  # no thread can be started: what was counted is written at the end
            threading.Thread(target=self._write_now_and_then, daemon=True).start()
        atexit.register(self.flush, 0.2)

    def _write_now_and_then(self) -> None:
        while True:
            time.sleep(INTERVAL)
            self.flush()

    def flush(self, patience: float = 2.0) -> None:
        """Write what was counted; `patience` is how many seconds to wait for other processes that write."""
        with self._lock:
            counts, self._counts = self._counts, {}
        if not counts:
            return
        by_folder: dict[str, dict[tuple[int, bytes], int]] = {}
        for (dbdir, day, name), number in counts.items():
            by_folder.setdefault(dbdir, {})[day, name] = number
        for dbdir, found in by_folder.items():
            try:
                add_resolutions(dbdir, found, patience)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for these counts
                self._log.write(f"the resolutions of {dbdir} cannot be counted at the moment: {error}")
                with self._lock:  # the next write tries again
                    for (day, name), number in found.items():
                        self._add((dbdir, day, name), number)
