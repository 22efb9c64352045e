"""Who gives commands, and to which minter."""

from __future__ import annotations

from ..minter import Minter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..minter.events import Actor
    from ..store import Writer
    T = TypeVar("T")
    # How much is done, of how much, and a word about it; both numbers are equal at the end.
    Progress = Callable[[int, int, str], None]


class Session:
    """Opens its minter when a command first needs it, and keeps it open.

    A `local` session is one at this machine's shell, whose commands may use its files and its network.  `progress` is
    called to report how far a long command has come.
    """

    def __init__(
        self, dbdir: str, actor: Actor, *, minter: Minter | None = None, local: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.dbdir = dbdir
        self.actor = actor
        self.local = local
        self.progress = progress
        self._minter = minter

    @property
    def minter(self) -> Minter:
        if self._minter is None:
            self._minter = Minter(self.dbdir)
        return self._minter

    def write_together(self, work: Callable[[Writer], T]) -> T:
        """Run commands that share one transaction.  One that would have to wait for the clock raises
        NeedsOwnTransaction there, and is to be run again on its own."""
        return self.minter.write(work, shared=True)

    def close(self) -> None:
        if self._minter is not None:
            self._minter.close()
            self._minter = None
