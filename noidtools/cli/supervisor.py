"""The two processes of `noidr`: a worker that answers, and a parent that starts another one when the worker dies.

Apache never restarts the program of a RewriteMap, so the program must not end while Apache runs.  The worker reads and
writes the pipes itself, so that the parent costs nothing.  They share memory (`SharedInput`) with the input that is not
answered yet, which the system copies there as part of the call that takes it out of the pipe, and a byte that is set
while a reply is written.  When the worker has died:

- without a line in that memory, no reply is missing;
- with a line and without the byte, the parent answers the line, NULL or 503;
- with both, the reply may have been written or not.  Without `--echo` noidr ends, so that no request ever gets the
  reply to another one.  With `--echo` clients wait for each reply and recognise their own, so the parent answers.

With `--echo` an unread reply, found before the next one is written, is one too many: that of a dead worker which was
answered twice, or that of a process of the web server which died before it had read it.  The request at hand then gets
none.  Its sender reads the reply that is there, sees that it is another one's, and asks again; and all are in step.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import termios
import time
from io import FileIO
from mmap import mmap

from ..console import exit_reason, log_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

# Replies of --echo begin with this octet, which occurs nowhere else in them: a process of a web server may be killed
# when it has read a part of a reply, and the rest of it must not pass for a whole one.
MARK = b"\x02"

# No name is longer than this; of a longer line the rest is left out.
LONGEST_LINE = 1 << 20

_PIECE = 4096  # bytes read at once

# Seconds between the death of a worker and the start of the next one, in case that all die at once.
_PAUSE = 0.01

_NO_BYTES = bytes(4)  # the number 0, as ioctl writes it


class SharedInput:
    """Memory that the worker and its parent share.  Its first byte is set while a reply is written; then follows the
    input without replies.  What is free is zero, so that the end of the input is known after any death."""

    def __init__(self) -> None:
        self._memory = mmap(-1, 1 + LONGEST_LINE + _PIECE + 1)
        self._input = memoryview(self._memory)[1:]
        self._size = 0

    def find_end(self) -> None:
        """Find out how much input there is; a dead worker may have read more than it knew."""
        self._size = len(bytes(self._input).rstrip(b"\0"))

    def read(self, read_into: Callable[[memoryview], int | None]) -> bool:
        """Read more input; False at its end."""
        start = min(self._size, LONGEST_LINE)
        self._input[start : self._size] = bytes(self._size - start)
        got = read_into(self._input[start : start + _PIECE]) or 0
        self._size = start + got
        return got > 0

    def end_line(self) -> bool:
        """Complete a last line that has no line break; False if there is none."""
        if not self._size:
            return False
        self._input[self._size] = ord("\n")
        self._size += 1
        return True

    def first_line(self) -> bytes | None:
        """The first line, without its line break; None if it is not complete."""
        end = self._memory.find(b"\n", 1, 1 + self._size)
        return None if end < 0 else self._memory[1:end]

    def remove(self, line: bytes) -> None:
        """Remove the first line, which has its reply."""
        rest = self._memory[1 + len(line) + 1 : 1 + self._size]
        self._input[: self._size] = rest.ljust(self._size, b"\0")
        self._size = len(rest)
        self.writing = False

    def is_empty(self) -> bool:
        return not self._size

    @property
    def writing(self) -> bool:
        """Whether the reply to the first line may be written already."""
        return self._memory[0] != 0

    @writing.setter
    def writing(self, value: bool) -> None:
        self._memory[0] = value


class Supervisor:
    """The parent.

    reply       the reply line to a request line; called in the worker
    unanswered  the reply line that the parent writes in place of a dead worker
    echo        whether clients wait for each reply and recognise their own by the name in it
    at_end      called in the worker when the input has ended
    """

    def __init__(
        self, reply: Callable[[bytes], bytes], unanswered: bytes, *, echo: bool, source: int = 0, sink: int = 1,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._reply = reply
        self._unanswered = unanswered
        self._echo = echo
        self._source = source
        self._sink = sink
        self._at_end = at_end
        self._shared = SharedInput()
        self._parent = os.getpid()
        self._worker = 0

    def run(self) -> int:
        """Until the input ends; returns the exit status."""
        try:
            os.fstat(self._source)
            os.fstat(self._sink)
            signal.signal(signal.SIGTERM, self._stop)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where a parent ignores it, children cannot be waited for
            while True:
                status = self._run_worker()
                if status is not None:
                    return status
                time.sleep(_PAUSE)
        except (BrokenPipeError, KeyboardInterrupt):
            return 0
        except OSError as error:
            log_line("noidr", f"requests cannot be read, or replies cannot be written: {error.strerror}")
            return 1

    def _stop(self, _: int, __: FrameType | None) -> NoReturn:
        if os.getpid() != self._parent:
            os._exit(1)  # a worker that has just been started, and must not look as if the input had ended
        if self._worker:
            os.kill(self._worker, signal.SIGTERM)
        os._exit(0)

    def _run_worker(self) -> int | None:
        """Start a worker and wait until it has ended; returns the exit status of noidr, None if another is needed."""
        try:
            pid = self._worker = os.fork()
        except OSError as error:
            log_line("noidr", f"no worker can be started ({error.strerror}): requests wait until one can be")
            time.sleep(1)
            return None
        if not pid:
            self._work()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._worker = 0
        if code == 0:
            return 0
        return self._replace(f"the worker {pid} {exit_reason(code)}")

    def _replace(self, death: str) -> int | None:
        """Answer the request that a dead worker has left; returns the exit status of noidr if that must end."""
        shared = self._shared
        shared.find_end()
        if shared.writing and not self._echo and not shared.is_empty():
            log_line("noidr", f"{death}, and whether its last reply was written is not known: noidr ends, so that no "
                              "request gets the reply of another; restart the web server")
            return 1
        line = shared.first_line()
        log_line("noidr", f"{death}: another one is started; requests that got no answer: {int(line is not None)}")
        if line is not None:
            _write_all(self._sink, self._unanswered)
            shared.remove(line)
        shared.writing = False
        return None

    def _work(self) -> NoReturn:
        """The worker process."""
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._answer()
            status = 0
            if self._at_end is not None:
                self._at_end()
        except BrokenPipeError:
            status = 0  # the web server has ended
        except KeyboardInterrupt:
            pass  # Ctrl-C interrupts the parent, too
        except BaseException as error:  # noqa: BLE001 - one line in the log, and the parent starts another
            log_line("noidr", f"the worker failed: {type(error).__name__}: {error}")
        finally:
            os._exit(status)

    def _answer(self) -> None:
        """Answer until the input ends.  Raises BrokenPipeError if nobody reads the output any more."""
        shared, sink = self._shared, self._sink
        read_into = FileIO(self._source, closefd=False).readinto
        may_be_unread = self._echo and stat.S_ISFIFO(os.fstat(sink).st_mode)
        shared.find_end()
        while True:
            line = shared.first_line()
            if line is None:
                if not shared.read(read_into) and not shared.end_line():
                    return
                continue
            if may_be_unread and _is_unread(sink):
                log_line("noidr", "a reply was not read, since a process of the web server or a worker has died: one "
                                  "request gets none")
            else:
                reply = self._reply(line)
                shared.writing = True
                _write_all(sink, reply)
            shared.remove(line)


def _is_unread(pipe: int) -> bool:
    """Whether there is something in a pipe."""
    return fcntl.ioctl(pipe, termios.FIONREAD, _NO_BYTES) != _NO_BYTES


def _write_all(sink: int, out: bytes) -> None:
    while out:
        out = out[os.write(sink, out) :]
