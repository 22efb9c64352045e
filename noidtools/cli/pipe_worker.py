"""The two processes of `noidr`: a worker that answers, and a parent that starts another one when the worker dies.

Apache never restarts the program of a RewriteMap, so the program must not end while Apache runs.  The worker reads
and writes the pipes itself, so that the parent costs nothing.  When the worker has died, the parent makes up for
what the worker left undone, so that each request line still has exactly one reply line:

- A piece of input that the worker had read is in memory which both share: the system copies it there as part of the
  call that takes it out of the pipe.  The worker clears it after the reply was written.
- Whether that reply was written is known from the number of bytes that the worker has written in all, which Linux
  counts in /proc/PID/io.  What the system writes when a process ends (accounting, core dumps) is counted, too, and
  must be left out.

If it was not written, the parent writes NULL for each line of the piece.  A rewriting engine that checks for its own
name (--echo) asks again after such a reply.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import sys
import termios
import time
from contextlib import suppress
from io import FileIO

from ..console import exit_reason, log_line
from .worker_state import COPIED, INCOMPLETE, LINE, PIECE, REPLIED, Counters, SharedState, allow_no_core_dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn, Protocol

    class LineProtocol(Protocol):
        """Bytes in, bytes out: one reply line for each request line.

        reply_to_line  the reply to a piece that is one line, of LONGEST_ATOMIC bytes at most; None: this is for `feed`
        may_be_second  whether this may be the second request for a name, as after a reply that belonged to another one
        """

        incomplete: bool

        def reply_to_line(self, piece: bytes) -> bytes | None: ...

        def may_be_second(self, piece: bytes) -> bool: ...

        def feed(self, piece: bytes) -> bytes: ...

        def end(self) -> bytes: ...

    # Makes the protocol of a process, with the state that it shares; if the second argument is True, the input begins
    # in the middle of a line.
    NewProtocol = Callable[[SharedState, bool], LineProtocol]

NULL = b"NULL\n"

# What clears a piece of input, by its length.
_ZEROS = [bytes(size) for size in range(LINE + 1)]

# Up to this length a write to a pipe happens at once or not at all.
LONGEST_ATOMIC = select.PIPE_BUF

# When more workers than this die in a second, requests are answered without a worker for a moment.
_MAX_DEATHS = 5
_DEATHS_SECONDS = 1.0
_PAUSE_SECONDS = 0.25

# At one request in so many it is looked for replies that were not read; and the number 0 as the system writes it.
_LOOK_AT_UNREAD, _NO_BYTES = 8, bytes(4)

# Where bytes are not counted: how long a rewriting engine that got its reply may take to send the next request.
_NEXT_REQUEST_SECONDS = 1.0


def serve_pipe(
    replies: LineProtocol, state: SharedState, source: int = 0, sink: int = 1, *, in_step: bool = False
) -> None:
    """The worker: answer until the input ends.  Raises BrokenPipeError if nobody reads the output any more.

    in_step  whether a web server sends a request after it has read the reply to the one before.  If that reply is still
             there, the process that was to read it has died, and the request is left without a reply: who sent it
             takes the old one, sees that it is not its own, and asks again.  Looking takes time, so it is done at some
             requests; and who sent the request may have taken the old reply before, so more than one look is needed.
    """
    in_step = in_step and _is_pipe(sink)
    write, reply_to_line = os.write, replies.reply_to_line
    # FileIO.readinto is faster than os.readv: it builds no list of buffers.
    read = FileIO(source, "rb", closefd=False).readinto
    memory, numbers, zeros = state.memory, state.numbers, _ZEROS
    replied, requests, buffer = 0, 0, state.line
    while size := read(buffer):
        piece = memory[:size]
        if in_step:
            requests += 1
            if (not requests % _LOOK_AT_UNREAD or replies.may_be_second(piece)) and _is_unread(sink) and (
                not replies.incomplete and piece.find(b"\n") == size - 1
            ):
                state.log("a reply was not read, since a process of the web server has died: one request gets none")
                memory[:size] = bytes(size)
                continue
        out = reply_to_line(piece)
        if out is None:
            out = replies.feed(piece)
            state.copy(out)
            replied += _write_all(sink, out)
            numbers[INCOMPLETE] = replies.incomplete
            memory[:size] = bytes(size)
            numbers[COPIED] = 0
            # Of a line that is longer than the buffer, more is read at once.
            buffer = state.line if out else state.piece
        else:
            replied += write(sink, out)
            memory[:size] = zeros[size]
        # In this order: while the piece is not cleared, its reply must not be among those that are counted.
        numbers[REPLIED] = replied
    write(sink, replies.end())


class Supervisor:
    """The parent: holds the pipes, and replaces a worker that died.

    `protocol` makes the protocol of a worker, and `unavailable` one that answers without a database.  `in_step` is as
    in `serve_pipe`.
    """

    def __init__(self, protocol: NewProtocol, unavailable: NewProtocol, *, in_step: bool = False) -> None:
        self._in_step = in_step
        self._protocol = protocol
        self._unavailable = unavailable
        self._state = SharedState()
        self._worker = 0
        self._deaths: list[float] = []

    def run(self, source: int = 0, sink: int = 1) -> int:
        """Until the input ends; returns the exit status."""
        try:
            return self._run(source, sink)
        except OSError as error:
            log_line("noidr", f"requests cannot be read, or replies cannot be written: {error.strerror}")
            return 1

    def _run(self, source: int, sink: int) -> int:
        os.fstat(source)
        os.fstat(sink)
        signal.signal(signal.SIGTERM, self._stop)
        # Where a parent process ignores it, the system would not keep what is known of a dead worker.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        allow_no_core_dump()  # for the workers, which have the limit of this process
        while True:
            start = os.pipe()
            # A signal that arrives before the child has left our handler would be taken for the end of the input.
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
            try:
                self._worker = os.fork()
            except OSError as error:
                log_line("noidr", f"no worker can be started ({error.strerror}): requests are not answered meanwhile")
                self._worker = -1
            if not self._worker:
                self._run_worker(start, source, sink)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
            with Counters(str(self._worker)) as counters:
                os.close(start[0])
                with suppress(BrokenPipeError):  # it has died already
                    os.write(start[1], b"\n")
                status = self._wait(counters, source, sink)
            os.close(start[1])
            if status is not None:
                return status

    def _stop(self, _: int, __: FrameType | None) -> NoReturn:
        if self._worker > 0:
            os.kill(self._worker, signal.SIGTERM)
        os._exit(0)

    def _run_worker(self, start: tuple[int, int], source: int, sink: int) -> NoReturn:
        status = 1
        try:
            # The parent writes to the pipe when it is ready to count what this process writes.
            os.close(start[1])
            os.read(start[0], 1)
            _log_end_of(start[0])
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
            # Bytes that are written elsewhere would be taken for those of a reply.
            sys.dont_write_bytecode = True
            self._state.begin()
            skip = bool(self._state.numbers[INCOMPLETE])
            serve_pipe(self._protocol(self._state, skip), self._state, source, sink, in_step=self._in_step)
            status = 0
        except BrokenPipeError:
            status = 0  # the web server has ended
        except KeyboardInterrupt:
            pass  # Ctrl-C interrupts the parent, too
        except BaseException as error:  # noqa: BLE001 - one line in the log, and the parent starts another
            self._state.log(f"the worker failed: {type(error).__name__}: {error}")
        finally:
            os._exit(status)

    def _wait(self, counters: Counters, source: int, sink: int) -> int | None:
        """Wait until the worker has ended; returns the exit status of noidr, None if there must be another worker."""
        if self._worker < 0:
            return None if self._answer_without_worker(source, sink) else 0
        ended = os.waitid(os.P_PID, self._worker, os.WEXITED | os.WNOWAIT)
        pid, self._worker = self._worker, 0
        assert ended is not None
        # Until it is waited for, the system still knows what it has written.
        written = self._state.bytes_written(counters, dumped=ended.si_code == os.CLD_DUMPED)
        os.waitpid(pid, 0)
        if ended.si_code == os.CLD_EXITED and ended.si_status == 0:
            return 0
        reason = exit_reason(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        try:
            lost = self._write_missing_replies(written, source, sink)
        except BrokenPipeError:
            return 0
        if lost is None:
            log_line("noidr", f"the worker {pid} {reason}, and whether its last reply was written is not known: noidr "
                              "ends, so that no request gets the reply of another; restart the web server")
            return 1
        log_line("noidr", f"the worker {pid} {reason}: another one is started; requests that got no answer: {lost}")
        return None if self._pause(source, sink) else 0

    def _write_missing_replies(self, written: int | None, source: int, sink: int) -> int | None:
        """Write what the dead worker did not; returns how many lines were answered NULL, None if that is unknown."""
        state = self._state
        piece = state.in_flight()
        state.clear()
        if not piece:
            return 0
        lines, copy = piece.count(b"\n"), state.copied()
        if written is None:
            # A web server that sends the next request has read the reply.
            if not select.select([source], [], [], _NEXT_REQUEST_SECONDS)[0]:
                return None
            written = 1 if lines else 0
        state.numbers[INCOMPLETE] = not piece.endswith(b"\n")
        if not written:
            _write_all(sink, NULL * lines)
            return lines
        if copy:
            _write_all(sink, copy[written:])
        return 0

    # -- without a worker ------------------------------------------------------------------------------

    def _pause(self, source: int, sink: int) -> bool:
        """After many deaths, answer without a worker for a while; returns False when the input has ended."""
        now = time.monotonic()
        self._deaths = [death for death in self._deaths if now - death < _DEATHS_SECONDS] + [now]
        return len(self._deaths) <= _MAX_DEATHS or self._answer_without_worker(source, sink)

    def _answer_without_worker(self, source: int, sink: int) -> bool:
        """For _PAUSE_SECONDS answer every request with NULL or 503; returns False when the input has ended."""
        state = self._state
        replies = self._unavailable(state, bool(state.numbers[INCOMPLETE]))
        deadline = time.monotonic() + _PAUSE_SECONDS
        try:
            while (left := deadline - time.monotonic()) > 0:
                if select.select([source], [], [], left)[0]:
                    piece = os.read(source, PIECE)
                    _write_all(sink, replies.feed(piece) if piece else replies.end())
                    if not piece:
                        return False
        except BrokenPipeError:
            return False
        state.numbers[INCOMPLETE] = replies.incomplete
        return True


def _is_pipe(sink: int) -> bool:
    return stat.S_ISFIFO(os.fstat(sink).st_mode)


def _is_unread(pipe: int) -> bool:
    """Whether there is something in a pipe."""
    return fcntl.ioctl(pipe, termios.FIONREAD, _NO_BYTES) != _NO_BYTES


def _log_end_of(pipe: int) -> None:
    """Log the death of the parent, which holds the other end of a pipe; the system sends a signal when that is closed.

    The worker goes on alone, because Apache would not start another noidr.
    """
    def log_end(*_: object) -> None:
        nonlocal pipe
        if pipe >= 0 and select.select([pipe], [], [], 0)[0]:
            os.close(pipe)
            pipe = -1
            log_line("noidr", "the parent process has died: the worker goes on, and if it dies, too, no name is "
                              "answered until the web server is restarted")

    signal.signal(signal.SIGIO, log_end)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    log_end()  # if it has died meanwhile


def _write_all(sink: int, out: bytes) -> int:
    """Write all of it; returns how many bytes that were."""
    done = 0
    while done < len(out):
        done += os.write(sink, out[done:])
    return done
