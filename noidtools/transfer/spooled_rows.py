"""Rows in a temporary file, for results that may be larger than the memory should have to hold."""

from __future__ import annotations

import marshal
from tempfile import SpooledTemporaryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY = 4 << 20
_LENGTH = 4

# Rows that are written and read at once, and bytes after which they are written though they are fewer.
_PAGE = 500
_PAGE_BYTES = 1 << 20


class SpooledRows:
    """Rows of byte strings, in the order in which they were added; they can be read several times.

    Few of them are in memory, more in a temporary file, which the system removes when this process ends, however it
    ends.
    """

    __slots__ = ("_file", "_page", "_size", "count")

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with the object
        self._page: list[tuple[bytes, ...]] = []
        self._size = 0
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def add(self, row: tuple[bytes, ...]) -> None:
        self._page.append(row)
        self._size += sum(map(len, row))
        self.count += 1
        if len(self._page) == _PAGE or self._size > _PAGE_BYTES:
            self._flush()

    def _flush(self) -> None:
        # marshal is several times as quick as our own packing, and reads nothing here but what it wrote.
        packed = marshal.dumps(self._page)
        self._file.write(len(packed).to_bytes(_LENGTH, "big") + packed)
        self._page, self._size = [], 0

    def clear(self) -> None:
        """Forget all rows, because the work that makes them begins anew."""
        self._file.seek(0)
        self._file.truncate()
        self._page, self._size, self.count = [], 0, 0

    def __iter__(self) -> Iterator[tuple[bytes, ...]]:
        """The rows from the first on; one iteration at a time, and no row may be added meanwhile."""
        if self._page:
            self._flush()
        self._file.seek(0)
        while head := self._file.read(_LENGTH):
            page: list[tuple[bytes, ...]] = marshal.loads(self._file.read(int.from_bytes(head, "big")))
            yield from page
        self._file.seek(0, 2)

    def __del__(self) -> None:
        # Answers are read to their end, or not, by whoever asked: nobody but the last reference knows when that is.
        self._file.close()
