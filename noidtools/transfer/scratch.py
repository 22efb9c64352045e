"""A writer whose changes are only seen by itself, for a rehearsal of a transaction that nobody has to wait for."""

from __future__ import annotations

import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..store import Reader

# What SQLite keeps in memory, in kibibytes; the rest is in a temporary file.
_CACHE = 16 << 10


class ScratchWriter:
    """A writer over a reader.  What is put goes to a temporary database, which ends with this object, and is found by
    `get` and `get_many`; a scan sees only what is stored.

    reader  what is stored; another one may take its place, when its transaction has ended
    """

    def __init__(self) -> None:
        self.reader: Reader
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = -{_CACHE}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("CREATE TABLE item (place BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def close(self) -> None:
        self._database.close()

    def version(self) -> object | None:
        return None

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return self.get_many(((table, key),))[0]

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        find = self._database.execute
        found = [find("SELECT value FROM item WHERE place = ?", (table + key,)).fetchone() for table, key in places]
        missing = [place for place, row in zip(places, found, strict=True) if row is None]
        stored = iter(self.reader.get_many(missing))
        return [next(stored) if row is None else row[0] for row in found]

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        return self.reader.scan(table, prefix, after=after, limit=limit, reverse=reverse)

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        self.put_many(table, ((key, value),))

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO item VALUES (?, ?)",
                                   ((table + key, value) for key, value in items))

    def delete(self, table: bytes, key: bytes) -> bool:
        known = self.get(table, key) is not None
        self._database.execute("INSERT OR REPLACE INTO item VALUES (?, NULL)", (table + key,))
        return known

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        return sum(self.delete(table, key) for key, _ in list(self.scan(table, prefix)))
