"""A call of a command: its session, its words, parsed, and what is known before it runs; and the table of commands.

A chapter of commands is imported when one of them is first called, because most processes run a single command.
"""

from __future__ import annotations

from ..errors import ForbiddenError, UsageError, printable
from ..minter import Minter
from ..minter.policies import EVERYTHING
from . import lines
from .command import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Concatenate, ParamSpec, TypeVar

    from ..console import Progress
    from ..minter.events import Actor
    from ..store import Reader, Writer
    from .answers import Answer
    from .command import Command, Fact
    from .lines import ReadLine

    P = ParamSpec("P")
    T = TypeVar("T")


# -- the table of commands -------------------------------------------------------------------------------------------

# Name and module of each command, in the order in which help lists the commands.
_CHAPTERS = {
    "dbcreate": "administration", "mint": "minting", "peppermint": "minting", "bind": "bindings", "fetch": "bindings",
    "get": "bindings", "hold": "lifecycle", "queue": "lifecycle", "validate": "spelling", "schemes": "spelling",
    "decode": "spelling", "granularity": "spelling", "patience": "spelling", "clock": "spelling",
    "route": "items", "identify": "items", "path": "spelling", "policy": "administration",
    "promise": "administration", "token": "administration", "status": "maintenance", "doctor": "maintenance",
    "publish": "lifecycle", "reserve": "lifecycle", "withdraw": "lifecycle", "unavailable": "lifecycle",
    "tombstone": "lifecycle",
    "alias": "relations", "synonym": "relations", "prefer": "relations", "relate": "relations",
    "abstract": "relations", "relations": "relations", "quality": "qualities", "history": "history", "log": "history",
    "custodian": "lifecycle", "serve": "serving", "setup": "serving", "resolve": "resolving", "resolver": "resolving",
    "canary": "resolving", "export": "transfer", "retarget": "transfer", "undo": "transfer", "rebind": "transfer",
    "resolve-loop": "resolving", "cite": "spelling", "same": "spelling", "context": "spelling",
    "site": "spelling", "verify": "qualities", "describe": "describing", "note": "administration",
    "dbinfo": "administration", "backup": "maintenance", "restore": "maintenance", "import": "transfer",
    "copy": "maintenance", "bundle": "preservation", "depart": "preservation", "succeed": "preservation",
    "find": "search", "list": "search", "stats": "statistics", "links": "links",
    "naans": "naans", "sql": "maintenance", "check": "maintenance", "help": "help", "completion": "completion",
    "hello": "help",
}

_loaded: dict[bytes, Command] = {}


def command_for(words: list[bytes]) -> Command:
    """The command that these words call; raises UsageError if there is none of that name."""
    if not words:
        raise UsageError("no command was given: 'noid help all' lists them")
    known = _loaded.get(words[0])
    if known is not None:
        return known
    name = printable(words[0])
    if name not in _CHAPTERS:
        remedy = did_you_mean(name[:60], _CHAPTERS) or "'noid help all' lists them"
        raise UsageError(f"there is no command {name[:60]!r}: {remedy}")
    return _load(name)


def is_command(name: str) -> bool:
    """Whether there is a command of this name."""
    return name in _CHAPTERS


def all_commands() -> list[Command]:
    """All commands, in the order of the list that help prints."""
    return [_load(name) for name in _CHAPTERS]


def _load(name: str) -> Command:
    # importlib.import_module would do the same, after a millisecond of imports of its own.
    chapter = __import__(f"{__package__}.{_CHAPTERS[name]}", fromlist=["COMMANDS"])
    commands: tuple[Command, ...] = chapter.COMMANDS
    _loaded.update((command.name.encode(), command) for command in commands)
    return _loaded[name.encode()]


# -- calls -----------------------------------------------------------------------------------------------------------


class Session:
    """Opens its minter when a command first needs it, and keeps it open.

    dbdir     the folder of the minter
    actor     who runs the commands
    minter    the minter, if it is open already
    local     whether commands come from the shell of this machine, and may use its files and its network
    view      what the actor may see of the minter (see minter/policies.py)
    progress  called with the progress of a long command; None if nobody watches
    columns   the width in which help is printed
    """

    def __init__(
        self, dbdir: str, actor: Actor, *, minter: Minter | None = None, local: bool = False,
        view: str = EVERYTHING, progress: Progress | None = None, columns: int = 80,
    ) -> None:
        self.dbdir = dbdir
        self.actor = actor
        self.local = local
        self.view = view
        self.progress = progress
        self.columns = columns
        self._minter = minter

    @property
    def minter(self) -> Minter:
        """The minter, opened when first needed; raises NoMinterError if there is none."""
        if self._minter is None:
            self._minter = Minter(self.dbdir)
        return self._minter

    def close(self) -> None:
        if self._minter is not None:
            self._minter.close()
            self._minter = None


