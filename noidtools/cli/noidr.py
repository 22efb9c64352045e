"""The interface for a web server's rewriting engine: `noidr`, one reply line for each request line.

    noidr [-f Dbdir] [--element NAME] [--codes] [--echo] [--compact PREFIX]

A request is `get NAME ELEMENT`, where the last word is the element and all
between is the name, or any other line, which is a name as a whole.  With
--element every line is a name as a whole, whatever it looks like.  The reply
is the target, or NULL.  A target that is a URL is written as it may stand in a
Location header; a path, or any other value, as it was bound, up to its first
line break and with control characters escaped.  With --codes a target bound
with its own redirect code has that in front, the reply for a withdrawn name is
410, and 503 if the database cannot be read.  With --echo each reply, NULL
included, begins with the requested name and a blank, so that a server can check
that the reply belongs to its request.  With --compact a request that begins with
a slash is a name without this prefix; if the rest has only letters and digits, and
the target is a https address, the reply is that rest and the target without
`https:/`, or this alone if the target ends with a slash and the name, without
`ark:/` and without a query: then it can be recognised by its end.  Apache reads
replies byte by byte, which is a good part of what a redirect costs it.

Requests can only read.  Each line gets exactly one reply line: `feed` has the
reply before it processes the next line, and an error makes the reply NULL.  A
worker process answers, and another one replaces it if it dies (pipe_worker.py).
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from time import monotonic

from ..console import log_line
from ..errors import NoidError, NoMinterError, UsageError
from ..minter import Minter, default_dbdir, location_of
from ..names import targets
from ..resolution import ALIAS, GONE, Lookup, plain_targets, resolve
from ..store import exists
from .pipe_worker import NULL, Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..minter.public_values import PublicValues
    from ..resolution import Outcome
    from ..store import Reader, Store

    Log = Callable[[str], None]

LONGEST_LINE = 1 << 20

# A target that a compact reply can carry, and the part that it leaves out.
_HTTPS, _LEFT_OUT = b"https://", len(b"https:/")

# How many replies are cached, and how long a request and its reply together may be: some twenty megabytes at most.
_MOST_CACHED, _LONGEST_CACHED = 20_000, 1_000

# Beyond so many replies, one is cached when its line comes for the second time: names that are asked for once, as by
# crawlers, take neither time nor the place of others.  Which lines came is noted by so many values of their hashes.
_CACHED_AT_ONCE, _NOTED = 2_000, 1 << 16

# Seconds after which a database that was replaced by another is noticed at the latest, and seconds before one that
# could not be opened is tried again.
_MAX_AGE, _RETRY_INTERVAL = 0.01, 0.25


def _log(message: str) -> None:
    log_line("noidr", message)


class ReplyProtocol:
    """The protocol: bytes in, bytes out, no input or output of its own."""

    __slots__ = ("_resolver", "_latest_version", "_element", "_echo", "_compact", "_end_of_target", "_unanswered",
                 "_log", "_rest", "_skipping", "_cache", "_asked", "_version", "_whole", "incomplete")

    def __init__(
        self, resolver: ReplySource, element: bytes | None = None, *, echo: bool = False, compact: bytes | None = None,
        unanswered: bytes = b"NULL", log: Log = _log, skip: bool = False,
    ) -> None:
        """`unanswered` is the reply where the database cannot be read; with `skip` the input begins within a line."""
        self._resolver = resolver
        self._element = element
        self._echo = echo
        self._compact = compact
        # What comes before the rest of a name at the end of a target that has the whole name there.
        self._end_of_target = b"/" + (compact or b"").removeprefix(b"ark:/")
        self._unanswered = unanswered
        self._log = log
        self._rest = b""
        self._skipping = skip
        # Whether the input so far ends within a line.
        self.incomplete = skip
        # Replies by request line with its line break, valid for one version of the database.
        self._cache: dict[bytes, bytes] = {}
        # 1 for each hash of a line that came before.
        self._asked = bytearray(_NOTED)
        self._version: object | None = None
        self._latest_version = resolver.version
        # The cache while no incomplete line is waiting for its end, else an empty dictionary.
        self._whole = {} if skip else self._cache

    def feed(self, piece: bytes) -> bytes:
        """The replies to all lines that this piece of the input completes."""
        # A server sends one line and waits for its reply: the way of such a piece is the shortest.
        known = self._whole.get(piece)
        if known is None and self._whole is self._cache:
            line, end, more = piece.partition(b"\n")
            if end and not more:
                return self.reply(line, piece)
        # Quicker than a call of the attribute, which Python takes for a method.
        latest_version = self._latest_version
        try:
            version = latest_version()
        except Exception as error:  # noqa: BLE001 - as in `reply`
            self._log(f"the database could not be read: {type(error).__name__}: {error}")
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
        self.incomplete = bool(self._rest) or self._skipping
        self._whole = {} if self.incomplete else self._cache
        return b"".join(replies)

    def _use_version(self, version: object | None) -> None:
        """Clear the cache if it is of another version.  It is empty while the version is None."""
        if version != self._version:
            self._cache.clear()
        self._version = version

    def end(self) -> bytes:
        """The reply to a last line without line break."""
        return self.feed(b"\n") if self.incomplete else b""

    def reply(self, line: bytes, piece: bytes = b"") -> bytes:
        """The reply line to a request line; NULL if the request fails.  `piece` is the line with its line break."""
        name, element = line, self._element
        if element is None and line[:4] == b"get ":
            name, element = _parse_get(line)
        asked, rest, prefix = name, b"", self._compact
        if prefix is not None and line[:1] == b"/":
            rest = line[1:]
            asked = prefix + rest
        try:
            value, version = self._resolver.plain_line(asked, element)
            if value is None:
                value, version = self._resolver.answer(asked, element)
                value = None if value is None else targets.one_line(value)
        except UnansweredError:
            return self._line(name, self._unanswered)
        except Exception as error:  # noqa: BLE001 - an unforeseen error must not end the loop or shift the replies
            self._log(f"a request could not be answered: {type(error).__name__}: {error}")
            return self._line(name, self._unanswered)
        # Where the name ends and the target begins must be clear, and by a blank other replies are recognised.
        if rest.isalnum() and value is not None and value[:8] == _HTTPS and b" " not in value:
            reply = value[_LEFT_OUT:] + b"\n"
            if not value.endswith(self._end_of_target + rest) or b"?" in value:
                reply = rest + reply
        else:
            reply = self._line(name, value) if self._echo or value is None else value + b"\n"
        if version is not self._version:
            self._use_version(version)
        if version is None or len(line) + len(reply) >= _LONGEST_CACHED:
            return reply
        line = piece or line + b"\n"
        if len(self._cache) >= _CACHED_AT_ONCE:
            place = hash(line) % _NOTED
            if not self._asked[place]:
                self._asked[place] = 1
                return reply
            self._make_room()
        self._cache[line] = reply
        return reply

    def _make_room(self) -> None:
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
            self._asked = bytearray(_NOTED)

    def _line(self, name: bytes, value: bytes | None) -> bytes:
        """A reply line; the value is None or one line already."""
        if self._echo:
            # A server takes a name with nothing behind it for no reply at all.
            return targets.one_line(name) + b" " + (value or b"NULL") + b"\n"
        return (b"NULL" if value is None else value) + b"\n"


def _parse_get(line: bytes) -> tuple[bytes, bytes | None]:
    """Name and element of a line that begins with `get `; one that has no element is a name as a whole."""
    name, space, element = line[4:].rstrip().rpartition(b" ")
    return (name, element) if space else (line, None)


class UnansweredError(Exception):
    """The database could not be read; the reply is not cached."""


class ReplySource(ABC):
    """Where the values of names come from."""

    @abstractmethod
    def version(self) -> object | None:
        """Equal versions: all answers between them are still valid.  None: unknown."""

    def plain_line(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """As `answer`, for values that are found quickly and have no control characters; None: `answer` has to look."""
        return None, None

    @abstractmethod
    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """The value, None if there is none, and the version at which it was read.

        The element is None for the one that the minter resolves by.  Raises UnansweredError.
        """


class NoDatabase(ReplySource):
    """Answers nothing, while no worker can read the database."""

    def version(self) -> object | None:
        return None

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        raise UnansweredError


class MinterResolver(ReplySource):
    """Answers from one minter, however often its database is replaced."""

    def __init__(self, dbdir: str, *, codes: bool = False, log: Log = _log) -> None:
        self._dbdir = dbdir
        self._codes = codes
        self._log = log
        # The minter while it is open, and its store.
        self._plain: PublicValues | None = None
        self._store: Store | None = None
        self._last_error = ""
        self._retry_at = 0.0

    def version(self) -> object | None:
        return None if self._store is None else self._store.version(_MAX_AGE)

    def plain_line(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        plain = self._plain
        if plain is None:
            return None, None
        try:
            return plain.find(name, element)
        except NoidError:
            return None, None  # `answer` meets with the same error

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        plain = self._plain or self._open()
        if plain is None:
            raise UnansweredError
        try:
            outcome, version = self._resolve(plain.minter, name, element)
        except NoidError as error:
            if isinstance(error, NoMinterError):
                # Perhaps a store of another engine was put in its place.
                self._plain = self._store = None
                plain.minter.close()
                if exists(location_of(self._dbdir)) and self._open() is not None:
                    return self.answer(name, element)
            self._log_once(error.message)
            raise UnansweredError from None
        self._last_error = ""
        return self._reply_text(outcome), version

    @staticmethod
    def _resolve(minter: Minter, name: bytes, element: bytes | None) -> tuple[Outcome, object | None]:
        def find(reader: Reader) -> tuple[Outcome, object | None]:
            return Lookup(minter, reader, element).find(name), reader.version()

        outcome, version = minter.read(find, max_age=_MAX_AGE)
        # The version is that of the first lookup, so that the reply is not cached longer than it is valid.
        return resolve(minter, name, element=element) if outcome.kind == ALIAS else outcome, version

    def _open(self) -> PublicValues | None:
        """Open the minter, unless that failed less than `_RETRY_INTERVAL` seconds ago."""
        if monotonic() >= self._retry_at:
            try:
                minter = Minter(self._dbdir, resolving=True)
                self._plain, self._store = plain_targets(minter, _MAX_AGE), minter.store
            except NoidError as error:
                self._log_once(error.message)
                self._retry_at = monotonic() + _RETRY_INTERVAL
        return self._plain

    def close(self) -> None:
        if self._plain is not None:
            self._plain.minter.close()
            self._plain = self._store = None

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
            self._log(message)
            self._last_error = message


def main(argv: list[str] | None = None) -> int:
    program, *words = sys.argv if argv is None else argv
    # A web server starts it in a folder of its own choice, and perhaps before the minter is created.
    dbdir = default_dbdir(program, os.environ.get("NOID", ""), os.path.dirname(program), "")
    try:
        return _run(dbdir, [os.fsencode(word) for word in words])
    except UsageError as error:
        log_line("noidr", error.message)
        return 2


def _run(dbdir: str, words: list[bytes]) -> int:
    """Parse the options of noidr.  It imports nothing of the command language, so that it starts quickly."""
    element, compact, switches = None, None, set()
    while words:
        option, equals, value = words[0].partition(b"=")
        if words[0] in (b"--codes", b"--echo"):
            switches.add(words[0])
            words = words[1:]
            continue
        if option not in (b"-f", b"--element", b"--compact") or (not equals and len(words) == 1):
            raise UsageError("noidr takes these options: -f Dbdir, --element NAME, --codes, --echo, "
                             "--compact PREFIX")
        value, words = (value, words[1:]) if equals else (words[1], words[2:])
        if option == b"-f":
            dbdir = os.fsdecode(value)
        elif option == b"--compact":
            compact = value
        else:
            element = value
    return answer_requests(dbdir, element, codes=b"--codes" in switches, echo=b"--echo" in switches, compact=compact)


def _import_ahead(dbdir: str, element: bytes | None) -> None:
    """Use the minter once and close it, so that what that imports is there in every worker from its start: one that
    takes the place of a dead one then answers within milliseconds."""
    resolver = MinterResolver(dbdir, log=lambda message: None)  # a worker logs what is wrong
    with suppress(UnansweredError):
        resolver.answer(b"healthz", element)
    resolver.close()


def answer_requests(
    dbdir: str, element: bytes | None, *, codes: bool, echo: bool, compact: bytes | None = None
) -> int:
    """Answer requests on standard input from the minter in a folder."""
    unanswered = b"503" if codes else b"NULL"

    def protocol(log: Log, skip: bool) -> ReplyProtocol:
        resolver = MinterResolver(dbdir, codes=codes, log=log)
        return ReplyProtocol(resolver, element, echo=echo, compact=compact, unanswered=unanswered, log=log, skip=skip)

    def unavailable(log: Log, skip: bool) -> ReplyProtocol:
        return ReplyProtocol(NoDatabase(), element, echo=echo, unanswered=unanswered, log=log, skip=skip)

    _import_ahead(dbdir, element)
    try:
        return Supervisor(protocol, unavailable).run()
    except KeyboardInterrupt:
        return 0
