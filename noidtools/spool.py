"""Rows in a temporary file, for work on more of them than memory should have to hold.

The rows are in an SQLite database without a name, which the system removes when the process ends, however it ends.
It is in the folder that $SQLITE_TMPDIR or $TMPDIR names, else in /var/tmp or /tmp; a few rows never leave memory.
"""

from __future__ import annotations

import sqlite3
import weakref
from contextlib import contextmanager

from .errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# What SQLite holds in memory, in kibibytes, and how many rows are handed to it together.
_CACHE = 8 << 10
_TOGETHER = 500


class Spool:
    """Rows of byte strings and numbers, all of the same width, in the order in which they were added: the table `rows`
    with the columns c0, c1 and so on.

    They can be read several times, also while others are added: an iteration ends with the last row that was there
    when it began.  Raises StoreError if there is no room for them.
    """

    def __init__(self, width: int) -> None:
        self._insert = f"INSERT INTO rows ({_columns(width)}) VALUES ({', '.join('?' * width)})"
        self._select = f"SELECT {_columns(width)} FROM rows WHERE number <= ? ORDER BY number"
        with storage_errors():
            self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            # All that is done with it is one transaction that is never committed.
            self._database.executescript(
                f"PRAGMA cache_size = -{_CACHE}; PRAGMA journal_mode = OFF; "
                f"CREATE TABLE rows (number INTEGER PRIMARY KEY, {_columns(width)}); BEGIN")
        # Answers are read to their end, or not: only the last reference knows when that is.
        weakref.finalize(self, self._database.close)
        self._waiting: list[tuple[Any, ...]] = []
        self._written = 0

    def __len__(self) -> int:
        return self._written + len(self._waiting)

    def add(self, *row: bytes | int | None) -> None:
        self._waiting.append(row)
        if len(self._waiting) == _TOGETHER:
            self._flush()

    def fill(self, rows: Iterable[tuple[bytes | int, ...]]) -> None:
        """Replace all rows."""
        self.clear()
        for row in rows:
            self.add(*row)

    def _flush(self) -> None:
        with storage_errors():
            self._database.executemany(self._insert, self._waiting)
        self._written += len(self._waiting)
        self._waiting = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._flush()
        with storage_errors():
            yield from self._database.execute(self._select, (self._written,))

    def count_distinct(self, place: int, unless: int, start: bytes) -> int:
        """How many different values a column has, an empty one being different from all others; without the rows in
        which the column `unless` begins with `start`."""
        self._flush()
        query = (f"SELECT count(DISTINCT CASE length(c{place}) WHEN 0 THEN number ELSE c{place} END) FROM rows "
                 f"WHERE substr(c{unless}, 1, ?) <> ?")
        with storage_errors():
            return int(self._database.execute(query, (len(start), start)).fetchone()[0])

    def clear(self) -> None:
        """Delete all rows, because the work that makes them begins anew."""
        with storage_errors():
            self._database.execute("DELETE FROM rows")
        self._waiting, self._written = [], 0

    def close(self) -> None:
        self._database.close()


def _columns(width: int) -> str:
    return ", ".join(f"c{place}" for place in range(width))


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise StoreError where SQLite finds no room for a temporary file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"no temporary file could be written ({error}): make room, or set TMPDIR to a folder on "
                         "another disk") from None
