"""Where the dump of a minter of the original comes from: a file, a pipe, or Berkeley DB's program for a database."""

from __future__ import annotations

import os
import stat
import subprocess
from tempfile import TemporaryFile

from ...errors import InvalidError, StoreError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

DATABASE = "noid.bdb"

# The program of Debian's package db5.3-util, and names that others give it.
PROGRAMS = ("db5.3_dump", "db_dump5.3", "db_dump")
_PACKAGE = "db5.3-util"

# Of the first page of a B-tree of Berkeley DB: where its magic number is, in one order of bytes or the other.
_MAGIC = slice(12, 16)
_MAGICS = (b"\x62\x31\x05\x00", b"\x00\x05\x31\x62")
_MEGABYTE = 1 << 20


class DumpSource:
    """An open source of a dump: `path` is of a dump, of noid.bdb or of a folder with it; None is standard input."""

    def __init__(self, path: str | None, progress: Callable[[int, int, str], None] | None = None) -> None:
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._total = self._done = 0
        if path is None:
            self._file: IO[bytes] = open(0, "rb", closefd=False)  # noqa: SIM115 - `close` closes it
            return
        path = _database_in(path) if os.path.isdir(path) else path
        try:
            self._file = open(path, "rb")  # noqa: SIM115
            status = os.fstat(self._file.fileno())
            is_database = stat.S_ISREG(status.st_mode) and self._file.read(16)[_MAGIC] in _MAGICS
            if stat.S_ISREG(status.st_mode):
                self._total = status.st_size
                self._file.seek(0)
        except OSError as error:
            raise InvalidError(f"{path} cannot be read: {error.strerror}") from None
        if is_database:
            self._file.close()
            self._start(path)

    def _start(self, path: str) -> None:
        """Run the program that writes the dump of a database."""
        import shutil

        program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
        if program is None:
            raise StoreError(f"{path} is a database of Berkeley DB, and no program is here that reads it: install the "
                             f"package {_PACKAGE}, or say db_dump -p {DATABASE} > FILE elsewhere, and import FILE")
        self._messages = TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen([program, "-p", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=self._messages)
        assert self._process.stdout is not None
        # The length of the dump is not known.
        self._file, self._total = self._process.stdout, 0

    def read(self, size: int) -> bytes:
        """Up to so many bytes, nothing at the end.  Raises InvalidError if the program that writes them failed."""
        try:
            block = self._file.read(size)
        except OSError as error:
            raise InvalidError(f"the dump cannot be read: {error.strerror}") from None
        self._done += len(block)
        if self._progress is not None and block:
            self._progress(self._done // _MEGABYTE, -(-self._total // _MEGABYTE), "MB of the dump read")
        if not block and self._process is not None and self._process.wait():
            raise InvalidError(f"the database cannot be dumped: {self._message()}")
        return block

    def _message(self) -> str:
        assert self._messages is not None
        self._messages.seek(0)
        return printable(self._messages.readline(300).strip()) or "its program gives no reason"

    def close(self) -> None:
        self._file.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._messages is not None:
            self._messages.close()


def _database_in(folder: str) -> str:
    for path in (os.path.join(folder, DATABASE), os.path.join(folder, "NOID", DATABASE)):
        if os.path.exists(path):
            return path
    raise InvalidError(f"there is no {DATABASE} in {folder}: name the file itself, or its dump")
