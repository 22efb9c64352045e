"""Time in UTC: a minter's clock, how to wait for it, and the timestamp, in which moments are stored.

dates.py has the other formats, and reads those that users type.
"""

from __future__ import annotations

import time

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

        `expected` is how long that should take.  It bounds the wait: if the clock is set back meanwhile, the
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
