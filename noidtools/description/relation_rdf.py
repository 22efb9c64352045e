"""The part of an RDF description that is about relations: of names, of contexts, and of what is abstract."""

from __future__ import annotations

from collections.abc import Iterator

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
from .minter_rdf import MinterGraph
from .vocabulary import part_iri

_ABSTRACT_CLASSES = {
    CONTEXT: "pil:AbstractContext", NAME: "pil:AbstractName", IDENTIFIER: "pil:AbstractIdentifier",
}
_REALISES = {CONTEXT: "pil:realisesContext", NAME: "pil:realisesName", IDENTIFIER: "pil:realisesIdentifier"}
_REALISED_BY = {
    CONTEXT: "pil:isRealisedBy", NAME: "pil:isNameRealisedBy", IDENTIFIER: "pil:isIdentifierRealisedBy",
}


# -- relations of an identifier --------------------------------------------------------------------------------------


def write_name_relations(graph: MinterGraph, iri: str, related: tuple[NameRelation, ...]) -> None:
    """The relations of an identifier that the minter manages."""
    _write_aliases(graph, iri, related)
    _write_synonyms(graph, iri, related)
    for claim in _of_kind(related, PREFERRED):
        graph.link(iri, "pil:preferredBy", graph.party(claim.authority))
        timespan = graph.persistence_timespan()
        if timespan:
            # A preferred identifier is persistent (5.6), for the time of the minter's commitment.
            graph.node(iri, "pil:PreferredIdentifier", "pil:Persistent", links={"pil:timespanOfPersistent": timespan})
    for node, claim in _numbered(iri, related, EQUIVALENT):
        other = graph.name_iri(claim.cited)
        time = graph.moment(part_iri(node, "time"), claim.start)
        graph.node(node, "pil:EquivalenceInstance", links={"pil:equivalentAt": time})
        graph.link(iri, "pil:isEquivalent", node)
        if claim.current:
            graph.link(iri, "pil:equivalentTo", other)
        _write_claim(graph, node, claim, iri, other)
    _write_homologues(graph, iri, related)
    _write_realisations(graph, iri, related)


def _write_aliases(graph: MinterGraph, iri: str, related: tuple[NameRelation, ...]) -> None:
    for claim in _of_kind(related, ALIAS_OF)[-1:]:
        node = part_iri(iri, "alias")
        graph.write_alias(node, iri, graph.name_iri(claim.cited), claim)
        graph.link(iri, "pil:isAlias", node)
    for node, claim in _numbered(iri, related, ALIAS):
        graph.write_alias(node, graph.name_iri(claim.cited), iri, claim)
        graph.link(iri, "pil:isAliasTarget", node)


def _write_synonyms(graph: MinterGraph, iri: str, related: tuple[NameRelation, ...]) -> None:
    for node, claim in _numbered(iri, related, SYNONYM):
        if not claim.authority:
            raise InvalidError("The description of a synonym needs 'authority', the party that claims it.")
        other = graph.name_iri(claim.cited)
        graph.write_synonymy(node, claim, iri, other)
        graph.node(iri, links={"pil:isSynonym": node, "pil:synonymOf": other, "pil:relatedTo": other})


def _write_homologues(graph: MinterGraph, iri: str, related: tuple[NameRelation, ...]) -> None:
    for node, claim in _numbered(iri, related, HOMOLOGUE):
        other = graph.name_iri(claim.cited)
        graph.node(node, "pil:HomologyInstance")
        for scope in claim.scopes[:1]:
            graph.link(node, "pil:homologyScope", _abstract(graph, scope, CONTEXT))
        graph.link(other, "pil:isHomologue", node)
        graph.node(iri, links={"pil:isHomologue": node, "pil:homologueOf": other})
        _write_claim(graph, node, claim, iri, other)
    for node, claim in _numbered(iri, related, HOMOLOGOUS_NAME):
        name, other = part_iri(iri, "name"), part_iri(graph.name_iri(claim.cited), "name")
        graph.link(name, "pil:homologousNameOf", other)
        _write_claim(graph, node, claim, name, other)


def _write_realisations(graph: MinterGraph, iri: str, related: tuple[NameRelation, ...]) -> None:
    """What abstract things an identifier, its name or a context realises."""
    for node, claim in _numbered(iri, related, REALISES):
        abstract = _abstract(graph, claim.cited, claim.abstract)
        concrete = part_iri(iri, "name") if claim.abstract == NAME else iri
        graph.node(concrete, links={"pil:realises": abstract, _REALISES[claim.abstract]: abstract})
        _write_claim(graph, node, claim, concrete, abstract)


def write_elsewhere(graph: MinterGraph, facts: NameDescription) -> str:
    """A name or a context of another system: what is claimed of it; returns the node of the name."""
    iri = graph.name_iri(facts.name)
    graph.text(iri, "rdfs:label", facts.name)
    of_context = tuple(claim for claim in facts.relations if _is_of_context(claim))
    if of_context:
        write_context_relations(graph, _context(graph, iri), of_context)
    write_name_relations(graph, iri, tuple(claim for claim in facts.relations if not _is_of_context(claim)))
    return iri


