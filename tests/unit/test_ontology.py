"""The ontology against the document's list of terms, a reasoner and the document's examples; the shapes
against descriptions; descriptions against whatever octets come."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import owlrl
import pyshacl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from noidtools.clock import xsd_datetime
from noidtools.description import vocabulary
from noidtools.description.facts import (
    Action,
    ContextClaim,
    Element,
    MinterFacts,
    NameFacts,
    Party,
    Policy,
    QualityStatement,
    RelatedName,
)
from noidtools.description.formats import RDF_FORMATS
from noidtools.description.graph import serialize
from noidtools.description.rdf import describe_minter, describe_name
from noidtools.description.vocabulary import address, name_iri, part_iri
from noidtools.errors import InvalidError, UsageError
from noidtools.minter.findings import FAILS, HOLDS, RESOLVABLE, RETRIEVABLE, Finding
from noidtools.names.targets import Target

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

PIL = Namespace(vocabulary.PIL)
OURS = Namespace(vocabulary.NOID)
SH = Namespace("http://www.w3.org/ns/shacl#")
VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "pilin-terms.json").read_text("utf-8"))
TERMS: list[dict[str, Any]] = VECTORS["terms"]

MODEL = Graph().parse(data=vocabulary.read(vocabulary.ONTOLOGY), format="turtle")
SHAPES = Graph().parse(data=vocabulary.read(vocabulary.SHAPES), format="turtle")
OWN = sorted({s for s in MODEL.subjects() if isinstance(s, URIRef) and str(s).startswith((PIL, OURS))})

PREFIXES = f"""
@prefix pil: <{vocabulary.PIL}> . @prefix noid: <{vocabulary.NOID}> . @prefix owl: <{OWL}> .
@prefix rdfs: <{RDFS}> . @prefix xsd: <{XSD}> .
@prefix : <https://example.org/case#> .
"""
CASE = Namespace("https://example.org/case#")


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


# --- reasoning: the document's examples ---------------------------------------------------------

APPENDICES = """
# 5.7.1, 10.1: two identifiers of one context, so two representations of one name.
:hdlId a pil:Identifier ; pil:hasName :hdlName ; pil:hasThing :server .
:infoId a pil:Identifier ; pil:hasName :infoName ; pil:hasThing :server, :serverAgain .
:server a pil:Context ; pil:contextIdentifier :hdlId, :infoId .
:hdlName pil:hasLabel [ pil:symbol "hdl:102.100.272" ] ; pil:hasContext pil:KnownNamingSystems ;
    pil:nameRepresentation :hdlServer .
:infoName pil:hasLabel [ pil:symbol "info:hdl:102.100.272" ] ; pil:hasContext pil:KnownNamingSystems ;
    pil:nameRepresentation :infoServer .
:hdlServer pil:symbol "hdl:102.100.272" .  :infoServer pil:symbol "info:hdl:102.100.272" .
:n1 pil:hasLabel [ pil:symbol "XYZZY" ] ; pil:hasContext :server ; pil:nameRepresentation :r1 .
:n2 pil:hasLabel [ pil:symbol "XYZZY" ] ; pil:hasContext :serverAgain ; pil:nameRepresentation :r2 .
:id1 pil:hasName :n1 ; pil:hasThing :doc .
:r1 pil:symbol "hdl:102.100.272/XYZZY" .  :r2 pil:symbol "info:hdl:102.100.272/XYZZY" .
:other pil:hasLabel [ pil:symbol "PLUGH" ] ; pil:hasContext :server ; pil:nameRepresentation :rOther .
:rOther pil:symbol "hdl:102.100.272/PLUGH" .

# 10.2: the URL-encoding of a representation represents the same name.
:r1 pil:encode :r3 .
:r3 pil:symbol "hdl%3A102.100.272%2FXYZZY" ; pil:encodedIn pil:URLEncoding .

# 10.3: an authority says that one context identifier is an alias of another.
:archer a pil:Identifier ; pil:hasThing :cArcher ; pil:aliasOf :c821Id .
:c821Id a pil:Identifier ; pil:hasThing :c821 .
:claim a pil:AliasInstance ; pil:hasAlias :archer ; pil:hasAliasTarget :c821Id ; pil:hasAliasAuthority :me .
:me pil:claims :claim .
:nArcher pil:hasLabel [ pil:symbol "XYZZY" ] ; pil:hasContext :cArcher ; pil:nameRepresentation :rArcher .
:n821 pil:hasLabel [ pil:symbol "XYZZY" ] ; pil:hasContext :c821 ; pil:nameRepresentation :r821 .
:rArcher pil:symbol "hdl:102.100.archer/XYZZY" .  :r821 pil:symbol "hdl:102.100.821/XYZZY" .

# 6.3, 7, 10.4: two systems realise Kerry's Library.
:purlSystem pil:definesContext :purl ; pil:manages :purlXyzzy, :purlXyzzyName, :elite .
:handleSystem pil:definesContext :hdl100 ; pil:manages :hdlXyzzy, :hdlXyzzyName, :leet .
:purl pil:realisesContext :kerrysLibrary ; owl:differentFrom :hdl100 .
:hdl100 pil:realisesContext :kerrysLibrary .
:library pil:responsibleFor :kerrysLibrary .
:xyzzyName pil:hasLabel :xyzzy ; pil:hasContext :kerrysLibrary .
:purlXyzzyName pil:hasLabel :xyzzy ; pil:hasContext :purl ; pil:realisesName :xyzzyName .
:hdlXyzzyName pil:hasLabel :xyzzy ; pil:hasContext :hdl100 ; pil:realisesName :xyzzyName .
:abstractXyzzy pil:hasName :xyzzyName ; pil:hasThing :book .
:purlXyzzy pil:hasName :purlXyzzyName ; pil:hasThing :book ; pil:realisesIdentifier :abstractXyzzy .
:hdlXyzzy pil:hasName :hdlXyzzyName ; pil:hasThing :book ; pil:realisesIdentifier :abstractXyzzy .
:nigelXyzzy a pil:Identifier ; pil:hasThing :book .

