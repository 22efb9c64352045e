"""The ontology, its shapes, and facts described in its terms."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyshacl
from rdflib import OWL, RDFS, XSD, Graph, Namespace, URIRef

from noidtools.dates import utc_datetime
from noidtools.description import vocabulary
from noidtools.description.conversion import quality_finding
from noidtools.description.facts import (
    CitationForm,
    ContextClaim,
    CustodyPeriod,
    MinterDescription,
    NameDescription,
    NameRelation,
    OfferedAction,
    PolicyStatement,
    QualityClaim,
    QualityFinding,
    RedirectTarget,
)
from noidtools.description.rdf import describe_minter, describe_name
from noidtools.minter.qualities import FAILS, HOLDS, RESOLVABLE, RETRIEVABLE, Finding, Quality

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


def day(digits: str) -> datetime:
    """A moment in fourteen digits."""
    return utc_datetime(digits.encode())


def finding(quality: Quality, verdict: str, date: bytes = b"") -> QualityFinding:
    return quality_finding(Finding(quality, verdict, date=date))


def related(relation: str, name: str, **more: Any) -> NameRelation:
    """A relation to a name that is cited as it is written."""
    return NameRelation("", relation, name, cited=name, **more)


MINTER = MinterDescription(
    name="kt5",
    namespace="13030/kt",
    base="https://example.org/",
    purpose="finding aids",
    initial_state="published",
    custodians=(
        CustodyPeriod("Kerry's Library", "kerry@example.org", day("20200101000000")),
        CustodyPeriod("Nigel", start=day("20100101000000"), until=day("20200101000000")),
    ),
    policies=(
        PolicyStatement("label-format", "kt and six characters", scheme="noid", template="kt.reeeeek"),
        PolicyStatement("access", "reading: anyone; minting: authenticated"),
        PolicyStatement("association", "one finding aid each"),
        PolicyStatement("persistence", "kept by the library", start=day("20200101000000"), until=day("20700101000000")),
    ),
    names=("hdl:102.100.821",),
    context_aliases=(ContextClaim("hdl:102.100.archer", "hdl:102.100.821", day("20210501000000")),),
    actions=(OfferedAction("create", ("noid mint 1", "https://example.org/noidu_kt5?mint+1")),),
)
IDENTIFIER = NameDescription(
    name="ark:/13030/kt639k9",
    identifier="13030/kt639k9",
    label="639k9",
    minter=MINTER,
    state="published",
    state_since=day("20261116002825"),
    thing="https://example.org/aid",
    targets=(RedirectTarget("https://example.org/aid 1"), RedirectTarget("javascript:alert(1)")),
    representations=(CitationForm("web", "https://example.org/ark:/13030/kt639k9"),),
    relations=(
        related("alias", "maps", start=day("20260101000000")),
        related("synonym", "hdl:100/7334", authority="Kerry's Library", start=day("20260101000000"),
                until=day("20270101000000")
        ),
        related("preferred", "", authority="Kerry's Library"),
    ),
    findings=(
        finding(RESOLVABLE, HOLDS, date=b"20261116000000"),
        finding(RETRIEVABLE, FAILS, date=b"20261116000000"),
    ),
    statements=(
        QualityClaim(None, "unique"),
        QualityClaim(None, "persistent"),
        QualityClaim(None, "accountable"),
        QualityClaim(None, "universal", holds=False),
        QualityClaim(None, "reserved", holds=False),
    ),
    actions=(
        OfferedAction("resolve", ("https://example.org/ark:/13030/kt639k9", "noid resolve ark:/13030/kt639k9")),
        OfferedAction("cite", ("noid cite ark:/13030/kt639k9",)),
    ),
    elements={"_t": "https://example.org/aid", "\udcff": "\0<&>\r\n"},
)
RESERVED = NameDescription(name="ark:/13030/kt000", identifier="13030/kt000", minter=MINTER, state="reserved")
WITHDRAWN = NameDescription(
    name="ark:/13030/kt111",
    identifier="13030/kt111",
    minter=MINTER,
    state="withdrawn",
    state_since=day("20261116010203"),
    reason="a duplicate",
    successor_relation=related("successor", "ark:/13030/kt639k9"),
    relations=(
        related("alias-of", "ark:/13030/kt639k9", authority="Kerry's Library", start=day("20261116000000")),
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
