"""Time: what a minter's clock says, how it is waited for, and how dates are written (UTC, fourteen digits)."""

from __future__ import annotations

import time

from .exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


def stamp(nanoseconds: int) -> bytes:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(nanoseconds // SECOND)).encode()


def later_stamp(nanoseconds: int, seconds: int) -> bytes:
    """The stamp of a moment that many seconds on."""
    if nanoseconds // SECOND + seconds >= _END_OF_DIGITS:
        raise UsageError("that delay ends after the year 9999: choose a shorter one")
    return stamp(nanoseconds + seconds * SECOND)
