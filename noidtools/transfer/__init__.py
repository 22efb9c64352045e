"""Import, export, retarget and undo; and here what the formats share: the lines of a file, and the records in it.

Nothing is known of a file yet: lines are bounded in length, numbered, and refused with their number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice

from ..errors import InvalidError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from ..console import Progress

# The longest value that is imported, and the longest line: JSON may write a byte in six characters.
LONGEST_VALUE = 32 << 20
LONGEST_LINE = 6 * LONGEST_VALUE

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Marks of other encodings, and of files that are no text at all, by what they are.
_SIGNATURES = {
    b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text", b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet", b"\x1f\x8b": "compressed by gzip",
}


class BadLineError(InvalidError):
    """What is wrong with a line.  `fatal` is whether the lines after it cannot be understood, either."""

    def __init__(self, line: int, message: str, *, fatal: bool = False) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.reason = message
        self.fatal = fatal


class InputFile:
    """A file of lines.

    number    of the line that was read last, from 1 on
    marked    whether it begins with a byte order mark
    left_out  whether there was something that only a whole minter can have
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.number = 0
        self.left_out = self.marked = False
        self._digest = sha256()
        self._read = 0
        self._ahead: list[bytes] = []
        self._size = _size_of(file)

    def show(self, progress: Progress | None) -> None:
        """Pass on how much of the file was read, and its size, if that is known."""
        if progress:
            progress(self._read >> 10, (self._size >> 10) + 1 if self._size else 0, "kB read")

    def digest(self) -> bytes:
        """The SHA-256 digest of what was read, in hexadecimal."""
        return self._digest.hexdigest().encode()

    def first_line(self) -> bytes:
        """The first line, which `lines` yields all the same; empty if there is none."""
        self._ahead = list(islice(self._lines(), 1))
        return b"".join(self._ahead)

    def lines(self) -> Iterator[bytes]:
        """The lines with their line feeds.  Raises BadLineError for one that is too long, and for what is not text."""
        yield from self._ahead
        yield from self._lines()

    def _lines(self) -> Iterator[bytes]:
        while True:
            try:
                line = self._file.readline(LONGEST_LINE + 1)
            except OSError as error:
                raise StoreError(f"the file could not be read: {error.strerror or error}") from None
            if not line:
                return
            self.number += 1
            self._read += len(line)
            self._digest.update(line)
            if len(line) > LONGEST_LINE:
                raise BadLineError(self.number, f"it is longer than {LONGEST_LINE >> 20} MB", fatal=True)
            if self.number == 1:
                line = self._first(line)
            yield line

    def _first(self, line: bytes) -> bytes:
        for signature, what in _SIGNATURES.items():
            if line.startswith(signature):
                raise BadLineError(1, f"this is {what}: save it as plain text in UTF-8, in one of the formats csv, "
                                   "jsonl and anvl", fatal=True)
        self.marked = line.startswith(BYTE_ORDER_MARK)
        return line.removeprefix(BYTE_ORDER_MARK)


def open_input(path: str) -> IO[bytes]:
    """Open a file to be imported; raises StoreError if it cannot be read."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None


def _size_of(file: IO[bytes]) -> int:
    """The size of a file in bytes, 0 if it is none that has one, such as a pipe."""
    try:
        return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def ensure_length(line: int, value: bytes) -> None:
    if len(value) > LONGEST_VALUE:
        raise BadLineError(line, f"a value of {len(value)} bytes is longer than {LONGEST_VALUE >> 20} MB")
