"""What a person at a terminal, or the log of a web server, gets besides answers: progress, waiting times, messages."""

from __future__ import annotations

import os
import time

from .clock import SECOND

_CLEAR = b"\r\x1b[K"
_BAR_WIDTH = 30

# Seconds until the progress bar first appears, since most commands are quick; and between two updates of it.
_FIRST_DISPLAY, _NEXT_DISPLAY = 0.5, 0.1

# A single wait shorter than this is not displayed.
_NOTICEABLE = SECOND // 3

_STANDARD_ERROR = 2
_LONGEST_LOG_LINE = 1000
_CONTROLS = {code: f"%{code:02X}" for code in (*range(0x20), 0x7F)}


class _StatusLine:
    """One line of a terminal that is written over and over, and cleared at the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._visible = False

    def _display(self, text: str) -> None:
        _write(self._descriptor, _CLEAR + text.encode())
        self._visible = True

    def _clear(self) -> None:
        if self._visible:
            _write(self._descriptor, _CLEAR)
            self._visible = False


class ProgressBar(_StatusLine):
    """Called with how much is done, of how much, and a remark; cleared when all is done."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._due = time.monotonic() + _FIRST_DISPLAY

    def __call__(self, done: int, total: int, remark: str) -> None:
        if done >= total:
            self._clear()
        elif time.monotonic() >= self._due:
            filled = _BAR_WIDTH * done // total
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self._display(f"[{bar}] {done} of {total}{remark and ', ' + remark}")
            self._due = time.monotonic() + _NEXT_DISPLAY


class WaitIndicator(_StatusLine):
    """The `on_wait` of a Clock: how many identifiers are made, and when the next one will be."""

    def __call__(self, left: int, made: int, wanted: int) -> None:
        if left <= 0:
            self._clear()
        elif wanted > 1 or left > _NOTICEABLE or self._visible:
            tenths = -(-left // (SECOND // 10))
            self._display(f"{made} of {wanted} made, the next in {tenths // 10}.{tenths % 10} s")


def write_error(message: str) -> None:
    """Write one line to standard error; control characters in the message are written as %XX."""
    line = message.translate(_CONTROLS).encode("utf-8", "surrogateescape") + b"\n"
    # Not through sys.stderr, which may be None, and which tries to write again at exit what it could not write.
    _write(_STANDARD_ERROR, line)


def log_line(program: str, message: str) -> None:
    """Write a line to the web server's log, which is our standard error."""
    write_error(f"{program}: {message}"[:_LONGEST_LOG_LINE])


def _write(descriptor: int, text: bytes) -> None:
    try:
        os.write(descriptor, text)
    except OSError:
        return  # it was closed; the command goes on without it
