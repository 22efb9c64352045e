"""The facts of a name as text (an electronic resource citation in ANVL) and as data for JSON; graphs of RDF."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from functools import cache
from importlib.util import find_spec

from .. import codec
from ..codec import encode_text
from ..errors import InvalidError, NotInstalledError
from ..names.targets import USUAL_CODE
from . import ensure_rdf_format
from .conversion import timestamp_text
from .facts import (
    CustodyPeriod,
    MinterDescription,
    NameDescription,
    NameRelation,
    PolicyStatement,
    QualityClaim,
    QualityFinding,
)
from .missing import UNAVAILABLE
from .vocabulary import NOID, PIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from rdflib import Graph, Literal, URIRef

    Pairs = list[tuple[str, str]]

# The elements of a citation, in their order.
KERNEL = ("who", "what", "when", "where")

# What may stand in a label of ANVL as it is.
_LABEL = bytes(octet for octet in range(0x20, 0x100) if octet not in b":%\x7f")

# XML 1.0 cannot hold these characters, and one of the formats is XML; nor can text hold half of a surrogate pair.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


# -- text ------------------------------------------------------------------------------------------------------------


def citation_text(facts: NameDescription, address: str) -> bytes:
    """An electronic resource citation: the kernel elements first, then all others, then what supports them: who
    promises what for the name, since when, and where that is said.

    `address` is where the name can be resolved.
    """
    elements = displayed_elements(facts)
    is_managed = facts.abstract is None and not facts.elsewhere
    missing = {name: UNAVAILABLE for name in KERNEL[:3] if is_managed}
    lines = [("erc", "")]
    lines += [(name, value) for name in KERNEL[:3] if (value := elements.pop(name, "") or missing.get(name, ""))]
    lines.append(("where", address))
    lines += elements.items()
    lines += [("", ""), ("erc-support", ""), *(_promise_pairs(facts, address) if is_managed else ())]
    lines += support_pairs(facts)
    return anvl_text(lines)


def anvl_text(lines: Iterable[tuple[str, str]]) -> bytes:
    """Labels and values as text in ANVL; a line without a label is an empty one."""
    return b"".join(_anvl_line(encode_text(name), encode_text(value)) for name, value in lines)


def _promise_pairs(facts: NameDescription, address: str) -> Pairs:
    """Who promises what for a name, since when, and where that is said."""
    who = facts.custodian.name if facts.custodian else facts.minter.authority
    promise = promise_of(facts.minter)
    since = promise and (promise.start or promise.until)
    values = (who, promise.text if promise else "", timestamp_text(since) if since else "", f"{address}?info")
    return [(name, value or UNAVAILABLE) for name, value in zip(KERNEL, values, strict=True)]


def promise_of(minter: MinterDescription) -> PolicyStatement | None:
    """What a minter promises about the persistence of its names; None if it promises nothing."""
    return next((policy for policy in minter.policies if policy.kind == "persistence"), None)


def _anvl_line(name: bytes, value: bytes) -> bytes:
    if not name:
        return b"\n"
    label = codec.percent_encode(name, _LABEL)
    return label + b":" + (b" " + value.replace(b"\r", b"").replace(b"\n", b"\n ") if value else b"") + b"\n"


def displayed_elements(facts: NameDescription) -> dict[str, str]:
    """Values by element; one that was cut is followed by its whole length."""
    return {name: f"{value} ... ({facts.whole_sizes[name]} bytes in all)" if name in facts.whole_sizes else value
            for name, value in facts.elements.items()}


def support_pairs(facts: NameDescription) -> Pairs:
    """The state of a name, who is responsible for it, where it leads, and results of its verification."""
    if facts.abstract is not None:
        return _abstract_pairs(facts)
    if facts.elsewhere:
        return [("id", facts.name), *_claimed_pairs(facts)]
    custodian = facts.custodian
    pairs = [
        ("id", facts.name), ("state", facts.state), ("minted", timestamp_text(facts.minted)),
        ("date", timestamp_text(facts.date)), ("authority", facts.minter.authority),
        ("custodian", custodian.name if custodian else ""), ("contact", custodian.contact if custodian else ""),
        *(("custodian", f"{one.name}, for {one.purpose}") for one in purposeful_custodians(facts)),
        *(("target", target.url) for target in facts.requested_targets),
        ("rule", ":idmap/" + facts.pattern if facts.pattern else ""),
        ("reason", facts.reason), ("successor", facts.successor),
        *_claimed_pairs(facts),
        *((finding.quality, finding_text(finding)) for finding in facts.findings),
    ]
    return [(label, value) for label, value in pairs if value]


def _claimed_pairs(facts: NameDescription) -> Pairs:
    """What authorities claim of a name and others, and state of it."""
    pairs = [(relation.relation, _claim_text(relation)) for relation in other_relations(facts)]
    return pairs + [("stated", _statement_text(claim)) for claim in facts.stated]


def purposeful_custodians(facts: NameDescription) -> list[CustodyPeriod]:
    """The present custodians of a name who are responsible for one purpose each; its own before its minter's."""
    present = [one for one in (*facts.minter.custodians, *facts.custodians) if one.purpose and not one.until]
    return list({one.purpose: one for one in present}.values())


