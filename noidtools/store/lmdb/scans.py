"""Scans of LMDB transactions in the order of the true keys, some of which are stored in another way (see keys.py)."""

from __future__ import annotations

from ...codec import successor
from ..keys import head_length, true_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    # Opens a cursor of the transaction, which is not kept by a scan that nobody goes on with.
    OpenCursor = Callable[[], Any]


def true_scan(
    open_cursor: OpenCursor, prefix: bytes, past: bytes | None, limit: int, *, reverse: bool,
    changes: Callable[[], int] | None,
) -> Iterator[tuple[bytes, bytes]]:
    """The items whose keys begin with `prefix` and come behind `past`, or with `reverse` the other way round.

    limit    the length from which on keys are stored in another way
    changes  counts the changes of the transaction, which may be made during the scan; None if none can be made
    """
    head = head_length(limit)
    if reverse:
        end = successor(prefix[:head])
        if past is not None and (end is None or past < end):
            # Stored keys with the head of a long one are in another order: all of them are read.
            end = past if len(past) < head else successor(past[:head])
        stored = _stored_before(open_cursor, end) if changes is None else _changing_before(open_cursor, end, changes)
    else:
        start = (prefix if past is None or past < prefix else past)[:head]
        stored = _stored_from(open_cursor, start) if changes is None else _changing_from(open_cursor, start, changes)
    for key, value in true_items(stored, prefix, limit, reverse=reverse):
        if past is None or (key < past if reverse else key > past):
            yield key, value


def _stored_from(open_cursor: OpenCursor, start: bytes) -> Iterator[tuple[bytes, bytes]]:
    with open_cursor() as cursor:
        if cursor.set_range(start):
            yield from cursor.iternext()


def _stored_before(open_cursor: OpenCursor, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
    with open_cursor() as cursor:
        if cursor.prev() if end is not None and cursor.set_range(end) else cursor.last():
            yield from cursor.iterprev()


# If the item of a cursor is deleted, the cursor is on the next item already: after a change it is set to the key that
# was yielded last.


def _changing_from(open_cursor: OpenCursor, start: bytes, changes: Callable[[], int]) -> Iterator[tuple[bytes, bytes]]:
    with open_cursor() as cursor:
        found = cursor.set_range(start)
        while found:
            key, value = cursor.item()
            seen = changes()
            yield key, value
            if seen == changes():
                found = cursor.next()
            else:
                found = cursor.set_range(key) and (cursor.key() != key or cursor.next())


def _changing_before(
    open_cursor: OpenCursor, end: bytes | None, changes: Callable[[], int]
) -> Iterator[tuple[bytes, bytes]]:
    with open_cursor() as cursor:
        found = cursor.prev() if end is not None and cursor.set_range(end) else cursor.last()
        while found:
            key, value = cursor.item()
            seen = changes()
            yield key, value
            moved = seen != changes()
            found = cursor.prev() if not moved or cursor.set_range(key) else cursor.last()
