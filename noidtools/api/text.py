"""Conversions between what Python programs use and what a minter stores: text and bytes, dates and timestamps."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

from .. import times
from ..errors import InvalidError, UsageError

# Text is accepted as str or as bytes.
Text = str | bytes
# A day, a moment, or text such as 2026, 2026-11, 2026-11-16 or 2026-11-16T00:28:25Z.
Moment = date | datetime | str


def to_bytes(text: Text) -> bytes:
    """Text as it is stored: UTF-8.  Surrogate escapes become the bytes that they stand for."""
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise UsageError(f"text is given as str or bytes, not as {type(text).__name__}")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidError("the text holds half of a surrogate pair, which UTF-8 cannot express") from None


def start_timestamp(moment: Moment | None) -> bytes:
    """The first second of a day or moment; empty for None.  A moment without time zone is taken as UTC."""
    return times.first_second(_date_text(moment)) if moment is not None else b""


def end_timestamp(moment: Moment | None) -> bytes:
    """The last second of a day or moment; empty for None.  A moment without time zone is taken as UTC."""
    return times.last_second(_date_text(moment)) if moment is not None else b""


def _date_text(moment: Moment) -> str:
    if isinstance(moment, datetime):
        utc = moment.astimezone(timezone.utc) if moment.tzinfo else moment
        return utc.replace(microsecond=0, tzinfo=None).isoformat()
    if isinstance(moment, date):
        return moment.isoformat()
    if isinstance(moment, str):
        return moment
    raise UsageError(f"a date is given as datetime, date or text, not as {type(moment).__name__}")


def to_delay(delay: str | int | timedelta) -> bytes:
    """A word of the queue such as `first`, or a delay: `30d`, seconds, or a timedelta."""
    if isinstance(delay, timedelta):
        delay = delay.days * 86400 + delay.seconds
    return to_bytes(f"{delay}s" if isinstance(delay, int) else delay)


def ensure_count(count: int) -> int:
    """A number of identifiers."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise UsageError(f"how many? {count!r} is not a whole number from 0 on")
    return count
