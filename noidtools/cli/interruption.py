"""Commands that are not simply ended by Ctrl-C or SIGTERM, but remove what they have begun, and say what was done."""

from __future__ import annotations

import os
import signal

from ..errors import NoidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Interruption:
    """What is known of the signals that came."""

    def __init__(self) -> None:
        self.ended = False
        self._came = False

    def handle(self, number: int, _: FrameType | None) -> None:
        if self.ended:
            return
        if self._came:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._came = True
        raise KeyboardInterrupt


def run_until_interrupted(work: Callable[[], None], sentence: str) -> None:
    """Run `work`, in which a signal to end is a KeyboardInterrupt; the second signal ends the process.

    Raises NoidError with the sentence if `work` does not catch the exception and say more itself.
    """
    interruption = _Interruption()
    before = [(number, signal.signal(number, interruption.handle)) for number in _SIGNALS]
    try:
        work()
    except KeyboardInterrupt:
        raise NoidError(f"interrupted: {sentence}") from None
    finally:
        interruption.ended = True
        for number, handler in before:
            signal.signal(number, handler)
