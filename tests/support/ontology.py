"""The ontology, its shapes, and facts described in its terms."""

from __future__ import annotations

import pyshacl
from rdflib import OWL, RDFS, XSD, Graph, Namespace, URIRef

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
from noidtools.description.rdf import describe_minter, describe_name
from noidtools.minter.qualities import FAILS, HOLDS, RESOLVABLE, RETRIEVABLE, Finding
from noidtools.names.targets import Target

PIL = Namespace(vocabulary.PIL)
OURS = Namespace(vocabulary.NOID)
MODEL = Graph().parse(data=vocabulary.read(vocabulary.ONTOLOGY), format="turtle")
# pySHACL looks things up in the shapes all the time, which this store answers fastest.
SHAPES = Graph(store="SimpleMemory").parse(data=vocabulary.read(vocabulary.SHAPES), format="turtle")

PREFIXES = f"""
@prefix pil: <{vocabulary.PIL}> . @prefix noid: <{vocabulary.NOID}> . @prefix owl: <{OWL}> .
@prefix rdfs: <{RDFS}> . @prefix xsd: <{XSD}> .
@prefix : <https://example.org/case#> .
"""
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


def valid_graph(text: str | bytes, form: str = "turtle") -> Graph:
    """A description parsed; it must conform to the shapes."""
    graph = Graph().parse(data=text, format=form)
    conforms, _, report = pyshacl.validate(graph, shacl_graph=SHAPES, advanced=True)
    assert conforms, report
    return graph
