"""The command describe: a minter and its identifiers in RDF, in every format."""

from __future__ import annotations

import json
import lzma
import shutil

import pyshacl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from noidtools.description import RDF_FORMATS
from noidtools.description.gatherer import gather_text
from noidtools.description.rdf import name_document
from support.minter import Noid
from support.ontology import OURS, PIL, SHAPES, valid_graph
from support.project import ROOT

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = [pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"), pytest.mark.slow]


@pytest.fixture
def f5(noid):
    """A minter that says all it can say."""
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "4", "_t", "https://example.org/|303 http://mirror.example/a b")
    noid("custodian", "set", "The first")
    noid("custodian", "set", "A Library", "--contact", "mailto:names@library.example")
    noid("policy", "persistence", "we keep them", "--until", "2999")
    noid("policy", "association", "documents only")
    noid("policy", "minting", "reserve")
    noid("context", "resolver", "https://id.example.org/", "https://n2t.net/")
    noid("context", "alias", "ark:/99999", "ark:/13030", "--authority", "A <Library>")
    return noid


LABELS = ("f54x54g11", "f5154dn7k", "f5wd3q12m", "f5rn30687")
ONE, TWO, THREE, FOUR = (URIRef(f"ark:/13030/{label}") for label in LABELS)


def test_a_minter_is_described_as_an_identifier_system(f5):
    graph = valid_graph(f5("describe"))
    (minter,) = graph.subjects(RDF.type, OURS.Minter)
    assert graph.value(minter, OURS.namespace) == Literal("ark:/13030/f5")
    assert graph.value(minter, OURS.initialState) == PIL.Reserved
    (system,) = graph.subjects(RDF.type, PIL.IdentifierManagementSystem)
    (party,) = graph.objects(system, PIL.hasAuthority)
    assert graph.value(party, RDFS.label) == Literal("A Library")
    assert graph.value(party, OURS.contact) == Literal("mailto:names@library.example")
    kinds = {kind for policy in graph.objects(minter, PIL.hasPolicy) for kind in graph.objects(policy, RDF.type)}
    assert kinds == {PIL.Policy, PIL.LabelFormatPolicy, PIL.AccessPolicy, PIL.AssociationPolicy,
                     OURS.PersistenceCommitment}
    assert (URIRef("ark:/99999"), PIL.aliasOf, URIRef("ark:/13030")) in graph
    custodians = {graph.value(node, RDFS.label) for node in graph.objects(None, OURS.custodian)}
    assert custodians == {Literal("The first"), Literal("A Library")}
    offered = {kind for service in graph.objects(minter, OURS.offers) for kind in graph.objects(service, RDF.type)}
    assert {PIL.Create, PIL.Resolve, PIL.Verify, PIL.Cite} <= offered


def test_an_identifier_is_described_with_its_targets_relations_qualities_and_actions(f5):
    f5("bind", "set", "13030/f54x54g11", "title", "On the origin of species")
    f5("alias", "13030/f5154dn7k", "13030/f54x54g11", "--authority", "A Library")
    f5("synonym", "13030/f54x54g11", "doi:10.1000/x", "--authority", "Another", "--from", "2020", "--until", "2090")
    f5("prefer", "13030/f54x54g11", "--authority", "Another")
    f5("custodian", "set", "Somebody", "--contact", "tel:+1", "13030/f54x54g11")
    f5("verify", "--record", "13030/f54x54g11")
    graph = valid_graph(f5("describe", "13030/f54x54g11"))
    assert (ONE, RDF.type, PIL.Published) in graph and graph.value(ONE, OURS.state) == PIL.Published
    assert {str(place) for place in graph.objects(ONE, PIL.locator)} == {
        "https://example.org/", "http://mirror.example/a%20b"}
    assert (ONE, RDF.type, PIL.Resolvable) in graph and (ONE, RDF.type, PIL.Accountable) in graph
    assert (TWO, PIL.aliasOf, ONE) in graph
    assert (ONE, PIL.synonymOf, URIRef("doi:10.1000/x")) in graph
    (party,) = graph.objects(ONE, PIL.preferredBy)
    assert graph.value(party, RDFS.label) == Literal("Another")
    (authority,) = graph.objects(ONE, PIL.hasAuthority)
    assert graph.value(authority, RDFS.label) == Literal("Somebody")
    thing = graph.value(ONE, PIL.hasThing)
    assert graph.value(thing, RDFS.label) == Literal("On the origin of species")
    verified = set(graph.subjects(RDF.type, PIL.Verified))
    assert {graph.value(node, PIL.statedQuality) for node in verified} == {
        PIL.Registered, OURS.WellFormed, OURS.CheckSound, PIL.Unique, OURS.Bound, PIL.Resolvable, PIL.Accountable,
        PIL.Persistent}
    urls = {str(url) for url in graph.objects(None, OURS.url)}
    assert {"https://id.example.org/ark:/13030/f54x54g11", "https://n2t.net/ark:/13030/f54x54g11?info"} <= urls
    assert Literal("noid resolve 13030/f54x54g11") in set(graph.objects(None, OURS.command))
    spellings = {graph.value(node, PIL.symbol) for node in graph.objects(ONE, PIL.representation)}
    assert {Literal("ark:13030/f54x54g11"), Literal("ark%3A%2F13030%2Ff54x54g11")} <= spellings


