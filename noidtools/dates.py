"""Dates as people give them, in UTC: a year, a month, a day, or a moment; kept as fourteen digits."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime

from .exceptions import UsageError

_DIGITS = "%Y%m%d%H%M%S"
# How a date may be written, by its length.
_FORMS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 14: _DIGITS, 16: "%Y-%m-%dT%H:%M", 19: "%Y-%m-%dT%H:%M:%S"}
_EXAMPLES = "2026, 2026-11, 2026-11-16, 2026-11-16T00:28:25Z or 20261116002825"


def earliest(text: str) -> bytes:
    """The first second of what is named: a span that is given `from 2026` begins with that year."""
    return _written(_read(text)[0])


def latest(text: str) -> bytes:
    """The last second of what is named: a span that is given `until 2126` ends with that year."""
    moment, form = _read(text)
    if "%m" not in form:
        moment = moment.replace(month=12)
    if "%d" not in form:
        moment = moment.replace(day=monthrange(moment.year, moment.month)[1])
    if "%H" not in form:
        moment = moment.replace(hour=23, minute=59)
    if "%S" not in form:
        moment = moment.replace(second=59)
    return _written(moment)


def _read(text: str) -> tuple[datetime, str]:
    bare = text.strip().removesuffix("Z").replace(" ", "T")
    form = _FORMS.get(len(bare), "")
    try:
        if form and bare.isascii():
            return datetime.strptime(bare, form), form
    except ValueError:
        pass
    raise UsageError(f"{text[:60]!r} is no date: write it as {_EXAMPLES}")


def _written(moment: datetime) -> bytes:
    # strftime leaves out the zeros of early years on some systems.
    return f"{moment.year:04}{moment:%m%d%H%M%S}".encode()