# 11: a realisation with another label is a synonym, not a homologue.
:abstractElite a pil:Identifier ; pil:hasThing :game .
:elite a pil:Identifier ; pil:realisesIdentifier :abstractElite .
:leet a pil:Identifier .
:eliteClaim pil:hasSynonym :elite, :leet ; pil:hasSynonymAuthority :library .

# 5.2, 5.10: a context within a context.
:shelf pil:containedIn :reading .  :reading pil:containedIn :house .
:house pil:hasPolicy :quiet .  :shelf pil:hasMember :spine .

# 9.1: identify, represent and cite the word for a tree; 9.6: administrators and publishing.
:identifyTree a pil:Identify ; pil:inputName :treeName ; pil:inputThing :tree ; pil:hasResult :treeId .
:treeName pil:hasLabel [ pil:symbol "t\\u0279i\\u02D0" ] ; pil:hasContext :english .
:citeTree a pil:Cite ; pil:hasInput :treeId ; pil:hasUser :jack ; pil:toAudience :jill ;
    pil:citesRepresentation [ pil:symbol "tree" ] ; pil:throughMedium pil:Web .
:publishTree a pil:Publish ; pil:hasInput :treeId ; pil:hasUser :jill ;
    pil:hasAuthorisation [ pil:authorisesUser :jill ; pil:authorisesInput :treeId ] .
