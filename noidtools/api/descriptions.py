"""The Python interface: all that is known of a name or of the minter, as values and as RDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import overload

from ..description.facts import MinterFacts, NameFacts, Party, Policy, QualityStatement, RelatedName
from ..minter.qualities import Finding
from ..names.targets import USUAL_CODE
from .base import MinterBase
from .text import Text, to_bytes, to_datetime, to_text
from .values import CitationForm, QualityClaim, RedirectTarget


@dataclass(frozen=True, slots=True)
class Responsible:
    """A custodian; `until` is None for a present one, `purpose` empty for the one who answers for all else."""

    name: str
    contact: str
    start: datetime | None
    until: datetime | None
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class PolicyStatement:
    """A policy in words: its kind, such as label-format, access, association or persistence, and for which time."""

    kind: str
    text: str
    start: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class RelationStatement:
    """Another name, and what it is to the name described; the words are those of `NameRelation`."""

    relation: str
    name: str
    authority: str
    start: datetime | None
    until: datetime | None
    current: bool


@dataclass(frozen=True, slots=True)
class QualityFinding:
    """What the last verification found about a quality: the verdict is holds, fails or unknown."""

    quality: str
    verdict: str
    detail: str
    date: datetime | None


@dataclass(frozen=True, slots=True)
class VerifiedName:
    """The result of verifying an identifier; `holds` is whether every quality was confirmed.  True or false as that."""

    identifier: str
    holds: bool
    findings: tuple[QualityFinding, ...]

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True, slots=True)
class MinterDescription:
    """What is known of a minter.

    name           its short name, such as kt5
    namespace      what its identifiers begin with; may be empty
    authority      the naming authority for which it was created
    initial_state  the state of what it mints: reserved or published
    purpose        what its names are for; may be empty
    custodians     who answers for it, oldest first
    policies       what it states and promises
    """

    name: str
    namespace: str
    authority: str
    initial_state: str
    purpose: str
    custodians: tuple[Responsible, ...]
    policies: tuple[PolicyStatement, ...]


@dataclass(frozen=True, slots=True)
class NameDescription:
    """What is known of a name.

    name              as it is cited, such as ark:/13030/kt639k9
    identifier        as its minter stores it
    minter            its minter
    state             reserved, published or withdrawn; empty if only a rule knows the name
    state_since       when it came into that state
    minted            when a withdrawn name was first minted
    reason, successor why it was withdrawn, and the name to use instead; empty otherwise
    thing             what is identified, in words or as an address; may be empty
    targets           where the name leads, the first choice first
    elements          what is bound to it, without elements whose names begin with _
    relations         other names, and what they are to this one
    findings          what its last recorded verification found
    stated            what authorities state of it
    representations   its spellings in citations
    custodians        its own, oldest first; empty where those of its minter answer for it
    """

    name: str
    identifier: str
    minter: MinterDescription
    state: str
    state_since: datetime | None
    minted: datetime | None
    reason: str
    successor: str
    thing: str
    targets: tuple[RedirectTarget, ...]
    elements: Mapping[str, str] = field(hash=False)
    relations: tuple[RelationStatement, ...]
    findings: tuple[QualityFinding, ...]
    stated: tuple[QualityClaim, ...]
    representations: tuple[CitationForm, ...]
    custodians: tuple[Responsible, ...]


class DescriptionMethods(MinterBase):
    """The methods of a minter that describe it and its names."""

    @overload
    def describe(self) -> MinterDescription: ...
    @overload
    def describe(self, name: Text) -> NameDescription: ...
    def describe(self, name: Text | None = None) -> MinterDescription | NameDescription:
        """All that is known of a name, or without one of the minter, read in one transaction.

        A value longer than a megabyte is cut off.  Raises NotFoundError for an unknown name.
        """
        return _minter_description(self._minter_facts()) if name is None else _name_description(self._facts(name))

    def describe_rdf(self, name: Text | None = None, *, format: str = "turtle") -> str:
        """The same as RDF: turtle, json-ld or xml.  Needs the package rdflib; raises UsageError without it."""
        from ..description import rdf
        from ..description.formats import ensure_rdf_format

        form = ensure_rdf_format(format)
        if name is None:
            return rdf.minter_document(self._minter_facts(), form).decode()
        return rdf.name_document(self._facts(name), form).decode()

    def verify(self, *names: Text, record: bool = False) -> list[VerifiedName]:
        """Whether the stated qualities of identifiers hold, without asking their targets.

        With `record` what is found is stored with its date, for descriptions to show.
        """
        from ..verification import Verification

        run = Verification(self._open, self._actor, named=[to_bytes(name) for name in names], record=record)
        return [
            VerifiedName(to_text(result.display), result.holds, tuple(_finding(finding) for finding in result.all))
            for results in run.run() for result in results
        ]

    def _minter_facts(self) -> MinterFacts:
        from ..description.minter_gatherer import gather_minter

        minter = self._open
        return minter.read(lambda reader: gather_minter(minter, reader))

    def _facts(self, name: Text) -> NameFacts:
        from ..description.gatherer import gather_text

        minter, text = self._open, to_bytes(name)
        return minter.read(lambda reader: gather_text(minter, reader, text))


def _minter_description(facts: MinterFacts) -> MinterDescription:
    return MinterDescription(
        to_text(facts.name), to_text(facts.namespace), facts.authority, facts.initial_state, to_text(facts.purpose),
        tuple(map(_responsible, facts.custodians)), tuple(map(_policy, facts.policies)),
    )


def _name_description(facts: NameFacts) -> NameDescription:
    return NameDescription(
        name=to_text(facts.name), identifier=to_text(facts.identifier), minter=_minter_description(facts.minter),
        state=facts.state, state_since=to_datetime(facts.state_since), minted=to_datetime(facts.minted),
        reason=to_text(facts.reason), successor=to_text(facts.successor.display) if facts.successor else "",
        thing=to_text(facts.thing),
        targets=tuple(RedirectTarget(to_text(target.url), target.code or USUAL_CODE) for target in facts.targets),
        elements={to_text(element.name): to_text(element.value) for element in facts.elements},
        relations=tuple(map(_relation, facts.relations)), findings=tuple(map(_finding, facts.findings)),
        stated=tuple(_claim(to_text(facts.name), statement) for statement in facts.statements if statement.by),
        representations=tuple(CitationForm(form, to_text(text)) for form, text in facts.representations),
        custodians=tuple(map(_responsible, facts.custodians)),
    )


def _claim(name: str, statement: QualityStatement) -> QualityClaim:
    return QualityClaim(
        name, statement.quality, statement.holds, to_text(statement.refinement), to_text(statement.by),
        to_datetime(statement.start), to_datetime(statement.until),
    )


def _responsible(party: Party) -> Responsible:
    return Responsible(to_text(party.name), to_text(party.contact), to_datetime(party.start), to_datetime(party.until),
                       to_text(party.purpose))


def _policy(policy: Policy) -> PolicyStatement:
    return PolicyStatement(policy.kind, to_text(policy.text), to_datetime(policy.start), to_datetime(policy.until))


def _relation(related: RelatedName) -> RelationStatement:
    return RelationStatement(
        related.relation, to_text(related.display), to_text(related.authority), to_datetime(related.start),
        to_datetime(related.until), related.in_force,
    )


def _finding(finding: Finding) -> QualityFinding:
    return QualityFinding(finding.quality.name, finding.verdict, finding.detail, to_datetime(finding.date))
