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

# -- Spellings of one name: ark:, hdl:, doi:, urn:, info:, resolver URLs, escapes, hyphens, case ---------------------
# `parse` reads any text as a name and never refuses: what carries no known scheme
# is a plain name, whose octets are kept as they are.  The normal forms are
#     ark    draft-kunze-ark, section 3.2: `ark:` and `ark:/` alike, in any case; the
#            NAAN in lower case, the rest case-sensitive; hyphens (and the dashes that
#            word processors put in their place) ignored; of neighbouring `/` and `.`
#            the first one kept, none at either end; escapes of unreserved octets undone
#     hdl    RFC 3651: the case of ASCII letters is ignored in the prefix, as the global
#            registry does, and counts in the suffix, as is the protocol's default;
#            every escape stands for its octet
#     doi    ISO 26324: a handle in which the case of ASCII letters is ignored everywhere
#     urn    RFC 8141: namespace in lower case, escapes never undone; `urn:uuid:` all in
#            lower case, as its namespace says
#     info   RFC 4452: namespace in lower case; `info:ark/`, `info:hdl/` and `info:doi/`
#            are further spellings of ark:, hdl: and doi:
# In all of them escapes are in upper case, and octets that no URI can hold are escaped.
# From the first `?` or `#` on, the text is a query, kept aside exactly as written; but
# in `hdl:` and `doi:` outside a URL a `#` belongs to the name, since DOI names have it.
# A resolver parses once, looks up `candidates`, then follows `cuts`.

ALPHANUMERIC = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# RFC 3986, 2.3 and 3.3: what needs no escape anywhere, and what a path may hold as it is.
UNRESERVED = ALPHANUMERIC + b"-._~"
PATH = UNRESERVED + b"!$&'()*+,;=:@/"
_ANY_OCTET = bytes(range(256))
_HEX = b"0123456789ABCDEFabcdef"


def percent_encode(text: bytes, keep: bytes = UNRESERVED) -> bytes:
    """Every octet that is not in `keep` written as %XX."""
    if not text.translate(None, keep):
        return text
    return b"".join(bytes((octet,)) if octet in keep else b"%%%02X" % octet for octet in text)


def normalize_escapes(text: bytes, undo: bytes, keep: bytes = PATH) -> bytes:
    """Escapes of the octets in `undo` undone, others in upper case; octets not in `keep` escaped."""
    head, *rest = text.split(b"%")
    out = bytearray(percent_encode(head, keep))
    for piece in rest:
        octet = _octet(piece)
        if octet < 0:
            out += percent_encode(b"%" + piece, keep)
        else:
            out += bytes((octet,)) if octet in undo else b"%%%02X" % octet
            out += percent_encode(piece[2:], keep)
    return bytes(out)


def percent_decode(text: bytes) -> bytes:
    """Every %XX undone, once; a % that starts no escape stands for itself."""
    return normalize_escapes(text, _ANY_OCTET, _ANY_OCTET)


def _octet(piece: bytes) -> int:
    """The octet whose two hexadecimal digits begin `piece`, or -1."""
    pair = piece[:2]
    return int(pair, 16) if len(pair) == 2 and not pair.translate(None, _HEX) else -1
