"""Homology: which names realise the same abstract name, and in which scope.

Two concrete identifiers are homologues if they have the same label, and their contexts realise one abstract context.
The scope is the smallest abstract context that both contexts realise: the one that all others of these contain (PILIN
ontology of identifier systems, 5.10, 7.1, 7.2 and appendix 2).
"""

from __future__ import annotations

from ... import names
from ...errors import ConflictError, printable
from ...names import citation
from . import CONTAINS, HOMOLOGOUS_NAME, HOMOLOGUE, REALISED_BY, REALISES, Relation, relations_of
from .abstract_names import CONTEXT, IDENTIFIER, all_abstractions, find_abstraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...store import Reader
    from .. import Minter
    from ..identifiers import NameRef
    from .abstract_names import Abstraction


def realised_contexts(minter: Minter, reader: Reader, name: bytes, now: bytes) -> dict[bytes, set[bytes]]:
    """The abstract contexts that contexts of a name realise at a date: their keys, each with the labels of the name.

    `name` is the name as written in answers.
    """
    found: dict[bytes, set[bytes]] = {}
    for abstract in all_abstractions(reader, CONTEXT):
        for relation in relations_of(reader, abstract.key, REALISED_BY):
            label = _label_in(minter, name, relation.display) if relation.holds_at(now) else None
            if label:
                found.setdefault(abstract.key, set()).add(label)
    return found


def _label_in(minter: Minter, name: bytes, context: bytes) -> bytes | None:
    """The label of a name in a concrete context, None if it is not in it."""
    labels = minter.namespace.labels
    prefix = minter.scheme.namespace_prefix
    own = (labels[0] if labels else b"") + prefix
    if prefix and citation.same(own.rstrip(b"/"), context, labels=labels)[0]:
        # The context of this minter: its names begin with the prefix, with or without a boundary behind it.
        key = minter.namespace.literal_key(name)
        label = minter.scheme.without_prefix(key)
        return label if label != key else None
    leaves_context_unsaid = labels and b"://" not in name and not names.parse(name).scheme
    return citation.label_in(labels[0] + name if leaves_context_unsaid else name, context)


def homology_scopes(minter: Minter, reader: Reader, one: bytes, other: bytes, now: bytes) -> list[Abstraction]:
    """The smallest abstract contexts in which two names, as written in answers, have the same label; empty if none."""
    first = realised_contexts(minter, reader, one, now)
    second = realised_contexts(minter, reader, other, now)
    return smallest_contexts(reader, {key for key in first if first[key] & second.get(key, set())}, now)


def smallest_contexts(reader: Reader, keys: set[bytes], now: bytes) -> list[Abstraction]:
    """Those of some abstract contexts that contain no other of them."""
    smallest = [key for key in sorted(keys) if not contained_in(reader, key, now) & (keys - {key})]
    return [abstract for abstract in (find_abstraction(reader, key) for key in smallest) if abstract is not None]


def contained_in(reader: Reader, key: bytes, now: bytes) -> set[bytes]:
    """The contexts that a context contains at a date, directly or through others."""
    contained: set[bytes] = set()
    pending = [key]
    while pending:
        for relation in relations_of(reader, pending.pop(), CONTAINS):
            if relation.holds_at(now) and relation.other not in contained:
                contained.add(relation.other)
                pending.append(relation.other)
    return contained


def all_relations(reader: Reader, key: bytes, now: bytes) -> list[Relation]:
    """The relations of a name: those that are recorded, and those that follow from them at a date."""
    return [*relations_of(reader, key), *_derived_relations(reader, key, now)]


def _derived_relations(reader: Reader, key: bytes, now: bytes) -> Iterator[Relation]:
    """The homologues and homologous names of a name at a date that nobody claims, because they follow from what the
    names realise; without authority and event."""
    claimed = {(relation.kind, relation.other) for relation in relations_of(reader, key)}
    for realised in list(relations_of(reader, key, REALISES)):
        abstract = find_abstraction(reader, realised.other) if realised.holds_at(now) else None
        if abstract is None or abstract.kind == CONTEXT:
            continue
        kind = HOMOLOGUE if abstract.kind == IDENTIFIER else HOMOLOGOUS_NAME
        for other in relations_of(reader, realised.other, REALISED_BY):
            if other.other != key and other.holds_at(now) and (kind, other.other) not in claimed:
                claimed.add((kind, other.other))
                yield Relation(kind, other.other, other.display, start=max(realised.start, other.start))


