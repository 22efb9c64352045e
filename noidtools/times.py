"""Time in UTC: a minter's clock, how to wait for it, and the formats in which dates are read and written.

    20261116002825             timestamp: how moments are stored, and how most answers print them
    2026-11-16T00:28:25.05Z    iso_datetime: the moment in a label made from the time; years may exceed 9999
    2026-11-16 00:28:25 UTC    display_datetime: pages
    2026-11-16                 display_day: sentences
    2026, 2026-11, ...         first_second, last_second: dates that a user types

datetime, calendar and zoneinfo are imported in the functions that use them: a mint needs none of them.
"""

from __future__ import annotations

import time
from functools import lru_cache

from .errors import InvalidError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

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


# -- fourteen digits: from and to other formats ----------------------------------------------------------------------

_TIMESTAMP = "%Y%m%d%H%M%S"

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


def utc_datetime(stamp: bytes) -> datetime:
    """A timestamp as a datetime of Python; raises ValueError for what is none."""
    from datetime import datetime, timezone

    if len(stamp) != 14 or not stamp.isdigit():
        raise ValueError(f"{stamp!r} is not a timestamp")
    return datetime(int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8]), int(stamp[8:10]), int(stamp[10:12]),
                    int(stamp[12:]), tzinfo=timezone.utc)


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

_DAY = 86400
_CYCLE_DAYS = 146097
_ORDINAL_1970 = 719163


def calendar(seconds: int) -> tuple[int, int, int, int, int, int]:
    """Year, month, day, hour, minute and second of POSIX seconds."""
    cycles, within = divmod(seconds, _CYCLE_DAYS * _DAY)
    moment = time.gmtime(within)
    return 400 * cycles + moment[0], moment[1], moment[2], moment[3], moment[4], moment[5]


def posix(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    """The inverse of `calendar`; raises InvalidError for a date that does not exist, leap seconds included."""
    from datetime import date

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


# -- dates that a user types: a year, a month, a day, or a moment ----------------------------------------------------

# The accepted formats, by the length of the text.
_FORMATS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 14: _TIMESTAMP, 16: "%Y-%m-%dT%H:%M", 19: "%Y-%m-%dT%H:%M:%S"}
_EXAMPLES = "2026, 2026-11, 2026-11-16, 2026-11-16T00:28:25Z or 20261116002825"


def first_second(text: str) -> bytes:
    """The timestamp of the first second of a year, month, day or moment: `--from 2026` begins with that year."""
    return _timestamp_of(_parse_date(text)[0])


def last_second(text: str) -> bytes:
    """The timestamp of the last second of a year, month, day or moment: `--until 2126` ends with that year."""
    from calendar import monthrange

    moment, form = _parse_date(text)
    if "%m" not in form:
        moment = moment.replace(month=12)
    if "%d" not in form:
        moment = moment.replace(day=monthrange(moment.year, moment.month)[1])
    if "%H" not in form:
        moment = moment.replace(hour=23, minute=59)
    if "%S" not in form:
        moment = moment.replace(second=59)
    return _timestamp_of(moment)


def _parse_date(text: str) -> tuple[datetime, str]:
    """The first second of what is named, and the format in which it is written; raises UsageError."""
    from datetime import datetime

    bare = text.strip().removesuffix("Z").replace(" ", "T")
    form = _FORMATS.get(len(bare), "")
    try:
        if form and bare.isascii():
            return datetime.strptime(bare, form), form
    except ValueError:
        pass
    raise UsageError(f"{text[:60]!r} is not a date: write it as {_EXAMPLES}")


def _timestamp_of(moment: datetime) -> bytes:
    # The year is formatted separately: on some systems strftime omits leading zeros of years before 1000.
    return f"{moment.year:04}{moment:%m%d%H%M%S}".encode()


# A longer name is that of no time zone, and one with many dots would be looked for in as many packages.
_LONGEST_ZONE = 100


def to_utc(zone: str) -> Callable[[bytes], bytes]:
    """The function that turns fourteen digits of local time in a zone, such as Europe/Paris, into those of UTC.

    Of the two moments that one hour of autumn stands for, the first is meant.  Without a zone the digits stay.  Raises
    UsageError for a zone that is not known here; the function raises ValueError for what is no date.
    """
    if not zone:
        return lambda digits: digits
    from datetime import datetime, timezone
    from zoneinfo import ZoneInfo

    try:
        local = ZoneInfo(zone[:_LONGEST_ZONE])
    except (OSError, ValueError, KeyError):
        raise UsageError(f"there is no time zone {zone[:60]!r} here: write it as in Europe/Paris") from None

    @lru_cache(maxsize=10_000)
    def convert(digits: bytes) -> bytes:
        moment = datetime.strptime(digits.decode(), _TIMESTAMP).replace(tzinfo=local)
        return _timestamp_of(moment.astimezone(timezone.utc))

    return convert
