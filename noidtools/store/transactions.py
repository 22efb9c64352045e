"""What can be done inside a transaction: look things up, and change them."""

from __future__ import annotations

from .keys import HEAD, LONG, stored_key, stored_value, true_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any



class Reader:
    """Looks things up in one moment of the store."""

    __slots__ = ("_txn",)

    def __init__(self, txn: Any) -> None:
        self._txn = txn

    def get(self, table: bytes, key: bytes) -> bytes | None:
        key = table + key
        value: bytes | None = self._txn.get(stored_key(key))
        return value if value is None or len(key) < LONG else true_item(stored_key(key), value)[1]

    def scan(self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Items whose keys begin with `prefix`, in the order of their keys; with `after`, only those past it."""
        prefix = table + prefix
        past = None if after is None else table + after
        strip = len(table)
        group: list[tuple[bytes, bytes]] = []
        with self._txn.cursor() as cursor:
            found = cursor.set_range(max(prefix, past or b"")[:HEAD])
            while found:
                key, value = cursor.item()
                if not key.startswith(prefix[:HEAD]):
                    break
                if group and key[:HEAD] != group[0][0][:HEAD]:
                    yield from _in_order(group, prefix, past, strip)
                    group = []
                # Long keys sort among their neighbours only once their true names are known.
                if len(key) >= HEAD:
                    group.append(true_item(key, value))
                elif key.startswith(prefix) and (past is None or key > past):
                    yield key[strip:], value
                found = cursor.next()
        yield from _in_order(group, prefix, past, strip)

    def last(self, table: bytes) -> tuple[bytes, bytes] | None:
        """The item with the greatest key, in a table of short keys."""
        with self._txn.cursor() as cursor:
            after = table[:-1] + bytes([table[-1] + 1])
            if not (cursor.prev() if cursor.set_range(after) else cursor.last()):
                return None
            key, value = cursor.item()
            return (key[len(table) :], value) if key.startswith(table) else None


def _in_order(
    group: list[tuple[bytes, bytes]], prefix: bytes, past: bytes | None, strip: int
) -> Iterator[tuple[bytes, bytes]]:
    for key, value in sorted(group):
        if key.startswith(prefix) and (past is None or key > past):
            yield key[strip:], value


class Writer(Reader):
    """A Reader that also changes things; all its changes stand or fall together."""

    __slots__ = ()

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        key = table + key
        self._txn.put(stored_key(key), stored_value(key, value))

    def put_many(self, table: bytes, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Puts many items at once; sorted input is quickest, because neighbours share pages."""
        stored = []
        for key, value in items:
            key = table + key
            stored.append((stored_key(key), stored_value(key, value)))
        with self._txn.cursor() as cursor:
            cursor.putmulti(stored)

    def delete(self, table: bytes, key: bytes) -> bool:
        return bool(self._txn.delete(stored_key(table + key)))

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self.delete(table, key)
        return len(keys)
