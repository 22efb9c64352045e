"""Lets many in at once, or one alone."""

from __future__ import annotations

import time
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Gate:
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
