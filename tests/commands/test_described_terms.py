"""Every term of the ontology is stated by `describe` in a situation that commands bring about, or is listed as one that
no software can state; the shapes accept all of these descriptions, and a reasoner finds no contradiction in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Graph, Literal, URIRef

from noidtools.description import vocabulary
from support.minter import Noid
from support.odd_server import OddServer
from support.ontology import MODEL, OURS, PIL, violations
from support.reasoning import close
from support.verification import LINKS

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = [pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"), pytest.mark.slow]

TERMS = json.loads((Path(__file__).parent.parent / "vectors" / "pilin-terms.json").read_text("utf-8"))["terms"]
LIBRARY, REGISTRY = ("--authority", "The Library"), ("--authority", "A Registry")
NAMES = ("13030/f54x54g11", "13030/f5154dn7k", "13030/f5wd3q12m", "13030/f5rn30687")
RETRIEVED = "13030/f5mw28d43"
ONE, TWO, THREE, FOUR = (URIRef(f"ark:/{name}") for name in NAMES)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A minter that states all it can: relations, qualities, custodians, policies, and names in every state."""
    noid = Noid.created(tmp_path_factory.mktemp("terms") / "f5", "f5.reedeedk", "long", "13030", "cdlib.org", "oac")
    one, two, three, four = noid.mint(4)
    assert (one, two, three, four) == NAMES
    assert noid.mint(1) == [RETRIEVED]
    label = one.removeprefix("13030/f5")
    for words in (
        ("bind", "set", one, "_t", "https://example.org/a|https://mirror.example/a"),
        ("bind", "set", one, "what", "On the origin of species"),
        ("custodian", "set", "The Library", "--contact", "mailto:names@library.example"),
        ("custodian", "set", "Kim", "--purpose", "titles"),
        ("custodian", "set", "Jo", "--contact", "tel:1", one),
        ("policy", "persistence", "we keep them", "--until", "2999"),
        ("policy", "association", "documents only"),
        ("context", "resolver", "https://id.example.org/"),
        ("context", "purpose", "to cite documents"),
        ("context", "alias", "ark:/99999", "ark:/13030", *REGISTRY),
        ("alias", four, one, *LIBRARY),
        ("synonym", one, "doi:10.1000/x", *REGISTRY),
        ("prefer", one, *REGISTRY),
        ("abstract", "context", "Libraries", *LIBRARY, "--purpose", "what libraries name"),
        ("abstract", "context", "All", *LIBRARY),
        ("relate", "All", "contains", "Libraries", *LIBRARY),
        ("abstract", "identifier", f"Libraries:{label}", *LIBRARY, "--thing", "a book"),
        ("abstract", "name", "Libraries:other", *LIBRARY),
        ("relate", "ark:/13030/f5", "realises", "Libraries", *LIBRARY),
        ("relate", "hdl:100", "realises", "Libraries", *LIBRARY),
        ("relate", one, "realises", f"Libraries:{label}", *LIBRARY),
        ("relate", f"hdl:100/{label}", "realises", f"Libraries:{label}", *LIBRARY),
        ("relate", one, "homologous-name", f"hdl:100/{label}", *LIBRARY),
        ("relate", one, "equivalent", "doi:10.1000/x", *REGISTRY),
        ("quality", "state", "universal", one, *LIBRARY, "--in", "ark:/13030"),
        ("quality", "state", "persistent", one, *LIBRARY, "--of", "resolvable", "--until", "2126"),
        ("quality", "state", "nameable", one, *LIBRARY),
        ("quality", "state", "reliable", one, *REGISTRY),
        ("quality", "deny", "trusted", one, *REGISTRY),
        ("quality", "state", "trusted", *REGISTRY),
        ("verify", "--record", one),
        ("reserve", two), ("publish", two), ("reserve", two),
        ("withdraw", three, "--reason", "a mistake", "--successor", one),
    ):
        noid.records(*words)
    with OddServer("127.0.0.2") as server:
        noid.records("bind", "set", RETRIEVED, "_t", server.url("/200").decode())
        noid.run("verify", "--record", *LINKS, RETRIEVED)
    yield noid
    noid.close()


