"""Peppers: secrets, one for each peppered identifier, without which it cannot be changed.

A peppered identifier is written `ID!PEPPER`.  The pepper is printed once, when the identifier is minted; only its hash
is stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from ..errors import ForbiddenError, printable
from ..schemes.template import REPERTOIRES
from .circulation import find
from .tables import PEPPERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer


# Sixteen extended digits are 77 bits: far beyond guessing, so a plain hash suffices.
_LENGTH = 16


def make_pepper() -> bytes:
    """A new random pepper."""
    alphabet = REPERTOIRES["e"].encode()
    pepper = bytearray()
    while len(pepper) < _LENGTH:
        # Bytes past the last whole multiple of 29 would favour the first digits.
        pepper += bytes(alphabet[byte % 29] for byte in os.urandom(_LENGTH) if byte < 29 * 8)
    return bytes(pepper[:_LENGTH])


def _digest(identifier: bytes, pepper: bytes) -> bytes:
    return hashlib.sha256(identifier + b"!" + pepper).digest()


def store_pepper(writer: Writer, identifier: bytes, pepper: bytes) -> None:
    """Store the hash of the pepper of an identifier, in place of the one before."""
    writer.put(PEPPERS, identifier, _digest(identifier, pepper))


def delete_pepper(writer: Writer, identifier: bytes) -> None:
    writer.delete(PEPPERS, identifier)


def split_pepper(reader: Reader, text: bytes) -> tuple[bytes, bytes | None]:
    """Split a text into identifier and pepper; the pepper is None unless the part before the last `!` is peppered."""
    base, mark, pepper = text.rpartition(b"!")
    # Some repertoires contain `!`: a text that is known as a whole is an identifier, not an identifier and a pepper.
    if mark and reader.get(PEPPERS, base) is not None and find(reader, text) is None:
        return base, pepper
    return text, None


def ensure_pepper_matches(reader: Reader, identifier: bytes, pepper: bytes | None) -> None:
    """Raise ForbiddenError unless this is the pepper of the identifier, or the identifier has none."""
    stored = reader.get(PEPPERS, identifier)
    if stored is None:
        return
    name = printable(identifier)
    if pepper is None:
        raise ForbiddenError(f"{name} is peppered: to change it write {name}!PEPPER, as it was when it was minted")
    if not hmac.compare_digest(stored, _digest(identifier, pepper)):
        raise ForbiddenError(f"that is not the pepper of {name}")
