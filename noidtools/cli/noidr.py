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
`https:/`.  If the target ends with a slash and the name without `ark:/`, and has no
query, the reply is what is between `https://` and that name, `|` and the rest.
Apache reads replies byte by byte, which is a good part of what a redirect costs it.
The replies of the worker then begin with the octet 2, by which a server sees that they
are whole, and a request that comes while a reply is still unread gets none, because
the process that was to read that has died: with --compact a server has to wait for
each reply, and with --echo it recognises its own.

Requests can only read.  Each line gets exactly one reply line, in order, and an error
makes the reply NULL (reply_protocol.py).  A worker process answers, and another one
replaces it if it dies (pipe_worker.py).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import monotonic

from ..console import log_line
from ..errors import NoidError, NoMinterError, UsageError
from ..minter import Minter, default_dbdir, location_of
from ..names import targets
from ..resolution import ALIAS, GONE, Lookup, plain_targets, resolve
from ..store import exists, open_through
from .pipe_worker import Supervisor
from .reply_protocol import MAX_AGE, ReplyProtocol, ReplySource, UnansweredError, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.public_values import PublicValues
    from ..resolution import Outcome
    from ..store import Reader, Store
    from .reply_protocol import FindPlain, Log, ReadVersion
    from .worker_state import SharedState

# Seconds before a database that could not be opened is tried again.
_RETRY_INTERVAL = 0.25


class NoDatabase(ReplySource):
    """Answers nothing, while no worker can read the database."""

    def version(self, max_age: float) -> object | None:
        return None

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        raise UnansweredError


class MinterResolver(ReplySource):
    """Answers from one minter, however often its database is replaced."""

    def __init__(self, dbdir: str, *, codes: bool = False, log: Log = log) -> None:
        self._dbdir = dbdir
        self._codes = codes
        self._log = log
        # The values of the minter while it is open, and its store.
        self._plain: PublicValues | None = None
        self._store: Store | None = None
        self._last_error = ""
        self._retry_at = 0.0

    def version(self, max_age: float) -> object | None:
        return None if self._store is None else self._store.version(max_age)

    def store_functions(self) -> tuple[ReadVersion, FindPlain]:
        if self._plain is None or self._store is None:
            return self.version, self.find_plain
        return self._store.version, self._plain.find

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
        if plain.minter.store is not self._store:
            # The minter was moved to another engine.
            self._plain, self._store = plain_targets(plain.minter, MAX_AGE), plain.minter.store
        return self._reply_text(outcome), version

    @staticmethod
    def _resolve(minter: Minter, name: bytes, element: bytes | None) -> tuple[Outcome, object | None]:
        def find(reader: Reader) -> tuple[Outcome, object | None]:
            return Lookup(minter, reader, element).find(name), reader.version()

        outcome, version = minter.read(find, max_age=MAX_AGE)
        # The version is that of the first lookup, so that the reply is not cached longer than it is valid.
        return resolve(minter, name, element=element) if outcome.kind == ALIAS else outcome, version

    def _open(self) -> PublicValues | None:
        """Open the minter, unless that failed less than `_RETRY_INTERVAL` seconds ago."""
        if monotonic() >= self._retry_at:
            try:
                minter = Minter(self._dbdir, resolving=True)
                self._plain, self._store = plain_targets(minter, MAX_AGE), minter.store
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
        for _ in range(3):  # by then the headers of the data file are watched
            resolver.version(MAX_AGE)
    resolver.close()


def answer_requests(
    dbdir: str, element: bytes | None, *, codes: bool, echo: bool, compact: bytes | None = None
) -> int:
    """Answer requests on standard input from the minter in a folder."""
    unanswered = b"503" if codes else b"NULL"

    def protocol(state: SharedState, skip: bool) -> ReplyProtocol:
        # The files of a store may be written when it is opened.
        open_through(state.write_elsewhere)
        return new_protocol(MinterResolver(dbdir, codes=codes, log=state.log), state, skip)

    def unavailable(state: SharedState, skip: bool) -> ReplyProtocol:
        return new_protocol(NoDatabase(), state, skip)

    def new_protocol(source: ReplySource, state: SharedState, skip: bool) -> ReplyProtocol:
        return ReplyProtocol(source, element, echo=echo, compact=compact, unanswered=unanswered, log=state.log,
                             skip=skip)

    _import_ahead(dbdir, element)
    try:
        return Supervisor(protocol, unavailable, in_step=compact is not None).run()
    except KeyboardInterrupt:
        return 0
