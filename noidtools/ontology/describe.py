"""Descriptions of a minter and of an identifier, as RDF in the ontology's terms.

Pure functions: facts in, graph out.  Texts may be given as str or bytes; octets
that are no UTF-8 or that XML cannot hold become base 64 literals; whatever a
value contains, it is only ever a literal or a percent-encoded IRI.  Dates are
`2026-11-16`, `2026-11-16T00:28:25Z` or 14 digits, in UTC.  Parts of a
description have IRIs (`…#name`, `…#quality-resolvable`), so that the same facts
always give the same graph.
"""

from __future__ import annotations

from noidtools.exceptions import UsageError
from noidtools.ontology.facts import Facts
from noidtools.ontology.identifier import IdentifierDescription
from noidtools.ontology.minter import MinterDescription
from noidtools.ontology.scribe import Scribe, rdflib_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdflib import Graph

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
