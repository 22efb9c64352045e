"""Exact dates, the UTC calendar, and the temporal distributor of the IBI standard.

A date is a whole number of units of 10^-places seconds since 1970-01-01T00:00:00Z
(POSIX time, so no leap seconds).  All arithmetic is on integers: binary fractions
cannot hold a tenth of a second, and `decimal` costs 10 ms to import.

The distributor places every request in a cell of its own on a grid of r seconds
and names the cell by the shortest date that is still later than the previous
one: a whole minute if that is possible, else a whole second, else a tenth …
"""

from __future__ import annotations

from ..dates import iso_datetime
from ..errors import InvalidError

# 10^-30 s is the smallest unit of time that has a name.  The standard sets no limit; this one makes
# the parser refuse a label of a million digits instead of computing with it.
MAX_PLACES = 30

# About 316 million years; a limit for the same reason.
MAX_SECONDS = 10**16


class Date:
    """An exact moment: `units` / 10^`places` seconds since 1970, without trailing zeros.

    Equal moments are equal objects, with any number of trailing zeros in the arguments.
    """

    __slots__ = ("places", "units")

    def __init__(self, units: int, places: int = 0) -> None:
        while places > 0 and units % 10 == 0:
            units //= 10
            places -= 1
        if not 0 <= places <= MAX_PLACES:
            raise InvalidError(f"a date has at most {MAX_PLACES} decimal places, not {places}")
        if units < 0:
            raise InvalidError("the date lies before 1970, where POSIX time begins")
        if units >= MAX_SECONDS * 10**places:
            raise InvalidError(f"the date lies {MAX_SECONDS} seconds or more after 1970")
        self.units = units
        self.places = places

    @property
    def seconds(self) -> int:
        """The whole seconds since 1970."""
        return self.floor(0)

    @property
    def fraction(self) -> bytes:
        """The digits behind the decimal point, leading zeros kept; empty for a whole second."""
        if not self.places:
            return b""
        return b"%0*d" % (self.places, self.units % 10**self.places)

    def floor(self, places: int) -> int:
        """How many whole units of 10^-places seconds have passed since 1970."""
        if places >= self.places:
            return int(self.units * 10 ** (places - self.places))
        return int(self.units // 10 ** (self.places - places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Date) and (self.units, self.places) == (other.units, other.places)

    def __hash__(self) -> int:
        return hash((self.units, self.places))

    def __lt__(self, other: Date) -> bool:
        places = max(self.places, other.places)
        return self.floor(places) < other.floor(places)

    def __le__(self, other: Date) -> bool:
        return not other < self

    def __bytes__(self) -> bytes:
        """POSIX seconds in decimal, as `parse_date` reads them."""
        return b"%d.%b" % (self.seconds, self.fraction) if self.places else b"%d" % self.units

    def __repr__(self) -> str:
        return f"Date({self.units}, {self.places})"


class Granularity:
    """The width of the grid's cells: 60 seconds, or 10^-places seconds."""

    __slots__ = ("places", "units")

    def __init__(self, units: int, places: int = 0) -> None:
        while places > 0 and units % 10 == 0:
            units //= 10
            places -= 1
        if units != 1 and (units, places) != (60, 0):
            raise InvalidError("a granularity is 60, 1, 0.1, 0.01, ... seconds, nothing between")
        if not 0 <= places <= MAX_PLACES:
            raise InvalidError(f"a granularity has at most {MAX_PLACES} decimal places, not {places}")
        self.units = units
        self.places = places

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Granularity) and (self.units, self.places) == (other.units, other.places)

    def __hash__(self) -> int:
        return hash((self.units, self.places))

    def __bytes__(self) -> bytes:
        """Seconds in decimal, as `parse_granularity` reads them."""
        return b"0.%0*d" % (self.places, self.units) if self.places else b"%d" % self.units

    def __repr__(self) -> str:
        return f"Granularity({self.units}, {self.places})"


def quoted(value: bytes) -> str:
    """Untrusted bytes for a message: in quotes, printable, at most 80 of them."""
    return repr(bytes(value[:80]))[1:] + ("..." if len(value) > 80 else "")


def parse_date(text: bytes) -> Date:
    """The date written as POSIX seconds, such as 1287588115.05."""
    units, places = _decimal(text, "a date is a number of seconds such as 1287588115.05")
    return Date(units, places)


def parse_granularity(text: bytes) -> Granularity:
    """The granularity written in seconds: 60, 1, 0.1, 0.01 and so on."""
    rule = "a granularity is one of 60, 1, 0.1, 0.01, ... seconds"
    units, places = _decimal(text, rule)
    try:
        return Granularity(units, places)
    except InvalidError:
        raise InvalidError(f"{rule} (at most {MAX_PLACES} decimal places), not {quoted(text)}") from None


def from_ns(nanoseconds: int) -> Date:
    """The date of a clock that counts nanoseconds since 1970, as time.time_ns does."""
    return Date(nanoseconds, 9)


def wait_ns(date: Date, now: Date) -> int:
    """Nanoseconds from `now` until `date` has come, rounded up; 0 if it has."""
    places = max(date.places, now.places, 9)
    left = date.floor(places) - now.floor(places)
    unit: int = 10 ** (places - 9)
    return max(0, -(-left // unit))


def allot(last: Date | None, now: Date, granularity: Granularity) -> Date:
    """The date for a request made at `now`, where `last` is the date of the previous request.

    It is always later than `last`.  It is also the end of the wait: the cell may be used at
    that date, which is at once if the date is not later than `now`.
    """
    places, step = granularity.places, granularity.units
    arrived = now.floor(places) // step * step
    # A previous date from a finer grid is rounded down to this one: any later date on this
    # grid is later than the finer one as well.
    previous = arrived - step if last is None else last.floor(places) // step * step
    cell = max(previous + step, arrived)
    for width in _widths(places):
        short = cell // width * width
        if short > previous:
            return Date(short, places)
    return Date(cell, places)


def _widths(places: int) -> list[int]:
    """Minute, second, tenth … above one unit, coarsest first, in units of 10^-places s."""
    return [60 * 10**places] + [10**power for power in range(places, 0, -1)]


def utc(date: Date) -> bytes:
    """The date as ISO 8601 writes it: 2010-10-20T15:21:55.05Z."""
    return iso_datetime(date.seconds, date.fraction)


def _decimal(text: bytes, rule: str) -> tuple[int, int]:
    """A plain decimal number as (units, places); raises InvalidError with the rule for anything else."""
    whole, point, fraction = text.partition(b".")
    fraction_ok = fraction.isdigit() if point else True
    # The length is checked first, because int() is slow for thousands of digits and then raises ValueError.
    if not whole.isdigit() or not fraction_ok or len(text) > 100:
        raise InvalidError(f"{rule}, not {quoted(text)}")
    return int(whole + fraction), len(fraction)
