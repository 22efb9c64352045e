"""The command that assigns items to minters by a file of routes.

A line of the file is one rule; the first that takes an item decides.

    match PATTERN MINTER     items whose name matches the pattern
    share MINTER MINTER …    all other items, distributed evenly

Words are separated and quoted as in a shell, and lines that begin with # are comments.  A minter is any word that means
something to the caller: a folder, a URL.

Sharing is rendezvous hashing: an item goes to the minter for which the digest of both names is the highest.  So one
item always goes to the same minter, on every computer; a minter that is added takes its part from all others and moves
nothing between them; and one that is removed moves only its own.
"""

from __future__ import annotations

import os
from hashlib import sha256

from ..errors import InvalidError, NotFoundError, StoreError, UsageError, printable
from ..rules import Rule
from . import lines
from .answers import Answer
from .command import Command, Form, Option
from .records import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import Call

    # The minter for an item, None for an item that the rule does not take.
    RouteRule = Callable[[bytes], bytes | None]

_ROUTES = "routes"
_LONGEST_FILE = 10 << 20
_LONGEST_ITEM = 10_000


def _route(call: Call) -> Answer:
    path = call.option("routes") or os.path.join(call.session.dbdir, _ROUTES)
    return Answer(Values([(b"minter", read_routes(path).minter_for(call.words[0]))]))


def read_routes(path: str) -> Routes:
    """The routes in a file; raises StoreError if it cannot be read, InvalidError if it is too large or wrong."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise StoreError(f"the file of routes {path} cannot be read: {error.strerror}") from None
    if len(text) > _LONGEST_FILE:
        raise InvalidError(f"the file of routes {path} has more than {_LONGEST_FILE} bytes")
    return Routes(text, path)


class Routes:
    """The rules of one file, all of them checked."""

    __slots__ = ("_name", "_rules")

    def __init__(self, text: bytes, name: str = "the routes") -> None:
        self._name = name
        self._rules: list[RouteRule] = []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            try:
                self._rules.append(_parse_route(lines.split_words(line)))
            except (InvalidError, UsageError) as error:
                raise InvalidError(f"line {number} of {name}: {error.message}") from None

    def minter_for(self, item: bytes) -> bytes:
        """The minter for an item; raises NotFoundError if no line takes it."""
        if not item or len(item) > _LONGEST_ITEM:
            raise InvalidError(f"the name of an item has 1 to {_LONGEST_ITEM} bytes, not {len(item)}")
        for rule in self._rules:
            minter = rule(item)
            if minter is not None:
                return minter
        raise NotFoundError(f"no line of {self._name} takes {printable(item[:200])}: end the file with a share line, "
                            "which takes all")


def _parse_route(line: list[bytes]) -> RouteRule:
    kind, *rest = line
    if kind == b"match" and len(rest) == 2:
        return _match(*rest)
    if kind == b"share" and rest:
        return _share(rest)
    raise InvalidError("a route is 'match PATTERN MINTER' or 'share MINTER MINTER …'")


def _match(pattern: bytes, minter: bytes) -> RouteRule:
    rule = Rule(pattern, b"")
    return lambda item: None if rule.apply(item) is None else minter


def _share(minters: list[bytes]) -> RouteRule:
    if len(set(minters)) < len(minters):
        raise InvalidError("a minter is named twice among those that share")

    def weight(minter: bytes, item: bytes) -> bytes:
        # With the length no two pairs of names give the same text.
        return sha256(b"%d:%b%b" % (len(minter), minter, item)).digest()

    return lambda item: max(minters, key=lambda minter: weight(minter, item))


COMMANDS = (
    Command(
        "route", "which of several minters names an item, by rules in a file",
        Form("Item [--routes File]", _route, too_few="which item?", too_many="which item?"),
        options=(Option("--routes File", "the rules; Dbdir/routes, unless given"),), shell_only=True,
        see="time-labels.md",
        about="""\
A line of the file is "match PATTERN MINTER", which takes the items whose name matches, or "share MINTER MINTER …",
which takes all others and distributes them evenly. The first line that takes an item decides. The same item always
comes to the same minter; one that is added takes its part from all others and moves nothing between them.
""",
        example="""\
$ printf 'match ^map/ maps\\nshare books papers\\n' > routes
$ noid route map/17
maps
""",
    ),
)
