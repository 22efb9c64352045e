"""Commands about aliases and preferred names, and the list of all relations of a name."""

from __future__ import annotations

from ..clock import timestamp
from ..minter import aliases
from ..minter.access import BIND, READ
from ..minter.preferences import prefer_name, remove_preference
from ..minter.relations import abstractions
from ..minter.relations.homology import all_relations
from .answers import Answer, Record
from .command import Command, Form, Option
from .records import Blank, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter.relations import Relation
    from .answers import Line
    from .call import Call


class RelationRecord(Record):
    """One relation of a name."""

    __slots__ = ("_name", "_relation", "_current")

    def __init__(self, name: bytes, relation: Relation, current: bool) -> None:
        self._name = name
        self._relation = relation
        self._current = current

    def lines(self) -> Iterable[Line]:
        relation = self._relation
        yield b"id", self._name, 0
        yield b"relation", relation.word.encode(), 0
        for label, value in ((b"name", relation.display), (b"authority", relation.authority), (b"from", relation.start),
                             (b"until", relation.until)):
            if value:
                yield label, value, 0
        if relation.derived:
            yield b"note", b"this follows from what both realise", 0
        if not self._current:
            yield b"note", b"this is not in force now", 0

    def data(self) -> list[dict[str, object]]:
        relation = self._relation
        return [{
            "id": self._name, "relation": relation.word, "name": relation.display or None,
            "authority": relation.authority or None, "from": relation.start, "until": relation.until or None,
            "current": self._current, "event": None if relation.derived else relation.event,
        }]


class NoRelations(Record):
    """A note that a name has no relations; nothing in JSON."""

    __slots__ = ("_name",)

    def __init__(self, name: bytes) -> None:
        self._name = name

    def lines(self) -> Iterable[Line]:
        return [(b"note", self._name + b" has no relations", 0)]

    def data(self) -> list[dict[str, object]]:
        return []


def _alias(call: Call) -> Answer:
    minter, (name, target) = call.minter, call.words
    change = minter.write(
        lambda writer: aliases.create_alias(minter, writer, call.actor, name, target, _authority(call))
    )
    notes = [Fields(("note", change.alias.display + b" taken out of the queue"))] if change.unqueued else []
    return Answer(Fields(("ok", change.alias.display + b" stands for " + change.target.display)), *notes, spaced=True)


def _remove_alias(call: Call) -> Answer:
    minter = call.minter
    change = minter.write(lambda writer: aliases.remove_alias(minter, writer, call.actor, call.words[0]))
    done = change.alias.display + b" no longer stands for " + change.target.display
    return Answer(Fields(("ok", done)), Fields(("note", change.alias.display + b" stays on hold")), spaced=True)


def _prefer(call: Call) -> Answer:
    minter = call.minter
    ref, relation = minter.write(
        lambda writer: prefer_name(minter, writer, call.actor, call.words[0], _authority(call))
    )
    return Answer(Fields(("ok", ref.display + b" is preferred by " + relation.authority)), spaced=True)


def _remove_preference(call: Call) -> Answer:
    minter = call.minter
    ref, relation = minter.write(
        lambda writer: remove_preference(minter, writer, call.actor, call.words[0], _authority(call))
    )
    return Answer(Fields(("ok", ref.display + b" is no longer preferred by " + relation.authority)), spaced=True)


def _authority(call: Call) -> bytes:
    return (call.option("authority") or "").encode()


def _relations(call: Call) -> Answer:
    (raw,) = call.words
    minter, now = call.minter, timestamp(call.actor.now())
    ref, relations = call.read(lambda reader: (
        (ref := abstractions.identify_with_abstract(minter, reader, raw)[0]), all_relations(reader, ref.key, now)
    ))
    if not relations:
        return Answer(NoRelations(ref.display), spaced=True)
    records: list[Record] = []
    for relation in relations:
        records += [RelationRecord(ref.display, relation, relation.holds_at(now)), Blank()]
    return Answer(*records[:-1], spaced=True)


_AUTHORITY = Option("--authority Who", "who says so")
COMMANDS = (
    Command(
        "alias", "let a name stand for another, or no longer",
        Form("Alias Target [--authority Who]", _alias, BIND),
        Form("--remove Alias", _remove_alias, BIND),
        options=(_AUTHORITY, Option("--remove", "the alias no longer stands for anything; it stays on hold")),
        see="lifecycle-and-history.md#aliases",
        about="""\
An alias follows whatever its target does. It may be any name, and its target may be a name elsewhere. What would make a
loop, or a chain of more than 16, is refused. An alias is held, so that it is not minted for something else.
""",
        example="""\
$ noid alias old/17 13030/kt4x551
ok: old/17 stands for 13030/kt4x551

""",
    ),
    Command(
        "prefer", "mark the name an authority prefers among synonyms, or no longer",
        Form("Name [--authority Who]", _prefer, BIND),
        Form("--remove Name [--authority Who]", _remove_preference, BIND),
        options=(
            Option("--authority Who", "who prefers it; needed where several hold it to be a synonym"),
            Option("--remove", "take the mark away"),
        ),
        see="lifecycle-and-history.md#synonyms-and-preferences",
        example="""\
$ noid prefer 13030/kt4x551
ok: 13030/kt4x551 is preferred by The Library

""",
    ),
    Command(
        "relations", "the aliases, synonyms, realisations, successors and other relations of a name",
        Form("Name", _relations, READ), see="lifecycle-and-history.md#synonyms-and-preferences",
        example="""\
$ noid relations old/17
id: old/17
relation: alias-of
name: 13030/kt4x551
from: …

""",
    ),
)
