"""Claims of authorities about two names, what follows from them, and in which senses two names are the same.

Claims of all kinds are recorded, shown and removed in the same way (see `relations.KINDS`); some kinds have conditions.

Two concrete identifiers are homologues if they have the same label in contexts that realise the same abstract context.
Where these contexts realise several, the scope of the homology is the smallest: the one that all the others contain.
"""

from __future__ import annotations

from dataclasses import dataclass

from ... import names
from ...errors import ConflictError, NotFoundError, UsageError, printable
from ...names import citation
from .. import aliases, identifiers
from ..circulation import ensure_not_withdrawn
from ..events import Change, property_changes, record_event
from . import (
    ALIAS,
    ALIAS_OF,
    CLAIMED,
    CONTAINS,
    CONTEXT,
    EQUIVALENT,
    HOMOLOGOUS_NAME,
    HOMOLOGUE,
    IDENTIFIER,
    KINDS,
    REALISED_BY,
    REALISES,
    SYNONYM,
    Relation,
    all_abstractions,
    delete_relation,
    ensure_authority,
    find_abstraction,
    put_relation,
    relations_of,
)
from .abstract import identify_with_abstract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...store import Reader, Writer
    from .. import Minter
    from ..events import Actor
    from ..identifiers import NameRef
    from . import Abstraction, RelationKind

    Condition = Callable[..., None]


# -- homology --------------------------------------------------------------------------------------------------------


def realised_contexts(minter: Minter, reader: Reader, name: bytes, now: bytes) -> dict[bytes, set[bytes]]:
    """The abstract contexts that the contexts of a name realise at a date: keys, each with the labels of the name.

    `name` is written as in answers.
    """
    found: dict[bytes, set[bytes]] = {}
    for abstract in all_abstractions(reader, CONTEXT):
        for relation in relations_of(reader, abstract.key, REALISED_BY):
            label = _label_in(minter, name, relation.display) if relation.holds_at(now) else None
            if label:
                found.setdefault(abstract.key, set()).add(label)
    return found


def _label_in(minter: Minter, name: bytes, context: bytes) -> bytes | None:
    """The label of a name in a concrete context; None if the name is not in that context."""
    labels = minter.namespace.labels
    prefix = minter.scheme.namespace_prefix
    own = (labels[0] if labels else b"") + prefix
    if prefix and citation.same(own.rstrip(b"/"), context, labels=labels)[0]:
        # This is the context of the minter itself: the label follows the prefix, perhaps after a boundary character.
        key = minter.namespace.literal_key(name)
        label = minter.scheme.without_prefix(key)
        return label if label != key else None
    is_unlabelled = labels and b"://" not in name and not names.parse(name).scheme
    return citation.label_in(labels[0] + name if is_unlabelled else name, context)


def homology_scopes(minter: Minter, reader: Reader, one: bytes, other: bytes, now: bytes) -> list[Abstraction]:
    """The smallest abstract contexts in which two names, written as in answers, have the same label."""
    first = realised_contexts(minter, reader, one, now)
    second = realised_contexts(minter, reader, other, now)
    return smallest_contexts(reader, {key for key in first if first[key] & second.get(key, set())}, now)


def smallest_contexts(reader: Reader, keys: set[bytes], now: bytes) -> list[Abstraction]:
    """The abstract contexts with these keys, without those that contain another of them."""
    smallest = [key for key in sorted(keys) if not contained_in(reader, key, now) & (keys - {key})]
    return [abstract for abstract in (find_abstraction(reader, key) for key in smallest) if abstract is not None]


def contained_in(reader: Reader, key: bytes, now: bytes) -> set[bytes]:
    """The keys of the contexts that a context contains at a date, directly or through others."""
    contained: set[bytes] = set()
    pending = [key]
    while pending:
        for relation in relations_of(reader, pending.pop(), CONTAINS):
            if relation.holds_at(now) and relation.other not in contained:
                contained.add(relation.other)
                pending.append(relation.other)
    return contained