def common_abstractions(reader: Reader, one: bytes, other: bytes, now: bytes) -> list[Abstraction]:
    """What two names, as stored, realise both at a date."""
    first, second = ({relation.other for relation in relations_of(reader, key, REALISES) if relation.holds_at(now)}
                     for key in (one, other))
    found = (find_abstraction(reader, key) for key in sorted(first & second))
    return [abstract for abstract in found if abstract is not None]


# -- what may be claimed ---------------------------------------------------------------------------------------------


class ClaimedName:
    """One of the two names of a claim, and what is abstract under it, if anything is."""

    __slots__ = ("abstract", "ref")

    def __init__(self, ref: NameRef, abstract: Abstraction | None) -> None:
        self.ref = ref
        self.abstract = abstract

    @property
    def text(self) -> str:
        return printable(self.ref.display)


def ensure_may_realise(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError if the first name cannot realise the second.

    Something concrete realises something abstract; a name or an identifier does so if its label is the same, and its
    context realises the abstract context.
    """
    if one.abstract is not None:
        raise ConflictError(f"{one.text} is abstract, and only something concrete realises another thing")
    if other.abstract is None:
        raise ConflictError(f"{other.text} is not declared as abstract: say 'noid abstract' first")
    if other.abstract.kind == CONTEXT:
        _ensure_context(one)
        return
    context = find_abstraction(reader, other.abstract.context)
    labels = realised_contexts(minter, reader, one.ref.display, now).get(other.abstract.context)
    if labels is None:
        where = printable(context.display) if context else "its context"
        raise ConflictError(f"{one.text} is in no context of which it is claimed that it realises {where}: say "
                            "'noid relate CONTEXT realises …' first")
    if other.abstract.label not in labels:
        raise ConflictError(f"{one.text} has the label {printable(min(labels))}, and {other.text} the label "
                            f"{printable(other.abstract.label)}: what has another label is a synonym, no realisation")


def ensure_may_be_homologues(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError unless both are concrete and have the same label in contexts that realise one."""
    for name in (one, other):
        if name.abstract is not None:
            raise ConflictError(f"{name.text} is abstract, and only concrete names are homologous")
    first = realised_contexts(minter, reader, one.ref.display, now)
    second = realised_contexts(minter, reader, other.ref.display, now)
    common = first.keys() & second.keys()
    if not common:
        raise ConflictError(f"no abstract context is known that the contexts of {one.text} and {other.text} both "
                            "realise: say 'noid relate CONTEXT realises …' for both first")
    if not any(first[key] & second[key] for key in common):
        raise ConflictError(f"{one.text} and {other.text} have different labels: they may be synonyms, no homologues")


def ensure_may_contain(minter: Minter, reader: Reader, one: ClaimedName, other: ClaimedName, now: bytes) -> None:
    """Raise ConflictError unless both are contexts, both abstract or both concrete, and neither is within the other."""
    if (one.abstract is None) != (other.abstract is None):
        concrete, abstract = (one, other) if other.abstract else (other, one)
        raise ConflictError(f"{concrete.text} is concrete and {abstract.text} abstract: a context contains those of "
                            "its own kind; to say that one puts the other into practice say 'noid relate … realises …'")
    for name in (one, other):
        _ensure_context(name)
    if one.ref.key in contained_in(reader, other.ref.key, now):
        raise ConflictError(f"{other.text} contains {one.text}, so that it cannot be contained in it")


def _ensure_context(name: ClaimedName) -> None:
    if name.ref.known or (name.abstract is not None and name.abstract.kind != CONTEXT):
        raise ConflictError(f"{name.text} is not a context, but an identifier or a name")
