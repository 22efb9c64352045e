"""Write transactions of PostgreSQL.

The row of the minter is locked first, so that there is one writer at a time.  Changes are kept in memory until the
commit, and are sent with it in one round trip; a savepoint is then a second set of changes on top of the first.  Only
a transaction with very many changes sends some of them before, and then uses savepoints of the server.
"""

from __future__ import annotations

from bisect import bisect_left

from ..keys import stored_value
from ..sql_tables import LONGEST_KEY
from . import statements as sql
from .connection import LostError
from .locked_minter import LockedMinter, TableChanges, flush_steps
from .transactions import (
    PAGE,
    Scanning,
    first_size,
    stored_place,
    true_value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .connection import SqlStatement, Step
    from .source import Place
    from .transactions import Item

# Changes that are kept in memory at most: their number and their bytes.
_MOST_CHANGES, _MOST_BYTES = 50_000, 1 << 25


class PostgresWriter(Scanning):
    """A write transaction, or a savepoint in one, of which `outer` is then the writer outside."""

    __slots__ = ("minter", "outer", "_level", "changes", "_has_savepoint")

    def __init__(self, minter: LockedMinter, outer: PostgresWriter | None = None) -> None:
        self.minter = minter
        self.outer = outer
        self._level: int = 0 if outer is None else outer._level + 1
        self.changes: dict[bytes, TableChanges] = {}
        self._has_savepoint = False

    def version(self) -> object | None:
        return None

    # -- reading ---------------------------------------------------------------------------------------

    def _changed(self, place: Place) -> tuple[bool, bytes | None]:
        """Whether this transaction changed a place, and its value then."""
        writer: PostgresWriter | None = self
        table, key = place
        while writer is not None:
            of = writer.changes.get(table)
            if of is not None and key in of.values:
                return True, of.values[key]
            writer = writer.outer
        return False, None

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return self.get_many(((table, key),))[0]

    def get_many(self, places: Sequence[Place]) -> list[bytes | None]:
        wanted = [stored_place(table, key) for table, key in places]
        found: dict[Place, bytes | None] = {}
        missing = []
        for place in wanted:
            changed, value = self._changed(place)
            if changed:
                found[place] = value
            else:
                missing.append(place)
        if missing:
            missing = list(dict.fromkeys(missing))
            found.update(zip(missing, self.minter.get_many(missing), strict=True))
        return [true_value(place, found[place]) for place in wanted]

    def stored(
        self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None
    ) -> Iterator[Item]:
        size, flushes = first_size(limit), -1
        page: list[Item] = []
        place, complete = 0, False
        while True:
            if flushes != self.minter.flushes:
                # What comes next is read again, because it may have been changed on the server.
                page, place, complete, flushes = [], 0, False, self.minter.flushes
            if place == len(page) and not complete:
                page, place = self.minter.page(table, low, high, reverse, size), 0
                complete, size = len(page) < size, PAGE
            key = page[place][0] if place < len(page) else None
            value = page[place][1] if place < len(page) else None
            nearest = self._next_changed(table, low, high, reverse)
            if nearest is not None and (key is None or (nearest >= key if reverse else nearest <= key)):
                place += nearest == key
                key, value = nearest, self._changed((table, nearest))[1]
            elif key is None:
                return
            else:
                place += 1
            if reverse:
                high = key
            else:
                low = key + b"\0"
            if value is not None:
                yield key, value

    def _next_changed(self, table: bytes, low: bytes, high: bytes | None, reverse: bool) -> bytes | None:
        """The key nearest to the beginning of a scan among those that this transaction changed."""
        found: bytes | None = None
        writer: PostgresWriter | None = self
        while writer is not None:
            of = writer.changes.get(table)
            if of is not None:
                keys = of.ordered()
                if reverse:
                    place = (len(keys) if high is None else bisect_left(keys, high)) - 1
                    if place >= 0 and keys[place] >= low and (found is None or keys[place] > found):
                        found = keys[place]
                else:
                    place = bisect_left(keys, low)
                    if place < len(keys) and (high is None or keys[place] < high) and (
                        found is None or keys[place] < found
                    ):
                        found = keys[place]
            writer = writer.outer
        return found

    # -- writing ---------------------------------------------------------------------------------------

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        self.put_many(table, ((key, value),))

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        of = self.changes.setdefault(table, TableChanges())
        for key, value in items:
            if len(key) >= LONGEST_KEY:
                value = stored_value(key, value, LONGEST_KEY)
                key = stored_place(table, key)[1]
            of.put(key, value)
            if self._counted(len(key) + len(value)):
                of = self.changes.setdefault(table, TableChanges())

    def delete(self, table: bytes, key: bytes) -> bool:
        if self.get(table, key) is None:
            return False
        self._delete(table, key)
        return True

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self._delete(table, key)
        return len(keys)

    def _delete(self, table: bytes, key: bytes) -> None:
        self.changes.setdefault(table, TableChanges()).put(stored_place(table, key)[1], None)
        self._counted(len(key))

    def _counted(self, size: int) -> bool:
        """Count a change of some bytes; returns whether all changes were sent because there were too many."""
        minter = self.minter
        minter.count += 1
        minter.bytes += size
        if minter.count <= _MOST_CHANGES and minter.bytes <= _MOST_BYTES:
            return False
        self._flush()
        return True

    def _flush(self) -> None:
        """Send the changes of this writer and of those outside it, which come first."""
        steps: list[Step] = []
        self._collect(steps)
        self.minter.run(steps, self.minter.count)
        self.minter.count = self.minter.bytes = 0
        self.minter.forget()

    def _collect(self, steps: list[Step]) -> None:
        if self.outer is not None:
            self.outer._collect(steps)
            if not self._has_savepoint:
                steps.append((self._savepoint(0), ()))
                self._has_savepoint = True
        steps += flush_steps(self.minter.id, self.changes)
        self.changes = {}

    def _savepoint(self, which: int) -> SqlStatement:
        return sql.savepoints(self._level)[which]

    # -- savepoints ------------------------------------------------------------------------------------

    def end(self, *, commit: bool) -> None:
        """Make the changes of a savepoint part of the transaction outside, or undo them."""
        assert self.outer is not None
        if self._has_savepoint:
            if commit:
                self.minter.run([(self._savepoint(2), ())])
            else:
                self.minter.run([(self._savepoint(1), ()), (self._savepoint(2), ())])
                self.minter.forget()
        if commit:
            try:
                for table, of in self.changes.items():
                    outside = self.outer.changes.setdefault(table, TableChanges())
                    for key, value in of.values.items():
                        outside.put(key, value)
            except BaseException:  # an interruption: a part of a savepoint must not be committed
                self.minter.failed = LostError("the transaction was interrupted")
                raise
        self.changes = {}
