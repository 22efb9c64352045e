"""Commands that state and list relations: aliases, preferences, synonyms, claimed relations, abstractions."""

from __future__ import annotations

from ..codec import encode_text
from ..description.conversion import abstract_name, gather_relations, timestamp_text
from ..errors import NotFoundError, printable
from ..minter import aliases
from ..minter.aliases import prefer_name, remove_preference
from ..minter.policies import ADMIN, BIND, READ
from ..minter.relations import CLAIMED, CONTEXT, IDENTIFIER, KINDS, NAME, SYNONYM, abstract, all_abstractions
from ..minter.relations.claims import add_claim, claim_kind, remove_claim
from ..times import timestamp
from .answers import Answer, Fields, PreparedRecord, filled, separated
from .command import Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..description.facts import NameRelation
    from ..minter.relations import Abstraction, RelationKind
    from ..store import Reader
    from .answers import Record
    from .call import Call


# -- alias, prefer, relations ----------------------------------------------------------------------------------------


def _relation_record(relation: NameRelation) -> Record:
    start, until = timestamp_text(relation.start), timestamp_text(relation.until)
    fields = [
        ("id", relation.identifier), ("relation", relation.relation), ("name", relation.name),
        ("authority", relation.authority), ("from", start), ("until", until),
        ("note", "this follows from what both realise" if relation.derived else ""),
        ("note", "" if relation.current else "this is not in force now"),
    ]
    return PreparedRecord([(label.encode(), encode_text(value), 0) for label, value in fields if value], [{
        "id": relation.identifier, "relation": relation.relation, "name": relation.name or None,
        "authority": relation.authority or None, "from": start, "until": until or None, "current": relation.current,
        "event": None if relation.derived else relation.event,
    }])


def _alias(call: Call) -> Answer:
    name, target = call.words
    change = call.change(aliases.create_alias, name, target, call.text("authority"))
    notes = [Fields(("note", change.alias.display + b" taken out of the queue"))] if change.unqueued else []
    return Answer(Fields(("ok", change.alias.display + b" stands for " + change.target.display)), *notes, spaced=True)


def _remove_alias(call: Call) -> Answer:
    change = call.change(aliases.remove_alias, call.words[0])
    done = change.alias.display + b" no longer stands for " + change.target.display
    return Answer(Fields(("ok", done)), Fields(("note", change.alias.display + b" stays on hold")), spaced=True)


def _prefer(call: Call) -> Answer:
    ended = call.flag("remove")
    ref, relation = call.change(remove_preference if ended else prefer_name, call.words[0], call.text("authority"))
    done = b" is no longer preferred by " if ended else b" is preferred by "
    return Answer(Fields(("ok", ref.display + done + relation.authority)), spaced=True)


def _relations(call: Call) -> Answer:
    (raw,) = call.words
    minter, now = call.minter, timestamp(call.actor.now())

    def work(reader: Reader) -> tuple[bytes, tuple[NameRelation, ...]]:
        ref = abstract.identify_with_abstract(minter, reader, raw)[0]
        return ref.display, gather_relations(minter, reader, ref.key, ref.display, now=now)

    name, relations = call.read(work)
    if not relations:
        return Answer(PreparedRecord([(b"note", name + b" has no relations", 0)], []), spaced=True)
    return separated(_relation_record(relation) for relation in relations)


_AUTHORITY = Option("--authority Who", "who says so")


# -- synonym and relate ----------------------------------------------------------------------------------------------


def _synonym(call: Call) -> Answer:
    return _claim(call, KINDS[SYNONYM], *call.words)


def _relate(call: Call) -> Answer:
    one, word, other = call.words
    return _claim(call, claim_kind(as_text(word, "a relation")), one, other)


def _claim(call: Call, kind: RelationKind, one: bytes, other: bytes) -> Answer:
    """Record a claim, or with --remove end it."""
    ended, authority = call.flag("remove"), call.text("authority")
    claim = call.change(remove_claim, kind, one, other, authority) if ended else (
        call.change(add_claim, kind, one, other, authority, call.start("from"), call.end("until")))
    return Answer(Fields(("ok", claim.sentence(ended=ended))), spaced=True)


_CLAIM_OPTIONS = (
    Option("--authority Who", "who says so"),
    Option("--from Date", "when the claim begins to hold; now, unless given"),
    Option("--until Date", "when it ceases to hold; never, unless given"),
    Option("--remove", "remove the whole claim"),
)
_WORDS = "|".join(CLAIMED)


# -- abstract --------------------------------------------------------------------------------------------------------


def _list_abstractions(call: Call) -> Answer:
    found = call.read(lambda reader: [_abstraction_fields(reader, item) for item in all_abstractions(reader)])
    if not found:
        return Answer(Fields(("note", b"nothing abstract is declared here")), spaced=True)
    return separated(found)


def _show_abstraction(call: Call) -> Answer:
    """What is declared of something abstract; without a name, all that is declared."""
    if not call.names:
        return _list_abstractions(call)
    minter, text = call.minter, call.names[0]

    def work(reader: Reader) -> Fields:
        abstraction = abstract.identify_with_abstract(minter, reader, text)[1]
        if abstraction is None:
            raise NotFoundError(f"nothing abstract is called {printable(text[:200])} here")
        return _abstraction_fields(reader, abstraction)

    return Answer(call.read(work), spaced=True)


