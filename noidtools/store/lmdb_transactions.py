"""Transactions of LMDB as readers and writers of a store.  They are handed transactions, and import no lmdb."""

from __future__ import annotations

from itertools import islice

from .keys import head_length, stored_key, stored_value, true_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

_LONGEST_KEY = 511
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
            return self._get_long(key)
        value: bytes | None = self._txn.get(key)
        return value

    def _get_long(self, key: bytes) -> bytes | None:
        stored = stored_key(key, _LONGEST_KEY)
        value = self._txn.get(stored)
        return None if value is None else true_item(stored, value, _LONGEST_KEY)[1]

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        get = self._txn.get
        found = []
        for table, key in places:
            # A table's name is one byte.
            found.append(get(table + key) if len(key) < _LONGEST_KEY - 1 else self._get_long(table + key))
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
        return found if limit is None else islice(found, limit)

    def _first(self, prefix: bytes, reverse: bool) -> tuple[bytes, bytes] | None:
        """The first stored item with that prefix, as far as its head goes; or the last."""
        head = prefix[:_HEAD]
        with self._txn.cursor() as cursor:
            if reverse:
                end = _successor(head)
                found = cursor.prev() if end is not None and cursor.set_range(end) else cursor.last()
            else:
                found = cursor.set_range(head)
            item: tuple[bytes, bytes] | None = cursor.item() if found else None
        return item if item is not None and item[0].startswith(head) else None

    def _after(self, prefix: bytes, past: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        start = (prefix if past is None or past < prefix else past)[:_HEAD]
        for key, value in self._true_items(prefix, self._stored_from(start), reverse=False):
            if past is None or key > past:
                yield key, value

    def _before(self, prefix: bytes, past: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        end = _successor(prefix[:_HEAD])
        if past is not None and (end is None or past < end):
            # Stored keys with the head of a long one are in another order: all of them are read.
            end = past if len(past) < _HEAD else _successor(past[:_HEAD])
        for key, value in self._true_items(prefix, self._stored_before(end), reverse=True):
            if past is None or key < past:
                yield key, value

    def _true_items(
        self, prefix: bytes, stored: Iterator[tuple[bytes, bytes]], *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        """The items with that prefix, long keys brought into the order of their true names."""
        head = prefix[:_HEAD]
        group: list[tuple[bytes, bytes]] = []
        for key, value in stored:
            if not key.startswith(head):
                break
            if group and key[:_HEAD] != group[0][0][:_HEAD]:
                yield from _in_order(group, prefix, reverse)
                group = []
            if len(key) >= _HEAD:
                group.append(true_item(key, value, _LONGEST_KEY))
            elif key.startswith(prefix):
                yield key, value
        yield from _in_order(group, prefix, reverse)

    def _stored_from(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.set_range(start):
                yield from cursor.iternext()

    def _stored_before(self, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.prev() if end is not None and cursor.set_range(end) else cursor.last():
                yield from cursor.iterprev()


def _in_order(group: list[tuple[bytes, bytes]], prefix: bytes, reverse: bool) -> list[tuple[bytes, bytes]]:
    return sorted((item for item in group if item[0].startswith(prefix)), reverse=reverse)


def _successor(prefix: bytes) -> bytes | None:
    """The least key greater than all that begin with `prefix`; None if there is no such."""
    prefix = prefix.rstrip(b"\xff")
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None


class LmdbWriter(LmdbReader):
    __slots__ = ("_changes",)

    def __init__(self, txn: Any) -> None:
        super().__init__(txn, 0)
        # How often something was changed, so that a scan knows when it has to find its place again.
        self._changes = 0

    def version(self) -> object | None:
        # If this transaction is undone, the next one gets its number.
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