def all_relations(reader: Reader, key: bytes, now: bytes) -> list[Relation]:
    """The relations of a name: those recorded, and those that follow from them at a date."""
    recorded = list(relations_of(reader, key))
    return [*recorded, *_derived_relations(reader, key, now, recorded)]


def _derived_relations(reader: Reader, key: bytes, now: bytes, recorded: list[Relation]) -> Iterator[Relation]:
    """The homologues and homologous names that a name has at a date because both realise the same, and that nobody
    claims.  They have neither an authority nor an event."""
    claimed = {(relation.kind, relation.other) for relation in recorded}
    for realised in recorded:
        if realised.kind != REALISES or not realised.holds_at(now):
            continue
        abstract = find_abstraction(reader, realised.other)
        if abstract is None or abstract.kind == CONTEXT:
            continue
        kind = HOMOLOGUE if abstract.kind == IDENTIFIER else HOMOLOGOUS_NAME
        for other in relations_of(reader, realised.other, REALISED_BY):
            if other.other != key and other.holds_at(now) and (kind, other.other) not in claimed:
                claimed.add((kind, other.other))
                yield Relation(kind, other.other, other.display, start=max(realised.start, other.start))


def common_abstractions(reader: Reader, one: bytes, other: bytes, now: bytes) -> list[Abstraction]:
    """What is realised by both of two names, as stored, at a date."""
    first, second = ({relation.other for relation in relations_of(reader, key, REALISES) if relation.holds_at(now)}
                     for key in (one, other))
    found = (find_abstraction(reader, key) for key in sorted(first & second))
    return [abstract for abstract in found if abstract is not None]


# -- what may be claimed ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ClaimedName:
    """One of the two names of a claim, and what the name stands for if it is abstract, else None."""

    ref: NameRef
    abstract: Abstraction | None

    @property
    def text(self) -> str:
        return printable(self.ref.display)


