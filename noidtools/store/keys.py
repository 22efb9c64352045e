"""Keys of any length in an engine that limits their length.

A key as long as the limit or longer is stored as its head and its SHA-256
digest, exactly as long as the limit together, with the true key in front of the
value.  Shorter keys are stored as they are, so the two kinds cannot be confused.

Stored keys are in the order of the true ones up to the length of the head;
beyond it their order is restored by those who scan.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DIGEST = 32
_LENGTH = 4


def head_length(limit: int) -> int:
    """How many bytes of a long key are stored as they are."""
    return limit - _DIGEST


def stored_key(key: bytes, limit: int) -> bytes:
    if len(key) < limit:
        return key
    import hashlib

    return key[: limit - _DIGEST] + hashlib.sha256(key).digest()


def stored_value(key: bytes, value: bytes, limit: int) -> bytes:
    return value if len(key) < limit else len(key).to_bytes(_LENGTH, "big") + key + value


def true_item(stored: bytes, value: bytes, limit: int) -> tuple[bytes, bytes]:
    """The key and the value that were put, from what is stored."""
    if len(stored) < limit:
        return stored, value
    end = _LENGTH + int.from_bytes(value[:_LENGTH], "big")
    return value[_LENGTH:end], value[end:]


def true_items(
    stored: Iterable[tuple[bytes, bytes]], prefix: bytes, limit: int, *, reverse: bool
) -> Iterator[tuple[bytes, bytes]]:
    """The items whose keys begin with `prefix`, from stored ones in their order, or with `reverse` the other way round.

    Ends at the first stored item whose head does not begin as the prefix does.
    """
    length = head_length(limit)
    head = prefix[:length]
    # Items whose keys have the same head are in the order of digests, and are yielded when all of them are read.
    group: list[tuple[bytes, bytes]] = []
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


def _in_order(group: list[tuple[bytes, bytes]], prefix: bytes, reverse: bool) -> list[tuple[bytes, bytes]]:
    return sorted((item for item in group if item[0].startswith(prefix)), reverse=reverse)
