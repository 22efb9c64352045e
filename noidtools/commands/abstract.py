"""The command about abstract contexts, names and identifiers."""

from __future__ import annotations

from ..errors import NotFoundError, printable
from ..minter.access import ADMIN, BIND, READ
from ..minter.relations import abstractions
from ..minter.relations.abstract_names import CONTEXT, IDENTIFIER, NAME, all_abstractions, find_abstraction
from .answers import Answer
from .command import Command, Form, Option
from .records import Blank, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.relations.abstract_names import Abstraction
    from ..store import Reader
    from .answers import Record
    from .call import Call


def _list(call: Call) -> Answer:
    if call.words:
        return _show_one(call, call.words[0])
    found = call.read(lambda reader: [_fields(reader, item) for item in all_abstractions(reader)])
    if not found:
        return Answer(Fields(("note", b"nothing abstract is declared here")), spaced=True)
    records: list[Record] = []
    for fields in found:
        records += [fields, Blank()]
    return Answer(*records[:-1], spaced=True)


def _show(call: Call) -> Answer:
    return _show_one(call, call.words[1])


def _show_one(call: Call, text: bytes) -> Answer:
    minter = call.minter

    def work(reader: Reader) -> Fields:
        abstraction = abstractions.identify_with_abstract(minter, reader, text)[1]
        if abstraction is None:
            raise NotFoundError(f"nothing abstract is called {printable(text[:200])} here")
        return _fields(reader, abstraction)

    return Answer(call.read(work), spaced=True)


def _declare(call: Call) -> Answer:
    kind, text = call.words[0].decode(), call.words[1]
    minter, authority = call.minter, (call.option("authority") or "").encode()
    about = (call.option("purpose" if kind == CONTEXT else "thing") or "").encode()
    return Answer(minter.write(lambda writer: _fields(
        writer, abstractions.declare_abstract(minter, writer, call.actor, kind, text, authority, about)
    )), spaced=True)


def _remove(call: Call) -> Answer:
    minter = call.minter
    removed = minter.write(lambda writer: abstractions.remove_abstract(minter, writer, call.actor, call.words[0]))
    return Answer(Fields(("ok", removed.display + b" is no longer declared here")), spaced=True)


def _fields(reader: Reader, abstraction: Abstraction) -> Fields:
    context = find_abstraction(reader, abstraction.context) if abstraction.context else None
    fields = [
        ("abstract", abstraction.display), ("kind", abstraction.kind.encode()),
        ("context", context.display if context else b""), ("label", abstraction.label),
        ("purpose" if abstraction.kind == CONTEXT else "thing", abstraction.about),
        ("authority", abstraction.authority), ("from", abstraction.since),
    ]
    return Fields(*((label, value) for label, value in fields if value))


COMMANDS = (
    Command(
        "abstract", "declare what names of several systems have in common: contexts, names and identifiers",
        Form("[Name]", _list, READ),
        Form("show Name", _show, READ),
        Form(f"{CONTEXT} Name --authority Who [--purpose Text]", _declare, ADMIN),
        Form(f"{NAME}|{IDENTIFIER} Name --authority Who [--thing Text]", _declare, BIND),
        Form("--remove Name", _remove, ADMIN),
        options=(
            Option("--authority Who", "who is responsible for it"),
            Option("--purpose Text", "what a context is for"),
            Option("--thing Text", "what is identified, in words"),
            Option("--remove", "declare it no longer; for what has no relations"),
        ),
        see="lifecycle-and-history.md#abstract-names-realisations-and-homologues",
        about="""\
Something abstract is registered by no system and does not resolve: it has a name only so that others can realise it. An
abstract name or identifier is a label in an abstract context, written CONTEXT:LABEL.
""",
        example="""\
$ noid abstract context "Kerry's Library" --authority Kerry --purpose 'the books of Kerry'
abstract: Kerry's Library
kind: context
purpose: the books of Kerry
authority: Kerry
from: …

""",
    ),
)
