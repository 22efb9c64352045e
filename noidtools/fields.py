"""Several byte strings in one: how small structured things are kept in a table.

Each field is preceded by its length, so that fields may hold any byte.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def pack(fields: Iterable[bytes]) -> bytes:
    out = bytearray()
    for field in fields:
        length = len(field)
        while length > 0x7F:
            out.append(length & 0x7F | 0x80)
            length >>= 7
        out.append(length)
        out += field
    return bytes(out)


def unpack(packed: bytes, *, most: int | None = None) -> list[bytes]:
    """The fields, or only the first so many of them."""
    fields: list[bytes] = []
    place = 0
    while place < len(packed) and len(fields) != most:
        length = shift = 0
        while True:
            byte = packed[place]
            place += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        fields.append(packed[place : place + length])
        place += length
    return fields


# Many numbers, each in the same number of bytes.  Few are needed for most, and those go quickly.

_QUICK = {4: "I", 8: "Q"}


def pack_numbers(numbers: list[int], largest: int) -> bytes:
    width = next((width for width in _QUICK if largest < 1 << 8 * width), (largest.bit_length() + 7) // 8)
    if width in _QUICK:
        return struct.pack(f">{len(numbers)}{_QUICK[width]}", *numbers)
    return b"".join([number.to_bytes(width, "big") for number in numbers])


def unpack_numbers(packed: bytes, count: int) -> list[int]:
    width = len(packed) // count
    if width in _QUICK:
        return list(struct.unpack(f">{count}{_QUICK[width]}", packed))
    return [int.from_bytes(packed[place : place + width], "big") for place in range(0, len(packed), width)]


# A pair of byte strings as one key.  Keys sort by the first string, then by the second; all pairs with the
# same first string share `pair_prefix` of it, and no other pair does, whatever bytes the strings hold.


def pair_prefix(first: bytes) -> bytes:
    return first.replace(b"\0", b"\0\xff") + b"\0\0"


def pair(first: bytes, second: bytes) -> bytes:
    return pair_prefix(first) + second


def split_pair(key: bytes) -> tuple[bytes, bytes]:
    place = 0
    while True:
        place = key.index(b"\0", place)
        if key[place + 1] == 0:
            return key[:place].replace(b"\0\xff", b"\0"), key[place + 2 :]
        place += 2
