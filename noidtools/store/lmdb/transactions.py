"""Transactions of LMDB as readers and writers of a store.  They are passed in, so that this module imports no lmdb."""

from __future__ import annotations

from ...codec import successor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

# What this engine stores for itself; tables of others have printable names.
OWN_TABLE = b"\0"
LONGEST_KEY = 511
# Keys of this length and more are, with the byte of their table, stored in another way: see `stored_key`.
LONG_KEY = LONGEST_KEY - 1
# Keys that are shorter than this are stored in their order; it is less than the `head_length` of long ones.
_IN_ORDER = 256


class LmdbReader:
    __slots__ = ("_txn", "_generation")

    def __init__(self, txn: Any, generation: int) -> None:
        self._txn = txn
        self._generation = generation

    def version(self) -> object | None:
        return self._generation, self._txn.id()

    def get(self, table: bytes, key: bytes) -> bytes | None:
        key = table + key
        if len(key) >= LONGEST_KEY:
            return _get_long(self._txn, key)
        value: bytes | None = self._txn.get(key)
        return value

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        txn, found = self._txn, []
        for table, key in places:
            found.append(txn.get(table + key) if len(key) < LONG_KEY else _get_long(txn, table + key))
        return found

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        prefix = table + prefix
        past = None if after is None else table + after
        if limit == 1 and past is None and len(prefix) < _IN_ORDER:
            first = self._first(prefix, reverse)
            if first is None or len(first[0]) < _IN_ORDER:
                return iter(() if first is None else ((first[0][len(table) :], first[1]),))
        # Imported here, as in the functions below, because a mint scans no more than that, and has no long keys.
        from .scans import true_scan

        items = true_scan(self._cursor, prefix, past, LONGEST_KEY, reverse=reverse, changes=self._change_counter())
        strip = len(table)
        found = ((key[strip:], value) for key, value in items)
        if limit is None:
            return found
        from itertools import islice

        return islice(found, limit)

    def _cursor(self) -> Any:
        return self._txn.cursor()

    def _change_counter(self) -> Callable[[], int] | None:
        """What counts the changes that may be made during a scan; None where none can be made."""
        return None

    def _first(self, prefix: bytes, reverse: bool) -> tuple[bytes, bytes] | None:
        """The first stored item with that prefix; or the last."""
        with self._txn.cursor() as cursor:
            if reverse:
                end = successor(prefix)
                found = cursor.prev() if end is not None and cursor.set_range(end) else cursor.last()
            else:
                found = cursor.set_range(prefix)
            item: tuple[bytes, bytes] | None = cursor.item() if found else None
        return item if item is not None and item[0].startswith(prefix) else None


def _get_long(txn: Any, key: bytes) -> bytes | None:
    from ..keys import stored_key, true_item

    stored = stored_key(key, LONGEST_KEY)
    value = txn.get(stored)
    return None if value is None else true_item(stored, value, LONGEST_KEY)[1]


def _long_item(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """The key and the value of an item with a long key, as they are stored."""
    from ..keys import stored_key, stored_value

    return stored_key(key, LONGEST_KEY), stored_value(key, value, LONGEST_KEY)


class LmdbWriter(LmdbReader):
    __slots__ = ("_changes",)

    def __init__(self, txn: Any) -> None:
        super().__init__(txn, 0)
        # How often something was changed, so that a scan knows when it has to find its place again.
        self._changes = 0

    def _change_counter(self) -> Callable[[], int] | None:
        return lambda: self._changes

    def version(self) -> object | None:
        # No version: if this transaction is undone, the next one gets its number.
        return None

    def begin_child(self, environment: Any) -> Any:
        """Begin a transaction inside this one."""
        self._changes += 1
        return environment.begin(write=True, parent=self._txn)

    def finish(self, *, commit: bool) -> None:
        """Commit the transaction, or undo it; nothing if that was done."""
        txn, self._txn = self._txn, None
        if txn is not None:
            txn.commit() if commit else txn.abort()

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        key = table + key
        if len(key) >= LONGEST_KEY:
            key, value = _long_item(key, value)
        self._changes += 1
        self._txn.put(key, value)

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        stored = []
        for key, value in items:
            key = table + key
            if len(key) >= LONGEST_KEY:
                key, value = _long_item(key, value)
            stored.append((key, value))
        self._changes += 1
        with self._txn.cursor() as cursor:
            cursor.putmulti(stored)

    def delete(self, table: bytes, key: bytes) -> bool:
        key = table + key
        if len(key) >= LONGEST_KEY:
            key, _ = _long_item(key, b"")
        self._changes += 1
        return bool(self._txn.delete(key))

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self.delete(table, key)
        return len(keys)
