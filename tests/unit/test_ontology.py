"""The ontology against the document's list of terms, and within its profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rdflib import OWL, RDF, RDFS, Literal, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from noidtools.description import vocabulary
from support.ontology import MODEL, OURS, PIL, SHAPES

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "pilin-terms.json").read_text("utf-8"))
TERMS: list[dict[str, Any]] = VECTORS["terms"]
OWN = sorted({s for s in MODEL.subjects() if isinstance(s, URIRef) and str(s).startswith((PIL, OURS))})


def local(name: str) -> URIRef:
    return OWL.Nothing if name == "Nothing" else PIL[name]


# --- the document's terms -----------------------------------------------------------------------


def test_every_section_of_the_document_gives_terms_or_says_why_not() -> None:
    for heading in VECTORS["headings"]:
        found = [term for term in TERMS if term["section"] == heading["section"]]
        assert bool(found) != ("no_term" in heading), heading
        if found and re.fullmatch(r"[2-9]\.[0-9]+", heading["section"]):
            assert any(term["heading"] for term in found), heading


def test_every_term_of_the_document_is_in_the_ontology_and_cites_its_section() -> None:
    for term in TERMS:
        node = PIL[term["iri"]]
        assert Literal(term["section"]) in set(MODEL.objects(node, PIL.section)), term
        assert (node, PIL.origin, None) not in MODEL, term
        kinds = set(MODEL.objects(node, RDF.type))
        if term["kind"] == "instance":
            assert OWL.NamedIndividual in kinds, term
        elif term["kind"] in ("entity", "defined class", "quality", "action"):
            assert OWL.Class in kinds, term
        elif term["kind"] in ("relation", "association", "property"):
            assert kinds & {OWL.ObjectProperty, OWL.DatatypeProperty}, term
        assert (PIL.Quality in kinds) == (term["kind"] == "quality"), term


def test_the_ontology_has_the_axioms_of_the_document() -> None:
    for term in TERMS:
        node = PIL[term["iri"]]
        for key, predicate in (("domain", RDFS.domain), ("range", RDFS.range)):
            if key in term:
                assert local(term[key]) in set(MODEL.objects(node, predicate)), term
        if "subclass" in term:
            assert local(term["subclass"]) in set(MODEL.transitive_objects(node, RDFS.subClassOf)), term
        for characteristic in term.get("is", ()):
            assert (node, RDF.type, OWL[characteristic.capitalize() + "Property"]) in MODEL, term
        for key, predicate in (("input", PIL.hasInput), ("output", PIL.hasResult)):
            if key in term:
                limits = [r for r in MODEL.objects(node, RDFS.subClassOf) if (r, OWL.onProperty, predicate) in MODEL]
                assert [MODEL.value(r, OWL.allValuesFrom) for r in limits] == [local(term[key])], term
        if "necessary" in term:
            assert (PIL[term["necessary"]], PIL.necessaryRule, node) in MODEL, term


def test_every_term_of_the_ontology_has_a_type_a_label_a_definition_and_a_section() -> None:
    types = {OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty, OWL.NamedIndividual}
    sections = {Literal(heading["section"]) for heading in VECTORS["headings"]}
    for node in OWN:
        assert set(MODEL.objects(node, RDF.type)) & types, node
        (label,) = MODEL.objects(node, RDFS.label)
        (comment,) = MODEL.objects(node, RDFS.comment)
        assert isinstance(label, Literal) and label.language == "en" and label, node
        assert isinstance(comment, Literal) and comment.language == "en", node
        assert comment.endswith(".") and comment[0].isupper() and len(comment) < 330, node
        cited = set(MODEL.objects(node, PIL.section))
        assert cited and cited <= sections, node


def test_every_term_that_the_document_does_not_name_says_so() -> None:
    named = {PIL[term["iri"]] for term in TERMS}
    for node in OWN:
        origin = MODEL.value(node, PIL.origin)
        if str(node).startswith(OURS):
            assert origin == Literal("noidtools"), node
        else:
            assert (origin == Literal("helper")) != (node in named), node


def test_every_object_property_has_a_domain_and_a_range() -> None:
    without = set()
    for node in set(MODEL.subjects(RDF.type, OWL.ObjectProperty)) | set(MODEL.subjects(RDF.type, OWL.DatatypeProperty)):
        if (node, RDFS.domain, None) not in MODEL or (node, RDFS.range, None) not in MODEL:
            without.add(node)
    assert without == {PIL.attribute}, "an attribute may have any allowed value (2.3)"


def test_every_term_used_is_defined() -> None:
    used = {node for triple in [*MODEL, *SHAPES] for node in triple if isinstance(node, URIRef)}
    assert {n for n in used if str(n).startswith((PIL, OURS))} == set(OWN) and OWN


def test_every_term_of_the_document_has_a_row_that_says_what_the_software_does_for_it() -> None:
    rows = [line.split("|") for line in vocabulary.read("terms.md").decode("utf-8").splitlines() if line[:1] == "|"]
    listed = {(row[1].strip().strip("`").removeprefix("pil:"), row[2].strip()): row[4].strip() for row in rows[2:]}
    assert all(listed.values())
    for term in TERMS:
        assert any(name == term["iri"] and term["section"] in cited.split(", ") for name, cited in listed), term


# --- the profile --------------------------------------------------------------------------------

RL_VOCABULARY = {
    "AnnotationProperty", "AsymmetricProperty", "Class", "DatatypeProperty", "FunctionalProperty",
    "InverseFunctionalProperty", "IrreflexiveProperty", "NamedIndividual", "Nothing", "ObjectProperty",
    "Ontology", "Restriction", "SymmetricProperty", "Thing", "TransitiveProperty", "allValuesFrom",
    "differentFrom", "disjointWith", "equivalentClass", "hasKey", "hasValue", "intersectionOf", "inverseOf",
    "onProperty", "propertyChainAxiom", "someValuesFrom", "versionIRI", "versionInfo",
}  # fmt: skip


def in_profile(node: Node, allowed: set[URIRef]) -> bool:
    """Whether a class expression is built from names and the given constructors only."""
    if isinstance(node, URIRef):
        return node != OWL.Thing
    used = [p for p in allowed if (node, p, None) in MODEL]
    if len(used) != 1:
        return False
    (construct,) = used
    value = MODEL.value(node, construct)
    if construct == OWL.hasValue:
        return True
    if construct == OWL.intersectionOf:
        return value is not None and all(in_profile(member, allowed) for member in Collection(MODEL, value))
    return value is not None and in_profile(value, allowed)


def test_the_ontology_stays_within_owl_2_rl() -> None:
    used = {str(n).removeprefix(str(OWL)) for t in MODEL for n in t if isinstance(n, URIRef) and n.startswith(str(OWL))}
    assert used == RL_VOCABULARY
    assert set(MODEL.subjects(None, OWL.Thing)) == {PIL.Thing}, "only as a reference, not in an axiom"
    below = {OWL.intersectionOf, OWL.someValuesFrom, OWL.hasValue}
    above = {OWL.intersectionOf, OWL.allValuesFrom, OWL.hasValue}
    for lower, upper in MODEL.subject_objects(RDFS.subClassOf):
        assert in_profile(lower, below) and in_profile(upper, above)
    for one, other in MODEL.subject_objects(OWL.equivalentClass):
        assert in_profile(one, below & above) and in_profile(other, below & above)
    for predicate in (RDFS.domain, RDFS.range):
        assert all(isinstance(value, URIRef) for value in MODEL.objects(None, predicate))


def test_properties_that_must_be_simple_for_owl_2_dl_are_simple() -> None:
    composite = set(MODEL.subjects(RDF.type, OWL.TransitiveProperty)) | set(MODEL.subjects(OWL.propertyChainAxiom))
    before = 0
    while len(composite) > before:
        before = len(composite)
        for lower, upper in MODEL.subject_objects(RDFS.subPropertyOf):
            composite |= {upper} if lower in composite else set()
        for one, other in MODEL.subject_objects(OWL.inverseOf):
            composite |= {one, other} if one in composite or other in composite else set()
    for kind in ("Functional", "InverseFunctional", "Asymmetric", "Irreflexive"):
        assert not composite & set(MODEL.subjects(RDF.type, OWL[kind + "Property"]))
