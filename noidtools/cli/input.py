"""Reads lines from a file descriptor, and tells whether another is buffered, without blocking."""

from __future__ import annotations

import os
import select

from ..commands.lines import LONGEST_LINE, LineSource
from ..errors import UsageError

_PIECE = 1 << 16


class FileSource(LineSource):
    """Lines from a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._ended = False

    def read_line(self) -> bytes:
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0 or self._ended:
                cut = end + 1 if end >= 0 else len(self._buffer)
                line = bytes(self._buffer[:cut])
                del self._buffer[:cut]
                return line
            searched = len(self._buffer)
            if searched > LONGEST_LINE:
                self._skip_line()
                raise UsageError(f"the line is longer than {LONGEST_LINE} bytes")
            piece = os.read(self._descriptor, _PIECE)
            self._ended = not piece
            self._buffer += piece

    def _skip_line(self) -> None:
        """Leave out the rest of a line, so that it is not taken for the next one."""
        while not self._ended:
            piece = os.read(self._descriptor, _PIECE)
            self._ended = not piece
            _, newline, self._buffer = bytearray(piece).partition(b"\n")
            if newline:
                return
        self._buffer = bytearray()

    def ready(self) -> bool:
        # A sender that waits for its answer before it sends the next command must not be made to wait.
        return b"\n" in self._buffer or self._ended or bool(select.select([self._descriptor], [], [], 0)[0])
