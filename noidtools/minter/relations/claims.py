"""What authorities claim of two names, for a span of time: synonyms, realisations, homologues, contexts in contexts.

All kinds of claims are recorded, shown and taken back alike (see `relations.KINDS`); some have conditions of their own.
"""

from __future__ import annotations

from ...errors import ConflictError, NotFoundError, UsageError, printable
from ...times import timestamp
from .. import aliases, identifiers
from ..circulation import ensure_not_withdrawn
from ..events import Change, record_event
from . import (
    CLAIMED,
    CONTAINS,
    HOMOLOGOUS_NAME,
    HOMOLOGUE,
    KINDS,
    REALISES,
    SYNONYM,
    Relation,
    abstractions,
    delete_relation,
    ensure_authority,
    homology,
    put_relation,
    relations_of,
)
from .homology import ClaimedName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...store import Writer
    from .. import Minter
    from ..events import Actor
    from ..identifiers import NameRef
    from . import RelationKind

    Condition = Callable[..., None]

# What must be so for a claim of a kind; each raises ConflictError.
_CONDITIONS: dict[bytes, Condition] = {
    REALISES: homology.ensure_may_realise, HOMOLOGUE: homology.ensure_may_be_homologues,
    HOMOLOGOUS_NAME: homology.ensure_may_be_homologues, CONTAINS: homology.ensure_may_contain,
}


class Claim:
    """Two names of which an authority claims something; `relation` is that of the first to the second."""

    __slots__ = ("first", "second", "relation")

    def __init__(self, first: NameRef, second: NameRef, relation: Relation) -> None:
        self.first = first
        self.second = second
        self.relation = relation

    def sentence(self, *, ended: bool = False) -> bytes:
        """The claim in words, or that it was taken back."""
        sentence = KINDS[self.relation.kind].sentence(self.first.display, self.second.display, ended=ended)
        return sentence + b" according to " + self.relation.authority


def claim_kind(word: str) -> RelationKind:
    """The kind of relation that a word names, of those that can be claimed; raises UsageError for another word."""
    try:
        return CLAIMED[word]
    except KeyError:
        raise UsageError(f"{word[:60]!r} is no relation: say one of {', '.join(CLAIMED)}") from None


def add_claim(
    minter: Minter, writer: Writer, actor: Actor, kind: RelationKind, one: bytes, other: bytes, authority: bytes,
    start: bytes = b"", until: bytes = b"",
) -> Claim:
    """Record what an authority claims of two names.  Recorded again, the claim gets the new span of time.

    Without `start` the claim holds from now on.  Raises ConflictError if both texts are one name, if one was withdrawn,
    or if a condition of the kind is not met; UsageError for a span that ends before it begins.
    """
    ensure_authority(authority)
    kind, one, other = _forward(kind, one, other)
    first, second = (_claimed_name(minter, writer, text) for text in (one, other))
    if first.ref.key == second.ref.key:
        raise ConflictError(f"{first.text} and {second.text} are the same name, not two")
    for name in (first, second):
        ensure_not_withdrawn(name.ref.display, name.ref.record, f"part of the relation {kind.word}")
    now = timestamp(actor.now())
    start = start or now
    if until and until < start:
        raise UsageError(f"the span would end ({until.decode()}) before it begins ({start.decode()})")
    if kind.letter == SYNONYM:
        aliases.ensure_one_preferred(writer, first.ref, second.ref, authority)
    elif kind.letter in _CONDITIONS:
        _CONDITIONS[kind.letter](minter, writer, first, second, now)
    return _store(writer, actor, kind, first.ref, second.ref, authority, start, until)


def _store(
    writer: Writer, actor: Actor, kind: RelationKind, first: NameRef, second: NameRef, authority: bytes, start: bytes,
    until: bytes,
) -> Claim:
    before = next((relation for relation in relations_of(writer, first.key, kind.letter)
                   if relation.other == second.key and relation.authority == authority), None)
    changes = [
        Change(kind.word.encode(), before.display if before else None, second.display, first.key),
        Change(b"authority", authority if before else None, authority, first.key),
        Change(b"from", before.start if before else None, start, first.key),
    ]
    if until or (before and before.until):
        changes.append(Change(b"until", (before.until or None) if before else None, until or None, first.key))
    event = record_event(writer, actor, _verb(kind), ids=[first.key, second.key], changes=changes)
    relation = Relation(kind.letter, second.key, second.display, authority, start, until, event)
    put_relation(writer, first.key, relation)
    put_relation(writer, second.key, Relation(kind.inverse, first.key, first.display, authority, start, until, event))
    return Claim(first, second, relation)


