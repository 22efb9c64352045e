"""What a reasoner infers from the ontology, the document's examples and descriptions."""

from __future__ import annotations

import re

import pytest
from rdflib import OWL, RDF, RDFS, Graph, Namespace, URIRef
from rdflib.term import Node

from support.ontology import DESCRIBED, PIL
from support.reasoning import close

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = [pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"), pytest.mark.slow]

CASE = Namespace("https://example.org/case#")


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


def test_what_follows_from_a_description(inferred: Graph) -> None:
    node = URIRef("ark:/13030/kt639k9")
    assert {PIL.ConcreteIdentifier, PIL.Actionable, PIL.PreferredIdentifier} <= set(inferred.objects(node, RDF.type))
    assert (node, PIL.hasQuality, PIL.Resolvable) in inferred
    assert (node, PIL.hasQuality, PIL.Retrievable) not in inferred
    assert (URIRef("urn:noid:kt5#system"), PIL.manages, node) in inferred
