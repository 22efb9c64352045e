"""A socket with buffers, for a web server that may send and read slowly."""

from __future__ import annotations

import io
import select
import time
from contextlib import suppress

from .limits import TransferDeadline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

_BUFFER_SIZE = 1 << 16

# Header, content and padding of a record of FastCGI.
_LARGEST_RECORD = 8 + 0xFFFF + 0xFF


class BufferedSocket:
    """A socket with buffers for reading and writing, because flup reads and writes records in small pieces.

    `fill` never waits; what flup calls waits for the web server until the request, or its answer, is overdue.
    """

    __slots__ = ("fileno", "_arriving", "_input", "_leaving", "_output", "_peer", "_place", "_seconds")

    def __init__(self, peer: socket, timeout: float) -> None:
        self._peer = peer
        # flup asks for it several times in each request.
        self.fileno = peer.fileno
        self._seconds = timeout
        self._output = bytearray()
        # Input, of which the bytes before the place were read.
        self._input = bytearray()
        self._place = 0
        self._arriving: TransferDeadline | None = None
        self._leaving: TransferDeadline | None = None

    # -- input -----------------------------------------------------------------------------------------

    @property
    def buffered(self) -> int:
        """How much input was received and not yet read."""
        return len(self._input) - self._place

    def peek(self, size: int) -> bytes:
        """The first bytes of the buffered input, without reading them."""
        return bytes(self._input[self._place : self._place + size])

    def holds_record(self) -> bool:
        """Whether a whole record of FastCGI is buffered."""
        data, place = self._input, self._place
        size = len(data) - place
        # A header has the version, the type, the number of the request in two bytes, the length of the content in two
        # bytes, the length of the padding, and a byte that is not used.
        return size >= 8 and size >= 8 + (data[place + 4] << 8) + data[place + 5] + data[place + 6]

    def take_record(self) -> tuple[int, int, bytes] | None:
        """Read a record of FastCGI: its type, the number of its request, its content; None if not all is buffered."""
        if not self.holds_record():
            return None
        data, place = self._input, self._place
        end = place + 8 + (data[place + 4] << 8) + data[place + 5]
        self._place = end + data[place + 6]
        return data[place + 1], (data[place + 2] << 8) + data[place + 3], bytes(data[place + 8 : end])

    def fill(self, most: int = _BUFFER_SIZE) -> bool:
        """Receive what has arrived, until about so many bytes are buffered; returns False at the end of the input."""
        # At least a whole record must fit.
        while self.buffered <= max(most, _LARGEST_RECORD):
            try:
                received = self._receive()
            except BlockingIOError:
                break
            if not received:
                return False
            if received < _BUFFER_SIZE:
                break  # that was all
        return True

    def _receive(self) -> int:
        piece = self._peer.recv(_BUFFER_SIZE)
        now = time.monotonic()
        if self._arriving is None:
            self._arriving = TransferDeadline(now, self._seconds)
        self._arriving.count(len(piece), now)
        if self._place:
            del self._input[: self._place]
            self._place = 0
        self._input += piece
        return len(piece)

    def recv(self, most: int) -> bytes:
        while not self.buffered:
            # The web server may wait for our output before it sends more.
            self.flush()
            try:
                if not self._receive():
                    return b""
            except BlockingIOError:
                self._wait(select.POLLIN, self._arriving)
        piece = self.peek(most)
        self._place += len(piece)
        return piece

    def end_request(self) -> None:
        """What arrives from now on belongs to another request."""
        self._arriving = self._leaving = None

    def is_idle(self) -> bool:
        return self._arriving is None

    def is_overdue(self, now: float) -> bool:
        return self._arriving is not None and self._arriving.seconds_left(now) <= 0

    # -- output ----------------------------------------------------------------------------------------

    def send(self, data: bytes) -> int:
        self._output += data
        if len(self._output) >= _BUFFER_SIZE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        output, self._output = self._output, bytearray()
        if output:
            # Nearly every answer is sent in one go, and then no deadline is needed.
            with suppress(BlockingIOError):
                del output[: self._peer.send(output)]
            self._flush_slowly(output)

    def _flush_slowly(self, output: bytearray) -> None:
        while output:
            if self._leaving is None:
                self._leaving = TransferDeadline(time.monotonic(), self._seconds)
            try:
                sent = self._peer.send(output)
            except BlockingIOError:
                self._wait(select.POLLOUT, self._leaving)
                continue
            self._leaving.count(sent, time.monotonic())
            del output[:sent]

    def _wait(self, event: int, deadline: TransferDeadline | None) -> None:
        """Wait until the socket is ready; raises TimeoutError when the transfer is overdue."""
        seconds = self._seconds if deadline is None else deadline.seconds_left(time.monotonic())
        poll = select.poll()
        poll.register(self._peer, event)
        if seconds <= 0 or not poll.poll(seconds * 1000):
            raise TimeoutError("the web server sends or reads too slowly")


class SocketInput(io.RawIOBase):
    """The input of a buffered socket as a file."""

    def __init__(self, source: BufferedSocket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        piece = self._source.recv(len(target))
        target[: len(piece)] = piece
        return len(piece)


class SocketOutput(io.RawIOBase):
    """The output of a buffered socket as a file."""

    def __init__(self, source: BufferedSocket) -> None:
        self._source = source

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._source.send(bytes(data))
        self._source.flush()
        return len(data)
