"""The interface for a web server's rewriting engine: `noidr`, one reply line for each request line.

    noidr [-f Dbdir] [--element NAME] [--codes] [--echo]

A request is `get NAME ELEMENT`, where the last word is the element and all
between is the name, or any other line, which is a name as a whole.  With
--element every line is a name as a whole, whatever it looks like.  The reply
is the target, or NULL.  A target that is a URL is written as it may stand in a
Location header; a path, or any other value, as it was bound, up to its first
line break and with control characters escaped.  With --codes a target bound
with its own redirect code has that in front, and the reply for a withdrawn name
is 410.  With --echo the name that was asked for and a blank stand in front of
every reply, NULL too, so that a server can tell its own reply from another's.

Nothing but reading can be reached from here.  The replies cannot slip: `feed`
has one for each line before it looks at the next, and whatever goes wrong
inside one is a NULL.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from time import monotonic

from ..console import log_line
from ..errors import NoidError, UsageError
from ..minter import Minter, location_of
from ..names import targets
from ..resolution import ALIAS, GONE, Lookup, plain_target, resolve
from ..store import exists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..resolution import Outcome
    from ..store import Reader, Store

NULL = b"NULL\n"
LONGEST_LINE = 1 << 20

# At most some twenty megabytes of known replies.
_MOST_KNOWN, _LONGEST_KNOWN = 20_000, 1_000

# Most requests fit in as much as Python has at hand in its own small memory; for the rest of a longer one, more.
_LINE, _PIECE = 479, 1 << 16

# How long a database that was put in the place of another may go unnoticed, and how long to wait before trying
# again to open one that could not be opened.
_NOTICED_AFTER, _TRIED_AGAIN_AFTER = 0.01, 0.25


class ReplyProtocol:
    """The protocol: bytes in, bytes out, no input or output of its own."""

    __slots__ = ("_resolver", "_latest_version", "_element", "_echo", "_rest", "_skipping", "_known", "_version",
                 "_whole")

    def __init__(self, resolver: Answering, element: bytes | None = None, *, echo: bool = False) -> None:
        self._resolver = resolver
        self._element = element
        self._echo = echo
        self._rest = b""
        self._skipping = False
        # Lines with their line breaks, and what was replied to them, for as long as nothing changes.
        self._known: dict[bytes, bytes] = {}
        self._version: object | None = None
        self._latest_version = resolver.version
        # The known replies while no part of a line is waiting for its end, else nothing.
        self._whole = self._known

    def feed(self, piece: bytes) -> bytes:
        """The replies to all lines that this piece of the input completes."""
        # A server sends one line and waits for its reply: that is answered first, from what is known or not.
        known = self._whole.get(piece)
        if known is None and self._whole is self._known and piece.find(b"\n") == len(piece) - 1:
            return self.reply(piece[:-1])
        try:
            version = self._latest_version()
        except Exception as error:  # noqa: BLE001 - as in `reply`
            log_line("noidr", f"the database could not be looked at: {type(error).__name__}: {error}")
            version = None
        if known is not None and version == self._version:
            return known
        self._use_version(version)
        *lines, rest = (self._rest + piece).split(b"\n")
        replies = []
        for line in lines:
            replies.append(NULL if self._skipping else self._known.get(line + b"\n") or self.reply(line))
            self._skipping = False
        self._rest = rest
        if self._skipping or len(rest) > LONGEST_LINE:
            # No name is that long: of the rest of this line only the end matters.
            self._rest, self._skipping = b"", True
        self._whole = {} if self._rest or self._skipping else self._known
        return b"".join(replies)

    def _use_version(self, version: object | None) -> None:
        """Forget the replies of another version.  There are none where the version is None."""
        if version != self._version:
            self._known.clear()
            self._version = version

    def end(self) -> bytes:
        """The reply to a last line without line break."""
        return self.feed(b"\n") if self._rest or self._skipping else b""

    def reply(self, line: bytes) -> bytes:
        """Exactly one line, whatever the request is and whatever becomes of it."""
        name, element = self.request(line)
        try:
            value, version = self._resolver.answer(name, element)
        except UnansweredError:
            return self._line(name, None)
        except Exception as error:  # noqa: BLE001 - what nobody foresaw may cost this reply, but not shift the others
            log_line("noidr", f"a request could not be answered: {type(error).__name__}: {error}")
            return self._line(name, None)
        reply = self._line(name, value) if self._echo or value is None else targets.one_line(value) + b"\n"
        if version != self._version:
            self._use_version(version)
        if version is not None and len(line) + len(reply) < _LONGEST_KNOWN:
            known = self._known
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[line + b"\n"] = reply
        return reply

    def _line(self, name: bytes, value: bytes | None) -> bytes:
        text = b"NULL" if value is None else value
        return targets.one_line(name + b" " + text if self._echo else text) + b"\n"

    def request(self, line: bytes) -> tuple[bytes, bytes | None]:
        """Name and element of a request line."""
        if self._element is None and line[:4] == b"get ":
            name, space, element = line[4:].rstrip().rpartition(b" ")
            if space:
                return name, element
        return line, self._element


class UnansweredError(Exception):
    """What holds the answers could not be asked; the reply is not to be kept."""


class Answering(ABC):
    """What replies are made of."""

    @abstractmethod
    def version(self) -> object | None:
        """Equal versions: all answers between them still stand.  None: that cannot be told."""

    @abstractmethod
    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """The value, if there is one, and the version in which it was found.

        The element is None for the minter's usual one.
        """


class MinterResolver(Answering):
    """Answers from one minter, however often its database is replaced."""

    def __init__(self, dbdir: str, *, codes: bool = False) -> None:
        self._dbdir = dbdir
        self._codes = codes
        self._minter: Minter | None = None
        self._store: Store | None = None
        self._trouble = ""
        self._idle_until = 0.0

    def version(self) -> object | None:
        return None if self._store is None else self._store.version(max_age=_NOTICED_AFTER)

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        minter = self._minter or self._open()
        if minter is None:
            return None, None
        def find(reader: Reader) -> tuple[bytes | None, Outcome | None, object | None]:
            plain = plain_target(minter, reader, name, element) if element else None
            outcome = Lookup(minter, reader, element).find(name) if plain is None else None
            return plain, outcome, reader.version()

        try:
            plain, outcome, version = minter.read(find, max_age=_NOTICED_AFTER)
            if outcome is None:
                return plain, version
            if outcome.kind == ALIAS:
                outcome = resolve(minter, name, element=element)
        except NoidError as error:
            self._mention(error.message)
            raise UnansweredError from None
        self._trouble = ""
        return self._written(outcome), version

    def _open(self) -> Minter | None:
        """The minter, if it is there by now; it is looked for only so often."""
        if monotonic() >= self._idle_until:
            try:
                self._minter = Minter(self._dbdir)
                self._store = self._minter.store
            except NoidError as error:
                self._mention(error.message)
                self._idle_until = monotonic() + _TRIED_AGAIN_AFTER
        return self._minter

    def _written(self, outcome: Outcome) -> bytes | None:
        if outcome.kind == GONE:
            return b"410" if self._codes else None
        for target in outcome.targets:
            if targets.leads_to_commands(target.url):
                continue
            # A path is for the server itself, which wants it as it is.
            text = target.url if target.url[:1] == b"/" else targets.location(target.url) or target.url
            # A path is no redirect, so a code has nothing to say about it.
            return b"%d %b" % (target.code, text) if self._codes and target.code and text[:1] != b"/" else text
        return None

    def _mention(self, trouble: str) -> None:
        if trouble != self._trouble:
            log_line("noidr", trouble)
            self._trouble = trouble


def serve_pipe(replies: ReplyProtocol, source: int = 0, sink: int = 1) -> None:
    """Answer until the input ends or nobody reads the output any more."""
    read, write, feed = os.read, os.write, replies.feed
    size = _LINE
    while piece := read(source, size):
        out = feed(piece)
        size = _LINE if out else _PIECE
        done = write(sink, out) if out else 0
        while done < len(out):
            done += write(sink, out[done:])
    write(sink, replies.end())


def main(argv: list[str] | None = None) -> int:
    program, *words = sys.argv if argv is None else argv
    dbdir = os.environ.get("NOID", "") or dbdir_beside(program)
    try:
        return _run(dbdir, [os.fsencode(word) for word in words])
    except UsageError as error:
        log_line("noidr", error.message)
        return 2


def _run(dbdir: str, words: list[bytes]) -> int:
    """Parse the options of noidr.  It imports nothing of the command language, so that it starts quickly."""
    element, switches = None, set()
    while words:
        option, equals, value = words[0].partition(b"=")
        if words[0] in (b"--codes", b"--echo"):
            switches.add(words[0])
            words = words[1:]
            continue
        if option not in (b"-f", b"--element") or (not equals and len(words) == 1):
            raise UsageError("noidr takes these options: -f Dbdir, --element NAME, --codes, --echo")
        value, words = (value, words[1:]) if equals else (words[1], words[2:])
        if option == b"-f":
            dbdir = os.fsdecode(value)
        else:
            element = value
    return answer_requests(dbdir, element, codes=b"--codes" in switches, echo=b"--echo" in switches)


def answer_requests(dbdir: str, element: bytes | None, *, codes: bool, echo: bool) -> int:
    """Answer requests on standard input from the minter in a folder."""
    with suppress(BrokenPipeError, KeyboardInterrupt):  # the server may end first
        resolver = MinterResolver(dbdir, codes=codes)
        serve_pipe(ReplyProtocol(resolver, element, echo=echo))
    return 0


def dbdir_beside(program: str) -> str:
    """The minter that the program's name tells: noidr_kt5 means kt5, in the folder of the link, else in this one.

    A web server starts the program in a folder of its own choice, and maybe before the minter is there.
    """
    name = os.path.basename(program).partition("_")[2]
    beside = os.path.join(os.path.dirname(program), name)
    if not name:
        return "."
    there = [folder for folder in (beside, name) if exists(location_of(folder))]
    return there[0] if there else beside
