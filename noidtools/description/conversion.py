"""From the records of a minter, which are bytes, to the facts of facts.py, which are text.

A function that has a reader is called inside a transaction of the minter.
"""

from __future__ import annotations

from itertools import islice

from .. import names
from ..codec import decode_text
from ..minter import qualities
from ..minter.circulation import is_known
from ..minter.identifiers import is_well_formed
from ..minter.relations import HOMOLOGOUS_NAME, HOMOLOGUE, find_abstraction
from ..minter.relations.claims import all_relations, homology_scopes
from ..names import citation
from ..names.targets import USUAL_CODE
from ..times import system_clock, timestamp
from .events import moment, required_moment
from .facts import AbstractName, CustodyPeriod, NameRelation, QualityClaim, QualityFinding, RedirectTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from ..minter.custody import Custodian
    from ..minter.qualities import Finding, StatedQuality
    from ..minter.relations import Abstraction, Relation
    from ..names.targets import Target
    from ..store import Reader


# -- relations, custodians, qualities, targets -----------------------------------------------------------------------


def gather_relations(
    minter: Minter, reader: Reader, key: bytes, display: bytes, limit: int | None = None, *, now: bytes = b""
) -> tuple[NameRelation, ...]:
    """The relations of a name, as stored, with those that follow from them.

    display  the name as written in answers
    limit    at most this number of relations, and only those in force; None is all
    now      the date, if not that of the system's clock
    """
    now = now or timestamp(system_clock())
    found = (name_relation(minter, reader, display, relation, now) for relation in all_relations(reader, key, now)
             if limit is None or relation.holds_at(now))
    return tuple(islice(found, limit))


def name_relation(minter: Minter, reader: Reader, display: bytes, relation: Relation, now: bytes) -> NameRelation:
    """A relation of a name; `display` is the name as written in answers."""
    abstract = find_abstraction(reader, relation.other)
    scopes: list[Abstraction] = []
    if relation.kind in (HOMOLOGUE, HOMOLOGOUS_NAME):
        scopes = homology_scopes(minter, reader, display, relation.display, now)
    elsewhere = not abstract and bool(relation.other) and _is_elsewhere(minter, reader, relation.other)
    other = relation.display or relation.other
    return NameRelation(
        identifier=decode_text(display), relation=relation.word, name=decode_text(other),
        authority=decode_text(relation.authority), start=moment(relation.start), until=moment(relation.until),
        current=relation.holds_at(now), event=relation.event,
        cited=cited_other(minter, relation.other, relation.display), abstract=abstract.kind if abstract else "",
        scopes=tuple(decode_text(scope.display) for scope in scopes), derived=relation.derived, elsewhere=elsewhere,
        address=decode_text(citation.public_address(other)) if elsewhere else "",
    )


def _is_elsewhere(minter: Minter, reader: Reader, key: bytes) -> bool:
    """Whether a name, as stored, is none of this minter."""
    return not is_known(reader, key) and (minter.scheme.free or not is_well_formed(minter, reader, key))


def cited_other(minter: Minter, key: bytes, display: bytes) -> str:
    """Another name as it is cited; one of this minter gets its label."""
    if not key or display != minter.with_label(key) or b"://" in key or names.parse(key).scheme:
        return decode_text(display)
    return decode_text(cited_name(minter, key))


def cited_name(minter: Minter, identifier: bytes) -> bytes:
    """An identifier with the first label of its minter, also where the label is implied by the scheme."""
    labels = minter.namespace.labels
    return labels[0] + identifier if labels else identifier


def abstract_name(reader: Reader, abstraction: Abstraction) -> AbstractName:
    """Something abstract, with the name of its context."""
    context = find_abstraction(reader, abstraction.context) if abstraction.context else None
    return AbstractName(
        decode_text(abstraction.display), abstraction.kind, decode_text(abstraction.label),
        decode_text(abstraction.about), decode_text(abstraction.authority), required_moment(abstraction.since),
        decode_text(context.display) if context else "",
    )


def custody_period(minter: Minter, custodian: Custodian) -> CustodyPeriod:
    """A custodian of an identifier or of the minter."""
    of = decode_text(minter.namespace.display(custodian.of)) if custodian.of else None
    return CustodyPeriod(
        decode_text(custodian.name), decode_text(custodian.contact), moment(custodian.start), moment(custodian.until),
        of, decode_text(custodian.purpose),
    )


def quality_claim(of: str | None, stated: StatedQuality) -> QualityClaim:
    """What an authority states of a name, or of the minter if `of` is None."""
    return QualityClaim(
        of, stated.quality, stated.holds, decode_text(stated.refinement), decode_text(stated.authority),
        moment(stated.start), moment(stated.until),
    )


def stated_qualities(reader: Reader, subject: bytes, of: str | None) -> tuple[QualityClaim, ...]:
    """All that authorities state of a name, or of the minter."""
    return tuple(quality_claim(of, stated) for stated in qualities.stated_qualities(reader, subject))


def quality_finding(finding: Finding) -> QualityFinding:
    """What a verification found."""
    quality = finding.quality
    return QualityFinding(quality.name, finding.verdict, finding.detail, moment(finding.date), quality.section,
                          quality.rule)


def redirect_targets(targets: Iterable[Target]) -> tuple[RedirectTarget, ...]:
    """Targets with the code that is used where none is given."""
    return tuple(RedirectTarget(decode_text(target.url), target.code or USUAL_CODE) for target in targets)
