"""PILIN suffixes: the milliseconds since 15 October 1582, in nine characters.

The count is written in base 31 with the least significant digit first, so that
neighbours in time differ in their first character, and filled up with zeros to
nine.  The alphabet is the digits and the consonants.  (As printed, the policy's
digit table counts one letter short, and its example Y35XYSOQH contains the O it
excludes: the digit 0 is meant.)

Case carries no meaning: the policy asks for suffixes that can be dictated, and its
alphabet has one case only.  Lower case is read as the same suffix; the canonical
spelling is upper case.
"""

from __future__ import annotations

from ..errors import ExhaustedError, InvalidError, UsageError
from ..times import iso_datetime
from .timed import Date, TimedScheme, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Pairs, Settings

ALPHABET = b"0123456789BCDFGHJKLMNPQRSTVWXYZ"
LENGTH = 9
TOTAL = len(ALPHABET) ** LENGTH

# From 1582-10-15T00:00:00Z, where the time of UUIDs begins, to 1970-01-01T00:00:00Z.
_EPOCH_MS = 12_219_292_800_000
# Letters that are not in the alphabet, and what was probably meant.
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
    """The canonical spelling of a valid suffix: upper case."""
    check(label)
    return label.upper()


def check(label: bytes) -> None:
    """Raise InvalidError for what is not a suffix: the first bad character, and a likely replacement."""
    if len(label) != LENGTH:
        raise InvalidError(f"a PILIN suffix has {LENGTH} characters, {quoted(label)} has {len(label)}")
    for place, code in enumerate(label.upper(), 1):
        if code not in ALPHABET:
            raise InvalidError(_bad_character_message(label, place, chr(code)))


def _bad_character_message(label: bytes, place: int, upper: str) -> str:
    written = quoted(label[place - 1 : place])
    sentence = f"character {place} of {quoted(label)} is {written}, which no PILIN suffix contains"
    return f"{sentence}: probably {_MEANT[upper]} was meant" if upper in _MEANT else sentence


def utc(milliseconds: int) -> bytes:
    """The time of a count from 1582 as ISO 8601 writes it, always with three decimals."""
    seconds, rest = divmod(to_unix_ms(milliseconds), 1000)
    return iso_datetime(seconds, b"%03d" % rest)


# -- The scheme ------------------------------------------------------------------------------------------------------

_PREFIX = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_LONGEST_PREFIX = 200
_MILLI = 3


class PilinScheme(TimedScheme):
    """102.100.272/RPLZ54PQH: a Handle prefix, and the milliseconds since 1582 backwards in base 31."""

    __slots__ = ()

    name = "pilin"
    system = b"hdl:"
    equivalence = "in PILIN suffixes case does not count"
    summary = "Handles of nine characters, one a millisecond, until the year 2420: --prefix 102.100.272"
    options = ("prefix", "patience")
    fixed_granularity = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.prefix = settings["prefix"].encode()

    @classmethod
    def check_settings(cls, settings: Settings) -> Settings:
        settings = super().check_settings(settings.with_(granularity="0.001"))
        if not settings["prefix"]:
            raise UsageError("scheme pilin needs a Handle prefix, such as 102.100.272")
        _check_prefix(settings["prefix"].encode())
        return settings

    @classmethod
    def decode(cls, label: bytes) -> Pairs:
        prefix, slash, suffix = label.rpartition(b"/")
        pairs = [("scheme", b"pilin")]
        if slash:
            _check_prefix(prefix)
            pairs.append(("prefix", prefix))
        milliseconds = decode(suffix)
        return [
            ("id", prefix + slash + canonical(suffix)), *pairs,
            ("time", utc(milliseconds)), ("milliseconds", b"%d" % milliseconds),
        ]

    @classmethod
    def is_certain(cls, label: bytes) -> bool:
        # Nine characters may be anything: the dots of the Handle prefix must be there.
        return b"." in label.partition(b"/")[0]

    def next_date(self, last: Date | None, requested_at: Date, granularity: Date) -> Date | None:
        milliseconds = requested_at.floor(_MILLI)
        if last is not None:
            milliseconds = max(milliseconds, last.floor(_MILLI) + 1)
        return None if from_unix_ms(milliseconds) >= TOTAL else Date(milliseconds, _MILLI)

    def label(self, date: Date) -> bytes:
        return self.prefix + b"/" + encode(from_unix_ms(date.floor(_MILLI)))

    def canonical_label(self, label: bytes) -> bytes:
        prefix, slash, suffix = label.rpartition(b"/")
        if not slash or prefix.lower() != self.prefix.lower():
            raise InvalidError(f"{quoted(label)} does not begin with the prefix {quoted(self.prefix)}")
        return self.prefix + b"/" + canonical(suffix)

    def form(self) -> Pairs:
        last = utc(TOTAL - 1)
        return [("Form", self.prefix + b"/nine characters"), ("Size", b"%d" % TOTAL), ("Ends", last)]

    def durability(self, settings: Settings) -> str:
        return "GN" + "I" * (b"-" not in self.prefix)

    def exhausted_message(self) -> str:
        last = utc(TOTAL - 1).decode()
        return f"no identifier is left: nine characters end at {last}"


def _check_prefix(prefix: bytes) -> None:
    """Raise InvalidError unless the prefix is words of letters and digits joined by dots."""
    if len(prefix) > _LONGEST_PREFIX or any(not word or word.translate(None, _PREFIX) for word in prefix.split(b".")):
        raise InvalidError(f"a Handle prefix is words of letters and digits joined by dots, not {quoted(prefix)}")
