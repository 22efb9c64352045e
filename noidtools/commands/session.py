"""A session: the minter to which commands apply, and the actor who runs them."""

from __future__ import annotations

from ..minter import Minter
from ..minter.access import EVERYTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..minter.events import Actor
    from ..store import Writer
    T = TypeVar("T")
    # Called with the number done, the total, and a word about it; both numbers are equal at the end.
    Progress = Callable[[int, int, str], None]


class Session:
    """Opens its minter when a command first needs it, and keeps it open.

    dbdir     the folder of the minter
    actor     who runs the commands
    minter    the minter, if it is open already
    local     whether commands come from the shell of this machine, and may use its files and its network
    view      what the actor may see of the minter (see minter/visibility.py)
    progress  called with the progress of a long command; None if nobody watches
    max_age   as in `Store.read`, for commands that only read
    """

    def __init__(
        self, dbdir: str, actor: Actor, *, minter: Minter | None = None, local: bool = False,
        view: str = EVERYTHING, progress: Progress | None = None, max_age: float = 0.0,
    ) -> None:
        self.dbdir = dbdir
        self.actor = actor
        self.local = local
        self.view = view
        self.progress = progress
        self.max_age = max_age
        self._minter = minter

    @property
    def minter(self) -> Minter:
        """The minter, opened when first needed; raises NoMinterError if there is none."""
        if self._minter is None:
            self._minter = Minter(self.dbdir)
        return self._minter

    def write_together(self, work: Callable[[Writer], T]) -> T:
        """Run `work`, which runs several commands, in one transaction.

        A command that would have to wait for the clock raises NeedsOwnTransaction, and must be run again alone.
        """
        return self.minter.write(work, shared=True)

    def close(self) -> None:
        if self._minter is not None:
            self._minter.close()
            self._minter = None