:treeId pil:protocolInResolvable pil:HTTP .
"""

CONTRADICTIONS = {
    "a label that is also a name": ":x1 a pil:Label, pil:Name .",
    "a citation with a result": ":x2 a pil:Cite ; pil:hasResult :x2result .",
    "a creation with an input": ":x3 a pil:Create ; pil:hasInput :x3input .",
    "a name both reserved and published": ":x4 a pil:Reserved, pil:Published .",
    "two identifiers that are aliases of each other": ":x5 pil:aliasOf :x5b . :x5b pil:aliasOf :x5 .",
    "an alias of itself": ":x6 pil:aliasOf :x6 .",
    "an abstract thing that a system manages": ":x7 a pil:Abstract ; pil:isManagedBy :x7system .",
    "a realisation the wrong way round": ":x8 a pil:Concrete . :x8b pil:realises :x8 .",
    "one name in two systems": ":x9 pil:hasContext :x9purl, :x9hdl . :x9purl owl:differentFrom :x9hdl .",
    "a destruction": ":x10 a pil:Destroy .",
    "a query that publishes": ":x11 a pil:Query, pil:Publish .",
    "a verification that gives an identifier": ":x12 a pil:Verify ; pil:hasResult :x12b . :x12b a pil:Identifier .",
    "a party that is a policy": ":x13 a pil:Policy . :x13b pil:responsibleFor :x13c . :x13 pil:responsibleFor :x13c .",
    "a registered abstract name": ":x14 a pil:AbstractName, pil:Registered .",
}


class Reasoner(owlrl.OWLRL_Semantics):  # type: ignore[misc]
    """The same rules without the conclusions that everything is itself, in half the time."""

    def store_triple(self, triple: tuple[Node, Node, Node]) -> None:
        if triple[0] != triple[2]:
            super().store_triple(triple)


def close(data: str, *graphs: Graph) -> tuple[Graph, list[str]]:
    """The OWL RL closure of the model with the data, and what the reasoner finds contradictory."""
    graph = Graph()
    for triple in MODEL:
        if triple[1] not in (RDFS.label, RDFS.comment, RDFS.seeAlso, PIL.section, PIL.origin, PIL.necessaryRule):
            graph.add(triple)
    graph.parse(data=PREFIXES + data, format="turtle")
    for other in graphs:
        graph += other
    reasoner = Reasoner(graph, False, False, False)
    reasoner.closure()
    return graph, reasoner.error_messages


@pytest.fixture(scope="module")
def inferred() -> Graph:
    graph, errors = close(APPENDICES, *DESCRIBED.values())
    assert errors == []
    return graph


@pytest.fixture(scope="module")
def contradictions() -> list[str]:
    return close("\n".join(CONTRADICTIONS.values()))[1]


def holds(graph: Graph, subject: str, predicate: URIRef, value: str) -> bool:
    return (CASE[subject], predicate, CASE[value]) in graph


def test_the_ontology_the_examples_and_descriptions_are_consistent(inferred: Graph) -> None:
    assert not list(inferred.subjects(RDF.type, OWL.Nothing))
    empty = set(inferred.subjects(RDFS.subClassOf, OWL.Nothing)) - {OWL.Nothing}
    assert empty == {PIL.Destroy}, "the only impossible class is the action the document calls impossible"


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_the_reasoner_refuses(case: str, contradictions: list[str]) -> None:
    name = re.match(r":(x\d+)", CONTRADICTIONS[case])
    assert name
    assert any(re.search(rf"#{name[1]}([a-z]|\b)", message) for message in contradictions), contradictions


def test_two_representations_that_name_the_context_differently_represent_one_name(inferred: Graph) -> None:
    assert holds(inferred, "server", OWL.sameAs, "serverAgain")
    assert holds(inferred, "n1", OWL.sameAs, "n2")
    assert holds(inferred, "r1", PIL.sameRepresentedName, "r2")
    assert not holds(inferred, "n1", OWL.sameAs, "other")
    assert not holds(inferred, "r1", PIL.sameRepresentedName, "rOther")


def test_a_context_is_represented_by_its_identifiers_and_an_identifier_by_its_name(inferred: Graph) -> None:
    assert holds(inferred, "server", PIL.representation, "hdlServer")
    assert holds(inferred, "server", PIL.representation, "infoServer")
    assert holds(inferred, "id1", PIL.representation, "r1")
    assert holds(inferred, "hdlId", PIL.equivalentTo, "infoId")


def test_the_url_encoding_of_a_representation_represents_the_same_name(inferred: Graph) -> None:
    assert holds(inferred, "r1", PIL.sameRepresentedName, "r3")
    assert holds(inferred, "id1", PIL.representation, "r3")
    assert not holds(inferred, "r1", OWL.sameAs, "r3")


SAME_BY_CLAIM = """
PREFIX pil: <https://w3id.org/noidtools/identifier-systems#>
SELECT DISTINCT ?authority WHERE {
    ?claim pil:hasSynonym ?one, ?other ; pil:hasSynonymAuthority ?authority .
    ?one pil:hasThing ?context1 .  ?other pil:hasThing ?context2 .
    ?name1 pil:hasContext ?context1 ; pil:hasLabel ?label ; pil:nameRepresentation ?first .
    ?name2 pil:hasContext ?context2 ; pil:hasLabel ?label ; pil:nameRepresentation ?second .
}"""


def test_an_alias_of_a_context_makes_names_the_same_according_to_its_authority_only(inferred: Graph) -> None:
    assert not holds(inferred, "nArcher", OWL.sameAs, "n821")
    assert not holds(inferred, "rArcher", PIL.sameRepresentedName, "r821")
    assert holds(inferred, "archer", PIL.synonymOf, "c821Id") and holds(inferred, "c821Id", PIL.synonymOf, "archer")
    assert not holds(inferred, "archer", PIL.equivalentTo, "c821Id")
    rows = inferred.query(SAME_BY_CLAIM, initBindings={"first": CASE.rArcher, "second": CASE.r821})
    assert [row[0] for row in rows] == [CASE.me]  # type: ignore[index]


def test_names_in_two_concrete_systems_are_homologous_and_not_the_same(inferred: Graph) -> None:
    assert not holds(inferred, "purlXyzzyName", OWL.sameAs, "hdlXyzzyName")
    assert holds(inferred, "purlXyzzyName", PIL.homologousNameOf, "hdlXyzzyName")
    assert holds(inferred, "purlXyzzy", PIL.homologueOf, "hdlXyzzy")
    assert holds(inferred, "hdlXyzzy", PIL.homologueOf, "purlXyzzy")
    assert holds(inferred, "purlXyzzy", PIL.equivalentTo, "hdlXyzzy")
    assert not holds(inferred, "purlXyzzy", PIL.synonymOf, "hdlXyzzy")
    assert (CASE.purl, RDF.type, PIL.ConcreteContext) in inferred
    assert (CASE.kerrysLibrary, RDF.type, PIL.AbstractContext) in inferred


def test_an_equivalent_identifier_outside_the_library_is_no_homologue(inferred: Graph) -> None:
    assert holds(inferred, "nigelXyzzy", PIL.equivalentTo, "purlXyzzy")
    assert not holds(inferred, "nigelXyzzy", PIL.homologueOf, "purlXyzzy")


def test_a_realisation_under_another_label_is_a_synonym_and_no_homologue(inferred: Graph) -> None:
    assert holds(inferred, "elite", PIL.realises, "abstractElite")
    assert holds(inferred, "leet", PIL.synonymOf, "elite")
    assert not holds(inferred, "leet", PIL.homologueOf, "elite")
    assert not holds(inferred, "leet", PIL.realises, "abstractElite")


def test_responsibility_makes_an_authority_and_containment_passes_labels_up_and_policies_down(inferred: Graph) -> None:
    assert (CASE.library, RDF.type, PIL.Authority) in inferred
    assert holds(inferred, "spine", PIL.isIn, "house")
    assert holds(inferred, "shelf", PIL.hasPolicy, "quiet")
    assert not holds(inferred, "quiet", PIL.regards, "spine")


def test_actions_make_publications_administrators_and_qualities(inferred: Graph) -> None:
    def types(name: str) -> set[Node]:
        return set(inferred.objects(CASE[name], RDF.type))

    assert {PIL.Identifier, PIL.Published, PIL.WebResolvable, PIL.Resolvable} <= types("treeId")
    assert (CASE.treeId, PIL.hasQuality, PIL.Published) in inferred
    assert PIL.Administrator in types("jill") and PIL.Administrator not in types("jack")
    assert PIL.WebCite in types("citeTree") and PIL.PrintCite not in types("citeTree")
    assert PIL.Act not in types("citeTree")


# --- shapes -------------------------------------------------------------------------------------

MINTER = MinterFacts(
    name=b"kt5",
    namespace=b"13030/kt",
    base="https://example.org/",
    purpose=b"finding aids",
    initial_state="published",
    custodians=(
        Party(b"Kerry's Library", b"kerry@example.org", b"20200101000000"),
        Party(b"Nigel", start=b"20100101000000", until=b"20200101000000"),
    ),
    policies=(
        Policy("label-format", b"kt and six characters", b"noid", b"kt.reeeeek"),
        Policy("access", b"reading: anyone; minting: authenticated"),
        Policy("association", b"one finding aid each"),
        Policy("persistence", b"kept by the library", start=b"20200101000000", until=b"20700101000000"),
    ),
    names=(b"hdl:102.100.821",),
    context_aliases=(ContextClaim(b"hdl:102.100.archer", b"hdl:102.100.821", b"20210501000000"),),
    actions=(Action("create", (b"noid mint 1", b"https://example.org/noidu_kt5?mint+1")),),
)
IDENTIFIER = NameFacts(
    name=b"ark:/13030/kt639k9",
    identifier=b"13030/kt639k9",
    label=b"639k9",
    minter=MINTER,
    state="published",
    state_since=b"20261116002825",
    thing=b"https://example.org/aid",
    targets=(Target(b"https://example.org/aid 1"), Target(b"javascript:alert(1)")),
    representations=(("web", b"https://example.org/ark:/13030/kt639k9"),),
    relations=(
        RelatedName("alias", b"maps", start=b"20260101000000"),
        RelatedName(
            "synonym", b"hdl:100/7334", authority=b"Kerry's Library", start=b"20260101000000", until=b"20270101000000"
        ),
        RelatedName("preferred", b"", authority=b"Kerry's Library"),
    ),
    findings=(
        Finding(RESOLVABLE, HOLDS, date=b"20261116000000"),
        Finding(RETRIEVABLE, FAILS, date=b"20261116000000"),
    ),
    statements=(
        QualityStatement("unique"),
        QualityStatement("persistent"),
        QualityStatement("accountable"),
        QualityStatement("universal", holds=False),
        QualityStatement("reserved", holds=False),
    ),
    actions=(
        Action("resolve", (b"https://example.org/ark:/13030/kt639k9", b"noid resolve ark:/13030/kt639k9")),
        Action("cite", (b"noid cite ark:/13030/kt639k9",)),
    ),
    elements=(Element(b"_t", b"https://example.org/aid"), Element(b"\xff", b"\0<&>\r\n")),
)
RESERVED = NameFacts(name=b"ark:/13030/kt000", identifier=b"13030/kt000", minter=MINTER, state="reserved")
WITHDRAWN = NameFacts(
    name=b"ark:/13030/kt111",
    identifier=b"13030/kt111",
    minter=MINTER,
    state="withdrawn",
    state_since=b"20261116010203",
    reason=b"a duplicate",
    successor=RelatedName("successor", b"ark:/13030/kt639k9"),
    relations=(
        RelatedName("alias-of", b"ark:/13030/kt639k9", authority=b"Kerry's Library", start=b"20261116000000"),
    ),
)
DESCRIBED = {"minter": describe_minter(MINTER)} | {
    name: describe_name(facts)
    for name, facts in (("published", IDENTIFIER), ("reserved", RESERVED), ("withdrawn", WITHDRAWN))
}
SUBCLASSES = Graph()
for _lower, _upper in MODEL.subject_objects(RDFS.subClassOf):
    if isinstance(_lower, URIRef) and isinstance(_upper, URIRef):
        SUBCLASSES.add((_lower, RDFS.subClassOf, _upper))


def violations(graph: Graph) -> str:
    """What the shapes object to, the ontology's subclasses being known; empty if nothing."""
    conforms, _, text = pyshacl.validate(graph + SUBCLASSES, shacl_graph=SHAPES, inplace=True)
    return "" if conforms else str(text)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_conforms_to_the_shapes(name: str) -> None:
    assert violations(DESCRIBED[name]) == ""
    assert pyshacl.validate(DESCRIBED[name], shacl_graph=SHAPES)[0], "also without the ontology"