@pytest.fixture(scope="module")
def graphs(library) -> dict[str, Graph]:
    one, two, three, four = NAMES
    label = one.removeprefix("13030/f5")
    described = {"minter": (), "published": (one,), "reserved": (two,), "withdrawn": (three,), "alias": (four,),
                 "retrieved": (RETRIEVED,), "abstract context": ("Libraries",),
                 "abstract identifier": (f"Libraries:{label}",), "abstract name": ("Libraries:other",),
                 "enclosing context": ("All",)}
    return {name: Graph().parse(data=library.text("describe", *words)) for name, words in described.items()}


@pytest.fixture(scope="module")
def whole(graphs) -> Graph:
    union = Graph()
    for graph in graphs.values():
        union += graph
    return union


def reasons() -> dict[str, str]:
    """The terms that terms.md lists as not stated, each with the reason."""
    rows = [line.split("|") for line in vocabulary.read("terms.md").decode("utf-8").splitlines() if line[:3] == "| `"]
    return {row[1].strip().strip("`").removeprefix("pil:"): row[4].strip() for row in rows
            if row[4].strip().startswith("not stated: ")}


# By these the model defines what there can be; it states nothing of a thing by them.
DEFINING = {OURS.excludes, OURS.managedQuality, OURS.definedAction, OURS.generalAction, OURS.inputClass}


def stated(graph: Graph) -> set[str]:
    """The terms by which a graph says something of a thing that is no term itself, and the classes that include these.

    To define a term or to say of which kind it is, as the model does with each quality, is not to state it.
    """
    said = [(predicate, value) for subject, predicate, value in graph
            if not is_term(subject) and predicate not in DEFINING]
    found = {term for both in said for term in both if is_term(term)}
    found |= {kind for term in found for kind in graph.objects(term, RDF.type)}
    above = {general for term in found if isinstance(term, URIRef)
             for general in MODEL.transitive_objects(term, RDFS.subClassOf)}
    return {str(term).removeprefix(str(PIL)) for term in found | above if is_term(term)}


def is_term(node: object) -> bool:
    return str(node).startswith(str(PIL))


def test_every_term_is_stated_or_listed_with_the_reason_why_not(whole):
    terms, listed = {term["iri"] for term in TERMS}, reasons()
    assert terms - stated(whole) == set(listed)
    assert len(listed) < 10 and all(len(reason) > 30 for reason in listed.values())


def test_no_term_is_stated_that_the_ontology_does_not_define(whole):
    used = {node for triple in whole for node in triple if str(node).startswith((str(PIL), str(OURS)))}
    assert used <= set(MODEL.subjects())


@pytest.mark.parametrize("name", [
    "minter", "published", "reserved", "withdrawn", "alias", "retrieved", "abstract context", "abstract identifier",
    "abstract name", "enclosing context",
])
def test_the_shapes_accept_every_description(graphs, name):
    assert violations(graphs[name]) == ""


@pytest.mark.long
def test_a_reasoner_finds_no_contradiction_in_all_descriptions_together(whole):
    closure, errors = close("", whole)
    assert errors == [] and not list(closure.subjects(RDF.type, OWL.Nothing))
    assert (ONE, RDF.type, PIL.PreferredIdentifier) in closure and (ONE, RDF.type, PIL.WebResolvable) in closure
    assert (THREE, RDF.type, PIL.Registered) not in closure and (THREE, RDF.type, PIL.Actionable) not in closure


