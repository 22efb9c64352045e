"""Who gives commands, to which minter; and one command as given."""

from __future__ import annotations

from ..errors import UsageError, printable
from ..minter import Minter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..minter.events import Actor
    from ..store import Writer
    T = TypeVar("T")
    # Done, of how many, and a word about it; done and how many are equal at the end.
    Progress = Callable[[int, int, str], None]



class Session:
    """Opens its minter when a command first needs it, and keeps it open.

    `sharing` is set while commands share a transaction: one that would have to wait for the clock then raises
    NotYet instead, and is to be run again on its own.  `local` says that commands are given at this machine's shell,
    so that they may use its files and its network; `progress` is told how far a long command has come, if somebody
    watches.
    """

    def __init__(
        self, dbdir: str, actor: Actor, *, minter: Minter | None = None, local: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.dbdir = dbdir
        self.actor = actor
        self.local = local
        self.progress = progress
        self.sharing = False
        self._minter = minter

    @property
    def minter(self) -> Minter:
        if self._minter is None:
            self._minter = Minter(self.dbdir)
        return self._minter

    def write_together(self, work: Callable[[Writer], T]) -> T:
        """Run commands that share one transaction."""
        self.sharing = True
        try:
            return self.minter.write(work)
        finally:
            self.sharing = False

    def close(self) -> None:
        if self._minter is not None:
            self._minter.close()
            self._minter = None


class Call:
    """One command: its words after the first, and the elements read from the input where the words ask for it."""

    __slots__ = ("session", "name", "args", "pairs")

    def __init__(self, session: Session, words: list[bytes], pairs: list[tuple[bytes, bytes]] | None = None) -> None:
        self.session = session
        self.name = words[0]
        self.args = words[1:]
        self.pairs = pairs

    @property
    def minter(self) -> Minter:
        return self.session.minter

    @property
    def actor(self) -> Actor:
        return self.session.actor

    def need(self, least: int, most: int | None, usage: str) -> list[bytes]:
        """The arguments, if there are as many as the command takes."""
        count = len(self.args)
        if count < least or (most is not None and count > most):
            what = "too few" if count < least else "too many"
            raise UsageError(f"{what} words for {self.name.decode()}: say {usage}")
        return self.args


def take_options(
    args: list[bytes], known: tuple[str, ...], flags: tuple[str, ...] = ()
) -> tuple[dict[str, list[str]], list[bytes]]:
    """Options `--name value` or `--name=value` among a command's arguments, and the arguments that remain.

    Each option takes a value and may be repeated; those in `flags` take none.  `--` ends them.
    """
    options: dict[str, list[str]] = {}
    rest: list[bytes] = []
    pending = list(args)
    while pending:
        word = pending.pop(0)
        if word == b"--":
            return options, rest + pending
        if not word.startswith(b"--"):
            rest.append(word)
            continue
        name, equals, value = word[2:].decode("utf-8", "replace").partition("=")
        if name in flags:
            if equals:
                raise UsageError(f"option --{name} takes no value")
        elif name not in known:
            raise UsageError(f"there is no option --{name}: known are {', '.join('--' + n for n in (*known, *flags))}")
        elif not equals:
            if not pending:
                raise UsageError(f"option --{name} needs a value")
            value = as_text(pending.pop(0), f"--{name}")
        options.setdefault(name, []).append(value)
    return options, rest


def as_text(word: bytes, what: str) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not valid UTF-8") from None


def as_count(word: bytes) -> int:
    """A number of identifiers."""
    if not word.isdigit() or len(word) > 18:
        raise UsageError(f"how many? {printable(word)!r} is not a number from 0 on")
    return int(word)
