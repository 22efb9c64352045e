"""The part of an RDF description that is about relations: of names, of contexts, and of what is abstract."""

from __future__ import annotations

from ..errors import InvalidError
from ..minter.relations import (
    ALIAS,
    ALIAS_OF,
    CONTAINED_IN,
    CONTAINS,
    CONTEXT,
    EQUIVALENT,
    HOMOLOGOUS_NAME,
    HOMOLOGUE,
    IDENTIFIER,
    NAME,
    PREFERRED,
    REALISED_BY,
    REALISES,
    SYNONYM,
    WORDS,
)
from .facts import NameDescription, NameRelation
from .formats import GraphBuilder
from .minter_rdf import MinterWriter
from .vocabulary import name_iri, part_iri

_ABSTRACT_CLASSES = {
    CONTEXT: "pil:AbstractContext", NAME: "pil:AbstractName", IDENTIFIER: "pil:AbstractIdentifier",
}
_REALISES = {CONTEXT: "pil:realisesContext", NAME: "pil:realisesName", IDENTIFIER: "pil:realisesIdentifier"}
_REALISED_BY = {
    CONTEXT: "pil:isRealisedBy", NAME: "pil:isNameRealisedBy", IDENTIFIER: "pil:isIdentifierRealisedBy",
}


class RelationWriter:
    """Adds relations of names and contexts to a graph that has their minter."""

    __slots__ = ("_builder", "_minter")

    def __init__(self, builder: GraphBuilder, minter: MinterWriter) -> None:
        self._builder = builder
        self._minter = minter

    # -- relations of an identifier --------------------------------------------------------------------

    def write_name_relations(self, iri: str, related: tuple[NameRelation, ...]) -> None:
        """The relations of an identifier that the minter manages."""
        self._write_aliases(iri, related)
        self._write_synonyms(iri, related)
        for claim in _of_kind(related, PREFERRED):
            self._builder.link(iri, "pil:preferredBy", self._minter.party(claim.authority))
            if self._minter.persistence_timespan():
                # A preferred identifier is persistent (5.6), for the time of the minter's commitment.
                self._builder.node(iri, "pil:PreferredIdentifier", "pil:Persistent")
                self._builder.link(iri, "pil:timespanOfPersistent", self._minter.persistence_timespan())
        self._write_equivalents(iri, related)
        self._write_homologues(iri, related)
        for number, claim in enumerate(_of_kind(related, REALISES), 1):
            abstract = self._abstract(claim)
            concrete = part_iri(iri, "name") if claim.abstract == NAME else iri
            self._builder.link(concrete, "pil:realises", abstract)
            self._builder.link(concrete, _REALISES[claim.abstract], abstract)
            self._write_claim(part_iri(iri, f"realises-{number}"), claim, concrete, abstract)

    def _write_aliases(self, iri: str, related: tuple[NameRelation, ...]) -> None:
        builder, minter = self._builder, self._minter
        for claim in _of_kind(related, ALIAS_OF)[-1:]:
            node = part_iri(iri, "alias")
            minter.write_alias(node, iri, self._iri_of(claim), claim)
            builder.link(iri, "pil:isAlias", node)
        for number, claim in enumerate(_of_kind(related, ALIAS), 1):
            node = part_iri(iri, f"alias-{number}")
            minter.write_alias(node, self._iri_of(claim), iri, claim)
            builder.link(iri, "pil:isAliasTarget", node)

    def _write_synonyms(self, iri: str, related: tuple[NameRelation, ...]) -> None:
        for number, claim in enumerate(_of_kind(related, SYNONYM), 1):
            if not claim.authority:
                raise InvalidError("The description of a synonym needs 'authority', the party that claims it.")
            node = part_iri(iri, f"synonym-{number}")
            self._minter.write_synonymy(node, claim, iri, self._iri_of(claim))
            self._builder.link(iri, "pil:isSynonym", node)
            self._builder.link(iri, "pil:synonymOf", self._iri_of(claim))
            self._builder.link(iri, "pil:relatedTo", self._iri_of(claim))

    def _write_equivalents(self, iri: str, related: tuple[NameRelation, ...]) -> None:
        builder = self._builder
        for number, claim in enumerate(_of_kind(related, EQUIVALENT), 1):
            other = self._iri_of(claim)
            node = part_iri(iri, f"equivalent-{number}")
            builder.node(node, "pil:EquivalenceInstance")
            builder.link(node, "pil:equivalentAt", builder.moment(part_iri(node, "time"), claim.start))
            builder.link(iri, "pil:isEquivalent", node)
            self._write_claim(node, claim, iri, other)
            if claim.current:
                builder.link(iri, "pil:equivalentTo", other)

    def _write_homologues(self, iri: str, related: tuple[NameRelation, ...]) -> None:
        builder = self._builder
        for number, claim in enumerate(_of_kind(related, HOMOLOGUE), 1):
            other = self._iri_of(claim)
            node = builder.node(part_iri(iri, f"homologue-{number}"), "pil:HomologyInstance")
            for scope in claim.scopes[:1]:
                builder.link(node, "pil:homologyScope", self._abstract_node(scope, CONTEXT))
            for homologue in (iri, other):
                builder.link(homologue, "pil:isHomologue", node)
            builder.link(iri, "pil:homologueOf", other)
            self._write_claim(node, claim, iri, other)
        for number, claim in enumerate(_of_kind(related, HOMOLOGOUS_NAME), 1):
            name, other = part_iri(iri, "name"), part_iri(self._iri_of(claim), "name")
            builder.link(name, "pil:homologousNameOf", other)
            self._write_claim(part_iri(iri, f"homologous-name-{number}"), claim, name, other)

    def write_elsewhere(self, facts: NameDescription) -> str:
        """A name or a context of another system: what is claimed of it; returns the node of the name."""
        iri = name_iri(facts.name, self._minter.base)
        self._builder.text(iri, "rdfs:label", facts.name)
        of_context = tuple(claim for claim in facts.relations if _is_of_context(claim))
        if of_context:
            self.write_context_relations(self._context(iri), of_context)
        self.write_name_relations(iri, tuple(claim for claim in facts.relations if not _is_of_context(claim)))
        return iri

    # -- contexts --------------------------------------------------------------------------------------

    def write_context_relations(self, context: str, related: tuple[NameRelation, ...]) -> None:
        """The relations of a concrete context."""
        builder = self._builder
        for number, claim in enumerate(_of_kind(related, REALISES), 1):
            abstract = self._abstract(claim)
            builder.link(context, "pil:realises", abstract)
            builder.link(context, "pil:realisesContext", abstract)
            self._write_claim(part_iri(context, f"realises-{number}"), claim, context, abstract)
        self._write_containment(context, related)

    def _write_containment(self, context: str, related: tuple[NameRelation, ...]) -> None:
        for kind, term in ((CONTAINS, "pil:contains"), (CONTAINED_IN, "pil:containedIn")):
            for number, claim in enumerate(_of_kind(related, kind), 1):
                other = self._abstract(claim) if claim.abstract else self._context(self._iri_of(claim))
                self._builder.link(context, term, other)
                self._write_claim(part_iri(context, f"{claim.relation}-{number}"), claim, context, other)

    # -- what is abstract ------------------------------------------------------------------------------

    def write_abstract(self, facts: NameDescription) -> str:
        """Something abstract, with its context, its authority and what realises it; returns its node."""
        abstract, builder = facts.abstract, self._builder
        assert abstract is not None
        node = self._abstract_node(facts.name, abstract.kind)
        party = self._minter.party(abstract.authority)
        builder.link(node, "pil:hasAuthority", party)
        builder.link(party, "pil:responsibleFor", node)
        if abstract.kind == CONTEXT:
            builder.optional_text(node, "pil:purpose", abstract.about)
            self._write_containment(node, facts.relations)
        else:
            self._write_abstract_name(node, facts)
        for number, claim in enumerate(_of_kind(facts.relations, REALISED_BY), 1):
            concrete = self._iri_of(claim)
            if abstract.kind == CONTEXT:
                concrete = self._context(concrete)
            if abstract.kind == NAME:
                concrete = part_iri(concrete, "name")
            builder.link(node, "pil:isRealisedBy", concrete)
            builder.link(node, _REALISED_BY[abstract.kind], concrete)
            self._write_claim(part_iri(node, f"realised-by-{number}"), claim, concrete, node)
        return node

    def _write_abstract_name(self, node: str, facts: NameDescription) -> None:
        builder, abstract = self._builder, facts.abstract
        assert abstract is not None
        name = node
        if abstract.kind == IDENTIFIER:
            name = builder.node(part_iri(node, "name"), "pil:AbstractName", "pil:Abstract")
            builder.text(name, "rdfs:label", facts.name)
            builder.link(node, "pil:hasName", name)
            if facts.thing:
                thing = builder.node(part_iri(node, "thing"), "pil:Thing")
                builder.text(thing, "rdfs:label", facts.thing)
                builder.link(node, "pil:hasThing", thing)
        label = builder.node(part_iri(node, "label"), "pil:Label")
        builder.text(label, "pil:symbol", facts.label)
        builder.link(name, "pil:hasLabel", label)
        builder.link(name, "pil:hasContext", self._abstract_node(abstract.context, CONTEXT))

    # -- nodes -----------------------------------------------------------------------------------------

    def _write_claim(self, node: str, claim: NameRelation, *concerned: str) -> None:
        """Who claims a relation, of what, and for which time; nothing for one that follows from others."""
        if claim.derived:
            return
        builder = self._builder
        builder.node(node, "noid:RelationClaim", "pil:Statement")
        builder.link(node, "noid:relates", *concerned)
        builder.text(node, "noid:relation", claim.relation)
        builder.link(node, "noid:during", builder.timespan(part_iri(node, "timespan"), claim.start, claim.until))
        party = self._minter.party(claim.authority)
        builder.link(party, "pil:claims", node)

    def _iri_of(self, related: NameRelation) -> str:
        return name_iri(related.cited, self._minter.base)

    def _context(self, identifier: str) -> str:
        """The context that a name identifies, which is another thing than the name."""
        if any(identifier == name_iri(name, self._minter.base) for name in self._minter.context_names):
            return self._minter.iri
        node = self._builder.node(part_iri(identifier, "context"), "pil:Context")
        self._builder.link(node, "pil:contextIdentifier", identifier)
        return node

    def _abstract(self, related: NameRelation) -> str:
        return self._abstract_node(related.cited, related.abstract)

    def _abstract_node(self, name: str, kind: str) -> str:
        node = self._builder.node(name_iri(name, self._minter.base), _ABSTRACT_CLASSES[kind], "pil:Abstract")
        self._builder.text(node, "rdfs:label", name)
        return node


def _is_of_context(claim: NameRelation) -> bool:
    return claim.relation in (WORDS[CONTAINS], WORDS[CONTAINED_IN]) or claim.abstract == CONTEXT


def _of_kind(related: tuple[NameRelation, ...], kind: bytes) -> list[NameRelation]:
    return [name for name in related if name.relation == WORDS[kind]]
