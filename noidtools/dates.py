"""Dates as they are read: timestamps, what a user types, and local time.

    2026, 2026-11, ...         first_second, last_second: dates that a user types
    20261116002825             utc_datetime: a timestamp as a datetime of Python; to_utc: local time
"""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TIMESTAMP = "%Y%m%d%H%M%S"


def utc_datetime(stamp: bytes) -> datetime:
    """A timestamp as a datetime of Python; raises ValueError for what is none."""
    if len(stamp) != 14 or not stamp.isdigit():
        raise ValueError(f"{stamp!r} is not a timestamp")
    return datetime(int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8]), int(stamp[8:10]), int(stamp[10:12]),
                    int(stamp[12:]), tzinfo=timezone.utc)


# -- dates that a user types: a year, a month, a day, or a moment ----------------------------------------------------

# The accepted formats, by the length of the text.
_FORMATS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 14: _TIMESTAMP, 16: "%Y-%m-%dT%H:%M", 19: "%Y-%m-%dT%H:%M:%S"}
_EXAMPLES = "2026, 2026-11, 2026-11-16, 2026-11-16T00:28:25Z or 20261116002825"


def first_second(text: str) -> bytes:
    """The timestamp of the first second of a year, month, day or moment: `--from 2026` begins with that year."""
    return _timestamp_of(_parse_date(text)[0])


def last_second(text: str) -> bytes:
    """The timestamp of the last second of a year, month, day or moment: `--until 2126` ends with that year."""
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
    try:
        local = ZoneInfo(zone[:_LONGEST_ZONE])
    except (OSError, ValueError, KeyError):
        raise UsageError(f"there is no time zone {zone[:60]!r} here: write it as in Europe/Paris") from None

    @lru_cache(maxsize=10_000)
    def convert(digits: bytes) -> bytes:
        moment = datetime.strptime(digits.decode(), _TIMESTAMP).replace(tzinfo=local)
        return _timestamp_of(moment.astimezone(timezone.utc))

    return convert
