"""The command about the context of the names: what else it is called, and which resolvers follow them."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import contexts
from .answers import Answer, Fields, Record
from .session import as_text, take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..store import Writer
    from .answers import Line
    from .session import Call

_CONTEXT = (
    "context [alias [--remove] From To --authority Who | resolver Url…], "
    "for instance context alias 102.100.archer 102.100.821 --authority 'the ARCHER project'"
)


def context(call: Call) -> Answer:
    if not call.args:
        return _context_answer(call.minter)
    what = call.args[0]
    options, words = take_options(call.args[1:], ("authority",), ("remove",))
    if what == b"resolver" and words and not options:
        addresses = [] if words == [b"-"] else words
        call.minter.write(lambda writer: contexts.set_resolvers(writer, call.actor, addresses))
        return _context_answer(call.minter)
    if what != b"alias" or len(words) != 2 or len(options.get("authority", [])) != 1:
        raise UsageError(f"say {_CONTEXT}")
    alias, target = (as_text(word, "the label of a context") for word in words)
    deed = contexts.remove_context_alias if "remove" in options else contexts.add_context_alias

    def work(writer: Writer) -> None:
        deed(writer, call.actor, alias, target, options["authority"][0])

    call.minter.write(work)
    return _context_answer(call.minter)


class ContextRecord(Record):
    __slots__ = ("_claims", "_labels", "_resolvers")

    def __init__(self, labels: list[bytes], resolvers: list[bytes], claims: list[contexts.ContextAlias]) -> None:
        self._labels = labels
        self._resolvers = resolvers
        self._claims = claims

    def lines(self) -> Iterable[Line]:
        yield from ((b"label", label, 0) for label in self._labels)
        yield from ((b"resolver", address, 0) for address in self._resolvers)
        for claim in self._claims:
            said = f"{claim.alias} is {claim.target}, according to {claim.authority} since "
            yield b"alias", said.encode() + claim.since, 0

    def data(self) -> list[dict[str, object]]:
        claims = [
            {"alias": claim.alias, "target": claim.target, "authority": claim.authority, "since": claim.since}
            for claim in self._claims
        ]
        return [{"labels": self._labels, "resolvers": self._resolvers, "aliases": claims}]


def _context_answer(minter: Minter) -> Answer:
    found = minter.read(lambda reader: ContextRecord(
        minter.labels, contexts.resolvers(reader), contexts.context_aliases(reader)
    ))
    if not any(found.lines()):
        return Answer(Fields(("note", b"nothing is said about the context")), spaced=True)
    return Answer(found, spaced=True)
