"""PILIN suffixes: the milliseconds since 15 October 1582, in nine characters.

The count is written in base 31 with the least significant digit first, so that
neighbours in time differ in their first character, and filled up with zeros to
nine.  The alphabet is the digits and the consonants.  (As printed, the policy's
digit table counts one letter short, and its example Y35XYSOQH contains the O it
excludes: the digit 0 is meant.)

Case carries no meaning: the policy wants suffixes that can be dictated, and its
alphabet has one case only.  Lower case is read as the same suffix; `canonical`
gives the one spelling, upper case.
"""

from __future__ import annotations

from noidtools.exceptions import ExhaustedError, InvalidError
from noidtools.schemes.timegrid import calendar, shown

ALPHABET = b"0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH = 9
TOTAL = len(ALPHABET) ** LENGTH

# From 1582-10-15T00:00:00Z, where the time of UUIDs begins, to 1970-01-01T00:00:00Z.
_EPOCH_MS = 12_219_292_800_000
_MEANT = {"O": "0", "I": "1", "U": "V", "A": "4", "E": "F or 3"}


def from_unix_ms(unix_ms: int) -> int:
    """Milliseconds since 1582 from milliseconds since 1970."""
    return unix_ms + _EPOCH_MS


def to_unix_ms(milliseconds: int) -> int:
    """Milliseconds since 1970 (negative before) from milliseconds since 1582."""
    return milliseconds - _EPOCH_MS


def encode(milliseconds: int) -> bytes:
    """The suffix of a millisecond counted from 1582."""
    if milliseconds < 0:
        raise InvalidError("a PILIN suffix cannot name a time before 15 October 1582: set the clock")
    if milliseconds >= TOTAL:
        last = utc(TOTAL - 1).decode("ascii")
        raise ExhaustedError(f"nine characters end at {last}, so no PILIN suffix is left for a later time")
    digits = bytearray()
    for _ in range(LENGTH):
        milliseconds, digit = divmod(milliseconds, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return bytes(digits)


def decode(label: bytes) -> int:
    """Milliseconds since 1582 of a suffix, in either case."""
    number = 0
    for digit in reversed(canonical(label)):
        number = number * len(ALPHABET) + ALPHABET.index(digit)
    return number


def canonical(label: bytes) -> bytes:
    """The one spelling of a valid suffix: upper case."""
    check(label)
    return label.upper()


def check(label: bytes) -> None:
    """Refuse what is not a suffix, naming the first bad character and what was probably meant."""
    if len(label) != LENGTH:
        raise InvalidError(f"a PILIN suffix has {LENGTH} characters, {shown(label)} has {len(label)}")
    for place, code in enumerate(label.upper(), 1):
        if code not in ALPHABET:
            raise InvalidError(_complaint(label, place, chr(code)))


def _complaint(label: bytes, place: int, upper: str) -> str:
    written = shown(label[place - 1 : place])
    sentence = f"character {place} of {shown(label)} is {written}, which no PILIN suffix contains"
    return f"{sentence}: probably {_MEANT[upper]} was meant" if upper in _MEANT else sentence


def utc(milliseconds: int) -> bytes:
    """The time of a count from 1582 as ISO 8601 writes it, always with three decimals."""
    seconds, rest = divmod(to_unix_ms(milliseconds), 1000)
    return b"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (*calendar(seconds), rest)
