"""Commands about relations between names."""

from __future__ import annotations

from .. import clock
from ..clock import timestamp
from ..errors import UsageError
from ..minter import aliases, identifiers
from ..minter.relations import add_synonym, prefer_name, relations_of, remove_preference, remove_synonym
from .answers import Answer, Blank, Fields, Record
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter.relations import Relation, SynonymClaim
    from .answers import Line
    from .session import Call

_ALIAS = "alias Alias Target [--authority Who], or alias --remove Alias"
_SYNONYM = "synonym Name Name --authority Who [--from Date] [--until Date], or synonym --remove Name Name"
_PREFER = "prefer [--remove] Name [--authority Who]"


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
        for label, value in ((b"name", relation.shown), (b"authority", relation.authority), (b"from", relation.start),
                             (b"until", relation.until)):
            if value:
                yield label, value, 0
        if not self._current:
            yield b"note", b"this is not in force now", 0

    def data(self) -> list[dict[str, object]]:
        relation = self._relation
        return [{
            "id": self._name, "relation": relation.word, "name": relation.shown or None,
            "authority": relation.authority or None, "from": relation.start, "until": relation.until or None,
            "current": self._current, "event": relation.event,
        }]


class NoRelations(Record):
    """That a name has no relation; nothing in JSON."""

    __slots__ = ("_name",)

    def __init__(self, name: bytes) -> None:
        self._name = name

    def lines(self) -> Iterable[Line]:
        return [(b"note", self._name + b" has no relations", 0)]

    def data(self) -> list[dict[str, object]]:
        return []


def alias(call: Call) -> Answer:
    options, words = take_options(call.args, ("authority",), ("remove",))
    minter, actor = call.minter, call.actor
    if "remove" in options:
        (given,) = _need(words, 1, _ALIAS)
        made = minter.write(lambda writer: aliases.remove_alias(minter, writer, actor, given))
        done = made.alias.shown + b" no longer stands for " + made.target.shown
        return Answer(Fields(("ok", done)), Fields(("note", made.alias.shown + b" stays on hold")), spaced=True)
    name, target = _need(words, 2, _ALIAS)
    authority = _last(options, "authority")
    made = minter.write(lambda writer: aliases.create_alias(minter, writer, actor, name, target, authority))
    notes = [Fields(("note", made.alias.shown + b" taken out of the queue"))] if made.unqueued else []
    return Answer(Fields(("ok", made.alias.shown + b" stands for " + made.target.shown)), *notes, spaced=True)


def synonym(call: Call) -> Answer:
    options, words = take_options(call.args, ("authority", "from", "until"), ("remove",))
    one, other = _need(words, 2, _SYNONYM)
    minter, actor = call.minter, call.actor
    authority = _last(options, "authority")
    if "remove" in options:
        if "from" in options or "until" in options:
            raise UsageError("a claim is taken back as a whole: --remove goes without --from and --until")
        gone = minter.write(lambda writer: remove_synonym(minter, writer, actor, one, other, authority))
        return Answer(Fields(("ok", _claim_text(gone, b"no longer synonyms"))), spaced=True)
    if not authority:
        raise UsageError("who says that they are synonyms? name an --authority")
    start = clock.first_second(options["from"][-1]) if "from" in options else b""
    until = clock.last_second(options["until"][-1]) if "until" in options else b""
    made = minter.write(lambda writer: add_synonym(minter, writer, actor, one, other, authority, start, until))
    return Answer(Fields(("ok", _claim_text(made, b"synonyms"))), spaced=True)


def _claim_text(claim: SynonymClaim, what: bytes) -> bytes:
    names = claim.one.shown + b" and " + claim.other.shown
    return names + b" are " + what + b" according to " + claim.relation.authority


def prefer(call: Call) -> Answer:
    options, words = take_options(call.args, ("authority",), ("remove",))
    (given,) = _need(words, 1, _PREFER)
    minter, actor = call.minter, call.actor
    authority = _last(options, "authority")
    change = remove_preference if "remove" in options else prefer_name
    own, relation = minter.write(lambda writer: change(minter, writer, actor, given, authority))
    done = b" is no longer preferred by " if "remove" in options else b" is preferred by "
    return Answer(Fields(("ok", own.shown + done + relation.authority)), spaced=True)


def relations(call: Call) -> Answer:
    (given,) = call.need(1, 1, "relations Name")
    minter = call.minter
    own, found = minter.read(lambda reader: (
        (ref := identifiers.named(minter, reader, given)), list(relations_of(reader, ref.key))
    ))
    if not found:
        return Answer(NoRelations(own.shown), spaced=True)
    now = timestamp(call.actor.now())
    records: list[Record] = []
    for relation in found:
        records += [RelationRecord(own.shown, relation, relation.holds_at(now)), Blank()]
    return Answer(*records[:-1], spaced=True)


def _need(words: list[bytes], count: int, usage: str) -> list[bytes]:
    if len(words) != count:
        raise UsageError(f"too {'few' if len(words) < count else 'many'} words: say {usage}")
    return words


def _last(options: dict[str, list[str]], name: str) -> bytes:
    return options[name][-1].encode() if name in options else b""
