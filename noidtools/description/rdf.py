"""The facts of a minter and of a name as RDF in the terms of the ontology.

Pure functions from facts to a graph.  Whatever a value contains, it becomes a literal or a percent-encoded IRI.
Parts of a description have IRIs of their own (`…#name`, `…#quality-resolvable`), so that the same facts always give
the same graph.  Facts that make no valid description raise InvalidError.
"""

from __future__ import annotations

from ..errors import InvalidError
from ..minter.findings import HOLDS, UNKNOWN
from ..minter.relations import ALIAS, ALIAS_OF, PREFERRED, SYNONYM, WORDS
from .graph import GraphBuilder, serialize
from .minter_rdf import MinterWriter, iri_or
from .vocabulary import ACTS, BY_STATE, QUALITIES, STATES, address, name_iri, part_iri, term_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rdflib import Graph

    from ..minter.findings import Finding
    from .facts import Element, MinterFacts, NameFacts, QualityStatement, RelatedName


def minter_document(facts: MinterFacts, form: str) -> bytes:
    """The description of a minter in a format of formats.RDF_FORMATS."""
    return serialize(describe_minter(facts), form)


def name_document(facts: NameFacts, form: str) -> bytes:
    """The description of a name in a format of formats.RDF_FORMATS."""
    return serialize(describe_name(facts), form)


def describe_minter(facts: MinterFacts) -> Graph:
    """The model of the identifier system that a minter is."""
    builder = GraphBuilder()
    minter = MinterWriter(builder, facts)
    minter.write()
    minter.write_model()
    return builder.graph


def describe_name(facts: NameFacts) -> Graph:
    """The description of a name, with as much of its minter as that needs."""
    builder = GraphBuilder()
    minter = MinterWriter(builder, facts.minter)
    minter.write()
    _NameWriter(builder, minter, facts).write()
    return builder.graph


