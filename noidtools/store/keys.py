"""Keys of any length in an engine that limits their length.

A key as long as the limit or longer is stored as its head and its SHA-256
digest, exactly as long as the limit together, with the true key in front of the
value.  Shorter keys are stored as they are, so the two kinds cannot be confused.

Stored keys are in the order of the true ones up to the length of the head;
beyond it their order is restored by those who scan.
"""

from __future__ import annotations

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