def test_what_follows_from_a_description(inferred: Graph) -> None:
    node = URIRef("ark:/13030/kt639k9")
    assert {PIL.ConcreteIdentifier, PIL.Actionable, PIL.PreferredIdentifier} <= set(inferred.objects(node, RDF.type))
    assert (node, PIL.hasQuality, PIL.Resolvable) in inferred
    assert (node, PIL.hasQuality, PIL.Retrievable) not in inferred
    assert (URIRef("urn:noid:kt5#system"), PIL.manages, node) in inferred


NODE, HOME, SYSTEM = URIRef("ark:/13030/kt639k9"), URIRef("urn:noid:kt5"), URIRef("urn:noid:kt5#system")
SYNONYM, CITING = URIRef(NODE + "#synonym-1"), URIRef(NODE + "#action-cite")
LIBRARY, PROMISE = URIRef(HOME + "#party-Kerry%27s%20Library"), URIRef(HOME + "#policy-persistence")
STATES, TESTS = "one shape in shape:ReservedState", "one shape in shape:Untested"
# The description that is broken, what is taken out of it (None stands for anything), what is put into it,
# and what the shapes say then.
BROKEN: dict[str, tuple[str, tuple[Any, Any, Any] | None, str, str]] = {
    "no text": ("published", (NODE, RDFS.label, None), "", "shows it as text"),
    "no name": ("published", (NODE, PIL.hasName, None), "", "has one name"),
    "a name without a label": ("published", (None, PIL.hasLabel, None), "", "has one label"),
    "a label without a symbol": ("published", (URIRef(NODE + "#label"), PIL.symbol, None), "", "->pil:symbol"),
    "a name without a context": ("published", (None, PIL.hasContext, None), "", "has one context"),
    "no state": ("published", (NODE, OURS.state, None), "", "is reserved, published or withdrawn"),
    "two states": ("published", None, f"<{NODE}> noid:state noid:Withdrawn .", "is reserved, published or withdrawn"),
    "no such state": ("published", None, f"<{NODE}> noid:state pil:Citable .", "is reserved, published or withdrawn"),
    "published in words only": ("published", (NODE, RDF.type, PIL.Published), "", STATES),
    "reserved in words only": ("reserved", (None, RDF.type, PIL.Reserved), "", STATES),
    "withdrawn nobody knows when": ("withdrawn", (None, OURS.stateSince, None), "", STATES),
    "a reason for no withdrawal": ("published", None, f"<{NODE}> noid:reason 'old' .", STATES),
    "no system": ("published", (NODE, PIL.isManagedBy, None), "", "is managed by a system"),
    "a system without a custodian": (
        "published",
        (SYSTEM, PIL.hasAuthority, None),
        "",
        "at least one party responsible",
    ),
    "a custodian without a name": ("published", (LIBRARY, RDFS.label, None), "", "at least one party responsible"),
    "two things": ("published", None, f"<{NODE}> pil:hasThing :another .", "has one thing"),
    "a thing that is a text": ("reserved", None, "<ark:/13030/kt000> pil:hasThing 'aid' .", "Node Kind sh:IRI"),
    "a target that is a text": (
        "published",
        None,
        f"<{NODE}> pil:locator 'https://example.org/' .",
        "Node Kind sh:IRI",
    ),
    "a synonym without an authority": ("published", (SYNONYM, PIL.hasSynonymAuthority, None), "", "by one authority"),
    "a synonym without a time span": ("published", (SYNONYM, PIL.synonymTimespan, None), "", "for one time span"),
    "a synonym of nothing": ("published", (SYNONYM, PIL.hasSynonym, NODE), "", "at least two identifiers"),
    "a time span that ends before it begins": (
        "published",
        (URIRef(SYNONYM + "-timespan"), PIL.ends, None),
        f"<{SYNONYM}-timespan> pil:ends '1999-01-01T00:00:00Z'^^xsd:dateTime .",
        "not after its end",
    ),
    "an alias without a target": ("withdrawn", (None, PIL.hasAliasTarget, None), "", "names one target"),
    "a loop of aliases": (
        "withdrawn",
        None,
        f"<{NODE}> pil:aliasOf :a . :a pil:aliasOf :b . :b pil:aliasOf <ark:/13030/kt111> .",
        "must not lead back to itself",
    ),
    "two targets of an alias": ("withdrawn", None, "<ark:/13030/kt111> pil:aliasOf :elsewhere .", "has one target"),
    "a quality nobody knows": (
        "published",
        None,
        f"[] a pil:QualityStatement ; pil:statedOf <{NODE}> ; pil:statedQuality :Fine ; pil:statedValue true .",
        "names one quality of the ontology",
    ),
    "a verification without a date": ("published", (None, OURS.verifiedAt, None), "", TESTS),
    "a verification without an outcome": ("published", (None, OURS.confirmed, None), "", TESTS),
    "verified though refuted": ("published", None, f"<{NODE}#quality-retrievable> a pil:Verified .", TESTS),
    "unique within nothing": ("published", (NODE, PIL.scopeOfUnique, None), "", "within a scope"),
    "persistent for no time": ("published", (NODE, PIL.timespanOfPersistent, None), "", "for a time span"),
    "accountable to nobody": ("published", (NODE, PIL.accountableToParty, None), "", "to some party"),
    "trusted by nobody": ("published", None, f"<{NODE}> a pil:Trusted .", "by some party"),
    "an action without a door": ("published", (CITING, PIL.hasInterface, None), "", "has a door"),
    "a door that leads nowhere": ("published", (None, OURS.command, None), "", "sh:path noid:command"),
    "a service that does nothing": ("published", (CITING, RDF.type, PIL.Cite), "", "performs one action"),
    "a binding without a value": ("published", (None, OURS.value, None), "", "->noid:value"),
    "a minter without a namespace": ("minter", (HOME, OURS.namespace, None), "", "tells its namespace"),
    "a minter without a name": ("minter", (HOME, RDFS.label, None), "", "minter has a name"),
    "a minter without a label format": ("minter", (HOME, PIL.hasPolicy, None), "", "has a label format policy"),
    "a minter without a system": ("minter", (HOME, PIL.isManagedBy, None), "", "run by one system"),
    "a policy of no kind": ("minter", (None, RDF.type, PIL.AccessPolicy), "", "Shape shape:Policy"),
    "a policy without words": ("minter", (None, OURS.text, None), "", "->noid:text"),
    "a commitment without a time span": ("minter", (PROMISE, OURS.during, None), "", "for which time span"),
    "an action nobody performed": ("minter", None, ":act a pil:Publish ; pil:hasInput :it .", "for just these"),
    "an action authorised for someone else": (
        "minter",
        None,
        f":act a pil:Publish ; pil:hasSystem <{SYSTEM}> ; pil:hasUser :jack ; pil:hasTime :now ; "
        f"pil:hasAuthorisation [ pil:authorisesUser :jill ; pil:authorisesSystem <{SYSTEM}> ] .",
        "for just these",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_the_shapes_object_to(case: str) -> None:
    name, taken, put, told = BROKEN[case]
    graph = DESCRIBED[name] + Graph()
    if taken:
        assert taken in graph
        graph.remove(taken)
    graph.parse(data=PREFIXES + put, format="turtle")
    assert told in violations(graph)


def test_an_action_with_its_own_authorisation_conforms() -> None:
    graph = DESCRIBED["minter"] + Graph()
    graph.parse(
        format="turtle",
        data=f"{PREFIXES} :act a pil:Publish ; pil:hasSystem <{SYSTEM}> ; pil:hasUser :jill ; pil:hasTime :now ; "
        f"pil:hasInput :it ; pil:hasAuthorisation [ pil:authorisesUser :jill ; pil:authorisesSystem <{SYSTEM}> ; "
        "pil:authorisesInput :it ] .",
    )
    assert violations(graph) == ""


def required(shape: Node) -> set[Node]:
    """The properties a shape demands, itself or through the alternatives it names."""
    found = {
        path
        for part in SHAPES.objects(shape, SH.property)
        if int(str(SHAPES.value(part, SH.minCount) or 0)) > 0 and (path := SHAPES.value(part, SH.path)) is not None
    }
    for choice in SHAPES.objects(shape, SH["or"]):
        for member in Collection(SHAPES, choice):
            found |= required(member)
    return found


def test_every_necessary_rule_is_checked_by_a_shape() -> None:
    rules = list(MODEL.subject_objects(PIL.necessaryRule))
    assert len(rules) > 15
    for target, demanded in rules:
        shapes = SHAPES.subjects(SH.targetClass, target)
        assert demanded in {path for shape in shapes for path in required(shape)}, (target, demanded)


def listed(path: Node) -> set[Node]:
    """The values that the shapes allow for a property, wherever they list them."""
    found: set[Node] = set()
    for part in SHAPES.subjects(SH.path, path):
        for holder in (part, SHAPES.value(part, SH.qualifiedValueShape)):
            values = SHAPES.value(holder, SH["in"]) if holder is not None else None
            found |= set(Collection(SHAPES, values)) if values is not None else set()
    return found


def expanded(terms: Any) -> set[URIRef]:
    return {URIRef(t.replace("pil:", str(PIL)).replace("noid:", str(OURS))) for t in terms}


def test_shapes_and_words_know_every_quality_and_action_of_the_ontology() -> None:
    qualities = set(MODEL.subjects(RDF.type, PIL.Quality))
    assert listed(PIL.statedQuality) == qualities == expanded(vocabulary.QUALITIES.values())
    actions = set(MODEL.transitive_subjects(RDFS.subClassOf, PIL.Action))
    groups = {PIL.Action, PIL.Service, PIL.CompositeAction, PIL.CuratorialAction, PIL.NonCuratorialAction, PIL.Destroy}
    offered = {a for a in actions if isinstance(a, URIRef)} - groups
    assert listed(RDF.type) == offered == expanded(vocabulary.ACTIONS.values())
    acts = set(MODEL.transitive_subjects(RDFS.subClassOf, PIL.Act))
    assert expanded(vocabulary.ACTIONS[word] for word in vocabulary.ACTS) == acts
    assert listed(OURS.state) == expanded(vocabulary.STATES.values())


# --- describing ---------------------------------------------------------------------------------


def test_a_description_says_what_the_facts_say() -> None:
    graph = DESCRIBED["published"]
    assert graph.value(NODE, RDFS.label) == Literal("ark:/13030/kt639k9")
    assert graph.value(URIRef(NODE + "#label"), PIL.symbol) == Literal("639k9")
    assert graph.value(NODE, OURS.state) == PIL.Published
    assert graph.value(NODE, OURS.stateSince) == Literal("2026-11-16T00:28:25+00:00", datatype=XSD.dateTime)
    assert graph.value(NODE, PIL.locator) == URIRef("https://example.org/aid%201")
    assert graph.value(NODE, OURS.locatorText) == Literal("javascript:alert(1)")
    assert graph.value(URIRef("https://example.org/maps"), PIL.aliasOf) == NODE
    assert graph.value(NODE, PIL.synonymOf) == URIRef("hdl:100/7334")
    assert (URIRef(NODE + "#quality-resolvable"), RDF.type, PIL.Verified) in graph
    assert (NODE, RDF.type, PIL.Retrievable) not in graph
    assert graph.value(URIRef(NODE + "#binding-2"), OURS.element) == Literal("/w==", datatype=XSD.base64Binary)
    assert not [n for t in graph for n in t if isinstance(n, BNode)]


def test_persistent_without_a_commitment_and_trusted_by_nobody_are_stated_and_no_more() -> None:
    minter = replace(MINTER, policies=MINTER.policies[:1])
    statements = (
        QualityStatement("persistent"), QualityStatement("trusted"), QualityStatement("reliable", by=b"Jill"),
    )
    graph = describe_name(
        NameFacts(name=b"x", identifier=b"x", minter=minter, state="published", statements=statements)
    )
    node = URIRef("https://example.org/x")
    assert (node, RDF.type, PIL.Persistent) not in graph and (node, RDF.type, PIL.Trusted) not in graph
    assert (node, RDF.type, PIL.Reliable) in graph
    assert len(set(graph.subjects(PIL.statedOf, node))) == 3
    assert violations(graph) == ""


def test_a_thing_that_is_no_address_is_described_in_words() -> None:
    graph = describe_name(replace(RESERVED, thing=b"a map of Kerry"))
    (thing,) = graph.objects(URIRef("ark:/13030/kt000"), PIL.hasThing)
    assert graph.value(thing, RDFS.label) == Literal("a map of Kerry")
    assert violations(graph) == ""


def test_an_identifier_may_have_its_own_custodian_and_policy() -> None:
    iri = "https://example.org/id/1"
    own = replace(
        RESERVED,
        custodians=(Party(b"Jill", start=b"20260101000000", iri="https://example.org/jill"),),
        policies=(Policy("access", b"Jill only"),),
        iri=iri,
    )
    graph = describe_name(own)
    assert set(graph.objects(URIRef(iri), PIL.hasAuthority)) == {URIRef("https://example.org/jill")}
    assert violations(graph) == ""


def changed(facts: Any, path: str, value: object) -> Any:
    """The facts with one of them, however deep inside, replaced."""
    step, _, rest = path.partition(".")
    if step.isdigit():
        place = int(step)
        return (*facts[:place], changed(facts[place], rest, value) if rest else value, *facts[place + 1 :])
    return replace(facts, **{step: changed(getattr(facts, step), rest, value) if rest else value})


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("minter.base", "not an iri", "not an iri"),
        ("minter.iri", "https://example.org/a b", "absolute IRI"),
        ("minter.custodians", (), "at least one custodian"),
        ("minter.custodians.0.until", b"20210101000000", "at least one custodian"),
        ("minter.custodians.0.name", b"", "not empty"),
        ("minter.policies", (), "label-format"),
        ("minter.policies.1.kind", "label-format", "two policies"),
        ("minter.policies.1.kind", "secret", "'secret' is no kind of policy"),
        ("minter.policies.3.start", b"", "'from'"),
        ("state", "lost", "'lost' is no state"),
        ("state_since", b"yesterday", "'yesterday' is no date"),
        ("relations.1.authority", b"", "'authority'"),
        ("relations.1.start", b"", "'from'"),
        ("statements.0.quality", "beautiful", "'beautiful' is no quality"),
        ("statements.1.quality", "unique", "two statements of the quality unique"),
        ("statements.0.quality", "resolvable", "two statements of the quality resolvable"),
        ("findings.0", Finding(RESOLVABLE, HOLDS), "both the date"),
        ("actions.0.name", "destroy", "'destroy' is no action"),
        ("actions.0.name", "cite", "cite is on offer twice"),
        ("actions.0.interfaces", (), "without a door"),
    ],
)
def test_facts_that_do_not_do_are_refused_in_a_sentence(path: str, value: object, told: str) -> None:
    with pytest.raises(InvalidError) as refusal:
        describe_name(changed(IDENTIFIER, path, value))
    assert told in refusal.value.message and refusal.value.message.endswith(".")


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        (NameFacts, "name"),
        (NameFacts, "identifier"),
        (NameFacts, "minter"),
        (NameFacts, "state"),
        (MinterFacts, "name"),
        (MinterFacts, "namespace"),
        (MinterFacts, "custodians"),
        (MinterFacts, "policies"),
        (Element, "value"),
        (ContextClaim, "start"),
    ],
)
def test_facts_cannot_be_made_without(kind: Any, fact: str) -> None:
    needed = {field.name: b"" for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}
    assert kind(**needed)
    del needed[fact]
    with pytest.raises(TypeError, match=f"'{fact}'"):
        kind(**needed)


