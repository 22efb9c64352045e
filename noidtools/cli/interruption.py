"""Commands that are not simply ended by Ctrl-C or SIGTERM, but remove what they have begun, and say what was done."""

from __future__ import annotations

import os
import signal

from .. import store
from ..errors import NoidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# Code in this folder may just have taken a lock and not yet noted that: an exception would leave the lock taken, and
# who closes the store would wait for it forever.  Waiting for another process is the exception.
_STORE = os.path.dirname(store.__file__) + os.sep
_WAITING = "_lock_file"

# How long an interruption in the store is put off before it is tried again.
_LATER_SECONDS = 0.001


def run_until_interrupted(work: Callable[[], None], sentence: str) -> None:
    """Run `work`, in which a signal to end is a KeyboardInterrupt; the second one ends the process at once.

    Raises NoidError with the sentence if `work` does not catch it and say more itself.
    """
    ended = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        if ended:
            return
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        if frame is not None and _is_in_store(frame):
            signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)
        else:
            raise KeyboardInterrupt

    before = [(number, signal.signal(number, interrupt)) for number in (*_SIGNALS, signal.SIGALRM)]
    try:
        work()
    except KeyboardInterrupt:
        raise NoidError(f"interrupted: {sentence}") from None
    finally:
        ended = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


def _is_in_store(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_STORE) and frame.f_code.co_name != _WAITING
