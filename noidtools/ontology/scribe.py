"""Writing statements into an RDF graph with the ontology's terms."""

from __future__ import annotations

import base64
import re

from noidtools.exceptions import UsageError
from noidtools.ontology import NOID, PIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from rdflib import Graph, Literal, URIRef

# XML 1.0 cannot hold these characters, and one of the formats is XML.
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def rdflib_package() -> ModuleType:
    """The package rdflib; where it is missing the refusal says how to get it."""
    try:
        import rdflib
    except ImportError:
        raise UsageError(
            "Descriptions need the package rdflib, which is not installed: install noidtools[rdf]."
        ) from None
    return rdflib


class Scribe:
    """A graph in the making.  Terms are written `pil:Name` or `noid:state`, nodes as IRIs in a str."""

    __slots__ = ("_rdflib", "graph")

    def __init__(self) -> None:
        self._rdflib = rdflib_package()
        self.graph: Graph = self._rdflib.Graph(bind_namespaces="none")
        for prefix, namespace in _prefixes(self._rdflib).items():
            self.graph.bind(prefix, namespace)

    def node(self, iri: str, *classes: str) -> str:
        """Say of which classes a node is; returns the node."""
        for name in classes:
            self._add(iri, self._rdflib.RDF.type, self._term(name))
        return iri

    def link(self, subject: str, term: str, *objects: str) -> None:
        """Tie a node to others."""
        for iri in objects:
            self._add(subject, self._term(term), self._rdflib.URIRef(iri))

    def link_term(self, subject: str, term: str, value: str) -> None:
        """Tie a node to an individual of the ontology."""
        self._add(subject, self._term(term), self._term(value))

    def say(self, subject: str, term: str, value: bytes | bool | None) -> None:
        """Give a node a value: text, octets that are no text, or a truth value; None says nothing."""
        if value is not None:
            self._add(subject, self._term(term), self._literal(value))

    def say_typed(self, subject: str, term: str, value: str | None, datatype: str) -> None:
        """Give a node a value of a type of XML Schema; None says nothing."""
        if value is not None:
            self._add(subject, self._term(term), self._rdflib.Literal(value, datatype=self._rdflib.XSD[datatype]))

    def timespan(self, iri: str, begins: str, ends: str | None) -> str:
        self.node(iri, "pil:Timespan")
        self.say_typed(iri, "pil:begins", begins, "dateTime")
        self.say_typed(iri, "pil:ends", ends, "dateTime")
        return iri

    def _add(self, subject: str, predicate: URIRef, value: URIRef | Literal) -> None:
        self.graph.add((self._rdflib.URIRef(subject), predicate, value))

    def _term(self, name: str) -> URIRef:
        prefix, _, local = name.partition(":")
        term: URIRef = self._rdflib.URIRef(_prefixes(self._rdflib)[prefix] + local)
        return term

    def _literal(self, value: bytes | bool) -> Literal:
        content, datatype = (value, None) if isinstance(value, bool) else _text(value)
        literal: Literal = self._rdflib.Literal(content, datatype=datatype and self._rdflib.XSD[datatype])
        return literal


def _text(octets: bytes) -> tuple[str, str | None]:
    """Octets as text, or in base 64 with the name of that datatype where they are none."""
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if _NOT_TEXT.search(text):
        return base64.b64encode(octets).decode("ascii"), "base64Binary"
    return text, None


def _prefixes(rdflib: ModuleType) -> dict[str, str]:
    return {"pil": PIL, "noid": NOID, "rdf": str(rdflib.RDF), "rdfs": str(rdflib.RDFS), "xsd": str(rdflib.XSD)}