def test_a_withdrawn_identifier_needs_the_date_of_it() -> None:
    with pytest.raises(InvalidError, match="state_since"):
        describe_name(replace(WITHDRAWN, state_since=b""))


@pytest.mark.parametrize("format", RDF_FORMATS)
@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_survives_each_format(name: str, format: str) -> None:
    written = serialize(DESCRIBED[name], format)
    assert set(Graph().parse(data=written, format=format)) == set(DESCRIBED[name])


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="turtle, json-ld, xml, not as 'hdt'"):
        serialize(DESCRIBED["minter"], "hdt")


octets = st.binary(max_size=12) | st.text(max_size=8).map(lambda t: t.encode("utf-8", "surrogatepass"))
nasty = octets | st.sampled_from(
    [
        b"a\r\nb",
        b'">\x00<script>',
        b'"""\\',
        b"\\u0041",
        b"]]>",
        b"ark:/1/<>",
        b"http://[::1]/",
        b"http://[x",
        b"50%",
        b"#a#b",
    ]
)


@given(nasty, nasty, nasty, nasty.filter(bool), nasty)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_octets_come_they_are_literals_and_come_back(
    name: bytes, element: bytes, value: bytes, party: bytes, target: bytes
) -> None:
    graph = describe_name(
        NameFacts(
            name=name,
            identifier=name,
            minter=MinterFacts(
                name=party,
                namespace=value,
                custodians=(Party(party, element),),
                policies=(Policy("label-format", value, template=element),),
            ),
            state="published",
            thing=element,
            targets=(Target(target),),
            relations=(RelatedName("synonym", target, authority=party, start=b"20260101000000"),),
            elements=(Element(element, value),),
            actions=(Action("resolve", (target,)),),
        )
    )
    for format in RDF_FORMATS:
        back = Graph().parse(data=serialize(graph, format), format=format)
        assert set(back) == set(graph)
    (literal,) = graph.objects(None, OURS.value)
    assert isinstance(literal, Literal)
    binary = literal.datatype == XSD.base64Binary
    assert (base64.b64decode(str(literal)) if binary else str(literal).encode("utf-8")) == value


