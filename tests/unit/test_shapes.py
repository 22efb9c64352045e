"""The shapes against descriptions, whole and broken."""

from __future__ import annotations

from typing import Any

import pyshacl
import pytest
from rdflib import RDF, RDFS, Graph, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from noidtools.description import vocabulary
from support.ontology import DESCRIBED, MODEL, OURS, PIL, PREFIXES, SHAPES, violations

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = [pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"), pytest.mark.slow]

SH = Namespace("http://www.w3.org/ns/shacl#")


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_conforms_to_the_shapes(name: str) -> None:
    assert violations(DESCRIBED[name]) == ""
    assert pyshacl.validate(DESCRIBED[name], shacl_graph=SHAPES)[0], "also without the ontology"


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
    "an action without an interface": ("published", (CITING, PIL.hasInterface, None), "", "has an interface"),
    "an interface that leads nowhere": ("published", (None, OURS.command, None), "", "sh:path noid:command"),
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
    "an action on nothing and without a result": (
        "minter",
        None,
        f":act a pil:Publish ; pil:hasSystem <{SYSTEM}> ; pil:hasUser :jill ; pil:hasTime :now ; "
        f"pil:hasAuthorisation [ pil:authorisesUser :jill ; pil:authorisesSystem <{SYSTEM}> ] .",
        "has an input or a result",
    ),
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
