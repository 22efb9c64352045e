"""An RDF graph in the terms of the ontology: how statements are added to it, and how it is written.

Needs the package rdflib, which is imported only when a graph is made or written.
"""

from __future__ import annotations

import base64
import re
from functools import cache

from ..errors import InvalidError, NotInstalledError, UsageError
from ..times import xsd_datetime
from .formats import RDF_FORMATS
from .vocabulary import NOID, PIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from rdflib import Graph, Literal, URIRef


# XML 1.0 cannot hold these characters, and one of the formats is XML.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


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
    from importlib.util import find_spec

    return find_spec("rdflib") is not None


class GraphBuilder:
    """Adds statements to a graph.  Terms are written `pil:Name` or `noid:state`, nodes are IRIs in a str."""

    __slots__ = ("_rdflib", "graph")

    def __init__(self) -> None:
        self._rdflib = rdflib_package()
        self.graph: Graph = self._rdflib.Graph(bind_namespaces="none")
        for prefix, namespace in _prefixes(self._rdflib).items():
            self.graph.bind(prefix, namespace)

    def node(self, iri: str, *classes: str) -> str:
        """Make a node a member of classes; returns the node."""
        for name in classes:
            self._add(iri, self._rdflib.RDF.type, self._term(name))
        return iri

    def link(self, subject: str, term: str, *objects: str) -> None:
        """Link a node to other nodes."""
        for iri in objects:
            self._add(subject, self._term(term), self._rdflib.URIRef(iri))

    def link_term(self, subject: str, term: str, individual: str) -> None:
        """Link a node to an individual of the ontology."""
        self._add(subject, self._term(term), self._term(individual))

    def type_term(self, individual: str, *classes: str) -> None:
        """Make an individual of the ontology a member of classes."""
        for name in classes:
            self._add(str(self._term(individual)), self._rdflib.RDF.type, self._term(name))

    def text(self, subject: str, term: str, octets: bytes) -> None:
        """Give a node a text; octets that are no text become a literal in base 64."""
        content, datatype = _literal_form(octets)
        self._add(subject, self._term(term), self._literal(content, datatype))

    def optional_text(self, subject: str, term: str, octets: bytes) -> None:
        """As `text`; nothing is added for an empty one."""
        if octets:
            self.text(subject, term, octets)

    def flag(self, subject: str, term: str, value: bool) -> None:
        self._add(subject, self._term(term), self._rdflib.Literal(value))

    def url(self, subject: str, term: str, iri: str) -> None:
        """Give a node an address as a value; unlike a link it makes no statement about what is there."""
        self._add(subject, self._term(term), self._literal(iri, "anyURI"))

    def date(self, subject: str, term: str, stamp: bytes) -> None:
        """Give a node a date; nothing is added for an empty one."""
        if stamp:
            text = xsd_datetime(stamp.decode("utf-8", "backslashreplace"))
            self._add(subject, self._term(term), self._literal(text, "dateTime"))

    def moment(self, iri: str, stamp: bytes) -> str:
        """Add a time; returns its node."""
        self.node(iri, "pil:Time")
        self.date(iri, "pil:moment", stamp)
        return iri

    def timespan(self, iri: str, start: bytes, until: bytes) -> str:
        """Add a time span, without an end if `until` is empty; returns its node."""
        if not start:
            raise InvalidError("A time span in a description needs 'from', the date on which it begins.")
        self.node(iri, "pil:Timespan")
        self.date(iri, "pil:begins", start)
        self.date(iri, "pil:ends", until)
        return iri

    def _add(self, subject: str, predicate: URIRef, value: URIRef | Literal) -> None:
        self.graph.add((self._rdflib.URIRef(subject), predicate, value))

    def _term(self, name: str) -> URIRef:
        prefix, _, local = name.partition(":")
        term: URIRef = self._rdflib.URIRef(_prefixes(self._rdflib)[prefix] + local)
        return term

    def _literal(self, content: str, datatype: str) -> Literal:
        literal: Literal = self._rdflib.Literal(content, datatype=self._rdflib.XSD[datatype] if datatype else None)
        return literal


def _literal_form(octets: bytes) -> tuple[str, str]:
    """Octets as text, or in base 64 with the name of that datatype where they are none."""
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if _NOT_IN_XML.search(text):
        return base64.b64encode(octets).decode("ascii"), "base64Binary"
    return text, ""


def _prefixes(rdflib: ModuleType) -> dict[str, str]:
    standard = {"owl": rdflib.OWL, "rdf": rdflib.RDF, "rdfs": rdflib.RDFS, "xsd": rdflib.XSD}
    return {"pil": PIL, "noid": NOID, **{prefix: str(namespace) for prefix, namespace in standard.items()}}


# -- writing a graph -------------------------------------------------------------------------------------------------


def serialize(graph: Graph, form: str) -> bytes:
    """The graph in a format of RDF_FORMATS, in UTF-8.

    The same graph gives the same octets in every process, so that they can be compared and cached.
    """
    if form not in RDF_FORMATS:
        raise UsageError(f"Descriptions are written as {', '.join(RDF_FORMATS)}, not as {form!r}.")
    ordered: Graph = rdflib_package().Graph(store="SimpleMemory", bind_namespaces="none")
    for prefix, namespace in graph.namespaces():
        ordered.bind(prefix, namespace)
    for triple in sorted(graph, key=lambda triple: [node.n3() for node in triple]):
        ordered.add(triple)
    if form != "json-ld":
        return ordered.serialize(format=form, encoding="utf-8")
    import json

    document = json.loads(ordered.serialize(format=form, auto_compact=True))
    return json.dumps(_sorted_arrays(document), ensure_ascii=False, indent=2, sort_keys=True).encode("utf-8") + b"\n"


def _sorted_arrays(value: object) -> object:
    """JSON-LD with its arrays sorted: they are sets, which rdflib writes in the order of hashes."""
    import json

    if isinstance(value, dict):
        return {key: _sorted_arrays(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_sorted_arrays(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value