def _declare_abstraction(call: Call) -> Answer:
    kind, text = call.words[0].decode(), call.words[1]
    minter, authority = call.minter, call.text("authority")
    about = call.text("purpose" if kind == CONTEXT else "thing")
    return Answer(minter.write(lambda writer: _abstraction_fields(
        writer, abstract.declare_abstract(minter, writer, call.actor, kind, text, authority, about)
    )), spaced=True)


def _remove_abstraction(call: Call) -> Answer:
    removed = call.change(abstract.remove_abstract, call.words[0])
    return Answer(Fields(("ok", removed.display + b" is no longer declared here")), spaced=True)


def _abstraction_fields(reader: Reader, abstraction: Abstraction) -> Fields:
    abstract = abstract_name(reader, abstraction)
    fields = [
        ("abstract", abstract.name), ("kind", abstract.kind), ("context", abstract.context), ("label", abstract.label),
        ("purpose" if abstract.kind == CONTEXT else "thing", abstract.about), ("authority", abstract.authority),
        ("from", timestamp_text(abstract.since)),
    ]
    return filled(fields)


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "alias", "make or remove an alias",
        Form("Alias Target [--authority Who]", _alias, BIND),
        Form("--remove Alias", _remove_alias, BIND),
        options=(_AUTHORITY, Option("--remove", "remove the alias; the name stays on hold")),
        also=("relations", "synonym"), see="lifecycle-and-history.md#aliases",
        about="""\
An alias resolves to whatever its target resolves to. Any name can be an alias, and the target may be a name elsewhere.
Loops and chains of more than 16 are refused. An alias is put on hold, so that it is not minted for something else.
""",
        example="""\
$ noid alias old/17 13030/kt4x551
ok: old/17 stands for 13030/kt4x551

""",
    ),
    Command(
        "prefer", "mark or unmark the preferred name among synonyms",
        Form("Name [--authority Who]", _prefer, BIND),
        Form("--remove Name [--authority Who]", _prefer, BIND),
        options=(
            Option("--authority Who", "who prefers it; required if several authorities call it a synonym"),
            Option("--remove", "unmark it"),
        ),
        also=("synonym", "relations"), see="lifecycle-and-history.md#synonyms-and-preferences",
        example="""\
$ noid synonym 13030/kt4x551 doi:10.1000/182 --authority 'The Library' > /dev/null
$ noid prefer 13030/kt4x551
ok: 13030/kt4x551 is preferred by The Library

""",
    ),
    Command(
        "relations", "list the relations of a name",
        Form("Name", _relations, READ),
        also=("alias", "synonym", "relate"), see="lifecycle-and-history.md#synonyms-and-preferences",
        example="""\
$ noid alias old/17 13030/kt4x551 > /dev/null
$ noid relations old/17
id: old/17
relation: alias-of
name: 13030/kt4x551
from: …

""",
    ),
    Command(
        "synonym", "record or remove the claim that two names mean one thing",
        Form("Name Name --authority Who [--from Date] [--until Date]", _synonym, BIND),
        Form("--remove Name Name [--authority Who]", _synonym, BIND),
        options=_CLAIM_OPTIONS,
        also=("prefer", "relations", "alias"), see="lifecycle-and-history.md#synonyms-and-preferences",
        about="""\
Either name may be one from elsewhere. Resolving does not follow synonyms. A date is a year, a month, a day or a moment:
2026, 2026-11, 2026-11-16 or 2026-11-16T00:28:25Z, in UTC.
""",
        example="""\
$ noid synonym 13030/kt4x551 doi:10.1000/182 --authority 'The Library' --from 2020
ok: 13030/kt4x551 and doi:10.1000/182 are synonyms according to The Library

""",
    ),
    Command(
        "relate", "record or remove another relation between two names",
        Form(f"Name {_WORDS} Name --authority Who [--from Date] [--until Date]", _relate, BIND),
        Form(f"--remove Name {_WORDS} Name [--authority Who]", _relate, BIND),
        options=_CLAIM_OPTIONS,
        also=("synonym", "abstract", "relations"),
        see="lifecycle-and-history.md#abstract-names-realisations-and-homologues",
        about="""\
contains: a context contains another. realises: something concrete realises something abstract (see noid help abstract).
homologue: the same label in two contexts that realise one; homologous-name says so of the names only. equivalent: both
names stand for one thing. Two names with different labels cannot realise each other or be homologues: they are
synonyms.
""",
        example="""\
$ noid abstract context "Kerry's Library" --authority Kerry | grep abstract:
abstract: Kerry's Library
$ noid relate hdl:100 realises "Kerry's Library" --authority Kerry
ok: hdl:100 realises Kerry's Library according to Kerry

""",
    ),
    Command(
        "abstract", "declare what names of several systems have in common",
        Form("[Name]", _show_abstraction, READ),
        Form("show Name", _show_abstraction, READ),
        Form(f"{CONTEXT} Name --authority Who [--purpose Text]", _declare_abstraction, ADMIN),
        Form(f"{NAME}|{IDENTIFIER} Name --authority Who [--thing Text]", _declare_abstraction, BIND),
        Form("--remove Name", _remove_abstraction, ADMIN),
        options=(
            Option("--authority Who", "who is responsible for it"),
            Option("--purpose Text", "what a context is for"),
            Option("--thing Text", "what is identified, in words"),
            Option("--remove", "remove it; it must have no relations"),
        ),
        also=("relate", "relations"), see="lifecycle-and-history.md#abstract-names-realisations-and-homologues",
        about="""\
What is abstract belongs to no system and does not resolve; it has a name so that names of several systems can realise
it. An abstract name or identifier is a label in an abstract context, written CONTEXT:LABEL.
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
