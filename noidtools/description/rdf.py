"""Writing statements into an RDF graph with the ontology's terms."""

from __future__ import annotations

import base64
import re

from ..errors import UsageError
from .graph import IdentifierDescription, MinterDescription
from .reading import Facts
from .vocabulary import NOID, PIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
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

# -- Descriptions of a minter and of an identifier, as RDF in the ontology's terms -----------------------------------
# Pure functions: facts in, graph out.  Texts may be given as str or bytes; octets
# that are no UTF-8 or that XML cannot hold become base 64 literals; whatever a
# value contains, it is only ever a literal or a percent-encoded IRI.  Dates are
# `2026-11-16`, `2026-11-16T00:28:25Z` or 14 digits, in UTC.  Parts of a
# description have IRIs (`…#name`, `…#quality-resolvable`), so that the same facts
# always give the same graph.

FORMATS = ("turtle", "json-ld", "xml")


def describe_minter(facts: Mapping[str, object]) -> Graph:
    """The identifier system model of a minter.

    Facts of a minter (those marked * are required, T is text as str or bytes):

    name*            T      its short name, such as `kt5`
    namespace*       T      what all its identifiers begin with, such as `13030/kt`; may be empty
    custodians*      list   parties, see below; at least one without `until`
    policies*        list   of {kind*: label-format, access, association or persistence; text*: T;
                            scheme: T, template: T (of a label format);
                            from*: date, until: date (of persistence only)}; a label format is required
    iri              str    the IRI of the minter; else `urn:noid:NAME`
    base             str    what the IRIs of identifiers in no scheme of their own begin with; else the
                            minter's IRI
    purpose          T      what it is for
    initial_state    str    reserved or published: the state of what it mints
    identifiers      list   of bytes: identifiers of the minter as a context, such as `hdl:102.100.821`
    context_aliases  list   of {alias*: bytes, target*: bytes, authority: T, from*: date, until: date}:
                            other identifiers for the context, according to an authority
    actions          list   of {action*: a word of vocabulary.ACTIONS; doors*: list of T, each a URL or a command}

    A party is {name*: T, contact: T, from: date, until: date, iri: str}; with `until` it is a former one.
    An authority that is left out is the first custodian.
    """
    scribe = Scribe()
    minter = MinterDescription(scribe, Facts(facts, "a minter"))
    minter.write()
    minter.write_model()
    return scribe.graph


def describe_identifier(facts: Mapping[str, object]) -> Graph:
    """The full description of one identifier, with as much of its minter as that needs.

    Facts of an identifier (those marked * are required, T is text as str or bytes):

    id*              bytes  the identifier as it is shown, such as `ark:/13030/kt639k9`
    minter*          dict   the facts of its minter, as for describe_minter
    state*           str    reserved, published or withdrawn
    state_since      date   since when; required of a withdrawn one
    reason           T      why it was withdrawn
    successor        bytes  the identifier to use instead of a withdrawn one
    iri              str    the IRI of the identifier; else made from `id`
    label            bytes  the label within the minter's namespace, else the whole `id`
    thing            T      the thing identified: an IRI, else a description of it
    targets          list   of T: where it leads, each one address without redirect code
    representations  list   of {form*: T, text*: T}: spellings for citing, such as form `web`
    alias_of         dict   {target*: bytes, from*: date, until: date, authority: T}
    aliases          list   of {alias*: bytes, from*: date, until: date, authority: T}
    synonyms         list   of {other*: bytes, authority*: T, from*: date, until: date}
    preferred_by     list   of T: authorities that prefer it among its synonyms
    qualities        list   of {quality*: a word of vocabulary.QUALITIES; value: bool (stated, else True);
                            verified: date and confirmed: bool (both or neither); rule: T;
                            by: T (who trusts it, of trusted and reliable)}
    custodians       list   parties, else those of the minter
    policies         list   as for a minter, where the identifier has its own
    actions          list   as for a minter
    bindings         list   of {element*: bytes, value*: bytes}

    An authority that is left out is the first custodian of the minter.
    """
    scribe = Scribe()
    given = Facts(facts, "an identifier")
    minter = MinterDescription(scribe, given.one("minter", "a minter"))
    minter.write()
    IdentifierDescription(scribe, minter, given).write()
    return scribe.graph


def serialize(graph: Graph, format: str) -> bytes:
    """The graph as Turtle (`turtle`), JSON-LD (`json-ld`) or RDF/XML (`xml`), in UTF-8.

    The same graph gives the same octets in every process, so that they can be compared and cached.
    """
    if format not in FORMATS:
        raise UsageError(f"Descriptions are written as {', '.join(FORMATS)}, not as {format!r}.")
    ordered: Graph = rdflib_package().Graph(store="SimpleMemory", bind_namespaces="none")
    for prefix, namespace in graph.namespaces():
        ordered.bind(prefix, namespace)
    for triple in sorted(graph, key=lambda triple: [node.n3() for node in triple]):
        ordered.add(triple)
    if format != "json-ld":
        return ordered.serialize(format=format, encoding="utf-8")
    import json

    document = json.loads(ordered.serialize(format=format, auto_compact=True))
    return json.dumps(_in_order(document), ensure_ascii=False, indent=2, sort_keys=True).encode("utf-8") + b"\n"


def _in_order(value: object) -> object:
    """JSON-LD with its arrays sorted: they are sets, which rdflib writes in the order of hashes."""
    import json

    if isinstance(value, dict):
        return {key: _in_order(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((_in_order(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value