def remove_claim(
    minter: Minter, writer: Writer, actor: Actor, kind: RelationKind, one: bytes, other: bytes, authority: bytes = b""
) -> Claim:
    """Take back a claim about two names; its events stay.  `authority` may be empty if only one claims it.

    A claim about a withdrawn name can be taken back for the sake of the other name; raises ConflictError if both were
    withdrawn.  Raises NotFoundError if there is no such claim, UsageError if several authorities claim it and none is
    named.
    """
    kind, one, other = _forward(kind, one, other)
    first, second = (_claimed_name(minter, writer, text).ref for text in (one, other))
    if first.record is not None and first.record.withdrawn:
        ensure_not_withdrawn(second.display, second.record, f"taken out of the relation {kind.word}")
    claims = [relation for relation in relations_of(writer, first.key, kind.letter)
              if relation.other == second.key and authority in (b"", relation.authority)]
    according = f" according to {printable(authority)}" if authority else ""
    if not claims:
        raise NotFoundError(_absent(kind, first, second) + according)
    if len(claims) > 1:
        raise UsageError(f"{len(claims)} authorities say so: name the one that takes it back with --authority")
    (removed,) = claims
    changes = [
        Change(kind.word.encode(), removed.display, None, first.key),
        Change(b"authority", removed.authority, None, first.key), Change(b"from", removed.start, None, first.key),
    ]
    if removed.until:
        changes.append(Change(b"until", removed.until, None, first.key))
    _delete(writer, first.key, removed)
    if kind.letter == SYNONYM:
        for ref in (first, second):
            changes += aliases.drop_idle_preference(writer, ref.key, removed.authority)
    record_event(writer, actor, _verb(kind) + b" remove", ids=[first.key, second.key], changes=changes)
    return Claim(first, second, removed)


def clear_claims(writer: Writer, key: bytes) -> tuple[list[Change], list[bytes]]:
    """Remove all that is claimed of a name and all preferences for it, because it is minted again for another thing.

    Returns the changes and the other names concerned, for the caller to record in an event.
    """
    changes = aliases.drop_preferences(writer, key)
    others: dict[bytes, None] = {}
    for kind in CLAIMED.values():
        for relation in list(relations_of(writer, key, kind.letter)):
            _delete(writer, key, relation)
            changes.append(Change(kind.word.encode(), relation.display, None, key))
            changes.append(Change(b"authority", relation.authority, None, key))
            if kind.letter == SYNONYM:
                changes += aliases.drop_idle_preference(writer, relation.other, relation.authority)
            others[relation.other] = None
    return changes, list(others)


def _claimed_name(minter: Minter, writer: Writer, text: bytes) -> ClaimedName:
    ref, abstraction = abstractions.identify_with_abstract(minter, writer, text)
    identifiers.ensure_pepper(writer, ref)
    return ClaimedName(ref, abstraction)


def _forward(kind: RelationKind, one: bytes, other: bytes) -> tuple[RelationKind, bytes, bytes]:
    """The same claim in its active form: that A is realised by B is that B realises A."""
    return (KINDS[kind.inverse], other, one) if kind.verb.startswith("is ") else (kind, one, other)


def _delete(writer: Writer, name: bytes, relation: Relation) -> None:
    delete_relation(writer, name, relation)
    inverse = Relation(KINDS[relation.kind].inverse, name, authority=relation.authority)
    delete_relation(writer, relation.other, inverse)


def _verb(kind: RelationKind) -> bytes:
    return b"synonym" if kind.letter == SYNONYM else b"relate"


def _absent(kind: RelationKind, first: NameRef, second: NameRef) -> str:
    one, other = printable(first.display), printable(second.display)
    if kind.symmetric:
        return f"{one} and {other} are not {kind.verb}"
    return f"nobody claims that {one} {kind.verb} {other}"