IRI = re.compile(r"[a-z][a-z0-9+.-]*:([A-Za-z0-9?/:@!$&'()*+,;=~._#\[\]-]|%[0-9A-F]{2}|%[0-9a-fA-F]{2})*")


@given(st.binary(max_size=40) | st.binary(max_size=20).map(lambda rest: b"https://" + rest))
@settings(max_examples=300, deadline=None)
def test_every_name_has_an_iri_and_every_address_is_one(name: bytes) -> None:
    made = name_iri(name, "urn:noid:kt5:")
    assert IRI.fullmatch(made) and "#" not in made
    found = address(name)
    assert found is None or (IRI.fullmatch(found) and found.count("#") <= 1)


@given(st.binary(max_size=4), st.binary(max_size=4))
@settings(max_examples=300, deadline=None)
def test_different_names_in_no_scheme_get_different_iris(one: bytes, other: bytes) -> None:
    assert (name_iri(one, "urn:noid:kt5:") == name_iri(other, "urn:noid:kt5:")) == (one == other)


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        (b"ark:/13030/kt639k9", "ark:/13030/kt639k9"),
        (b"ARK:/13030/kt639k9", "ark:/13030/kt639k9"),
        (b"hdl:102.100.272/XY/ZZY", "hdl:102.100.272/XY/ZZY"),
        ("ark:/1/\u00e9 b".encode(), "ark:/1/%C3%A9%20b"),
        (b"ark:/1/50%", "ark:/1/50%25"),
        (b"ark:/1/a%2Fb", "ark:/1/a%2Fb"),
        (b"ark:/1/a#b", "ark:/1/a%23b"),
        (b"13030/xf93", "https://example.org/13030/xf93"),
        (b"50%25", "https://example.org/50%2525"),
        (b"javascript:alert(1)", "https://example.org/javascript:alert(1)"),
        (b"ark:", "https://example.org/ark:"),
        (b"http://[2001:db8::1]:80/x[1]", "http://[2001:db8::1]:80/x%5B1%5D"),
    ],
)
def test_the_iri_of_a_name(name: bytes, iri: str) -> None:
    assert name_iri(name, "https://example.org/") == iri


