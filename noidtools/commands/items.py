"""Commands for items: which minter names one, and the identifier that it has for ever."""

from __future__ import annotations

import os
from contextlib import closing
from hashlib import sha256

from ..errors import ConflictError, InvalidError, NoMinterError, NotFoundError, StoreError, UsageError, printable
from ..minter import Minter
from ..minter.items import ensure_item, identifier_of, identify_item
from ..minter.policies import BIND, MINT
from ..rules import Rule
from . import lines
from .answers import Answer, Ids, Values
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import Call

    # The minter for an item, None for an item that the rule does not take.
    RouteRule = Callable[[bytes], bytes | None]


# -- route -----------------------------------------------------------------------------------------------------------

_ROUTES = "routes"
_LONGEST_FILE = 10 << 20


def _route(call: Call) -> Answer:
    return Answer(Values([(b"minter", read_routes(_routes_path(call)).minter_for(call.words[0]))]))


def _routes_path(call: Call) -> str:
    return call.option("routes") or os.path.join(call.session.dbdir, _ROUTES)


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
    """The rules of one file, all of them checked; `minters` are all that they name."""

    __slots__ = ("_name", "_rules", "minters")

    def __init__(self, text: bytes, name: str = "the routes") -> None:
        self._name = name
        self._rules: list[RouteRule] = []
        self.minters: list[bytes] = []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            try:
                rule, minters = _parse_route(lines.split_words(line))
            except (InvalidError, UsageError) as error:
                raise InvalidError(f"line {number} of {name}: {error.message}") from None
            self._rules.append(rule)
            self.minters += [minter for minter in minters if minter not in self.minters]

    def minter_for(self, item: bytes) -> bytes:
        """The minter for an item; raises NotFoundError if no line takes it."""
        ensure_item(item)
        for rule in self._rules:
            minter = rule(item)
            if minter is not None:
                return minter
        raise NotFoundError(f"no line of {self._name} takes {printable(item[:200])}: end the file with a share line, "
                            "which takes all")


def _parse_route(line: list[bytes]) -> tuple[RouteRule, list[bytes]]:
    """The rule of a line, and the minters that it names."""
    kind, *rest = line
    if kind == b"match" and len(rest) == 2:
        return _match(*rest), rest[1:]
    if kind == b"share" and rest:
        return _share(rest), rest
    raise InvalidError("a route is 'match PATTERN MINTER' or 'share MINTER MINTER …'")


def _match(pattern: bytes, minter: bytes) -> RouteRule:
    rule = Rule(pattern, b"")
    return lambda item: None if rule.apply(item) is None else minter


def _share(minters: list[bytes]) -> RouteRule:
    if len(set(minters)) < len(minters):
        raise InvalidError("a minter is named twice among those that share")

    def weight(minter: bytes, item: bytes) -> bytes:
        # The length keeps two pairs of a minter and an item from giving the same text.
        return sha256(b"%d:%b%b" % (len(minter), minter, item)).digest()

    return lambda item: max(minters, key=lambda minter: weight(minter, item))


# -- identify --------------------------------------------------------------------------------------------------------


def _identify(call: Call) -> Answer:
    item = call.words[0]
    if call.session.local and (call.option("routes") or os.path.exists(_routes_path(call))):
        return Answer(Ids([_identify_among(call, item)]), spaced=True)
    return Answer(Ids([call.change(identify_item, item)[0]]), spaced=True)


def _identify_among(call: Call, item: bytes) -> bytes:
    """The identifier of an item in the minter to which the routes lead; or in another one that they name and that gave
    it one before they were changed."""
    path = _routes_path(call)
    routes = read_routes(path)
    chosen = routes.minter_for(item)
    with closing(_minter_at(path, chosen)) as minter:
        if minter.read(lambda reader: identifier_of(reader, item)) is None:
            for name in routes.minters:
                known = _identified_at(path, name, item) if name != chosen else None
                if known is not None:
                    return known
        return minter.write(lambda writer: identify_item(minter, writer, call.actor, item))[0]


def _identified_at(path: str, name: bytes, item: bytes) -> bytes | None:
    """The identifier that another minter has for an item; None if it has none, is not there or is on another server."""
    if b"://" in name:
        return None
    try:
        with closing(_minter_at(path, name)) as minter:
            known = minter.read(lambda reader: identifier_of(reader, item))
            return None if known is None else minter.namespace.display(known)
    except NoMinterError:
        return None


def _minter_at(path: str, name: bytes) -> Minter:
    """The minter that a line of the routes names: a folder, relative to that of the file."""
    if b"://" in name:
        raise ConflictError(f"the routes lead to {printable(name[:200])}, another server: identify the item there")
    return Minter(os.path.join(os.path.dirname(path), os.fsdecode(name)))


# -- the commands ----------------------------------------------------------------------------------------------------

_OPTION = Option("--routes File", "the rules; Dbdir/routes, unless given")

COMMANDS = (
    Command(
        "route", "choose the minter for an item, by rules in a file",
        Form("Item [--routes File]", _route),
        options=(_OPTION,), shell_only=True, also=("identify", "mint"), see="time-labels.md",
        about="""\
A line "match PATTERN MINTER" takes the items whose names match; a line "share MINTER MINTER …" takes all others and
distributes them evenly. The first line that takes an item decides. The same item always goes to the same minter. A
minter that is added takes its share from all others, and moves nothing between them.
""",
        example="""\
$ printf 'match ^map/ maps\\nshare books papers\\n' > routes
$ noid route map/17
maps
""",
    ),
    Command(
        "identify", "give an item its identifier, the same one every time",
        Form("Item", _identify, MINT, BIND, mints=1),
        Form("Item --routes File", _identify, shell_only=True),
        options=(_OPTION,), also=("route", "mint", "find"), see="time-labels.md#which-server-names-an-item",
        about="""\
The first time, it mints an identifier and binds the item to it as the element item. Later it gives the same identifier,
whatever has been bound to it since. An item is any text of up to 10000 bytes, such as a path, an inventory number or a
digest.

At the shell, if there is a file of routes (see route), the minter that it chooses mints; minters are folders relative
to the file. An item that another minter of the file identified before the routes were changed keeps its identifier.
""",
        example="""\
$ noid identify inventory/1874-31
id: 13030/ktrn327

$ noid identify inventory/1874-31
id: 13030/ktrn327

""",
    ),
)
