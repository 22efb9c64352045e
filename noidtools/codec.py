"""Encodings of values: several byte strings in one, numbers, pairs as keys, percent-encoding, and text."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# -- several fields in one value -------------------------------------------------------------------------------------


def pack(fields: Iterable[bytes]) -> bytes:
    """Join fields, each preceded by its length in a variable number of bytes, so that fields may hold any byte."""
    parts = []
    for field in fields:
        length = len(field)
        parts.append(_SHORT_LENGTHS[length] if length < 0x80 else _long_length(length))
        parts.append(field)
    return b"".join(parts)


_SHORT_LENGTHS = [bytes((length,)) for length in range(0x80)]


def _long_length(length: int) -> bytes:
    """Seven bits in each byte, the lowest first; the highest bit of a byte says that another one follows."""
    out = bytearray()
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)


def unpack(packed: bytes, *, most: int | None = None) -> list[bytes]:
    """The fields that `pack` joined; with `most` only that many from the first on."""
    fields: list[bytes] = []
    place, size = 0, len(packed)
    while place < size and len(fields) != most:
        length = byte = packed[place]
        place += 1
        shift = 0
        while byte > 0x7F:
            byte = packed[place]
            place += 1
            shift += 7
            length = length & (1 << shift) - 1 | byte << shift
        fields.append(packed[place : place + length])
        place += length
    return fields


# -- many numbers, each in the same number of bytes, the highest byte first ------------------------------------------

_FORMATS = {4: "I", 8: "Q"}


def pack_numbers(numbers: list[int], largest: int) -> bytes:
    """Numbers from 0 to `largest`, in as few bytes each as that needs, but at least 4.  Raises ValueError or
    OverflowError for a number that needs more."""
    width = next((width for width in _FORMATS if largest < 1 << 8 * width), (largest.bit_length() + 7) // 8)
    if width in _FORMATS:
        try:
            return struct.pack(f">{len(numbers)}{_FORMATS[width]}", *numbers)
        except struct.error as error:
            raise ValueError(str(error)) from None
    return b"".join([number.to_bytes(width, "big") for number in numbers])


def unpack_numbers(packed: bytes, count: int) -> list[int]:
    """The inverse of `pack_numbers`, for this many numbers."""
    width = len(packed) // count
    if len(packed) != width * count:
        raise ValueError(f"{len(packed)} bytes are not {count} numbers")
    if width in _FORMATS:
        return list(struct.unpack(f">{count}{_FORMATS[width]}", packed))
    return [int.from_bytes(packed[place : place + width], "big") for place in range(0, len(packed), width)]


# -- keys, and pairs of byte strings as keys -------------------------------------------------------------------------
#
# Keys sort by the first string, then by the second.  All pairs with the same first string begin with its
# `pair_prefix`, and no other pair does, whatever bytes the strings contain.


def pair_prefix(first: bytes) -> bytes:
    return pair(first, b"")


# What `pair` writes between two strings.
PAIR_MARK = b"\0\0"


def pair(first: bytes, second: bytes) -> bytes:
    if 0 in first:
        first = first.replace(b"\0", b"\0\xff")
    return first + PAIR_MARK + second


def pair_end(first: bytes) -> bytes:
    """A key that no pair has: greater than all pairs with this first string, less than all that follow them."""
    return first.replace(b"\0", b"\0\xff") + b"\0\1"


def split_pair(key: bytes) -> tuple[bytes, bytes]:
    """The inverse of `pair`."""
    place = 0
    while True:
        place = key.index(b"\0", place)
        if key[place + 1] == 0:
            return key[:place].replace(b"\0\xff", b"\0"), key[place + 2 :]
        place += 2


def successor(prefix: bytes) -> bytes | None:
    """The least key greater than all that begin with `prefix`; None if there is no such."""
    prefix = prefix.rstrip(b"\xff")
    return prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None


# -- percent-encoding ------------------------------------------------------------------------------------------------

ALPHANUMERIC = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# RFC 3986, 2.3 and 3.3: the characters that need no escape anywhere, and those that need none in a path.
UNRESERVED = ALPHANUMERIC + b"-._~"
PATH = UNRESERVED + b"!$&'()*+,;=:@/"
_ANY_OCTET = bytes(range(256))
HEX_DIGITS = b"0123456789ABCDEFabcdef"


def percent_encode(text: bytes, keep: bytes = UNRESERVED) -> bytes:
    """The text with every octet that is not in `keep` written as %XX."""
    if not text.translate(None, keep):
        return text
    return b"".join(bytes((octet,)) if octet in keep else b"%%%02X" % octet for octet in text)


def normalize_escapes(text: bytes, undo: bytes, keep: bytes = PATH) -> bytes:
    """The text with escapes of the octets in `undo` decoded and others in upper case; octets not in `keep` escaped."""
    head, *rest = text.split(b"%")
    out = bytearray(percent_encode(head, keep))
    for piece in rest:
        octet = escaped_octet(piece)
        if octet < 0:
            out += percent_encode(b"%" + piece, keep)
        else:
            out += bytes((octet,)) if octet in undo else b"%%%02X" % octet
            out += percent_encode(piece[2:], keep)
    return bytes(out)


def percent_decode(text: bytes) -> bytes:
    """The text with every %XX decoded once; a % that starts no escape stays."""
    return normalize_escapes(text, _ANY_OCTET, _ANY_OCTET)


def escaped_octet(piece: bytes) -> int:
    """The octet whose two hexadecimal digits begin `piece`, or -1."""
    pair = piece[:2]
    return int(pair, 16) if len(pair) == 2 and not pair.translate(None, HEX_DIGITS) else -1


# -- lines of text ---------------------------------------------------------------------------------------------------

# Where some readers end a line besides the line feed and the carriage return, as Python's str.splitlines does: VT, FF,
# the separators FS, GS and RS, NEL (U+0085), and U+2028 and U+2029.
_RARE_BREAKS = (b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")


def indent_rare_breaks(text: bytes) -> bytes:
    """The text with a space after each rare line break, so that what follows begins no line with a label."""
    for line_break in _RARE_BREAKS:
        if line_break in text:
            text = text.replace(line_break, line_break + b" ")
    return text


# -- text ------------------------------------------------------------------------------------------------------------


def decode_text(octets: bytes) -> str:
    """Stored octets as text; those that are not UTF-8 become surrogate escapes, as in `os.fsdecode`."""
    return octets.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """The inverse of `decode_text`."""
    return text.encode("utf-8", "surrogateescape")
