"""What the two processes of `noidr` share: memory, and what the system counts of the worker."""

from __future__ import annotations

import mmap
import os
import resource
from contextlib import suppress

from ..console import log_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# How many bytes are read at once: enough for most requests, and more of them for the rest of a longer one.
LINE, PIECE = 479, 1 << 16

# The shared memory: the piece of input in flight, a copy of a long reply, numbers.  Pages that are never used take no
# memory.
_COPY = PIECE
_LONGEST_COPY = 4 << 20
_NUMBERS = _COPY + _LONGEST_COPY
_SIZE = _NUMBERS + 64

# Places of the numbers: bytes written in replies; bytes written when the worker began, plus _KNOWN; the length of the
# reply that was copied, 0 if none; whether the input so far ends within a line.
REPLIED, _BEFORE, COPIED, INCOMPLETE = range(4)

# Values of _BEFORE that are no number of bytes: the system does not count; the worker writes to the log or another
# file, so that the reply to the piece in flight was not written yet.
_UNCOUNTED, _ELSEWHERE, _KNOWN = range(3)


class SharedState:
    """What the parent must know of the worker when that has died."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _SIZE)
        view = memoryview(self.memory)
        self.numbers = view[_NUMBERS:].cast("Q")
        self.line, self.piece = view[:LINE], view[:PIECE]

    def begin(self) -> None:
        """Called by a worker before it reads."""
        self.numbers[REPLIED] = self.numbers[COPIED] = 0
        self._count()

    def log(self, message: str) -> None:
        """Write a line to the log."""
        self.write_elsewhere(lambda: log_line("noidr", message))

    def write_elsewhere(self, action: Callable[[], None]) -> None:
        """Do something that may write to other files, which counts as no reply."""
        self.numbers[_BEFORE] = _ELSEWHERE
        try:
            action()
        finally:
            self._count()

    def _count(self) -> None:
        with Counters("self") as counters:
            written = counters.bytes_written()
        self.numbers[_BEFORE] = _UNCOUNTED if written is None else written - self.numbers[REPLIED] + _KNOWN

    def in_flight(self) -> bytes:
        """The piece of input that was read and not yet answered."""
        return self.memory[:PIECE].rstrip(b"\0")

    def copy(self, reply: bytes) -> None:
        """Keep a reply that may be written in several steps, if it is not too long."""
        if len(reply) <= _LONGEST_COPY:
            self.memory[_COPY : _COPY + len(reply)] = reply
            self.numbers[COPIED] = len(reply)

    def copied(self) -> bytes:
        return self.memory[_COPY : _COPY + self.numbers[COPIED]]

    def bytes_written(self, counters: Counters, *, dumped: bool = False) -> int | None:
        """How many bytes of the reply to the piece in flight a dead worker has written; None if that is unknown, as
        after a core dump."""
        before = self.numbers[_BEFORE]
        if before == _ELSEWHERE:
            return 0
        written = None if before == _UNCOUNTED or dumped else counters.bytes_written()
        if written is None:
            return None
        replied = written - (before - _KNOWN) - self.numbers[REPLIED]
        if not replied:
            return 0
        at_end = bytes_written_at_end()
        # Fewer than at the end of any process: accounting has begun since.
        return None if at_end is None or replied < at_end else replied - at_end

    def clear(self) -> None:
        self.memory[:PIECE] = bytes(PIECE)


class Counters:
    """What the system counts of a process.  It can be read until the process is waited for, but a process that has
    died is root's, so that the file must be opened before."""

    def __init__(self, process: str) -> None:
        try:
            self._descriptor = os.open(f"/proc/{process}/io", os.O_RDONLY)
        except OSError:
            self._descriptor = -1

    def __enter__(self) -> Counters:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def bytes_written(self) -> int | None:
        """The number of bytes that the process has written; None if the system does not tell."""
        try:
            lines = os.pread(self._descriptor, 4096, 0).splitlines()
        except OSError:
            return None
        return next((int(line[6:]) for line in lines if line.startswith(b"wchar:")), None)


def bytes_written_at_end() -> int | None:
    """How many bytes the system counts for the end of any process, as a record of process accounting; None if unknown.

    It is asked when it must be known, by a process that does nothing, since accounting can begin and end at any time.
    """
    try:
        readable, writable = os.pipe()
    except OSError:
        return None
    try:
        process = os.fork()
        if not process:
            try:
                os.close(writable)
                os.read(readable, 1)
            finally:
                os._exit(0)
    except OSError:
        os.close(writable)
        return None
    finally:
        os.close(readable)
    with Counters(str(process)) as counters:
        os.close(writable)
        ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        written = counters.bytes_written()
    os.waitpid(process, 0)
    # One that was killed may have left a core dump.
    return written if ended is not None and ended.si_code == os.CLD_EXITED else None


def allow_no_core_dump() -> None:
    """The bytes of a core dump would be counted as written by the process.  A limit of 0 is not enough: the system
    would still write to a program that takes core dumps, but not with a limit of 1.  Where the hard limit is 0, an
    ordinary account cannot set that."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (1, resource.getrlimit(resource.RLIMIT_CORE)[1]))