class Invocation:
    """The parsed words of a command.

    command  the command
    args     all words after its name
    words    those of them that are not options
    form     the form of the command that the words fit, else the closest one; `ensure_fits` raises the error
    """

    __slots__ = ("command", "args", "form", "words", "_options", "_misfit")

    def __init__(self, words: list[bytes]) -> None:
        """Parse the words; raises UsageError if there is no such command."""
        self.command = command_for(words)
        self.args = words[1:]
        self.form, self._options, self.words, self._misfit = self.command.parse(self.args)

    def ensure_fits(self) -> None:
        """Raise UsageError for words that fit no form of the command."""
        if self._misfit is not None:
            raise self._misfit

    # -- options ---------------------------------------------------------------------------------------

    @property
    def options(self) -> list[str]:
        """The names of the options among the words."""
        return list(self._options)

    def flag(self, name: str) -> bool:
        """Whether an option is among the words."""
        return name in self._options

    def option(self, name: str) -> str | None:
        """The value of an option, the last if there are several; None if the option is absent."""
        values = self._options.get(name)
        return values[-1] if values else None

    def text(self, name: str) -> bytes:
        """The value of an option as it is stored; empty if the option is absent."""
        return (self.option(name) or "").encode()

    def optional_text(self, name: str) -> bytes | None:
        """The same, None if the option is absent."""
        value = self.option(name)
        return None if value is None else value.encode()

    def start(self, name: str) -> bytes:
        """The first second of the date that an option gives; empty if the option is absent."""
        from ..dates import first_second  # datetime, which a mint does not need

        date = self.option(name)
        return first_second(date) if date else b""

    def end(self, name: str) -> bytes:
        """The last second of the date that an option gives; empty if the option is absent."""
        from ..dates import last_second

        date = self.option(name)
        return last_second(date) if date else b""

    def address(self, name: str) -> str:
        """The address that an option gives, empty if the option is absent.

        Raises UsageError for one without text, such as a variable of the shell that is not set: the minter would be
        made elsewhere than it was meant to be.
        """
        given = self.option(name)
        if given is not None and not given.strip():
            raise UsageError(f"--{name} needs an address, as in postgresql://host/database")
        return given or ""

    def values(self, name: str) -> list[str]:
        """All values of an option that may be repeated."""
        return self._options.get(name, [])

    @property
    def names(self) -> list[bytes]:
        """The words, without the one that stands for itself if the form begins with one, as `show [Id]` does."""
        return self.words[1:] if self.form.usage[:1].islower() else self.words

    # -- properties of the form ------------------------------------------------------------------------

    @property
    def access(self) -> tuple[str, ...]:
        """The access classes to which a web user must be admitted; raises ForbiddenError for a shell-only form."""
        if self.form.shell_only:
            raise ForbiddenError(
                f"{self.command.name} works on the server's files: it is for the shell, not for the web"
            )
        return self.form.access

    @property
    def writes(self) -> bool:
        """Whether it changes the minter."""
        return self.form.writes

    @property
    def streams(self) -> bool:
        """Whether the answer may be long or take long."""
        return self._fact(self.form.streams)

    @property
    def batches(self) -> bool:
        """Whether it may share a transaction with the commands of other users."""
        if not self.writes or self.reads_input or self.streams:
            return False
        return self.form.batches is None or self._fact(self.form.batches)

    @property
    def mints(self) -> int:
        """How many identifiers it makes."""
        mints = self.form.mints
        return mints if isinstance(mints, int) else mints(self)

    @property
    def reads_input(self) -> str:
        """':' or ':-' where elements are to be read from the input, else ''."""
        place = self.command.input_at
        if place is None or len(self.words) != place + 1 or self.words[place] not in (b":", b":-"):
            return ""
        return self.words[place].decode()

    def _fact(self, fact: Fact) -> bool:
        return fact if isinstance(fact, bool) else fact(self)


class Call(Invocation):
    """An invocation in a session.

    pairs  the elements read from the input, None if none are to be read
    file   the file that a form with `takes_file` reads, opened by the interface; None if there is none
    """

    __slots__ = ("session", "pairs", "file")

    def __init__(self, session: Session, words: list[bytes], pairs: list[tuple[bytes, bytes]] | None = None) -> None:
        super().__init__(words)
        self.session = session
        self.pairs = pairs
        self.file: IO[bytes] | None = None

    @property
    def minter(self) -> Minter:
        return self.session.minter

    @property
    def actor(self) -> Actor:
        return self.session.actor

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` in a read transaction in which there is only what the user may see (see minter/policies.py).

        Commands that anybody may use read a minter in this way.
        """
        view = self.session.view
        if view == EVERYTHING:
            return self.minter.read(work)
        from ..minter.lifecycle import reader_in

        return self.minter.read(lambda reader: work(reader_in(view, reader)))

    def look(self, find: Callable[Concatenate[Minter, Reader, P], T], *args: P.args, **options: P.kwargs) -> T:
        """What a function finds in such a transaction; the minter and the reader are its first arguments."""
        return self.read(lambda reader: find(self.minter, reader, *args, **options))

    def change(
        self, change: Callable[Concatenate[Minter, Writer, Actor, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """What a function returns from a write transaction; the minter, the writer and the actor are its first
        arguments."""
        return self.minter.write(lambda writer: change(self.minter, writer, self.actor, *args, **options))

    def beginning(self, name: str) -> bytes:
        """The beginning of identifiers that an option gives, in any spelling of names; empty if it is absent."""
        text = self.text(name)
        if not text:
            return b""
        from ..minter.identifiers import identify_beginning

        return self.look(identify_beginning, text)

    def read_elements(self, read_line: ReadLine) -> None:
        """Read the elements from the input, if one of the words is `:` or `:-` in their place."""
        marker = self.reads_input
        if marker:
            read = lines.read_elements if marker == ":" else lines.read_one_element
            self.pairs = read(read_line)

    # Help calls these instead of importing the table of commands, which imports help.

    def all_commands(self) -> list[Command]:
        """All commands, for help."""
        return all_commands()

    def command_for(self, words: list[bytes]) -> Command:
        """The command that these words call; raises UsageError if there is none of that name."""
        return command_for(words)

    def run(self) -> Answer:
        """Run the command; raises UsageError if the words do not fit, and the NoidErrors of the command.

        It is done when this returns, unless it streams: then iterating over the records does the work.
        """
        self.ensure_fits()
        try:
            answer = self.form.run(self)
        finally:
            if self.session.progress is not None:
                self.session.progress(1, 1, "")  # nothing more is shown of it
        if not self.streams:
            answer.complete()
        return answer