def _statement_text(claim: QualityClaim) -> str:
    """What an authority states, in words."""
    refined = f" ({claim.refinement})" if claim.refinement else ""
    return f"{'' if claim.holds else 'not '}{claim.quality}{refined} according to {claim.authority}"


def _abstract_pairs(facts: NameDescription) -> Pairs:
    abstract = facts.abstract
    assert abstract is not None
    pairs = [
        ("id", facts.name), ("abstract", abstract.kind), ("context", abstract.context), ("label", abstract.label),
        ("about", abstract.about), ("authority", abstract.authority),
        *((relation.relation, _claim_text(relation)) for relation in other_relations(facts)),
    ]
    return [(label, value) for label, value in pairs if value]


def _claim_text(relation: NameRelation) -> str:
    """A related name, and the authority that claims the relation where one is named."""
    claim = f"according to {relation.authority}" if relation.authority else ""
    return " ".join(part for part in (relation.name, claim) if part)


def other_relations(facts: NameDescription) -> list[NameRelation]:
    """The relations in force, without the successor of a withdrawn name, which is a fact of its own."""
    return [relation for relation in facts.relations
            if relation.current and not (facts.successor_relation and relation.relation == "successor")]


def finding_text(finding: QualityFinding) -> str:
    """The verdict, the section of the rule, the detail and the date."""
    text = f"{finding.verdict} ({finding.section})" + (f": {finding.detail}" if finding.detail else "")
    return f"{text}, {timestamp_text(finding.date)}" if finding.date else text


# -- data for JSON ---------------------------------------------------------------------------------------------------


def name_data(facts: NameDescription, address: str) -> dict[str, object]:
    """The facts as JSON objects hold them; empty ones are left out."""
    relations = [_relation_data(relation) for relation in other_relations(facts)]
    if facts.abstract is not None:
        abstract = facts.abstract
        return _without_empty({
            "id": facts.name, "abstract": abstract.kind, "context": abstract.context, "label": abstract.label,
            "about": abstract.about, "authority": abstract.authority, "relations": relations,
        })
    stated = [_statement_data(claim) for claim in facts.stated]
    if facts.elsewhere:
        return {"id": facts.name, "relations": relations, "stated": stated}
    custodian, promise = facts.custodian, promise_of(facts.minter)
    return _without_empty({
        "id": facts.name, "where": address, "state": facts.state, "date": timestamp_text(facts.date),
        "authority": facts.minter.authority,
        "custodian": {"name": custodian.name, "contact": custodian.contact} if custodian else None,
        "targets": [
            {"url": target.url, **({"code": target.code} if target.code != USUAL_CODE else {})}
            for target in facts.requested_targets
        ],
        "elements": [{"name": name, "value": value} for name, value in displayed_elements(facts).items()],
        "rule": facts.pattern, "suffix": facts.suffix, "reason": facts.reason, "successor": facts.successor,
        "minted": timestamp_text(facts.minted), "changed": timestamp_text(facts.changed),
        "promise": promise.text if promise else "",
        "relations": relations,
        "custodians": [{"name": one.name, "purpose": one.purpose} for one in purposeful_custodians(facts)],
        "stated": stated,
        "verified": [{"quality": finding.quality, "verdict": finding_text(finding)} for finding in facts.findings],
    }, "targets", "elements")


def _without_empty(found: dict[str, object], *kept: str) -> dict[str, object]:
    return {name: fact for name, fact in found.items() if fact or name in kept}


def _statement_data(claim: QualityClaim) -> dict[str, object]:
    return _without_empty({
        "quality": claim.quality, "holds": claim.holds, "refinement": claim.refinement, "authority": claim.authority,
        "from": timestamp_text(claim.start), "until": timestamp_text(claim.until),
    }, "holds")


def _relation_data(relation: NameRelation) -> dict[str, object]:
    return _without_empty({
        "relation": relation.relation, "name": relation.name, "authority": relation.authority,
        "from": timestamp_text(relation.start), "until": timestamp_text(relation.until),
        "scopes": list(relation.scopes),
    })


# -- a graph of RDF --------------------------------------------------------------------------------------------------

# The package rdflib is imported only when a graph is made or written.

