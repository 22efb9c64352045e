"""Time in UTC: a minter's clock, how to wait for it, and the formats in which dates are written.

    20261116002825             timestamp: how moments are stored, and how most answers print them
    2026-11-16T00:28:25.05Z    iso_datetime: the moment in a label made from the time; years may exceed 9999
    2026-11-16 00:28:25 UTC    display_datetime: pages
    2026-11-16                 display_day: sentences

Dates are read in dates.py: a mint does not need the modules for that.
"""

from __future__ import annotations

import time

from .errors import InvalidError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Called during a wait: nanoseconds left (0 at the end), identifiers made so far, identifiers wanted.
    OnWait = Callable[[int, int, int], None]

SECOND = 1_000_000_000

# The longest single sleep.  The clock is read again after each, because it may have been set forward.
_SLEEP = SECOND
_SLEEP_WITH_DISPLAY = SECOND // 5

# How much longer than expected a wait may take, for a clock that is being slewed to the right time.
_SLACK = SECOND


class Clock:
    """Nanoseconds since 1970, and waiting.  The shell and tests replace it by subclasses."""

    __slots__ = ("_on_wait", "_on_notice")

    def __init__(self, on_wait: OnWait | None = None, on_notice: Callable[[str], None] | None = None) -> None:
        self._on_wait = on_wait
        self._on_notice = on_notice

    def __call__(self) -> int:
        return time.time_ns()

    def notify(self, sentence: str) -> None:
        """Pass a message to the user who waits, where the interface has a way to show one."""
        if self._on_notice:
            self._on_notice(sentence)

    def sleep(self, nanoseconds: int) -> None:
        time.sleep(nanoseconds / SECOND)

    def wait(self, due: int, expected: int, made: int = 0, wanted: int = 1) -> None:
        """Return when the clock reads `due` or later.

        `expected` is how long that should take.  It bounds the wait: if the clock is set back during it, the
        wait still ends after the expected time, since what was reserved for `due` may then be handed out.
        """
        most = expected + _SLACK
        left = min(due - self(), most)
        try:
            while left > 0:
                if self._on_wait:
                    self._on_wait(left, made, wanted)
                pause = min(left, _SLEEP_WITH_DISPLAY if self._on_wait else _SLEEP)
                self.sleep(pause)
                most -= pause
                left = min(due - self(), most)
        finally:
            if self._on_wait:
                self._on_wait(0, made, wanted)


system_clock = Clock()


def timestamp(nanoseconds: int) -> bytes:
    """A moment in fourteen digits: 20261116002825."""
    # As strftime writes %Y%m%d%H%M%S, and quicker.
    return b"%04d%02d%02d%02d%02d%02d" % time.gmtime(nanoseconds // SECOND)[:6]


# -- timestamps ------------------------------------------------------------------------------------------------------

# 10000-01-01, the first moment that does not fit in fourteen digits.
_TIMESTAMPS_END = 253402300800

_UNITS = {"h": 3600, "d": 86_400}
_LONGEST_DIGITS = 6


def parse_duration(text: str) -> int | None:
    """The seconds of a duration such as 12h or 14d; None if it is none."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_DIGITS:
        return None
    return int(number) * _UNITS[unit]


def timestamp_after(nanoseconds: int, seconds: int) -> bytes:
    """The timestamp of the moment that many seconds later; raises UsageError after the year 9999."""
    if nanoseconds // SECOND + seconds >= _TIMESTAMPS_END:
        raise UsageError("that delay would end after the year 9999: choose a shorter one")
    return timestamp(nanoseconds + seconds * SECOND)


def display_datetime(stamp: bytes) -> str:
    """A timestamp as pages print it: 2026-11-16 00:28:25 UTC."""
    text = stamp.decode("ascii")
    return f"{display_day(stamp)} {text[8:10]}:{text[10:12]}:{text[12:14]} UTC"


def display_day(stamp: bytes) -> str:
    """The day of a timestamp, as sentences print it: 2026-11-16."""
    text = stamp.decode("ascii")
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}"


# -- POSIX seconds, for any year -------------------------------------------------------------------------------------
#
# The Gregorian calendar repeats after 400 years, so that any year can be computed by the standard library, whose
# own range ends at the year 9999.

_DAY = 86_400
_CYCLE_DAYS = 146_097
_ORDINAL_1970 = 719_163


def calendar(seconds: int) -> tuple[int, int, int, int, int, int]:
    """Year, month, day, hour, minute and second of POSIX seconds."""
    cycles, within = divmod(seconds, _CYCLE_DAYS * _DAY)
    moment = time.gmtime(within)
    return 400 * cycles + moment[0], moment[1], moment[2], moment[3], moment[4], moment[5]


def posix(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    """The inverse of `calendar`; raises InvalidError for a date that does not exist, leap seconds included."""
    from datetime import date  # a mint needs none of it

    if not 1 <= month <= 12:
        raise InvalidError(f"there is no month {month:02}")
    cycles, within = divmod(year, 400)
    try:
        days = date(400 + within, month, day).toordinal() + (cycles - 1) * _CYCLE_DAYS - _ORDINAL_1970
    except ValueError:
        raise InvalidError(f"month {month:02} of {year:04} has no day {day:02}") from None
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        raise InvalidError(f"there is no time {hour:02}:{minute:02}:{second:02} in a day of POSIX time")
    return days * _DAY + hour * 3600 + minute * 60 + second


def iso_datetime(seconds: int, fraction: bytes = b"") -> bytes:
    """POSIX seconds as ISO 8601 writes them; `fraction` holds the digits after the decimal point, if any."""
    whole = b"%04d-%02d-%02dT%02d:%02d:%02d" % calendar(seconds)
    return b"%b.%bZ" % (whole, fraction) if fraction else whole + b"Z"