def test_addresses_keep_their_fragment_and_other_texts_are_none() -> None:
    assert address(b"HTTPS://example.org/a b#c#d") == "https://example.org/a%20b#c%23d"
    assert address(b"data:text/html,x") is None and address(b"nowhere") is None and address(b"http:") is None


def test_parts_of_parts_have_one_fragment() -> None:
    assert part_iri(part_iri("urn:noid:a", "system"), "party", b"a/b") == "urn:noid:a#system-party-a%2Fb"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-16", "2026-11-16T00:00:00+00:00"),
        ("20261116002825", "2026-11-16T00:28:25+00:00"),
        ("2026-11-16T00:28:25Z", "2026-11-16T00:28:25+00:00"),
        ("2026-11-16T01:28:25+01:00", "2026-11-16T00:28:25+00:00"),
    ],
)
def test_dates_are_read_in_several_writings_and_meant_in_utc(written: str, meant: str) -> None:
    assert xsd_datetime(written) == meant


@pytest.mark.parametrize("written", ["", "20261316002825", "0001-01-01T00:00:00+10:00", "2026", "\u0661" * 14])
def test_what_is_no_date_is_refused(written: str) -> None:
    with pytest.raises(InvalidError, match="is no date"):
        xsd_datetime(written)


# --- the package --------------------------------------------------------------------------------


