"""Time: what a minter's clock says, how it is waited for, and how dates are written (UTC, fourteen digits)."""

from __future__ import annotations

import time

from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    # Called while somebody waits: nanoseconds left (0 at the end), how many identifiers there are, of how many.
    OnWait = Callable[[int, int, int], None]

SECOND = 1_000_000_000

# The longest sleep in one piece: after each the clock is looked at again, for it may have been set forward.
_NAP = SECOND
_SHORT_NAP = SECOND // 5

# How much longer than expected a wait may be while the clock is slowed down to the right time.
_SLACK = SECOND

# The date after which fourteen digits no longer suffice.
_END_OF_DIGITS = 253402300800


class Clock:
    """Tells nanoseconds since 1970, and lets time pass.  Doors and tests may put another in its place."""

    __slots__ = ("_on_wait", "_on_notice")

    def __init__(self, on_wait: OnWait | None = None, on_notice: Callable[[str], None] | None = None) -> None:
        self._on_wait = on_wait
        self._on_notice = on_notice

    def __call__(self) -> int:
        return time.time_ns()

    def notify(self, sentence: str) -> None:
        """Tell who waits, if anybody can be told."""
        if self._on_notice:
            self._on_notice(sentence)

    def sleep(self, nanoseconds: int) -> None:
        time.sleep(nanoseconds / SECOND)

    def wait(self, due: int, expected: int, made: int = 0, wanted: int = 1) -> None:
        """Return when the clock shows `due`.

        `expected` is how long that should take.  If the clock is set back meanwhile it is not waited for
        again: what was promised for a moment may be given once the time until that moment has passed.
        """
        most = expected + _SLACK
        left = min(due - self(), most)
        try:
            while left > 0:
                if self._on_wait:
                    self._on_wait(left, made, wanted)
                nap = min(left, _SHORT_NAP if self._on_wait else _NAP)
                self.sleep(nap)
                most -= nap
                left = min(due - self(), most)
        finally:
            if self._on_wait:
                self._on_wait(0, made, wanted)
system_clock = Clock()


def timestamp(nanoseconds: int) -> bytes:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(nanoseconds // SECOND)).encode()


def timestamp_after(nanoseconds: int, seconds: int) -> bytes:
    """The stamp of a moment that many seconds on."""
    if nanoseconds // SECOND + seconds >= _END_OF_DIGITS:
        raise UsageError("that delay ends after the year 9999: choose a shorter one")
    return timestamp(nanoseconds + seconds * SECOND)

# -- Dates as people give them, in UTC: a year, a month, a day, or a moment; kept as fourteen digits -----------------

_DIGITS = "%Y%m%d%H%M%S"

# How a date may be written, by its length.
_FORMS = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 14: _DIGITS, 16: "%Y-%m-%dT%H:%M", 19: "%Y-%m-%dT%H:%M:%S"}
_EXAMPLES = "2026, 2026-11, 2026-11-16, 2026-11-16T00:28:25Z or 20261116002825"


def first_second(text: str) -> bytes:
    """The first second of what is named: a span that is given `from 2026` begins with that year."""
    return _digits(_parse_date(text)[0])


def last_second(text: str) -> bytes:
    """The last second of what is named: a span that is given `until 2126` ends with that year."""
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
    return _digits(moment)


def _parse_date(text: str) -> tuple[datetime, str]:
    # Commands that take no dates start faster without this module.
    from datetime import datetime

    bare = text.strip().removesuffix("Z").replace(" ", "T")
    form = _FORMS.get(len(bare), "")
    try:
        if form and bare.isascii():
            return datetime.strptime(bare, form), form
    except ValueError:
        pass
    raise UsageError(f"{text[:60]!r} is no date: write it as {_EXAMPLES}")


def _digits(moment: datetime) -> bytes:
    # strftime leaves out the zeros of early years on some systems.
    return f"{moment.year:04}{moment:%m%d%H%M%S}".encode()
