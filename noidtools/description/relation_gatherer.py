"""Reads the relations of a name or a context, in a read transaction of a minter."""

from __future__ import annotations

from itertools import islice

from .. import names
from ..minter.circulation import is_known
from ..minter.identifiers import is_well_formed
from ..minter.relations import HOMOLOGOUS_NAME, HOMOLOGUE, homology
from ..minter.relations.abstract_names import find_abstraction
from ..names import citation
from ..times import system_clock, timestamp
from .facts import RelatedName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..minter.relations import Relation
    from ..store import Reader


def gather_relations(minter: Minter, reader: Reader, key: bytes, limit: int | None) -> tuple[RelatedName, ...]:
    """The relations of a name, as stored, with those that follow from them.

    With a limit at most so many, and only those in force.
    """
    now = timestamp(system_clock())
    known = _related_names(minter, reader, key, now)
    if limit is None:
        return tuple(known)
    return tuple(islice((relation for relation in known if relation.in_force), limit))


def _related_names(minter: Minter, reader: Reader, key: bytes, now: bytes) -> Iterator[RelatedName]:
    for relation in homology.all_relations(reader, key, now):
        yield _related(minter, reader, key, relation, now)


def _related(minter: Minter, reader: Reader, key: bytes, relation: Relation, now: bytes) -> RelatedName:
    abstract = find_abstraction(reader, relation.other)
    homologous = relation.kind in (HOMOLOGUE, HOMOLOGOUS_NAME)
    scopes = _scopes(minter, reader, key, relation.display, now) if homologous else ()
    elsewhere, address = (False, b"") if abstract or not relation.other else place_of(minter, reader, relation)
    return RelatedName(
        relation.word, cited_other(minter, relation.other, relation.display), relation.display or relation.other,
        relation.authority, relation.start, relation.until, relation.holds_at(now),
        abstract.kind if abstract else "", scopes, derived=relation.derived, elsewhere=elsewhere, address=address,
    )


def place_of(minter: Minter, reader: Reader, relation: Relation) -> tuple[bool, bytes]:
    """Whether the other name of a relation is none of this minter, and then its address, if it has one that everybody
    knows."""
    if is_known(reader, relation.other) or (not minter.scheme.free and is_well_formed(minter, reader, relation.other)):
        return False, b""
    return True, citation.public_address(relation.display or relation.other)


def _scopes(minter: Minter, reader: Reader, key: bytes, other: bytes, now: bytes) -> tuple[bytes, ...]:
    found = homology.homology_scopes(minter, reader, minter.namespace.display(key), other, now)
    return tuple(scope.display for scope in found)


def cited_other(minter: Minter, key: bytes, display: bytes) -> bytes:
    """Another name as it is cited; one of this minter gets its label."""
    if not key or display != minter.with_label(key) or b"://" in key or names.parse(key).scheme:
        return display
    return cited_name(minter, key)


def cited_name(minter: Minter, identifier: bytes) -> bytes:
    """An identifier with the first label of its minter, also where the label is implied by the scheme."""
    labels = minter.namespace.labels
    return labels[0] + identifier if labels else identifier
