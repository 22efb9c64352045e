"""The ontology, its shapes, and facts described in its terms."""

from __future__ import annotations

from typing import Any

import pyshacl
from rdflib import OWL, RDFS, XSD, Graph, Namespace, URIRef

from noidtools.description import vocabulary
from noidtools.description.rdf import describe_identifier, describe_minter

PIL = Namespace(vocabulary.PIL)
OURS = Namespace(vocabulary.NOID)
MODEL = Graph().parse(data=vocabulary.read(vocabulary.ONTOLOGY), format="turtle")
SHAPES = Graph().parse(data=vocabulary.read(vocabulary.SHAPES), format="turtle")
PREFIXES = f"""
@prefix pil: <{vocabulary.PIL}> . @prefix noid: <{vocabulary.NOID}> . @prefix owl: <{OWL}> .
@prefix rdfs: <{RDFS}> . @prefix xsd: <{XSD}> .
@prefix : <https://example.org/case#> .
"""
MINTER: dict[str, Any] = {
    "name": "kt5",
    "namespace": b"13030/kt",
    "base": "https://example.org/",
    "purpose": "finding aids",
    "initial_state": "published",
    "custodians": [
        {"name": "Kerry's Library", "contact": "kerry@example.org", "from": "2020-01-01"},
        {"name": "Nigel", "from": "2010-01-01", "until": "2020-01-01"},
    ],
    "policies": [
        {"kind": "label-format", "text": "kt and six characters", "scheme": "noid", "template": b"kt.reeeeek"},
        {"kind": "access", "text": "reading: anyone; minting: authenticated"},
        {"kind": "association", "text": "one finding aid each"},
        {"kind": "persistence", "text": "kept by the library", "from": "2020-01-01", "until": "2070-01-01"},
    ],
    "identifiers": [b"hdl:102.100.821"],
    "context_aliases": [{"alias": b"hdl:102.100.archer", "target": b"hdl:102.100.821", "from": "2021-05-01"}],
    "actions": [{"action": "create", "doors": ["noid mint 1", "https://example.org/noidu_kt5?mint+1"]}],
}
IDENTIFIER: dict[str, Any] = {
    "id": b"ark:/13030/kt639k9",
    "label": b"639k9",
    "minter": MINTER,
    "state": "published",
    "state_since": "20261116002825",
    "thing": "https://example.org/aid",
    "targets": [b"https://example.org/aid 1", b"javascript:alert(1)"],
    "representations": [{"form": "web", "text": "https://example.org/ark:/13030/kt639k9"}],
    "aliases": [{"alias": b"maps", "from": "2026-01-01"}],
    "synonyms": [
        {"other": b"hdl:100/7334", "authority": "Kerry's Library", "from": "2026-01-01", "until": "2027-01-01"}
    ],
    "preferred_by": ["Kerry's Library"],
    "qualities": [
        {"quality": "resolvable", "verified": "2026-11-16", "confirmed": True, "rule": "a target is stored"},
        {"quality": "retrievable", "verified": "2026-11-16", "confirmed": False, "rule": "the target answers"},
        {"quality": "unique"},
        {"quality": "persistent"},
        {"quality": "accountable"},
        {"quality": "universal", "value": False},
        {"quality": "reserved", "value": False},
    ],
    "actions": [
        {"action": "resolve", "doors": ["https://example.org/ark:/13030/kt639k9", "noid resolve ark:/13030/kt639k9"]},
        {"action": "cite", "doors": ["noid cite ark:/13030/kt639k9"]},
    ],
    "bindings": [{"element": b"_t", "value": b"https://example.org/aid"}, {"element": b"\xff", "value": b"\0<&>\r\n"}],
}
RESERVED: dict[str, Any] = {"id": b"ark:/13030/kt000", "minter": MINTER, "state": "reserved"}
WITHDRAWN: dict[str, Any] = {
    "id": b"ark:/13030/kt111",
    "minter": MINTER,
    "state": "withdrawn",
    "state_since": "2026-11-16T01:02:03Z",
    "reason": "a duplicate",
    "successor": b"ark:/13030/kt639k9",
    "alias_of": {"target": b"ark:/13030/kt639k9", "from": "2026-11-16", "authority": "Kerry's Library"},
}
DESCRIBED = {"minter": describe_minter(MINTER)} | {
    name: describe_identifier(facts)
    for name, facts in (("published", IDENTIFIER), ("reserved", RESERVED), ("withdrawn", WITHDRAWN))
}
SUBCLASSES = Graph()
for _lower, _upper in MODEL.subject_objects(RDFS.subClassOf):
    if isinstance(_lower, URIRef) and isinstance(_upper, URIRef):
        SUBCLASSES.add((_lower, RDFS.subClassOf, _upper))


def valid_graph(text: str | bytes, form: str = "turtle") -> Graph:
    """A description parsed; it must conform to the shapes."""
    graph = Graph().parse(data=text, format=form)
    conforms, _, report = pyshacl.validate(graph, shacl_graph=SHAPES, advanced=True)
    assert conforms, report
    return graph


def violations(graph: Graph) -> str:
    """What the shapes object to, the ontology's subclasses being known; empty if nothing."""
    conforms, _, text = pyshacl.validate(graph + SUBCLASSES, shacl_graph=SHAPES, inplace=True)
    return "" if conforms else str(text)