class _NameWriter:
    """Adds a name to a graph that has its minter."""

    __slots__ = ("_builder", "_facts", "_minter", "_name", "iri")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter, facts: NameFacts) -> None:
        self._builder = builder
        self._minter = minter
        self._facts = facts
        self.iri = iri_or(name_iri(facts.name, minter.base), facts.iri, "an identifier", "iri")
        self._name = part_iri(self.iri, "name")

    def write(self) -> None:
        self._write_name()
        self._write_state()
        self._write_thing()
        self._write_relations()
        self._write_qualities()
        self._write_responsibility()
        whole = (element for element in self._facts.elements if not element.whole_size)
        for number, element in enumerate(whole, 1):
            self._write_element(part_iri(self.iri, f"binding-{number}"), element)

    def _write_name(self) -> None:
        builder, facts = self._builder, self._facts
        builder.node(self.iri, "pil:Identifier")
        builder.text(self.iri, "rdfs:label", facts.name)
        builder.link(self.iri, "pil:isManagedBy", self._minter.system)
        builder.link(self.iri, "pil:hasName", builder.node(self._name, "pil:Name"))
        builder.link(self._name, "pil:hasContext", self._minter.iri)
        label = builder.node(part_iri(self.iri, "label"), "pil:Label")
        builder.text(label, "pil:symbol", facts.label or facts.name)
        builder.link(self._name, "pil:hasLabel", label)
        for number, (form, text) in enumerate((("canonical", facts.name), *facts.representations), 1):
            node = builder.node(part_iri(self.iri, f"representation-{number}"), "pil:Label")
            builder.text(node, "pil:symbol", text)
            builder.text(node, "noid:form", form.encode())
            builder.link(self._name, "pil:nameRepresentation", node)
            builder.link(self.iri, "pil:representation", node)

    def _write_state(self) -> None:
        builder, facts = self._builder, self._facts
        # A name that only a rule knows can be resolved by the public.
        state = facts.state or "published"
        term = term_for(STATES, state, "state")
        builder.link_term(self.iri, "noid:state", term)
        builder.date(self.iri, "noid:stateSince", facts.state_since)
        # A name is reserved, an identifier is published or withdrawn (8.9, 8.10).
        builder.node(self._name if state == "reserved" else self.iri, term)
        if state != "withdrawn":
            builder.node(self.iri, "pil:Registered")
            return
        if not facts.state_since:
            raise InvalidError("The description of a withdrawn identifier needs 'state_since', the date of it.")
        builder.optional_text(self.iri, "noid:reason", facts.reason)
        if facts.successor:
            builder.link(self.iri, "noid:successor", self._iri_of(facts.successor))

    def _write_thing(self) -> None:
        builder, thing = self._builder, self._facts.thing
        if thing:
            known = address(thing)
            node = known or part_iri(self.iri, "thing")
            builder.link(self.iri, "pil:hasThing", node)
            if known is None:
                builder.text(builder.node(node, "pil:Thing"), "rdfs:label", thing)
        for target in self._facts.targets:
            place = address(target.url)
            if place is None:
                builder.text(self.iri, "noid:locatorText", target.url)
            else:
                builder.link(self.iri, "pil:locator", place)

    def _write_relations(self) -> None:
        builder, minter = self._builder, self._minter
        for claim in self._related(ALIAS_OF)[-1:]:
            node = part_iri(self.iri, "alias")
            minter.write_alias(node, self.iri, self._iri_of(claim), claim)
            builder.link(self.iri, "pil:isAlias", node)
        for number, claim in enumerate(self._related(ALIAS), 1):
            node = part_iri(self.iri, f"alias-{number}")
            minter.write_alias(node, self._iri_of(claim), self.iri, claim)
            builder.link(self.iri, "pil:isAliasTarget", node)
        for number, claim in enumerate(self._related(SYNONYM), 1):
            if not claim.authority:
                raise InvalidError("The description of a synonym needs 'authority', the party that claims it.")
            node = part_iri(self.iri, f"synonym-{number}")
            minter.write_synonymy(node, claim, self.iri, self._iri_of(claim))
            builder.link(self.iri, "pil:isSynonym", node)
            builder.link(self.iri, "pil:synonymOf", self._iri_of(claim))
        for claim in self._related(PREFERRED):
            builder.link(self.iri, "pil:preferredBy", minter.party(claim.authority))

    def _related(self, kind: bytes) -> list[RelatedName]:
        return [related for related in self._facts.relations if related.relation == WORDS[kind]]

    def _iri_of(self, related: RelatedName) -> str:
        return name_iri(related.name, self._minter.base)

    # -- qualities ---------------------------------------------------------------------------------

    def _write_qualities(self) -> None:
        findings = [finding for finding in self._facts.findings if finding.verdict != UNKNOWN]
        described = [finding.quality.name for finding in findings]
        described += [statement.quality for statement in self._facts.statements]
        for quality in described:
            if described.count(quality) > 1:
                raise InvalidError(
                    f"There are two statements of the quality {quality}; a description holds one of each."
                )
        for finding in findings:
            self._write_finding(finding)
        for statement in self._facts.statements:
            self._write_statement(statement)

    def _write_finding(self, finding: Finding) -> None:
        """A quality that was verified: confirmed, or refuted."""
        builder, quality = self._builder, finding.quality
        if not finding.date:
            raise InvalidError(f"The quality {quality.name} needs both the date of its verification and the outcome.")
        confirmed = finding.verdict == HOLDS
        node = self._write_quality(quality.name, stated=True)
        builder.flag(node, "noid:confirmed", confirmed)
        builder.date(node, "noid:verifiedAt", finding.date)
        builder.text(node, "noid:rule", f"section {quality.section}: {quality.rule}".encode())
        if confirmed:
            builder.node(node, "pil:Verified")
            self._write_membership(quality.name)

    def _write_statement(self, statement: QualityStatement) -> None:
        self._write_quality(statement.quality, stated=statement.holds)
        if statement.holds:
            self._write_membership(statement.quality, trusted_by=statement.by)

    def _write_quality(self, name: str, *, stated: bool) -> str:
        """The statement that the name has a quality, or lacks it; returns its node."""
        builder = self._builder
        term = term_for(QUALITIES, name, "quality of the ontology")
        node = builder.node(part_iri(self.iri, f"quality-{name}"), "pil:QualityStatement")
        subject = self._name if name == "reserved" else self.iri
        builder.link(subject, "pil:hasQualityStatement", node)
        builder.link(node, "pil:statedOf", subject)
        builder.link_term(node, "pil:statedQuality", term)
        builder.flag(node, "pil:statedValue", stated)
        return node

    def _write_membership(self, name: str, trusted_by: bytes = b"") -> None:
        """Make the identifier a member of a quality's class, if what the class demands is known."""
        if name in BY_STATE:
            return
        builder, minter = self._builder, self._minter
        if name == "persistent":
            timespan = minter.persistence_timespan()
            if not timespan:
                return
            builder.link(self.iri, "pil:timespanOfPersistent", timespan)
        elif name in ("trusted", "reliable"):
            if not trusted_by:
                return
            builder.link(self.iri, "pil:trustedByParty", minter.party(trusted_by))
        elif name == "unique":
            builder.link(self.iri, "pil:scopeOfUnique", minter.iri)
        elif name == "universal":
            builder.link(self.iri, "pil:contextInUniversal", minter.iri)
        elif name == "accountable":
            builder.link_term(self.iri, "pil:accountableToParty", "noid:Public")
        builder.node(self.iri, QUALITIES[name])

    # -- responsibility, actions, bindings -----------------------------------------------------------

    def _write_responsibility(self) -> None:
        builder, minter, facts = self._builder, self._minter, self._facts
        if facts.custodians:
            minter.write_custodians(self.iri, facts.custodians)
        else:
            minter.write_inherited_custodians(self.iri)
        minter.write_policies(self.iri, facts.policies)
        minter.write_services(self.iri, facts.actions)
        for action in facts.actions:
            if action.name in ACTS:
                builder.link(self.iri, "pil:actionInActionable", part_iri(self.iri, f"action-{action.name}"))

    def _write_element(self, node: str, element: Element) -> None:
        builder = self._builder
        builder.node(node, "noid:Binding")
        builder.text(node, "noid:element", element.name)
        builder.text(node, "noid:value", element.value)
        builder.link(self.iri, "noid:binding", node)
