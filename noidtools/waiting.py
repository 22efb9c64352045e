"""Asking for identifiers that are made from the time, some of which lie ahead.

Such an identifier is reserved in a short transaction and waited for after the
commit, so that nobody else is kept from the store meanwhile.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Clock
    from .minter import Minter

# Identifiers this far ahead are reserved together, so that one commit, which takes a disk some
# milliseconds, serves many; and nobody else waits longer for it than people notice.
LOOK_AHEAD = 100_000_000


class NotYet(Exception):  # noqa: N818 - no error, and never seen outside: the command is run again
    """The command needs a wait that those with whom it shares a transaction should not have: run it alone."""


class Request:
    """One asking for identifiers.

    patience   nanoseconds that each may be waited for; None is the minter's own limit
    sharing    whether other commands share the transaction, and NotYet is understood
    whole      whether all must be reserved in this transaction, because it does more than mint
    made       how many of `wanted` are there already
    """

    __slots__ = ("asked", "clock", "made", "patience", "sharing", "wanted", "whole")

    def __init__(
        self, minter: Minter, clock: Clock, patience: int | None = None, *,
        sharing: bool = False, made: int = 0, wanted: int = 1,
    ) -> None:
        self.clock = clock
        self.asked = clock()
        self.patience = patience
        self.sharing = sharing
        self.whole = minter.writing and not sharing
        self.made = made
        self.wanted = wanted

    def wait(self, due: int, notice: str = "") -> None:
        if notice:
            self.clock.notify(notice)
        self.clock.wait(due, due - self.asked, self.made, self.wanted)