def test_the_state_of_an_identifier_is_described(f5):
    f5("reserve", "13030/f5154dn7k")
    f5("withdraw", "13030/f5wd3q12m", "--reason", "a <mistake>", "--successor", "13030/f54x54g11")
    graph = valid_graph(f5("describe", "13030/f5154dn7k"))
    assert graph.value(TWO, OURS.state) == PIL.Reserved
    assert not any(str(url).startswith("https://id.example.org") and "?" not in str(url)
                   for url in graph.objects(None, OURS.url))
    graph = valid_graph(f5("describe", "13030/f5wd3q12m"))
    assert graph.value(THREE, OURS.state) == OURS.Withdrawn
    assert graph.value(THREE, OURS.reason) == Literal("a <mistake>")
    assert graph.value(THREE, OURS.successor) == ONE
    assert PIL.Publish not in set(graph.objects(None, RDF.type))
    new = f5.ids(1)[0]
    assert valid_graph(f5("describe", new)).value(URIRef("ark:/" + new), OURS.state) == PIL.Reserved
    f5("alias", "13030/f5rn30687", "13030/f54x54g11")
    assert (FOUR, PIL.aliasOf, ONE) in valid_graph(f5("describe", "13030/f5rn30687"))


def test_failed_qualities_are_described_as_not_confirmed(f5):
    f5("bind", "set", "13030/f54x54g11", "_t", "no address")
    assert f5.run("verify", "--record", "13030/f54x54g11").returncode == 1
    graph = valid_graph(f5("describe", "13030/f54x54g11"))
    assert (ONE, RDF.type, PIL.Resolvable) not in graph
    (found,) = graph.subjects(PIL.statedQuality, PIL.Resolvable)
    assert graph.value(found, OURS.confirmed) == Literal(False)
    assert str(graph.value(found, OURS.rule)).startswith("section 9.9: ")
    assert graph.value(ONE, OURS.locatorText) == Literal("no address")


@pytest.mark.parametrize("form", ["turtle", "json-ld", "xml"])
def test_all_formats_contain_the_same_graph(f5, form):
    for words in ([], ["13030/f54x54g11"]):
        description = Graph().parse(data=f5("describe", *words, "--format", form), format=form)
        assert isomorphic(description, valid_graph(f5("describe", *words)))
    if form == "json-ld":
        assert json.loads(f5("describe", "--format", form))


@pytest.mark.parametrize("words", [
    [".sdd"], [], ["kt.reeded", "short"], ["--label", "hdl:102.100.821/", ".zd"],
    ["--label", "https://id.example.org/", ".sd"],
    ["--scheme", "pilin", "--prefix", "102.100.272"], ["--scheme", "ibi", "--computer", "a.example.org"],
])
def test_every_kind_of_minter_can_be_described(noid, words):
    noid("dbcreate", *words)
    valid_graph(noid("describe"))
    valid_graph(noid("describe", noid.ids(1)[0]))


@pytest.mark.parametrize("spelling", ["ark:/13030/f54x54g11", "ARK:13030/f5-4x54g11"])
def test_any_spelling_of_a_name_is_described_alike(f5, spelling):
    assert f5("describe", spelling) == f5("describe", "13030/f54x54g11")


@pytest.mark.parametrize(("words", "message", "status"), [
    (["13030/f5mw28d43"], "there is nothing to describe", 1),
    (["13030/f54x54g12"], "wrong check character", 1),
    (["hdl:1/x"], "there is nothing to describe", 1),
    ([""], "empty", 1),
    (["a", "b"], "one identifier", 2),
    (["--format", "n3"], "turtle, json-ld, xml", 2),
    (["--what", "x"], "no option", 2),
])
def test_describe_refuses_unknown_names_and_wrong_words(f5, words, message, status):
    assert message in f5.refused("describe", *words, status=status)


HOSTILE = [
    b'"""', b"<script>", b"\\", b"\n@prefix x: <y> .\n", b"\0\x01\xff\xfe", b"]]>", b"&amp;", b"' ; rm -rf /", b"a b",
    b"\xe2\x80\xae", b"{}|^`", b"%00%zz%", b"x" * 5000, b"\r\n", b"# no comment", b"\xed\xa0\x80", b"http://[x",
    b"_:b0",
]


