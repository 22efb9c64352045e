"""A clock that shows the time it was set to, so that tests of what happens over time take no time."""

from __future__ import annotations

import calendar
import time
from collections.abc import Callable
from pathlib import Path

from noidtools.schemes.timed import Date, parse_date
from noidtools.times import SECOND, Clock


class SettableClock(Clock):
    """Stands still until it is set or somebody sleeps.

    The start is given as seconds since 1970, with a fraction if need be.  `slept` counts the nanoseconds slept;
    `jumps` are seconds by which the next sleeps move the clock beside the time slept; `on_sleep` is called after
    each sleep.
    """

    __slots__ = ("now", "slept", "jumps", "on_sleep")

    def __init__(self, seconds: str) -> None:
        super().__init__()
        self.slept = 0
        self.jumps: list[int] = []
        self.on_sleep: Callable[[], None] | None = None
        self.set_seconds(seconds)

    @classmethod
    def at(cls, digits: str) -> SettableClock:
        """A clock that shows a UTC time of fourteen digits."""
        clock = cls("0")
        clock.set(digits)
        return clock

    def set(self, digits: str) -> None:
        """Set it to a UTC time of fourteen digits."""
        self.now = calendar.timegm(time.strptime(digits, "%Y%m%d%H%M%S")) * SECOND

    def set_seconds(self, seconds: str) -> None:
        """Set it to seconds since 1970."""
        self.now = parse_date(seconds.encode()).floor(9)

    @property
    def date(self) -> Date:
        return Date(self.now, 9)

    @property
    def seconds(self) -> str:
        """The seconds since 1970, with no more decimal places than needed."""
        return bytes(self.date).decode()

    def __call__(self) -> int:
        return self.now

    def sleep(self, nanoseconds: int) -> None:
        self.slept += nanoseconds
        self.now += nanoseconds + (self.jumps.pop(0) * SECOND if self.jumps else 0)
        if self.on_sleep:
            self.on_sleep()

    # The noid command reads its clock from a file when NOIDTOOLS_CLOCK names one, and moves it on when it waits.

    def write_to(self, file: Path) -> None:
        file.write_text(self.seconds)

    def read_from(self, file: Path) -> None:
        self.set_seconds(file.read_text())
