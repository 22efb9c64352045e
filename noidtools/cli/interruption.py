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

# Code in the folder of the store may just have taken a lock and not yet noted that: an exception would leave the lock
# taken, and whoever closes the store would wait for it forever.
_STORE = os.path.dirname(store.__file__) + os.sep

# How long an interruption in the store is put off before it is tried again, and how often: taking a lock is a matter of
# microseconds, and what is still in the store after all attempts waits for another process or for a server.
_LATER_SECONDS = 0.002
_MOST_ATTEMPTS = 20


class _Interruption:
    """What is known of the signals that came."""

    def __init__(self) -> None:
        self.ended = False
        self._came = False
        self._attempts = 0

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signals, and of the timer by which an interruption is tried again."""
        if self.ended:
            return
        if self._came and number != signal.SIGALRM:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._came = True
        self._attempts += 1
        if self._attempts <= _MOST_ATTEMPTS and _is_in_store(frame):
            signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)
        else:
            raise KeyboardInterrupt


def run_until_interrupted(work: Callable[[], None], sentence: str) -> None:
    """Run `work`, in which a signal to end is a KeyboardInterrupt, at once or some milliseconds later, unless the work
    has ended by then; the second signal ends the process.  Uses SIGALRM.

    Raises NoidError with the sentence if `work` does not catch the exception and say more itself.
    """
    interruption = _Interruption()
    before = [(number, signal.signal(number, interruption.handle)) for number in (*_SIGNALS, signal.SIGALRM)]
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
    try:
        work()
    except KeyboardInterrupt:
        raise NoidError(f"interrupted: {sentence}") from None
    finally:
        interruption.ended = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in before:
            signal.signal(number, handler)


def _is_in_store(frame: FrameType | None) -> bool:
    return frame is not None and frame.f_code.co_filename.startswith(_STORE)
