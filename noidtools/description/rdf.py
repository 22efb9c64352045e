"""The facts of a minter and of a name as RDF in the terms of the ontology.

Pure functions from facts to a graph.  Whatever a value contains, it becomes a literal or a percent-encoded IRI.
Parts of a description have IRIs of their own (`…#name`, `…#quality-resolvable`), so that the same facts always give
the same graph.  Facts that make no valid description raise InvalidError.
"""

from __future__ import annotations

from ..errors import InvalidError
from .action_rdf import PerformedActionWriter
from .graph import GraphBuilder, serialize
from .minter_rdf import MinterWriter, iri_or
from .model_rdf import ModelWriter
from .quality_rdf import QualityWriter, write_statements
from .relation_rdf import RelationWriter
from .vocabulary import ACTS, STATES, address, name_iri, part_iri, term_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rdflib import Graph

    from .facts import Element, MinterFacts, NameFacts


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
    ModelWriter(builder, minter, facts).write()
    write_statements(builder, minter, minter.system, facts.qualities)
    RelationWriter(builder, minter).write_context_relations(minter.iri, facts.relations)
    return builder.graph


def describe_name(facts: NameFacts) -> Graph:
    """The description of a name, with as much of its minter as that needs."""
    builder = GraphBuilder()
    minter = MinterWriter(builder, facts.minter)
    minter.write()
    if facts.abstract is not None:
        RelationWriter(builder, minter).write_abstract(facts)
    elif facts.elsewhere:
        iri = RelationWriter(builder, minter).write_elsewhere(facts)
        write_statements(builder, minter, iri, facts.statements)
    else:
        _NameWriter(builder, minter, facts).write()
    return builder.graph


# The forms of a citation that encode the canonical spelling, and the names of their schemes.
_ENCODINGS = {"encoded": "url", "print": "print", "speech": "speech"}


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
        RelationWriter(self._builder, self._minter).write_name_relations(self.iri, self._facts.relations)
        QualityWriter(self._builder, self._minter, self.iri).write(self._facts)
        self._write_responsibility()
        actions = PerformedActionWriter(self._builder, self._minter, self.iri)
        for action in self._facts.performed:
            actions.write(action)
        whole = (element for element in self._facts.elements if not element.whole_size)
        for number, element in enumerate(whole, 1):
            self._write_element(part_iri(self.iri, f"binding-{number}"), element)

    def _write_name(self) -> None:
        builder, facts = self._builder, self._facts
        builder.node(self.iri, "pil:Identifier", "pil:Concrete", "pil:ConcreteIdentifier")
        builder.text(self.iri, "rdfs:label", facts.name)
        builder.link(self.iri, "pil:isManagedBy", self._minter.system)
        builder.link(self.iri, "pil:hasName", builder.node(self._name, "pil:Name", "pil:ConcreteName"))
        builder.link(self._name, "pil:hasContext", self._minter.iri)
        label = builder.node(part_iri(self.iri, "label"), "pil:Label")
        builder.text(label, "pil:symbol", facts.label or facts.name)
        builder.link(self._name, "pil:hasLabel", label)
        builder.link(label, "pil:isIn", self._minter.iri)
        builder.link(self._minter.system, "pil:manages", self.iri, self._name)
        self._write_representations()
        for claim in facts.minter.context_aliases:
            # Under another label of the context it is the same name, according to whoever claims that (10.3).
            if facts.name.startswith(claim.target):
                other = name_iri(claim.alias + facts.name[len(claim.target) :], self._minter.base)
                builder.link(self._name, "pil:same", part_iri(other, "name"))

    def _write_representations(self) -> None:
        """The spellings of the name: label and context put together, and encodings of that."""
        builder, facts = self._builder, self._facts
        forms = [("canonical", facts.name), *facts.representations]
        if facts.identifier != facts.name:
            forms.append(("stored", facts.identifier))
        canonical = part_iri(self.iri, "representation-1")
        for number, (form, text) in enumerate(forms, 1):
            node = builder.node(part_iri(self.iri, f"representation-{number}"), "pil:Label")
            builder.text(node, "pil:symbol", text)
            builder.text(node, "noid:form", form.encode())
            builder.link(self._name, "pil:nameRepresentation", node)
            builder.link(self.iri, "pil:representation", node)
            if node != canonical:
                builder.link(canonical, "pil:sameRepresentedName", node)
            if form in _ENCODINGS:
                builder.node(node, "pil:Encoded")
                builder.link(canonical, "pil:encode", node)
                scheme = builder.node(part_iri(self._minter.iri, f"encoding-{_ENCODINGS[form]}"), "pil:EncodingScheme")
                builder.link(node, "pil:encodedIn", scheme)
                if form == "encoded":
                    builder.link_term(node, "pil:encodedIn", "pil:URLEncoding")
            else:
                builder.node(node, "pil:Serialisation")
                scheme = part_iri(self._minter.iri, f"serialisation-{form}")
                builder.link(node, "pil:serialisedBy", builder.node(scheme, "pil:SerialisationScheme"))
                # Stored names do not contain their context.
                builder.flag(node, "pil:contextImplicit", form == "stored")

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
            builder.link(self.iri, "noid:successor", name_iri(facts.successor.name, self._minter.base))

    def _write_thing(self) -> None:
        builder, thing = self._builder, self._facts.thing
        if thing:
            known = address(thing)
            node = known or part_iri(self.iri, "thing")
            builder.link(self.iri, "pil:hasThing", node)
            builder.link(self._name, "pil:identifies", node)
            builder.link(self._name, "pil:associatedWith", node)
            builder.link(node, "pil:isReferentOf", self._name)
            if known is None:
                builder.text(builder.node(node, "pil:Thing"), "rdfs:label", thing)
        for target in self._facts.targets:
            place = address(target.url)
            if place is None:
                builder.text(self.iri, "noid:locatorText", target.url)
            else:
                # What resolving gives back is the key by which the thing can be had (9.10).
                builder.link(self.iri, "pil:locator", builder.node(place, "pil:Locator", "pil:RetrievalKey"))

    # -- responsibility, actions, bindings -----------------------------------------------------------

    def _write_responsibility(self) -> None:
        builder, minter, facts = self._builder, self._minter, self._facts
        if facts.custodians:
            minter.write_custodians(self.iri, facts.custodians)
        if all(party.purpose or party.until for party in facts.custodians):
            # What it has no custodian of its own for, those of the minter answer for.
            minter.write_inherited_custodians(self.iri)
        minter.write_policies(self.iri, facts.policies)
        minter.write_services(self.iri, facts.actions)
        for action in facts.actions:
            # What was withdrawn is not actionable (9.4), although its tombstone can be read.
            if action.name in ACTS and facts.state != "withdrawn":
                builder.link(self.iri, "pil:actionInActionable", part_iri(self.iri, f"action-{action.name}"))

    def _write_element(self, node: str, element: Element) -> None:
        builder = self._builder
        builder.node(node, "noid:Binding", "pil:AssociationData")
        builder.text(node, "noid:element", element.name)
        builder.text(node, "noid:value", element.value)
        builder.link(self.iri, "noid:binding", node)
        builder.link(self.iri, "pil:attribute", node)
