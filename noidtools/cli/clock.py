"""A clock in a file, for tests."""

from __future__ import annotations

import fcntl
import os

from ..errors import NoidError, StoreError
from ..schemes.timed import Date, parse_date
from ..times import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..times import OnWait


class FileClock(Clock):
    """Shows the seconds since 1970 that stand in a file, for tests: waiting for them moves them on, in no time.

    Several processes may share the file.
    """

    __slots__ = ("_path",)

    def __init__(
        self, path: str, on_wait: OnWait | None = None, on_notice: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(on_wait, on_notice)
        self._path = path

    def __call__(self) -> int:
        return self._moved(0)

    def sleep(self, nanoseconds: int) -> None:
        self._moved(nanoseconds)

    def _moved(self, nanoseconds: int) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"the file of the clock, {self._path}, cannot be used: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            shown = _nanoseconds(os.read(descriptor, 200).strip(), self._path)
            if nanoseconds:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, bytes(Date(shown + nanoseconds, 9)), 0)
            return shown + nanoseconds
        finally:
            os.close(descriptor)


def _nanoseconds(text: bytes, path: str) -> int:
    try:
        return parse_date(text).floor(9)
    except NoidError as error:
        raise StoreError(f"the file of the clock, {path}: {error.message}") from None
