"""Peppers: a secret of one identifier's own, without which it cannot be changed.

A peppered identifier is written `ID!PEPPER`.  The pepper is printed once, when
the identifier is minted; here only its hash is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from ..errors import ForbiddenError, printable
from ..schemes.template import REPERTOIRES
from .records import find
from .tables import PEPPERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer


# Sixteen extended digits are 77 bits: far beyond guessing, so a plain hash suffices.
_LENGTH = 16


def make_pepper() -> bytes:
    alphabet = REPERTOIRES["e"].encode()
    pepper = bytearray()
    while len(pepper) < _LENGTH:
        # Bytes past the last whole multiple of 29 would favour the first digits.
        pepper += bytes(alphabet[byte % 29] for byte in os.urandom(_LENGTH) if byte < 29 * 8)
    return bytes(pepper[:_LENGTH])


def _digest(identifier: bytes, pepper: bytes) -> bytes:
    return hashlib.sha256(identifier + b"!" + pepper).digest()


def store_pepper(writer: Writer, identifier: bytes, pepper: bytes) -> None:
    writer.put(PEPPERS, identifier, _digest(identifier, pepper))


def delete_pepper(writer: Writer, identifier: bytes) -> None:
    writer.delete(PEPPERS, identifier)


def split_pepper(reader: Reader, given: bytes) -> tuple[bytes, bytes | None]:
    """Identifier and pepper; the pepper is None unless what stands before the last `!` is a peppered identifier."""
    base, mark, pepper = given.rpartition(b"!")
    # Some repertoires have the mark among their characters: what is known as a whole is an identifier as a whole.
    if mark and reader.get(PEPPERS, base) is not None and find(reader, given) is None:
        return base, pepper
    return given, None


def ensure_pepper_matches(reader: Reader, identifier: bytes, pepper: bytes | None) -> None:
    """Refuse a change to a peppered identifier that comes without its pepper."""
    kept = reader.get(PEPPERS, identifier)
    if kept is None:
        return
    shown = printable(identifier)
    if pepper is None:
        raise ForbiddenError(f"{shown} is peppered: to change it write {shown}!PEPPER, as it was when it was minted")
    if not hmac.compare_digest(kept, _digest(identifier, pepper)):
        raise ForbiddenError(f"that is not the pepper of {shown}")
