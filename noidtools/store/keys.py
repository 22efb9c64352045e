"""Keys of any length in an engine that limits their length.

A key as long as the limit or longer is stored as its head and its SHA-256 digest, exactly as long as the limit
together, with the true key in front of the value.  Shorter keys are stored as they are, so the two kinds cannot be
confused.

Stored keys are in the order of the true ones up to the length of the head; beyond it a scan restores their order.
"""

from __future__ import annotations

from itertools import islice

from ..codec import successor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Item = tuple[bytes, bytes]
    # Stored items from a key on and before another one, None for the end of the table, in the direction of the scan.
    StoredRange = Callable[[bytes, bytes | None], Iterable[Item]]

_DIGEST = 32
_LENGTH = 4


def stored_key(key: bytes, limit: int) -> bytes:
    if len(key) < limit:
        return key
    import hashlib

    return key[: limit - _DIGEST] + hashlib.sha256(key).digest()


def stored_value(key: bytes, value: bytes, limit: int) -> bytes:
    return value if len(key) < limit else len(key).to_bytes(_LENGTH, "big") + key + value


def true_item(stored: bytes, value: bytes, limit: int) -> Item:
    """The key and the value that were put, from what is stored."""
    if len(stored) < limit:
        return stored, value
    end = _LENGTH + int.from_bytes(value[:_LENGTH], "big")
    return value[_LENGTH:end], value[end:]


def scan(
    stored: StoredRange, prefix: bytes, limit: int, *, after: bytes | None, most: int | None, reverse: bool
) -> Iterator[Item]:
    """The items whose keys begin with `prefix` and follow `after`, and `most` of them: see `Reader.scan`."""
    length = limit - _DIGEST
    low = prefix[:length]
    high = successor(low)
    if after is not None:
        # Stored keys with the head of a long one are in another order, so that all of them are read.
        is_long = len(after) >= length
        if reverse:
            end = successor(after[:length]) if is_long else after
            high = end if high is None or (end is not None and end < high) else high
        else:
            low = max(low, after[:length] if is_long else after + b"\0")
    if most == 0 or (high is not None and low >= high):
        return iter(())
    items = _true_items(stored(low, high), prefix, limit, reverse=reverse)
    if after is not None:
        items = (item for item in items if (item[0] < after if reverse else item[0] > after))
    return items if most is None else islice(items, most)


def _true_items(stored: Iterable[Item], prefix: bytes, limit: int, *, reverse: bool) -> Iterator[Item]:
    """The items whose keys begin with `prefix`, up to the first stored one whose head does not begin as the prefix
    does."""
    length = limit - _DIGEST
    head = prefix[:length]
    # Items whose keys have the same head are in the order of digests, and are yielded when all of them are read.
    group: list[Item] = []
    for key, value in stored:
        if not key.startswith(head):
            break
        if group and key[:length] != group[0][0][:length]:
            yield from _in_order(group, prefix, reverse)
            group = []
        if len(key) >= length:
            group.append(true_item(key, value, limit))
        elif key.startswith(prefix):
            yield key, value
    yield from _in_order(group, prefix, reverse)


def _in_order(group: list[Item], prefix: bytes, reverse: bool) -> list[Item]:
    return sorted((item for item in group if item[0].startswith(prefix)), reverse=reverse)
