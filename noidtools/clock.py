"""Time as minters write it: UTC, fourteen digits."""

from __future__ import annotations

import time

from .exceptions import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Clock = Callable[[], int]  # nanoseconds since 1970, as time.time_ns gives them

system_clock = time.time_ns
_SECOND = 1_000_000_000
# The date after which fourteen digits no longer suffice.
_END_OF_DIGITS = 253402300800


def stamp(nanoseconds: int) -> bytes:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(nanoseconds // _SECOND)).encode()


def later_stamp(nanoseconds: int, seconds: int) -> bytes:
    """The stamp of a moment that many seconds on."""
    if nanoseconds // _SECOND + seconds >= _END_OF_DIGITS:
        raise UsageError("that delay ends after the year 9999: choose a shorter one")
    return stamp(nanoseconds + seconds * _SECOND)
