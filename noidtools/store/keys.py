"""Keys of any length in a database whose keys have at most 511 bytes."""

from __future__ import annotations

# Keys longer than LMDB's 511 bytes are stored as their head and a digest, exactly 511 bytes together, with
# the true key in front of the value.  No other key has that length, so the two kinds cannot be confused.
LONG = 511
DIGEST = 32
HEAD = LONG - DIGEST


def stored_key(key: bytes) -> bytes:
    if len(key) < LONG:
        return key
    import hashlib

    return key[:HEAD] + hashlib.sha256(key).digest()


def stored_value(key: bytes, value: bytes) -> bytes:
    return value if len(key) < LONG else len(key).to_bytes(4, "big") + key + value


def true_item(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    if len(key) < LONG:
        return key, value
    end = 4 + int.from_bytes(value[:4], "big")
    return value[4:end], value[end:]
