"""A bar on a terminal that grows while a long command runs, and is gone at the end."""

from __future__ import annotations

import os
import time

_CLEAR = b"\r\x1b[K"
_WIDTH = 30
# Seconds before the first sign, since most commands are quick; and between one and the next.
_FIRST, _NEXT = 0.5, 0.1


class Bar:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._due = time.monotonic() + _FIRST
        self._shown = False

    def __call__(self, done: int, total: int, word: str) -> None:
        if done >= total:
            if self._shown:
                self._write(_CLEAR)
                self._shown = False
        elif time.monotonic() >= self._due:
            filled = _WIDTH * done // total
            bar = "#" * filled + "." * (_WIDTH - filled)
            self._write(_CLEAR + f"[{bar}] {done} of {total}{word and ', ' + word}".encode())
            self._shown = True
            self._due = time.monotonic() + _NEXT

    def _write(self, text: bytes) -> None:
        try:
            os.write(self._descriptor, text)
        except OSError:
            return  # the terminal is gone; the work goes on