# -- contexts --------------------------------------------------------------------------------------------------------


def write_context_relations(graph: MinterGraph, context: str, related: tuple[NameRelation, ...]) -> None:
    """The relations of a concrete context."""
    _write_realisations(graph, context, related)
    _write_containment(graph, context, related)


def _write_containment(graph: MinterGraph, context: str, related: tuple[NameRelation, ...]) -> None:
    for kind, term in ((CONTAINS, "pil:contains"), (CONTAINED_IN, "pil:containedIn")):
        for node, claim in _numbered(context, related, kind):
            other = _abstract(graph, claim.cited, claim.abstract) if claim.abstract else \
                _context(graph, graph.name_iri(claim.cited))
            graph.link(context, term, other)
            _write_claim(graph, node, claim, context, other)


def _context(graph: MinterGraph, identifier: str) -> str:
    """The context that a name identifies, which is another thing than the name."""
    if identifier in map(graph.name_iri, graph.context_names):
        return graph.iri
    return graph.node(part_iri(identifier, "context"), "pil:Context", links={"pil:contextIdentifier": identifier})


# -- what is abstract ------------------------------------------------------------------------------------------------


def write_abstract(graph: MinterGraph, facts: NameDescription) -> None:
    """Something abstract, with its context, its authority and what realises it."""
    abstract = facts.abstract
    assert abstract is not None
    node = _abstract(graph, facts.name, abstract.kind)
    graph.link_both(node, "pil:hasAuthority", graph.party(abstract.authority), "pil:responsibleFor")
    if abstract.kind == CONTEXT:
        graph.optional_text(node, "pil:purpose", abstract.about)
        _write_containment(graph, node, facts.relations)
    else:
        _write_abstract_name(graph, node, facts)
    for claim_node, claim in _numbered(node, facts.relations, REALISED_BY):
        concrete = graph.name_iri(claim.cited)
        if abstract.kind == CONTEXT:
            concrete = _context(graph, concrete)
        if abstract.kind == NAME:
            concrete = part_iri(concrete, "name")
        graph.node(node, links={"pil:isRealisedBy": concrete, _REALISED_BY[abstract.kind]: concrete})
        _write_claim(graph, claim_node, claim, concrete, node)


def _write_abstract_name(graph: MinterGraph, node: str, facts: NameDescription) -> None:
    abstract = facts.abstract
    assert abstract is not None
    name = node
    if abstract.kind == IDENTIFIER:
        name = graph.node(part_iri(node, "name"), "pil:AbstractName", "pil:Abstract", texts={"rdfs:label": facts.name})
        graph.link(node, "pil:hasName", name)
        if facts.thing:
            thing = graph.node(part_iri(node, "thing"), "pil:Thing", texts={"rdfs:label": facts.thing})
            graph.link(node, "pil:hasThing", thing)
    label = graph.node(part_iri(node, "label"), "pil:Label", texts={"pil:symbol": facts.label})
    graph.node(name, links={"pil:hasLabel": label, "pil:hasContext": _abstract(graph, abstract.context, CONTEXT)})


def _abstract(graph: MinterGraph, name: str, kind: str) -> str:
    """The node of an abstract context, name or identifier."""
    return graph.node(graph.name_iri(name), _ABSTRACT_CLASSES[kind], "pil:Abstract", texts={"rdfs:label": name})


# -- claims ----------------------------------------------------------------------------------------------------------


def _write_claim(graph: MinterGraph, node: str, claim: NameRelation, *concerned: str) -> None:
    """Who claims a relation, of what, and for which time; nothing for one that follows from others."""
    if claim.derived:
        return
    graph.node(node, "noid:RelationClaim", "pil:Statement", texts={"noid:relation": claim.relation})
    graph.link(node, "noid:relates", *concerned)
    graph.link(node, "noid:during", graph.timespan(part_iri(node, "timespan"), claim.start, claim.until))
    authority = graph.party(claim.authority)
    graph.link(authority, "pil:claims", node)
    graph.link_authority(node, authority)


def _is_of_context(claim: NameRelation) -> bool:
    return claim.relation in (WORDS[CONTAINS], WORDS[CONTAINED_IN]) or claim.abstract == CONTEXT


def _of_kind(related: tuple[NameRelation, ...], kind: bytes) -> list[NameRelation]:
    return [name for name in related if name.relation == WORDS[kind]]


def _numbered(iri: str, related: tuple[NameRelation, ...], kind: bytes) -> Iterator[tuple[str, NameRelation]]:
    """The relations of a kind, each with a node for the claim of it: `…#synonym-1`."""
    for number, claim in enumerate(_of_kind(related, kind), 1):
        yield part_iri(iri, f"{claim.relation}-{number}"), claim
