"""What a person at a terminal, or the log of a web server, gets besides answers: progress, waiting times, messages."""

from __future__ import annotations

import os
import time

from .times import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Called with the number done, the total, and a word about it; both numbers are equal at the end.
    Progress = Callable[[int, int, str], None]

_CLEAR = b"\r\x1b[K"
_BAR_WIDTH = 30

# Seconds until the progress bar first appears, since most commands are quick; and between two updates of it.
_FIRST_DISPLAY, _NEXT_DISPLAY = 0.5, 0.1

# A single wait shorter than this is not displayed.
_NOTICEABLE = SECOND // 3

_STANDARD_ERROR = 2
_LONGEST_LOG_LINE = 1000

# Seconds for which a line is not repeated, and how many lines are remembered for that.
_SECONDS_BETWEEN_LINES = 60.0
_MOST_LINES = 1000

# What ends a line for some readers of a log, and other control characters, with their escapes.
_CONTROLS = {code: "".join(f"%{octet:02X}" for octet in chr(code).encode())
             for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


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
    """Called with how much is done, of how much (0 if that is not known), and a remark; cleared when all is done."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._due = time.monotonic() + _FIRST_DISPLAY

    def __call__(self, done: int, total: int, remark: str) -> None:
        if done >= total > 0:
            self._clear()
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _NEXT_DISPLAY
            if not total:
                self._display(f"{done} {remark}")
                return
            filled = _BAR_WIDTH * done // total
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self._display(f"[{bar}] {done} of {total}{remark and ', ' + remark}")


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


def exit_reason(code: int) -> str:
    """Why a process has ended, for the log; `code` is negative for a signal, as os.waitstatus_to_exitcode has it."""
    if code >= 0:
        return f"ended with status {code}"
    # Few processes need this, and importing it takes long.
    import signal

    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", by somebody or because memory ran out (see dmesg)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


class OccasionalLog:
    """Writes lines to the log, each of them once in some seconds at most."""

    def __init__(self, seconds: float = _SECONDS_BETWEEN_LINES) -> None:
        self._seconds = seconds
        self._next: dict[str, float] = {}

    def write(self, line: str) -> None:
        if self.is_due(line):
            log_line("noid", line)

    def is_due(self, line: str) -> bool:
        """Whether this line was not written within these seconds; then it counts as written now."""
        now = time.monotonic()
        if now < self._next.get(line, now):
            return False
        if len(self._next) >= _MOST_LINES:
            self._next.clear()
        self._next[line] = now + self._seconds
        return True


def _write(descriptor: int, text: bytes) -> None:
    try:
        os.write(descriptor, text)
    except OSError:
        return  # it was closed; the command goes on without it