def ensure_may_realise(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError if the first name cannot realise the second.

    Only what is concrete realises something, and only something abstract.  A name or an identifier must also have the
    same label, in a context that realises the abstract context.
    """
    if one.abstract is not None:
        raise ConflictError(f"{one.text} is abstract, and only something concrete realises another thing")
    if other.abstract is None:
        raise ConflictError(f"{other.text} is not declared as abstract: declare it first")
    if other.abstract.kind == CONTEXT:
        _ensure_context(one)
        return
    context = find_abstraction(reader, other.abstract.context)
    labels = realised_contexts(minter, reader, one.ref.display, now).get(other.abstract.context)
    if labels is None:
        where = printable(context.display) if context else "its context"
        raise ConflictError(f"{one.text} is in no context of which it is claimed that it realises {where}: "
                            "claim that of its context first")
    if other.abstract.label not in labels:
        raise ConflictError(f"{one.text} has the label {printable(min(labels))}, and {other.text} the label "
                            f"{printable(other.abstract.label)}: what has another label is a synonym, no realisation")


def ensure_may_be_homologues(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError unless both are concrete, with the same label in contexts that realise the same context."""
    for name in (one, other):
        if name.abstract is not None:
            raise ConflictError(f"{name.text} is abstract, and only concrete names are homologous")
    first = realised_contexts(minter, reader, one.ref.display, now)
    second = realised_contexts(minter, reader, other.ref.display, now)
    common = first.keys() & second.keys()
    if not common:
        raise ConflictError(f"no abstract context is known that the contexts of {one.text} and {other.text} both "
                            "realise: claim that of both contexts first")
    if not any(first[key] & second[key] for key in common):
        raise ConflictError(f"{one.text} and {other.text} have different labels: they may be synonyms, no homologues")


def ensure_may_contain(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError unless both are contexts, both abstract or both concrete, and the second does not contain the
    first."""
    if (one.abstract is None) != (other.abstract is None):
        concrete, abstract = (one, other) if other.abstract else (other, one)
        raise ConflictError(f"{concrete.text} is concrete and {abstract.text} abstract: a context contains those of "
                            "its own kind; one that puts the other into practice realises it")
    for name in (one, other):
        _ensure_context(name)
    if one.ref.key in contained_in(reader, other.ref.key, now):
        raise ConflictError(f"{other.text} contains {one.text}, so that it cannot be contained in it")


def _ensure_context(name: ClaimedName) -> None:
    if name.ref.known or (name.abstract is not None and name.abstract.kind != CONTEXT):
        raise ConflictError(f"{name.text} is not a context, but an identifier or a name")


# The conditions of a kind of claim; each raises ConflictError if it is not met.
_CONDITIONS: dict[bytes, Condition] = {
    REALISES: ensure_may_realise, HOMOLOGUE: ensure_may_be_homologues,
    HOMOLOGOUS_NAME: ensure_may_be_homologues, CONTAINS: ensure_may_contain,
}


# -- claims ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Claim:
    """A claim about two names; `relation` is the relation of the first to the second."""

    first: NameRef
    second: NameRef
    relation: Relation

    def sentence(self, *, ended: bool = False) -> bytes:
        """The claim in words, or that it was removed."""
        sentence = KINDS[self.relation.kind].sentence(self.first.display, self.second.display, ended=ended)
        return sentence + b" according to " + self.relation.authority


def claim_kind(word: str) -> RelationKind:
    """The kind of claim that a word names; raises UsageError if there is none."""
    try:
        return CLAIMED[word]
    except KeyError:
        raise UsageError(f"{word[:60]!r} is not a relation: use one of {', '.join(CLAIMED)}") from None


def add_claim(
    minter: Minter, writer: Writer, actor: Actor, kind: RelationKind, one: bytes, other: bytes, authority: bytes,
    start: bytes = b"", until: bytes = b"",
) -> Claim:
    """Record what an authority claims of two names.  If it claims that already, the span of time is replaced.

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
    now = actor.date()
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
    relation = Relation(kind.letter, second.key, second.display, authority, start, until)
    new = _properties(kind, relation)
    changes = property_changes(first.key, _properties(kind, before), new, always=new)
    relation.event = event = record_event(writer, actor, _verb(kind), ids=[first.key, second.key], changes=changes)
    put_relation(writer, first.key, relation)
    put_relation(writer, second.key, Relation(kind.inverse, first.key, first.display, authority, start, until, event))
    return Claim(first, second, relation)


def remove_claim(
    minter: Minter, writer: Writer, actor: Actor, kind: RelationKind, one: bytes, other: bytes, authority: bytes = b""
) -> Claim:
    """Remove a claim about two names; its events stay.  `authority` may be empty if only one authority claims it.

    Raises NotFoundError if there is no such claim, UsageError if several authorities claim it and none is named, and
    ConflictError if both names were withdrawn.
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
        raise UsageError(f"{len(claims)} authorities claim it: name the one whose claim is removed")
    (removed,) = claims
    changes = property_changes(first.key, _properties(kind, removed), {})
    _delete(writer, first.key, removed)
    if kind.letter == SYNONYM:
        for ref in (first, second):
            changes += aliases.drop_idle_preference(writer, ref.key, removed.authority)
    record_event(writer, actor, _verb(kind) + b" remove", ids=[first.key, second.key], changes=changes)
    return Claim(first, second, removed)


def clear_claims(writer: Writer, key: bytes) -> tuple[list[Change], list[bytes]]:
    """Remove all claims about a name and all preferences for it, because it is minted again for something else.

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
    ref, abstraction = identify_with_abstract(minter, writer, text)
    identifiers.ensure_pepper(writer, ref)
    return ClaimedName(ref, abstraction)


def _forward(kind: RelationKind, one: bytes, other: bytes) -> tuple[RelationKind, bytes, bytes]:
    """The claim in the active form, in which it is stored: `B realises A` in place of `A is realised by B`."""
    return (KINDS[kind.inverse], other, one) if kind.verb.startswith("is ") else (kind, one, other)


def _delete(writer: Writer, name: bytes, relation: Relation) -> None:
    delete_relation(writer, name, relation)
    inverse = Relation(KINDS[relation.kind].inverse, name, authority=relation.authority)
    delete_relation(writer, relation.other, inverse)


def _properties(kind: RelationKind, relation: Relation | None) -> dict[str, bytes]:
    if relation is None:
        return {}
    return {kind.word: relation.display, "authority": relation.authority, "from": relation.start,
            "until": relation.until}


def _verb(kind: RelationKind) -> bytes:
    return b"synonym" if kind.letter == SYNONYM else b"relate"


def _absent(kind: RelationKind, first: NameRef, second: NameRef) -> str:
    one, other = printable(first.display), printable(second.display)
    if kind.symmetric:
        return f"{one} and {other} are not {kind.verb}"
    return f"nobody claims that {one} {kind.verb} {other}"


# -- senses in which two names are the same --------------------------------------------------------------------------

_SENSES = (ALIAS_OF, ALIAS, SYNONYM, EQUIVALENT, HOMOLOGUE, HOMOLOGOUS_NAME, REALISES, REALISED_BY)


def senses(minter: Minter, reader: Reader, first: bytes, second: bytes, now: bytes) -> list[str]:
    """In which senses two names are the same at a date, one line each; none if nothing of the kind is recorded."""
    one, other = (identify_with_abstract(minter, reader, text)[0] for text in (first, second))
    if one.key == other.key:
        return []
    return [*_claimed_senses(minter, reader, one, other, now), *_derived_senses(minter, reader, one, other, now)]


def abstract_reasons(minter: Minter, reader: Reader, *texts: bytes) -> list[str]:
    """For each of two different names that is abstract, why it is not the same as the other."""
    found = [identify_with_abstract(minter, reader, text)[1] for text in texts]
    return [f"{printable(abstract.display)} is an abstract {abstract.kind}, and the same as no other name."
            for abstract in found if abstract is not None]


def _claimed_senses(minter: Minter, reader: Reader, one: NameRef, other: NameRef, now: bytes) -> Iterator[str]:
    for relation in relations_of(reader, one.key):
        if relation.other == other.key and relation.kind in _SENSES and relation.holds_at(now):
            scope = _scope(minter, reader, one, other, now) if relation.kind in (HOMOLOGUE, HOMOLOGOUS_NAME) else ""
            according = f", according to {printable(relation.authority)}" if relation.authority else ""
            yield _sense(relation, one, other) + scope + according


def _sense(relation: Relation, one: NameRef, other: NameRef) -> str:
    kind = KINDS[relation.kind]
    first, second = printable(one.display), printable(other.display)
    if kind.letter in (ALIAS, ALIAS_OF):
        alias, target = (first, second) if kind.letter == ALIAS_OF else (second, first)
        return f"alias ({kind.section}): {alias} stands for {target}"
    if kind.symmetric:
        return f"{kind.verb} ({kind.section})"
    return f"realisation ({kind.section}): {first} {kind.verb} {second}"


def _derived_senses(minter: Minter, reader: Reader, one: NameRef, other: NameRef, now: bytes) -> Iterator[str]:
    """What follows from two names realising the same."""
    for abstract in common_abstractions(reader, one.key, other.key, now):
        name = printable(abstract.display)
        if abstract.kind == CONTEXT:
            yield f"realisations of one context (7.1): both realise {name}"
        else:
            letter = HOMOLOGUE if abstract.kind == IDENTIFIER else HOMOLOGOUS_NAME
            kind = KINDS[letter]
            yield f"{kind.verb} ({kind.section}): both realise {name}{_scope(minter, reader, one, other, now)}"


def _scope(minter: Minter, reader: Reader, one: NameRef, other: NameRef, now: bytes) -> str:
    scopes = homology_scopes(minter, reader, one.display, other.display, now)
    return f", in the scope of {' and '.join(printable(scope.display) for scope in scopes)}" if scopes else ""