@pytest.fixture(scope="module")
def anything(tmp_path_factory):
    """A minter of anything in which everything hostile was bound everywhere."""
    noid = Noid.created(tmp_path_factory.mktemp("anything"))
    for value in HOSTILE:
        noid.records("bind", "set", value, value, value)
        noid.records("bind", "set", value, "_t", b"https://example.org/" + value)
        noid.records("bind", "set", value, "what", value)
    yield noid
    noid.close()


def graphs_of(noid: Noid, name: bytes) -> list[Graph]:
    facts = noid.read(lambda reader: gather_text(noid.opened, reader, name))
    texts = {form: name_document(facts, form) for form in RDF_FORMATS}
    return [Graph().parse(data=text, format=form) for form, text in texts.items()]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_names_and_values_stay_names_and_values(anything, value):
    graph, *others = graphs_of(anything, value)
    conforms, _, report = pyshacl.validate(graph, shacl_graph=SHAPES, advanced=True)
    assert conforms, report
    (identifier,) = graph.subjects(RDF.type, PIL.Identifier)
    assert len(set(graph.objects(identifier, OURS.binding))) == (1 if value.startswith(b"_") else 2)
    assert graph.value(identifier, PIL.hasThing) is not None and graph.value(identifier, PIL.locator) is not None
    assert URIRef("y") not in set(graph.all_nodes())
    assert all(isomorphic(graph, other) for other in others)


OCTETS = st.binary(min_size=1, max_size=30)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=OCTETS, element=OCTETS, value=st.binary(max_size=30))
def test_any_octets_can_be_described(anything, name, element, value):
    name = b"x" + name.replace(b"!", b"")
    anything.records("bind", "set", name, element, value)
    graph, *others = graphs_of(anything, name)
    assert all(isomorphic(graph, other) for other in others)


def test_a_value_too_large_to_read_is_left_out(noid):
    noid("dbcreate")
    noid("-", stdin=b"bind set x large " + b"v" * (2 << 20) + b"\nbind set x small v\n")
    graph = valid_graph(noid("describe", "x"))
    assert {str(value) for value in graph.objects(None, OURS.element)} == {"small"}


def test_a_name_that_only_a_rule_resolves_is_described(noid):
    noid("dbcreate", "kt.sdd")
    noid("bind", "set", ":idmap/^([a-z]+)$", "_t", "https://example.org/$1")
    graph = valid_graph(noid("describe", "anything"))
    assert URIRef("https://example.org/anything") in set(graph.objects(None, PIL.locator))
    assert "nothing to describe" in noid.refused("describe", "kt99", status=1)


def test_a_description_does_not_name_the_creator_of_the_minter(noid):
    noid("dbcreate", ".sdd")
    (creator,) = (line for line in noid("dbinfo").splitlines() if line.startswith("Creator: "))
    assert creator.removeprefix("Creator: ") not in noid("describe")


def test_a_description_does_not_name_the_users_of_a_policy(noid):
    noid("dbcreate", ".sdd")
    noid("policy", "bind", "alice", "bob")
    description = noid("describe")
    assert "alice" not in description and "bind: certain users" in description


@pytest.mark.parametrize("words", [(), ("kt.reeded",), ("--label", "ark:/", "f5.rdd", "medium", "13030")], ids=str)
def test_the_iris_of_a_minter_do_not_depend_on_its_folder(tmp_path, words):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    minter, twin = Noid.created(tmp_path / "one" / "f5", *words), Noid.created(tmp_path / "two" / "f5", *words)
    (name,) = minter.mint()
    minter("bind", "set", name, "_t", "https://target.example/")
    before = {text: subjects(minter(*text)) for text in (("describe",), ("describe", name))}
    minter.close()
    shutil.move(minter.folder, tmp_path / "moved")
    moved = Noid(tmp_path / "moved")
    for text, iris in before.items():
        assert subjects(moved(*text)) == iris
    assert not {iri for iri in subjects(twin("describe")) & before["describe",] if not iri.startswith("ark:")}
    moved.close()
    twin.close()


@pytest.mark.only("lmdb")
def test_a_minter_of_the_first_release_has_iris_of_its_own(tmp_path):
    found = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        (folder / "NOID").mkdir(parents=True)
        (folder / "NOID" / "data.mdb").write_bytes(lzma.decompress(
            (ROOT / "tests" / "fixtures" / "format-1" / "data.mdb.xz").read_bytes()))
        found.append(subjects(Noid(folder)("describe")))
    assert found[0] == found[1] and any(iri.startswith("https://w3id.org/noidtools/minter/") for iri in found[0])


def subjects(document: str) -> set[str]:
    """The IRIs that a description is about; the terms of the ontology are not."""
    graph = Graph().parse(data=document, format="turtle")
    return {str(node) for node in graph.subjects() if not str(node).startswith((str(PIL), str(OURS)))}
