"""The protocol of a program for a web server's rewriting engine: one reply line for each request line, from a source
of values.  What the lines mean is in noidr.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..console import log_line
from ..errors import NoidError
from ..names import targets
from .pipe_worker import LONGEST_ATOMIC, NULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Log = Callable[[str], None]
    ReadVersion = Callable[[float], object | None]
    FindPlain = Callable[[bytes, bytes | None], tuple[bytes | None, object | None]]

LONGEST_LINE = 1 << 20

# Seconds after which a database that was replaced by another is noticed at the latest.
MAX_AGE = 0.01

# With --compact replies begin with this octet, which occurs nowhere else in them.  A process of a web server may be
# killed when it has read a part of a reply; without this mark the next one could take the rest for a reply to its own
# request.
_START = b"\x02"

# A compact reply can carry a target that begins with _HTTPS.  _BAR separates the rest of the name from what comes
# before it, in a reply that ends with the name.
_HTTPS, _BAR = b"https://", b"|"

# How many replies are cached, and how long they may be: with their requests some twenty megabytes at most.
_MOST_CACHED, _LONGEST_CACHED = 20_000, 500

# When this many replies are cached, each further one is cached with a probability of one in sixteen, which is when
# none of these bits is set in a random number.  So a name that is often asked for is soon cached, and those that are
# asked for once, as by crawlers, take little time and place.
_CACHED_AT_ONCE, _NOT_CACHED = 1_000, 0xF000


def log(message: str) -> None:
    log_line("noidr", message)


class ReplyProtocol:
    """The protocol: bytes in, bytes out, no input or output of its own."""

    __slots__ = (
        "incomplete", "_bare", "_cache", "_compact", "_echo", "_element", "_end_of_target", "_find_plain", "_log",
        "_random", "_read_version", "_resolver", "_rest", "_skipping", "_start", "_unanswered", "_version", "_whole",
    )

    def __init__(
        self, resolver: ReplySource, element: bytes | None = None, *, echo: bool = False, compact: bytes | None = None,
        unanswered: bytes = b"NULL", log: Log = log, skip: bool = False,
    ) -> None:
        """`unanswered` is the reply where the database cannot be read; with `skip` the input begins within a line."""
        self._resolver = resolver
        self._element = element
        self._echo = echo
        self._compact = compact
        self._start = b"" if compact is None else _START
        # Whether replies are values and nothing else.
        self._bare = not echo and compact is None
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
        # The last number of a simple random sequence.
        self._random = 0
        self._version: object | None = None
        self._read_version, self._find_plain = resolver.store_functions()
        # The cache while no incomplete line is waiting for its end, else an empty dictionary.
        self._whole = {} if skip else self._cache

    def reply_to_line(self, piece: bytes) -> bytes | None:
        """The reply to a piece of the input that is one line, since a server sends one and waits; None: this is for
        `feed`.  The reply is so short that a pipe takes it at once."""
        known = self._whole.get(piece)
        if known is not None:
            # Quicker than a call of the attribute, which Python takes for a method.
            read_version = self._read_version
            try:
                version = read_version(MAX_AGE)
                return known if version is self._version or version == self._version else None
            except Exception:  # noqa: BLE001 - `feed` meets with the same error
                return None
        if self._whole is not self._cache:
            return None
        line, end, more = piece.partition(b"\n")
        if more or not end:
            return None
        reply = self.reply(line, piece)
        return reply if len(reply) <= LONGEST_ATOMIC else None

    def may_be_second(self, piece: bytes) -> bool:
        """Whether a server may send this after a compact request, whose reply was none, or that of another one."""
        return self._compact is not None and piece[:1] != b"/"

    def feed(self, piece: bytes) -> bytes:
        """The replies to all lines that this piece of the input completes."""
        try:
            version = self._resolver.version(MAX_AGE)
        except Exception as error:  # noqa: BLE001 - as in `reply`
            self._log(f"the database could not be read: {type(error).__name__}: {error}")
            version = None
        self._use_version(version)
        *lines, rest = (self._rest + piece).split(b"\n")
        replies = []
        for line in lines:
            request = line + b"\n" if len(line) < _LONGEST_CACHED else b""
            replies.append(NULL if self._skipping else self._cache.get(request) or self.reply(line, request))
            self._skipping = False
        self._rest = rest
        if self._skipping or len(rest) > LONGEST_LINE:
            # No name is that long: of the rest of this line only the end matters.
            self._rest, self._skipping = b"", True
        self.incomplete = bool(self._rest) or self._skipping
        self._whole = {} if self.incomplete else self._cache
        return b"".join(replies)

    def _use_version(self, version: object | None) -> None:
        """Clear the cache if it is of another version or another store.  While the version is None it stays empty."""
        read_version, self._find_plain = self._resolver.store_functions()
        if version != self._version or read_version != self._read_version:
            self._cache.clear()
        self._version, self._read_version = version, read_version

    def end(self) -> bytes:
        """The reply to a last line without line break."""
        return self.feed(b"\n") if self.incomplete else b""

    def reply(self, line: bytes, request: bytes) -> bytes:
        """The reply line to a request line, NULL if it fails; `request` is the line with its line break, or nothing if
        the reply is not to be cached."""
        reply, version = self._look_up(line)
        if version is not self._version:
            self._use_version(version)
        if version is None or not request or len(reply) > _LONGEST_CACHED:
            return reply
        if len(self._cache) >= _CACHED_AT_ONCE:
            self._random = random = (self._random * 25173 + 13849) & 0xFFFF
            if random & _NOT_CACHED:
                return reply
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
        self._cache[request] = reply
        return reply

    def _look_up(self, line: bytes) -> tuple[bytes, object | None]:
        """The reply to a line that is not cached; and the version of the database in which that was read, None if it is
        unknown."""
        name, element = line, self._element
        if element is None and line[:4] == b"get ":
            name, blank, element = line[4:].rstrip().rpartition(b" ")
            if not blank:
                name, element = line, None  # a name as a whole
        asked, rest, prefix = name, b"", self._compact
        if prefix is not None and line[:1] == b"/":
            rest = line[1:]
            asked = prefix + rest
        find_plain = self._find_plain
        try:
            try:
                value, version = find_plain(asked, element)
            except NoidError:
                value = None  # `answer` meets with the same error
            if value is None:
                value, version = self._resolver.answer(asked, element)
                value = None if value is None else targets.one_line(value)
        except UnansweredError:
            return self._line(name, self._unanswered), None
        except Exception as error:  # noqa: BLE001 - an unforeseen error must not end the loop or shift the replies
            self._log(f"a request could not be answered: {type(error).__name__}: {error}")
            return self._line(name, self._unanswered), None
        if rest and value is not None and rest.isalnum() and value[:8] == _HTTPS:
            return self._compact_line(rest, value) or self._line(name, value), version
        return value + b"\n" if self._bare and value is not None else self._line(name, value), version

    def _compact_line(self, rest: bytes, value: bytes) -> bytes | None:
        """A reply line with the rest of a name and its https address; None if it could be taken for another one.

        Other replies are recognised by a blank, and those that end with the rest of the name by _BAR.
        """
        if b" " in value or _BAR in value:
            return None
        end = self._end_of_target + rest
        if value.endswith(end, 8) and b"?" not in value:
            return _START + value[8 : 1 - len(end)] + _BAR + rest + b"\n"
        return _START + rest + value[7:] + b"\n"

    def _line(self, name: bytes, value: bytes | None) -> bytes:
        """A reply line; the value is None or one line already."""
        if self._echo:
            # A server takes a name with nothing behind it for no reply at all.
            return self._start + targets.one_line(name) + b" " + (value or b"NULL") + b"\n"
        return self._start + (b"NULL" if value is None else value) + b"\n"


class UnansweredError(Exception):
    """The database could not be read; the reply is not cached."""


class ReplySource(ABC):
    """Where the values of names come from."""

    @abstractmethod
    def version(self, max_age: float) -> object | None:
        """Equal versions: all answers between them are still valid.  None: unknown.  `max_age`: as in `Store.read`."""

    def find_plain(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """As `answer`, for values that are found quickly and have no control characters; None, or NoidError is raised:
        `answer` has to look."""
        return None, None

    def store_functions(self) -> tuple[ReadVersion, FindPlain]:
        """The functions of the store that `version` and `find_plain` would call, which saves a call for each line.

        They are others when another store is read.
        """
        return self.version, self.find_plain

    @abstractmethod
    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, object | None]:
        """The value, None if there is none, and the version at which it was read.

        The element is None for the one that the minter resolves by.  Raises UnansweredError.
        """
