"""In which sense two names are the same, where they are not one name: what is recorded here of both.

The senses are those of the PILIN ontology of identifier systems: a name and its alias (5.5), synonyms (5.4),
equivalents (5.3), homologues (7.2), homologous names (10.4), and something abstract and what realises it (7.1).
"""

from __future__ import annotations

from ...errors import printable
from . import (
    ALIAS,
    ALIAS_OF,
    EQUIVALENT,
    HOMOLOGOUS_NAME,
    HOMOLOGUE,
    KINDS,
    REALISED_BY,
    REALISES,
    SYNONYM,
    relations_of,
)
from .abstract_names import CONTEXT, IDENTIFIER
from .abstractions import identify_with_abstract
from .homology import common_abstractions, homology_scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...store import Reader
    from .. import Minter
    from ..identifiers import NameRef
    from . import Relation

_SENSES = (ALIAS_OF, ALIAS, SYNONYM, EQUIVALENT, HOMOLOGUE, HOMOLOGOUS_NAME, REALISES, REALISED_BY)


def senses(minter: Minter, reader: Reader, first: bytes, second: bytes, now: bytes) -> list[str]:
    """In which senses two names are the same at a date, one line each; none if nothing of the kind is recorded."""
    one, other = (identify_with_abstract(minter, reader, text)[0] for text in (first, second))
    if one.key == other.key:
        return []
    return [*_claimed(minter, reader, one, other, now), *_derived(minter, reader, one, other, now)]


def abstract_names(minter: Minter, reader: Reader, *texts: bytes) -> list[str]:
    """For each of two different names that is abstract, why it is not the same as the other."""
    found = [identify_with_abstract(minter, reader, text)[1] for text in texts]
    return [f"{printable(abstract.display)} is an abstract {abstract.kind}, and the same as no other name."
            for abstract in found if abstract is not None]


def _claimed(minter: Minter, reader: Reader, one: NameRef, other: NameRef, now: bytes) -> Iterator[str]:
    for relation in relations_of(reader, one.key):
        if relation.other == other.key and relation.kind in _SENSES and relation.holds_at(now):
            scope = _scope(minter, reader, one, other, now) if relation.kind in (HOMOLOGUE, HOMOLOGOUS_NAME) else ""
            according = f", according to {printable(relation.authority)}" if relation.authority else ""
            yield _sentence(relation, one, other) + scope + according


def _sentence(relation: Relation, one: NameRef, other: NameRef) -> str:
    kind = KINDS[relation.kind]
    first, second = printable(one.display), printable(other.display)
    if kind.letter in (ALIAS, ALIAS_OF):
        alias, target = (first, second) if kind.letter == ALIAS_OF else (second, first)
        return f"alias ({kind.section}): {alias} stands for {target}"
    if kind.symmetric:
        return f"{kind.verb} ({kind.section})"
    return f"realisation ({kind.section}): {first} {kind.verb} {second}"


def _derived(minter: Minter, reader: Reader, one: NameRef, other: NameRef, now: bytes) -> Iterator[str]:
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
