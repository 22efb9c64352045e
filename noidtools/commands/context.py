"""The command about the context of the names: other labels for it, and resolvers of the names."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import contexts
from ..minter.access import ADMIN
from .answers import Answer, Record
from .command import Command, Form, Option, as_text
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..store import Writer
    from .answers import Line
    from .call import Call


def _show(call: Call) -> Answer:
    return _context_answer(call.minter)


def _set_resolvers(call: Call) -> Answer:
    addresses = [] if call.words[1:] == [b"-"] else call.words[1:]
    call.minter.write(lambda writer: contexts.set_resolvers(writer, call.actor, addresses))
    return _context_answer(call.minter)


def _set_purpose(call: Call) -> Answer:
    text = b"" if call.words[1] == b"-" else call.words[1]
    call.minter.write(lambda writer: contexts.set_purpose(writer, call.actor, text))
    return _context_answer(call.minter)


def _change_alias(call: Call) -> Answer:
    if len(call.values("authority")) > 1:
        raise UsageError("one claim is made by one authority: say context alias From To --authority Who for each")
    alias, target = (as_text(word, "the label of a context") for word in call.words[1:])
    authority = call.option("authority") or ""
    change = contexts.remove_context_alias if call.flag("remove") else contexts.add_context_alias

    def work(writer: Writer) -> None:
        change(writer, call.actor, alias, target, authority)

    call.minter.write(work)
    return _context_answer(call.minter)


class ContextRecord(Record):
    """The labels of the minter, its purpose, the resolvers, and the claims about the context."""

    __slots__ = ("_claims", "_labels", "_purpose", "_resolvers")

    def __init__(
        self, labels: list[bytes], purpose: bytes, resolvers: list[bytes], claims: list[contexts.ContextAlias]
    ) -> None:
        self._labels = labels
        self._purpose = purpose
        self._resolvers = resolvers
        self._claims = claims

    def lines(self) -> Iterable[Line]:
        yield from ((b"label", label, 0) for label in self._labels)
        if self._purpose:
            yield b"purpose", self._purpose, 0
        yield from ((b"resolver", address, 0) for address in self._resolvers)
        for claim in self._claims:
            text = f"{claim.alias} is {claim.target}, according to {claim.authority} since "
            yield b"alias", text.encode() + claim.since, 0

    def data(self) -> list[dict[str, object]]:
        claims = [
            {"alias": claim.alias, "target": claim.target, "authority": claim.authority, "since": claim.since}
            for claim in self._claims
        ]
        purpose = {"purpose": self._purpose} if self._purpose else {}
        return [{"labels": self._labels, **purpose, "resolvers": self._resolvers, "aliases": claims}]


def _context_answer(minter: Minter) -> Answer:
    record = minter.read(lambda reader: ContextRecord(
        minter.labels, contexts.purpose(reader), contexts.resolvers(reader), contexts.context_aliases(reader)
    ))
    if not any(record.lines()):
        return Answer(Fields(("note", b"nothing is said about the context")), spaced=True)
    return Answer(record, spaced=True)


COMMANDS = (
    Command(
        "context", "what else the context of the names is called, and where they are followed",
        Form("", _show, ADMIN, writes=False),
        Form("alias From To --authority Who [--remove]", _change_alias, ADMIN),
        Form("resolver -|Url…", _set_resolvers, ADMIN),
        Form("purpose Text", _set_purpose, ADMIN, too_many="a text of several words is quoted"),
        options=(
            Option("--authority Who", "who claims that the two labels are of one context"),
            Option("--remove", "take the claim back"),
        ),
        see="citing-verifying-describing.md#contexts",
        about="""\
resolver names the web resolvers behind which the names can be followed, the first of which is for links and print; a
hyphen names none. purpose says what the names are for, and a hyphen takes that back. alias records that a context has
another label, so that names under both are the same.
""",
        example="""\
$ noid context resolver https://id.example.org/
resolver: https://id.example.org/

""",
    ),
)