# What is taken out of a description (None stands for anything), and what the shapes say then.
BROKEN = {
    "no management of qualities": ("minter", (None, OURS.manages, None), "how qualities are managed"),
    "a managed quality without a way": ("minter", (None, OURS.managedBy, None), "how qualities are managed"),
    "no attributes": ("minter", (None, OURS.definesAttribute, None), "the attributes to be registered"),
    "no schemes": ("minter", (None, OURS.definesScheme, None), "specifies encoding schemes"),
    "no actions": ("minter", (None, OURS.definesAction, None), "what they are applied to"),
    "an action on nothing in particular": ("minter", (None, OURS.inputClass, None), "what they are applied to"),
    "an action for nobody": ("minter", (None, OURS.permittedTo, None), "what they are applied to"),
    "several targets without a meaning": ("minter", (None, OURS.meaning, None), "what several targets mean"),
    "a model in no terms": ("minter", (None, PIL.expressedUsing, None), "by which ontology"),
    "a spelling by no scheme": ("published", (None, PIL.serialisedBy, None), "follows a scheme"),
    "a spelling with or without its context": ("published", (None, PIL.contextImplicit, None), "leaves it implicit"),
    "an encoding in no scheme": ("published", (None, PIL.encodedIn, None), "is so in a scheme"),
    "universal nowhere": ("published", (ONE, PIL.contextInUniversal, None), "is so in a context"),
    "homologues of nothing": ("published", (None, PIL.isHomologue, None), "between two identifiers"),
    "a claim without a time": ("published", (None, OURS.during, None), "for one time span"),
    "an action without a user": ("published", (None, PIL.hasUser, None), "for just these"),
    "an action without a time": ("published", (None, PIL.hasTime, None), "for just these"),
    "an action that nobody permitted": ("published", (None, PIL.authorisesUser, None), "for just these"),
    "an equivalence at no time": ("published", (None, PIL.equivalentAt, None), "holds at a time"),
    "an abstract thing without a name": ("abstract identifier", (None, RDFS.label, None), "shown as text"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_the_shapes_object_to(graphs, case):
    name, taken, told = BROKEN[case]
    graph = graphs[name] + Graph()
    assert taken in graph
    graph.remove(taken)
    assert told in violations(graph)


def test_the_shapes_object_to_an_abstract_thing_that_is_managed(graphs):
    graph = graphs["abstract identifier"] + Graph()
    (node,) = graph.subjects(RDF.type, PIL.AbstractIdentifier)
    (system,) = graph.subjects(RDF.type, PIL.IdentifierManagementSystem)
    graph.add((node, PIL.isManagedBy, system))
    assert "managed by no system" in violations(graph)


# -- what the descriptions say ---------------------------------------------------------------------------------------


def test_performed_actions_have_user_time_and_authority(graphs):
    """2.6: input, result, system, user, time, and an authorisation that fits."""
    graph = graphs["published"]
    kinds = {kind for node in graph.subjects(RDF.type, PIL.Action) for kind in graph.objects(node, RDF.type)}
    assert {PIL.Create, PIL.Register, PIL.CompositeAction, PIL.Identify, PIL.Assign, PIL.Verify} <= kinds
    (creation,) = graph.subjects(RDF.type, PIL.Create)
    assert graph.value(creation, PIL.hasResult) == ONE and graph.value(creation, PIL.hasInput) is None
    assert str(graph.value(graph.value(creation, PIL.hasUser), RDFS.label)) == "me/us"
    assert graph.value(graph.value(creation, PIL.hasTime), PIL.moment) is not None
    (claim,) = graph.subjects(OURS.commandWords, Literal("synonym"))
    permission = graph.value(claim, PIL.hasAuthorisation)
    assert str(graph.value(graph.value(permission, OURS.onBehalfOf), RDFS.label)) == "A Registry"
    assert str(graph.value(permission, OURS.basis)) == "the permissions of the minter's files"
    (verified,) = [node for node in graph.subjects(RDF.type, PIL.Verify) if (node, PIL.hasTime, None) in graph]
    assert graph.value(verified, PIL.hasResult) == PIL["True"]
    withdrawn = graphs["withdrawn"]
    (ended,) = withdrawn.subjects(RDF.type, PIL.Deregister)
    assert withdrawn.value(ended, PIL.hasInput) == THREE
    reserved = graphs["reserved"]
    performed = [node for kind in (PIL.Reserve, PIL.Publish) for node in reserved.subjects(RDF.type, kind)
                 if (node, PIL.hasTime, None) in reserved]
    assert len(performed) == 3


def test_the_model_defines_actions_with_inputs_and_who_may(graphs):
    """9.8: the set of entities that the action may be applied to shall be defined."""
    graph = graphs["minter"]

    def definition(action: URIRef) -> dict[str, set[str]]:
        (node,) = graph.subjects(OURS.definedAction, action)
        return {str(term).rpartition("#")[2]: {str(value).rpartition("#")[2] for value in graph.objects(node, term)}
                for term in set(graph.predicates(node))}

    resolve = definition(PIL.Resolve)
    assert resolve["inputClass"] == {"Name"} and resolve["resultClass"] == {"RetrievalKey"}
    assert resolve["permittedTo"] == {"anyone"} and resolve["generalAction"] == {"Action", "NonCuratorialAction", "Act"}
    assert "Several targets" in next(iter(resolve["meaning"]))
    assert definition(PIL.Deregister)["accessClass"] == {"admin"}
    assert definition(PIL.Create)["inputClass"] == {"Nothing"}


def test_the_purpose_of_the_context_is_described(graphs):
    purposes = {str(text) for text in graphs["minter"].objects(None, PIL.purpose)}
    assert purposes == {"to cite documents"}


def test_the_model_says_how_qualities_are_managed(graphs):
    graph = graphs["minter"]
    managed = {str(value) for value in graph.objects(None, OURS.managedQuality)}
    assert managed >= {str(term) for term in (PIL.Universal, PIL.Resolvable, PIL.Trusted, OURS.Withdrawn)}
    for node in graph.subjects(OURS.managedQuality):
        assert graph.value(node, OURS.managedBy) is not None


def test_a_name_with_several_targets_is_multiply_resolvable_by_http(graphs):
    graph = graphs["published"]
    assert {PIL.MultiplyResolvable, PIL.WebResolvable, PIL.WebActionable, PIL.ExtensiblyActionable} <= set(
        graph.objects(ONE, RDF.type))
    assert graph.value(ONE, PIL.protocolInResolvable) == PIL.HTTP
    assert graph.value(ONE, PIL.typeOfPersistent) == PIL.Resolvable
    for name, node in (("reserved", TWO), ("withdrawn", THREE)):
        assert PIL.Actionable not in set(graphs[name].objects(node, RDF.type))
        assert (node, PIL.actionInActionable, None) not in graphs[name] or name == "reserved"
        offered = {kind for service in graphs[name].objects(node, OURS.offers)
                   for kind in graphs[name].objects(service, RDF.type)}
        assert PIL.Resolve not in offered
    assert (THREE, RDF.type, PIL.Registered) not in graphs["withdrawn"]


def test_stated_qualities_name_their_authority(graphs):
    graph = graphs["published"]
    (statement,) = graph.subjects(PIL.statedQuality, PIL.Trusted)
    assert graph.value(statement, PIL.statedValue) == Literal(False)
    (authority,) = graph.subjects(PIL.claims, statement)
    assert str(graph.value(authority, RDFS.label)) == "A Registry"
    assert PIL.Trusted not in set(graph.objects(ONE, RDF.type)) and PIL.Universal in set(graph.objects(ONE, RDF.type))
    trusted = graphs["minter"]
    (system,) = trusted.subjects(RDF.type, PIL.IdentifierManagementSystem)
    assert PIL.Trusted in set(trusted.objects(system, RDF.type))
