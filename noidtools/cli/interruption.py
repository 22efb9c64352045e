"""Commands that are not simply ended by Ctrl-C or SIGTERM, but remove what they have begun, and say what was done."""

from __future__ import annotations

import signal

from ..errors import NoidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_interrupted(work: Callable[[], None], sentence: str) -> None:
    """Run `work`, in which a signal to end is a KeyboardInterrupt; the second one ends the process at once.

    Raises NoidError with the sentence if `work` does not catch it and say more itself.
    """
    before = [signal.signal(number, _interrupt) for number in _SIGNALS]
    try:
        work()
    except KeyboardInterrupt:
        raise NoidError(f"interrupted: {sentence}") from None
    finally:
        for number, handler in zip(_SIGNALS, before, strict=True):
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise KeyboardInterrupt