def in_a_new_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode("utf-8")


def test_rdflib_is_imported_only_when_a_description_is_made() -> None:
    code = "import sys, noidtools.description.rdf; print([m for m in sys.modules if m.startswith('rdflib')])"
    assert in_a_new_process(code).strip() == "[]"


def test_without_rdflib_the_refusal_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DESCRIBED["minter"]
    monkeypatch.setitem(sys.modules, "rdflib", None)
    for attempt in (
        lambda: describe_minter(MINTER),
        lambda: describe_name(IDENTIFIER),
        lambda: serialize(graph, "turtle"),
    ):
        with pytest.raises(UsageError, match=r"install noidtools\[rdf\]"):
            attempt()


def test_the_same_facts_give_the_same_octets_in_every_process() -> None:
    code = (
        "import hashlib, pickle\nfrom noidtools.description.graph import RDF_FORMATS, serialize\n"
        "from noidtools.description.rdf import describe_name\n"
        f"graph = describe_name(pickle.loads({pickle.dumps(IDENTIFIER)!r}))\n"
        "for format in RDF_FORMATS: print(hashlib.sha256(serialize(graph, format)).hexdigest())"
    )
    assert in_a_new_process(code, PYTHONHASHSEED="1") == in_a_new_process(code, PYTHONHASHSEED="2")