PREFIXES = {
    "pil": PIL, "noid": NOID, "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def rdflib_package() -> ModuleType:
    """The package rdflib; raises NotInstalledError, which names what to install, where it is missing."""
    try:
        import rdflib
    except ImportError:
        raise NotInstalledError(
            "Descriptions need the package rdflib, which is not installed: install noidtools[rdf]."
        ) from None
    return rdflib


@cache
def has_rdflib() -> bool:
    """Whether the package is installed; it is not imported."""
    return find_spec("rdflib") is not None


class GraphBuilder:
    """Adds statements to a graph.  Terms are written `pil:Name` or `noid:state`, nodes are IRIs in a str."""

    __slots__ = ("_rdflib", "graph")

    def __init__(self) -> None:
        self._rdflib = rdflib_package()
        self.graph: Graph = self._rdflib.Graph(bind_namespaces="none")
        for prefix, namespace in PREFIXES.items():
            self.graph.bind(prefix, namespace)

    def node(
        self, iri: str, *classes: str, links: Mapping[str, str] | None = None, texts: Mapping[str, str] | None = None
    ) -> str:
        """Make a node a member of classes, with links to other nodes and texts by their terms; returns the node."""
        for name in classes:
            self._add(iri, self._rdflib.RDF.type, self._term(name))
        for term, other in (links or {}).items():
            self.link(iri, term, other)
        for term, text in (texts or {}).items():
            self.text(iri, term, text)
        return iri

    def link(self, subject: str, term: str, *objects: str) -> None:
        """Link a node to other nodes."""
        for iri in objects:
            self._add(subject, self._term(term), self._rdflib.URIRef(iri))

    def link_both(self, subject: str, term: str, other: str, inverse: str) -> None:
        """Link two nodes in both directions."""
        self.link(subject, term, other)
        self.link(other, inverse, subject)

    def link_term(self, subject: str, term: str, individual: str) -> None:
        """Link a node to an individual of the ontology."""
        self._add(subject, self._term(term), self._term(individual))

    def type_term(self, individual: str, *classes: str) -> None:
        """Make an individual of the ontology a member of classes."""
        for name in classes:
            self._add(str(self._term(individual)), self._rdflib.RDF.type, self._term(name))

    def text(self, subject: str, term: str, text: str) -> None:
        """Give a node a text; what XML cannot hold becomes a literal in base 64."""
        if _NOT_IN_XML.search(text):
            literal = self._literal(base64.b64encode(encode_text(text)).decode("ascii"), "base64Binary")
        else:
            literal = self._literal(text, "")
        self._add(subject, self._term(term), literal)

    def optional_text(self, subject: str, term: str, text: str) -> None:
        """As `text`; nothing is added for an empty one."""
        if text:
            self.text(subject, term, text)

    def flag(self, subject: str, term: str, value: bool) -> None:
        self._add(subject, self._term(term), self._rdflib.Literal(value))

    def url(self, subject: str, term: str, iri: str) -> None:
        """Give a node an address as a value; unlike a link it makes no statement about what is there."""
        self._add(subject, self._term(term), self._literal(iri, "anyURI"))

    def date(self, subject: str, term: str, moment: datetime | None) -> None:
        """Give a node a date; nothing is added for None."""
        if moment:
            self._add(subject, self._term(term), self._literal(moment.isoformat(), "dateTime"))

    def moment(self, iri: str, moment: datetime | None) -> str:
        """Add a time; returns its node."""
        self.node(iri, "pil:Time")
        self.date(iri, "pil:moment", moment)
        return iri

    def timespan(self, iri: str, start: datetime | None, until: datetime | None) -> str:
        """Add a time span, without an end if `until` is None; returns its node."""
        if not start:
            raise InvalidError("A time span in a description needs 'from', the date on which it begins.")
        self.node(iri, "pil:Timespan")
        self.date(iri, "pil:begins", start)
        self.date(iri, "pil:ends", until)
        return iri

    def parse(self, turtle: str) -> None:
        """Add the statements of a document in Turtle, but not its prefixes."""
        parsed = self._rdflib.Graph(bind_namespaces="none").parse(data=turtle, format="turtle")
        for triple in parsed:
            self.graph.add(triple)

    def _add(self, subject: str, predicate: URIRef, value: URIRef | Literal) -> None:
        self.graph.add((self._rdflib.URIRef(subject), predicate, value))

    def _term(self, name: str) -> URIRef:
        prefix, _, local = name.partition(":")
        term: URIRef = self._rdflib.URIRef(PREFIXES[prefix] + local)
        return term

    def _literal(self, content: str, datatype: str) -> Literal:
        literal: Literal = self._rdflib.Literal(content, datatype=self._rdflib.XSD[datatype] if datatype else None)
        return literal


def serialize(graph: Graph, form: str) -> bytes:
    """The graph in a format of RDF_FORMATS, in UTF-8.

    The same graph gives the same octets in every process, so that they can be compared and cached.
    """
    ensure_rdf_format(form)
    ordered: Graph = rdflib_package().Graph(store="SimpleMemory", bind_namespaces="none")
    for prefix, namespace in graph.namespaces():
        ordered.bind(prefix, namespace)
    for triple in sorted(graph, key=lambda triple: [node.n3() for node in triple]):
        ordered.add(triple)
    if form != "json-ld":
        return ordered.serialize(format=form, encoding="utf-8")
    document = json.loads(ordered.serialize(format=form, auto_compact=True))
    return json.dumps(_sorted_arrays(document), ensure_ascii=False, indent=2, sort_keys=True).encode("utf-8") + b"\n"


def _sorted_arrays(value: object) -> object:
    """JSON-LD with its arrays sorted: they are sets, which rdflib writes in the order of hashes."""
    if isinstance(value, dict):
        return {key: _sorted_arrays(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_sorted_arrays(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value
