"""What a person at a terminal sees besides answers: progress, waiting times and error messages."""

from __future__ import annotations

import os
import sys
import time

from .clock import SECOND

_CLEAR = b"\r\x1b[K"
_WIDTH = 30

# Seconds before the first sign, since most commands are quick; and between one and the next.
_FIRST, _NEXT = 0.5, 0.1


class ProgressBar:
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
_NOTICEABLE = SECOND // 3


class WaitIndicator:
    """One line on a terminal, written over and over while somebody waits, and gone at the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = False

    def __call__(self, left: int, made: int, wanted: int) -> None:
        if left <= 0 and self._shown:
            self._write(_CLEAR)
            self._shown = False
        elif left > 0 and (wanted > 1 or left > _NOTICEABLE or self._shown):
            tenths = -(-left // (SECOND // 10))
            self._write(b"%b%d of %d made, the next in %d.%d s" % (_CLEAR, made, wanted, tenths // 10, tenths % 10))
            self._shown = True

    def _write(self, text: bytes) -> None:
        try:
            os.write(self._descriptor, text)
        except OSError:
            return  # the terminal is gone; the work goes on


def write_error(sentence: str) -> None:
    try:
        sys.stderr.buffer.write(sentence.encode("utf-8", "surrogateescape") + b"\n")
        sys.stderr.buffer.flush()
    except (OSError, AttributeError):
        pass  # nobody is listening: it is closed, or was from the start
