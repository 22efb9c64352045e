"""The interface for a web server's rewriting engine: `noidr`, one reply line for each request line.

    noidr [-f Dbdir] [--element NAME] [--codes] [--echo]

A request is `get NAME ELEMENT`, where the last word is the element and all between is the name, or any other line,
which is a name as a whole.  With --element every line is a name as a whole, whatever it looks like.  The reply is the
target, or NULL.  A target that is a URL is written as it may stand in a Location header; a path, or any other value, as
it was bound, up to its first line break and with control characters escaped.

--codes  a target bound with its own redirect code has that in front, the reply for a withdrawn name is 410, and it is
         503 if the database cannot be read
--echo   each reply, NULL included, begins with the octet 2, the requested name and a blank, by which a client that
         waits for each reply recognises its own

Requests can only read.  Each line gets exactly one reply line, in order, and an error makes the reply NULL.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from time import monotonic

from ..commands import Invocation
from ..console import log_line
from ..errors import NoidError, StoreError, UsageError
from ..minter import Minter, default_dbdir
from ..names import targets
from ..resolution import GONE, Lookup, follow_aliases, target_element
from ..resolution.naans import registry_version
from ..statistics.counting import ResolutionCounter, counted_name
from .supervisor import MARK, Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..resolution import Outcome
    from ..store import Reader

# Seconds before a database that could not be opened is tried again.
_RETRY_INTERVAL = 0.25

# How many replies are cached, and how long they may be: with their requests some twenty megabytes at most.
_MOST_CACHED, _LONGEST_CACHED = 20_000, 500


def log(message: str) -> None:
    log_line("noidr", message)


class Replies:
    """The reply lines to request lines, from the minter in a folder, however often its database is replaced.

    element  the element that holds the targets, if every line is a name; None if a line may name the element, which
             otherwise is the one that the minter uses
    """

    def __init__(
        self, dbdir: str, element: bytes | None = None, *, codes: bool = False, echo: bool = False,
        log: Callable[[str], None] = log,
    ) -> None:
        self._dbdir = dbdir
        self._element = element
        self._codes = codes
        self._echo = echo
        self._log = log
        self._unanswered = b"503" if codes else b"NULL"
        self._minter: Minter | None = None
        self._retry_at = 0.0
        self._last_error = ""
        # Replies by request line, valid for one version of the database and of the NAAN registry, each with the name to
        # count, if any.
        self._cache: dict[bytes, tuple[bytes, bytes | None]] = {}
        self._counter = ResolutionCounter()
        self._version: object | None = None

    @property
    def unanswered_line(self) -> bytes:
        """The reply to a request that nobody could look at: with --echo, one that no client takes for its own."""
        return self._line(b"", self._unanswered)

    def reply(self, line: bytes) -> bytes:
        """The reply line to a request line."""
        try:
            minter = self._minter or self._open()
            known = self._cache.get(line)
            naans = registry_version(self._dbdir)
            if known is not None and (minter.store.version(), naans) == self._version:
                self._count(known[1])
                return known[0]
            version, (reply, counted) = minter.read(lambda reader: ((minter.store.version(), naans),
                                                                    self._look_up(minter, reader, line)))
            self._count(counted)
        except Exception as error:  # noqa: BLE001 - no error may end the loop or shift the replies
            self._fail(error)
            return self._line(self._parse(line)[0], self._unanswered)
        self._last_error = ""
        if version != self._version or len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
            self._version = version
        if len(line) + len(reply) <= _LONGEST_CACHED:
            self._cache[line] = reply, counted
        return reply

    def _look_up(self, minter: Minter, reader: Reader, line: bytes) -> tuple[bytes, bytes | None]:
        """The reply line, and the name to count, None if there is none."""
        name, element = self._parse(line)
        outcome = follow_aliases(Lookup(minter, reader, element).find, name)
        value = self._value(outcome)
        # A request for another element is not somebody on the way to a target, and is not counted.
        leads = element in (None, self._element) or element == target_element(reader)
        return self._line(name, value), counted_name(outcome) if leads and value != b"NULL" else None

    def _count(self, name: bytes | None) -> None:
        if name is not None:
            self._counter.add(self._dbdir, name)

    def _parse(self, line: bytes) -> tuple[bytes, bytes | None]:
        """The name and the element that a line asks for."""
        if self._element is None and line.startswith(b"get "):
            name, blank, element = line[4:].rstrip().rpartition(b" ")
            if blank:
                return name, element
        return line, self._element

    def _value(self, outcome: Outcome) -> bytes:
        if outcome.kind == GONE:
            return b"410" if self._codes else b"NULL"
        for target in outcome.targets:
            # A path belongs to the server itself, and is not encoded.
            is_path = target.url[:1] == b"/"
            text = None if is_path else targets.location(target.url)
            if text is None:
                if targets.leads_to_commands(target.url):
                    continue
                text = target.url
            # The server does not redirect to a path, so a redirect code does not apply.
            return b"%d %b" % (target.code, text) if self._codes and target.code and not is_path else text
        return b"NULL"

    def _line(self, name: bytes, value: bytes) -> bytes:
        start = MARK + targets.one_line(name) + b" " if self._echo else b""
        return start + targets.one_line(value) + b"\n"

    def _open(self) -> Minter:
        """Open the minter, unless that failed less than `_RETRY_INTERVAL` seconds ago."""
        if monotonic() < self._retry_at:
            raise StoreError(self._last_error)
        try:
            self._minter = Minter(self._dbdir, resolving=True)
        except NoidError:
            self._retry_at = monotonic() + _RETRY_INTERVAL
            raise
        self._cache.clear()
        return self._minter

    def _fail(self, error: Exception) -> None:
        """Log why a request was not answered, once; after an error of the store, it is opened again."""
        if isinstance(error, StoreError):
            self.close()
        message = (error.message if isinstance(error, NoidError)
                   else f"a request could not be answered: {type(error).__name__}: {error}")
        if message != self._last_error:
            self._last_error = message
            self._log(message)

    def flush_counts(self) -> None:
        """Write what was counted, before the process ends."""
        self._counter.flush()

    def close(self) -> None:
        minter, self._minter = self._minter, None
        if minter is not None:
            minter.close()


def main(argv: list[str] | None = None) -> int:
    program, *words = sys.argv if argv is None else argv
    # A web server starts it in a folder of its own choice, and perhaps before the minter is created.
    dbdir = default_dbdir(program, os.environ.get("NOID", ""), os.path.dirname(program), "")
    if words[:1] == ["-f"] and len(words) > 1:
        dbdir, words = words[1], words[2:]
    try:
        return run(dbdir, [os.fsencode(word) for word in words])
    except UsageError as error:
        log(error.message)
        return 2


def run(dbdir: str, words: list[bytes]) -> int:
    """Answer the requests on standard input from the minter in a folder, until the input ends; `words` are options."""
    invocation = Invocation([b"resolve-loop", *words])
    invocation.ensure_fits()
    element, echo = invocation.option("element"), invocation.flag("echo")
    replies = Replies(dbdir, None if element is None else element.encode(), codes=invocation.flag("codes"), echo=echo)
    # What this imports is then loaded in every worker, so that one that replaces a dead one answers at once.
    with suppress(NoidError):
        Minter(dbdir, resolving=True).close()
    return Supervisor(replies.reply, replies.unanswered_line, echo=echo, at_end=replies.flush_counts).run()
