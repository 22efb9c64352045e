"""Waiting for the clock, where a scheme makes labels from the time.

An identifier whose moment lies ahead is reserved in a short transaction, and
only then waited for, so that nobody else is kept from the store meanwhile.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Clock

# Identifiers this far ahead are reserved together, so that one commit, which takes a disk some
# milliseconds, serves many; and nobody else waits longer for it than people notice.
LOOK_AHEAD = 100_000_000


class NotYet(Exception):  # noqa: N818 - not an error, and never seen outside: the command is run again
    """The command would have to wait, which it cannot while it shares a transaction: run it alone."""


class Request:
    """One asking for identifiers: when, how long each may be waited for (None: the minter's own limit), and
    whether it happens in a transaction that others share, so that there can be no waiting."""

    __slots__ = ("asked", "patience", "sharing")

    def __init__(self, asked: int, patience: int | None = None, *, sharing: bool = False) -> None:
        self.asked = asked
        self.patience = patience
        self.sharing = sharing


class Waiting:
    """How one session waits: each command for itself, or all that share a transaction after its commit."""

    __slots__ = ("_asked", "_clock", "_due", "_sharing")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked = self._due = 0
        self._sharing = False

    def request(self, patience: int | None = None) -> Request:
        self._asked = self._clock()
        return Request(self._asked, patience, sharing=self._sharing)

    def until(self, due: int, made: int = 0, wanted: int = 1) -> None:
        """Wait until what was reserved is due, `made` of `wanted` being there already; 0 is at once."""
        if self._sharing:
            self._due = max(self._due, due)
        elif due:
            self._clock.wait(due, due - self._asked, made, wanted)

    def begin_sharing(self) -> None:
        self._sharing, self._due = True, 0

    def end_sharing(self) -> int:
        """When all is due that was reserved since sharing began."""
        self._sharing = False
        return self._due
