"""Transactions of LMDB as readers and writers of a store.  They are passed in, so that this module imports no lmdb."""

from __future__ import annotations

from ..keys import head_length, stored_key, stored_value, successor, true_item, true_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

# What this engine stores for itself; tables of others have printable names.
OWN_TABLE = b"\0"
_LONGEST_KEY = 511
# Keys of this length and more are, with the byte of their table, stored in another way: see `stored_key`.
LONG_KEY = _LONGEST_KEY - 1
_HEAD = head_length(_LONGEST_KEY)


class LmdbReader:
    __slots__ = ("_txn", "_generation")

    def __init__(self, txn: Any, generation: int) -> None:
        self._txn = txn
        self._generation = generation

    def version(self) -> object | None:
        return self._generation, self._txn.id()

    def get(self, table: bytes, key: bytes) -> bytes | None:
        key = table + key
        if len(key) >= _LONGEST_KEY:
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
        if limit == 1 and past is None:
            first = self._first(prefix, reverse)
            if first is None or len(first[0]) < _HEAD:
                return iter(() if first is None else ((first[0][len(table) :], first[1]),))
        items = self._before(prefix, past) if reverse else self._after(prefix, past)
        strip = len(table)
        found = ((key[strip:], value) for key, value in items)
        if limit is None:
            return found
        from itertools import islice  # imported here because every mint would pay for it

        return islice(found, limit)

    def _first(self, prefix: bytes, reverse: bool) -> tuple[bytes, bytes] | None:
        """The first stored item with that prefix, as far as its head goes; or the last."""
        head = prefix[:_HEAD]
        with self._txn.cursor() as cursor:
            if reverse:
                end = successor(head)
                found = cursor.prev() if end is not None and cursor.set_range(end) else cursor.last()
            else:
                found = cursor.set_range(head)
            item: tuple[bytes, bytes] | None = cursor.item() if found else None
        return item if item is not None and item[0].startswith(head) else None

    def _after(self, prefix: bytes, past: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        start = (prefix if past is None or past < prefix else past)[:_HEAD]
        for key, value in true_items(self._stored_from(start), prefix, _LONGEST_KEY, reverse=False):
            if past is None or key > past:
                yield key, value

    def _before(self, prefix: bytes, past: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        end = successor(prefix[:_HEAD])
        if past is not None and (end is None or past < end):
            # Stored keys with the head of a long one are in another order: all of them are read.
            end = past if len(past) < _HEAD else successor(past[:_HEAD])
        for key, value in true_items(self._stored_before(end), prefix, _LONGEST_KEY, reverse=True):
            if past is None or key < past:
                yield key, value

    def _stored_from(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.set_range(start):
                yield from cursor.iternext()

    def _stored_before(self, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.prev() if end is not None and cursor.set_range(end) else cursor.last():
                yield from cursor.iterprev()


def all_items(txn: Any) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Tables, keys and values of everything in an LMDB transaction that is not the engine's own."""
    for stored, value in txn.cursor():
        key, value = true_item(stored, value, _LONGEST_KEY)
        if key[:1] != OWN_TABLE:
            yield key[:1], key[1:], value


def _get_long(txn: Any, key: bytes) -> bytes | None:
    stored = stored_key(key, _LONGEST_KEY)
    value = txn.get(stored)
    return None if value is None else true_item(stored, value, _LONGEST_KEY)[1]


class LmdbWriter(LmdbReader):
    __slots__ = ("_changes",)

    def __init__(self, txn: Any) -> None:
        super().__init__(txn, 0)
        # How often something was changed, so that a scan knows when it has to find its place again.
        self._changes = 0

    def version(self) -> object | None:
        # No version: if this transaction is undone, the next one gets its number.
        return None

    def begin_child(self, environment: Any) -> Any:
        """Begin a transaction inside this one."""
        self._changes += 1
        return environment.begin(write=True, parent=self._txn)

    def finish(self, *, commit: bool) -> None:
        """Commit the transaction, or undo it."""
        if commit:
            self._txn.commit()
        else:
            self._txn.abort()

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        key = table + key
        self._changes += 1
        self._txn.put(stored_key(key, _LONGEST_KEY), stored_value(key, value, _LONGEST_KEY))

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        stored = []
        for key, value in items:
            key = table + key
            if len(key) >= _LONGEST_KEY:
                key, value = stored_key(key, _LONGEST_KEY), stored_value(key, value, _LONGEST_KEY)
            stored.append((key, value))
        self._changes += 1
        with self._txn.cursor() as cursor:
            cursor.putmulti(stored)

    def delete(self, table: bytes, key: bytes) -> bool:
        self._changes += 1
        return bool(self._txn.delete(stored_key(table + key, _LONGEST_KEY)))

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self.delete(table, key)
        return len(keys)

    # If the item of a cursor is deleted, the cursor is on the next item already: after a change it is set to the key
    # that was yielded last.

    def _stored_from(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            found = cursor.set_range(start)
            while found:
                key, value = cursor.item()
                seen = self._changes
                yield key, value
                if seen == self._changes:
                    found = cursor.next()
                else:
                    found = cursor.set_range(key) and (cursor.key() != key or cursor.next())

    def _stored_before(self, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            found = cursor.prev() if end is not None and cursor.set_range(end) else cursor.last()
            while found:
                key, value = cursor.item()
                seen = self._changes
                yield key, value
                moved = seen != self._changes
                found = cursor.prev() if not moved or cursor.set_range(key) else cursor.last()
