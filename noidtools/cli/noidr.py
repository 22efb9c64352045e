"""The interface for a web server's rewriting engine: `noidr`, one reply line for each request line.

    noidr [-f Dbdir] [--element NAME] [--codes] [--echo]

A request is `get NAME ELEMENT`, where the last word is the element and all
between is the name, or any other line, which is a name as a whole.  With
--element every line is a name as a whole, whatever it looks like.  The reply
is the target, or NULL.  A target that is a URL is written as it may stand in a
Location header; a path, or any other value, as it was bound, up to its first
line break and with control characters escaped.  With --codes a target bound
with its own redirect code has that in front, and the reply for a withdrawn name
is 410.  With --echo each reply, NULL included, begins with the requested name
and a blank, so that a server can check that the reply belongs to its request.

Requests can only read.  Each line gets exactly one reply line: `feed` has the
reply before it processes the next line, and an error makes the reply NULL.
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
from ..resolution import ALIAS, GONE, Lookup, plain_target, resolve, target_element
from ..store import exists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..resolution import Outcome
    from ..store import Reader, Store

NULL = b"NULL\n"
LONGEST_LINE = 1 << 20

# How many replies are cached, and how long a request and its reply together may be: some twenty megabytes at most.
_MOST_CACHED, _LONGEST_CACHED = 20_000, 1_000

# How many bytes are read at once: enough for most requests, and little enough that Python allocates them quickly; and
# more of them for the rest of a longer request.
_LINE, _PIECE = 479, 1 << 16

# Seconds after which a database that was replaced by another is noticed at the latest, and seconds before one that
# could not be opened is tried again.
_MAX_AGE, _RETRY_INTERVAL = 0.01, 0.25


class ReplyProtocol:
    """The protocol: bytes in, bytes out, no input or output of its own."""

    __slots__ = ("_resolver", "_latest_version", "_element", "_echo", "_rest", "_skipping", "_cache", "_version",
                 "_whole")

    def __init__(self, resolver: ReplySource, element: bytes | None = None, *, echo: bool = False) -> None:
        self._resolver = resolver
        self._element = element
        self._echo = echo
        self._rest = b""
        self._skipping = False
        # Replies by request line with its line break, valid for one version of the database.
        self._cache: dict[bytes, bytes] = {}
        self._version: object | None = None
        self._latest_version = resolver.version
        # The cache while no incomplete line is waiting for its end, else an empty dictionary.
        self._whole = self._cache

    def feed(self, piece: bytes) -> bytes:
        """The replies to all lines that this piece of the input completes."""
        # A server sends one line and waits for its reply: the way of such a piece is the shortest.
        known = self._whole.get(piece)
        if known is None and self._whole is self._cache and piece.find(b"\n") == len(piece) - 1:
            return self.reply(piece[:-1])
        try:
            version = self._latest_version()
        except Exception as error:  # noqa: BLE001 - as in `reply`
            log_line("noidr", f"the database could not be read: {type(error).__name__}: {error}")
            version = None
        if known is not None and version == self._version:
            return known
        self._use_version(version)
        *lines, rest = (self._rest + piece).split(b"\n")
        replies = []
        for line in lines:
            replies.append(NULL if self._skipping else self._cache.get(line + b"\n") or self.reply(line))
            self._skipping = False
        self._rest = rest
        if self._skipping or len(rest) > LONGEST_LINE:
            # No name is that long: of the rest of this line only the end matters.
            self._rest, self._skipping = b"", True
        self._whole = {} if self._rest or self._skipping else self._cache
        return b"".join(replies)

    def _use_version(self, version: object | None) -> None:
        """Clear the cache if it is of another version.  It is empty while the version is None."""
        if version != self._version:
            self._cache.clear()
            self._version = version

    def end(self) -> bytes:
        """The reply to a last line without line break."""
        return self.feed(b"\n") if self._rest or self._skipping else b""

    def reply(self, line: bytes) -> bytes:
        """The reply line to a request line; NULL if the request fails."""
        name, element = self.request(line)
        try:
            value, version = self._resolver.answer(name, element)
        except UnansweredError:
            return self._line(name, None)
        except Exception as error:  # noqa: BLE001 - an unforeseen error must not end the loop or shift the replies
            log_line("noidr", f"a request could not be answered: {type(error).__name__}: {error}")
            return self._line(name, None)
        reply = self._line(name, value) if self._echo or value is None else targets.one_line(value) + b"\n"
        if version != self._version:
            self._use_version(version)
        if version is not None and len(line) + len(reply) < _LONGEST_CACHED:
            known = self._cache
            if len(known) >= _MOST_CACHED:
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
    """The database could not be read; the reply is NULL and is not cached."""


class ReplySource(ABC):
    """Where the values of names come from."""

    @abstractmethod
    def version(self) -> object | None:
        """Equal versions: all answers between them are still valid.  None: unknown."""

    @abstractmethod
    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """The value, None if there is none, and the version at which it was read.

        The element is None for the one that the minter resolves by.  Raises UnansweredError.
        """


class MinterResolver(ReplySource):
    """Answers from one minter, however often its database is replaced."""

    def __init__(self, dbdir: str, *, codes: bool = False) -> None:
        self._dbdir = dbdir
        self._codes = codes
        self._minter: Minter | None = None
        self._store: Store | None = None
        self._last_error = ""
        self._retry_at = 0.0

    def version(self) -> object | None:
        return None if self._store is None else self._store.version(max_age=_MAX_AGE)

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        minter = self._minter or self._open()
        if minter is None:
            return None, None

        def find(reader: Reader) -> tuple[bytes | None, Outcome | None, object | None]:
            wanted = element or target_element(reader)
            plain = plain_target(minter, reader, name, wanted)
            outcome = Lookup(minter, reader, wanted).find(name) if plain is None else None
            return plain, outcome, reader.version()

        try:
            plain, outcome, version = minter.read(find, max_age=_MAX_AGE)
            if outcome is None:
                return plain, version
            if outcome.kind == ALIAS:
                outcome = resolve(minter, name, element=element)
        except NoidError as error:
            self._log_once(error.message)
            raise UnansweredError from None
        self._last_error = ""
        return self._reply_text(outcome), version

    def _open(self) -> Minter | None:
        """Open the minter, unless that failed less than `_RETRY_INTERVAL` seconds ago."""
        if monotonic() >= self._retry_at:
            try:
                self._minter = Minter(self._dbdir)
                self._store = self._minter.store
            except NoidError as error:
                self._log_once(error.message)
                self._retry_at = monotonic() + _RETRY_INTERVAL
        return self._minter

    def _reply_text(self, outcome: Outcome) -> bytes | None:
        if outcome.kind == GONE:
            return b"410" if self._codes else None
        for target in outcome.targets:
            if targets.leads_to_commands(target.url):
                continue
            # A path belongs to the server itself, and is not encoded.
            text = target.url if target.url[:1] == b"/" else targets.location(target.url) or target.url
            # The server does not redirect to a path, so a redirect code does not apply.
            return b"%d %b" % (target.code, text) if self._codes and target.code and text[:1] != b"/" else text
        return None

    def _log_once(self, message: str) -> None:
        if message != self._last_error:
            log_line("noidr", message)
            self._last_error = message


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
    """The folder of the minter, from the program's name: noidr_kt5 means kt5, beside the program if there is a minter,
    else in the working folder.

    A web server starts the program in a folder of its own choice, and perhaps before the minter is created.
    """
    name = os.path.basename(program).partition("_")[2]
    beside = os.path.join(os.path.dirname(program), name)
    if not name:
        return "."
    there = [folder for folder in (beside, name) if exists(location_of(folder))]
    return there[0] if there else beside
