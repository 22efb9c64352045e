"""The properties of an identifier system, for people, and what differs between two: as their RDF descriptions say.

A description is a graph in the terms of the Identifier Systems ontology, whose purpose is to compare such systems: one
that a minter writes of itself, or one of any other system.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple
from xml import sax

from ..errors import InvalidError, StoreError
from .formats import PREFIXES, rdflib_package
from .vocabulary import NOID, PIL

LARGEST_FILE = 16 << 20
# rdflib copies the text of an element for each piece that its parser receives, and so for each entity in it: no more
# characters than this are copied.  An element counts as so many.
_MOST_COPIED, _PER_ELEMENT = 1 << 30, 1000

# The formats of RDF by the endings of files.
_FORMATS = {".ttl": "turtle", ".nt": "turtle", ".jsonld": "json-ld", ".json": "json-ld", ".xml": "xml", ".rdf": "xml",
            ".owl": "xml"}
# Classes that say nothing of a node beyond what it is looked up for.
_GENERAL = {"Policy", "Service", "Entity", "Concrete", "IdentifierManagementSystem", "IdentifierSystem", "Thing",
            "NamedIndividual"}

Values = tuple[str, ...]


class SystemComparison(NamedTuple):
    """What two systems have alike, by property; what differs: the values that only the one has `here`, and only the
    other `there`; and the properties that only one of them has."""

    same: dict[str, Values]
    differs: dict[str, dict[str, Values]]
    only_here: dict[str, Values]
    only_there: dict[str, Values]


def compare(here: dict[str, Values], there: dict[str, Values]) -> SystemComparison:
    """Compare the properties of two systems."""
    both = [name for name in here if name in there]
    return SystemComparison(
        {name: here[name] for name in both if set(here[name]) == set(there[name])},
        {name: {"here": _without(here[name], there[name]), "there": _without(there[name], here[name])}
         for name in both if set(here[name]) != set(there[name])},
        {name: values for name, values in here.items() if name not in there},
        {name: values for name, values in there.items() if name not in here},
    )


def _without(values: Values, others: Values) -> Values:
    return tuple(value for value in values if value not in others)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_graph(path: str) -> Any:
    """The graph in a file of RDF, in the format that its ending says.

    Raises StoreError if it cannot be read, InvalidError if it is too large, wrong, or refers to the network.
    """
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > LARGEST_FILE:
        raise InvalidError(f"{path} has more than {LARGEST_FILE >> 20} MB: that is no description of one system")
    form = _FORMATS.get(os.path.splitext(path)[1].lower(), "turtle")
    try:
        if form == "json-ld":
            _ensure_local(json.loads(text))
        elif form == "xml":
            sax.parseString(text, _ExpansionLimit(path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's parser of JSON-LD uses a class of the past
            return rdflib_package().Graph(bind_namespaces="none").parse(data=text, format=form)
    except InvalidError:
        raise
    except Exception as error:  # noqa: BLE001 - the parsers raise whatever a wrong file leads them to
        reason = " ".join(str(error).split())[:150]
        raise InvalidError(f"{path} is not RDF in the format {form} ({reason}): name it .ttl, .jsonld or .xml as its "
                           "format is") from None


class _ExpansionLimit(sax.ContentHandler):
    """Refuses XML whose entities expand to more than can be read in some seconds."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._copied = self._length = 0

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802 - the name is that of the library
        self._length = 0
        self._add(_PER_ELEMENT + sum(map(len, attrs.values())))

    def characters(self, content: str) -> None:
        self._length += len(content)
        self._add(self._length)

    def _add(self, count: int) -> None:
        self._copied += count
        if self._copied > _MOST_COPIED:
            raise InvalidError(f"{self._path} expands to far more text than a description of one system has: write "
                               "out the entities that its DOCTYPE declares")


def _ensure_local(document: Any) -> None:
    """Refuse JSON-LD whose contexts would be fetched from elsewhere."""
    if isinstance(document, list):
        for item in document:
            _ensure_local(item)
    elif isinstance(document, dict):
        context = document.get("@context")
        if any(isinstance(one, str) or (isinstance(one, dict) and "@import" in one)
               for one in (context if isinstance(context, list) else [context])):
            raise InvalidError("its JSON-LD refers to a context elsewhere, which is not fetched: put the context into "
                               "the file")
        for value in document.values():
            _ensure_local(value)


# -- properties ------------------------------------------------------------------------------------------------------


def system_properties(graph: Any, source: str) -> dict[str, Values]:
    """The properties of the identifier system that a graph describes, in the order in which people read them.

    Raises InvalidError if there is none, or more than one.
    """
    return _Properties(graph, source).all()


class _Properties:
    def __init__(self, graph: Any, source: str) -> None:
        rdflib = rdflib_package()
        self._graph = graph
        self._type, self._iri = rdflib.RDF.type, rdflib.URIRef
        systems = set(graph.subjects(self._type, self._term("pil:IdentifierManagementSystem")))
        contexts = {node for system in systems for term in ("pil:definesContext", "pil:manages")
                    for node in graph.objects(system, self._term(term))}
        contexts = contexts or set(graph.subjects(self._type, self._term("pil:IdentifierManagementSystemContext")))
        if not systems and not contexts:
            raise InvalidError(f"{source} describes no identifier system in the terms of the ontology "
                               "(pil:IdentifierManagementSystem)")
        if len(systems) > 1:
            raise InvalidError(f"{source} describes {len(systems)} identifier systems: keep one of them in the file")
        self._nodes = [*systems, *contexts]

    def all(self) -> dict[str, Values]:
        policies = self._linked("pil:exposesPolicy", "pil:hasPolicy")
        found: dict[str, Iterable[str]] = {
            "name": self._texts("rdfs:label"), "namespace": self._texts("noid:namespace"),
            "known as": map(str, self._linked("pil:contextIdentifier")), "purpose": self._texts("pil:purpose"),
            "authority": map(self._name, self._linked("pil:hasAuthority", "pil:hasOwner")),
            "new names are": map(_words, self._linked("noid:initialState")),
        }
        for policy in policies:
            for kind in self._kinds(policy) or ["policy"]:
                found[kind] = [*found.get(kind, ()), self._name(policy)]
        found |= {
            "enforced": (kind for policy in self._linked("pil:enforcesPolicy") for kind in self._kinds(policy)),
            "services": (kind for service in self._linked("pil:exposesService") for kind in self._kinds(service)),
            "qualities of the system": (kind for node in self._nodes[:1] for kind in self._kinds(node)),
            "qualities it manages": map(_words, self._graph.objects(None, self._term("noid:managedQuality"))),
            "actions it defines": map(_words, self._graph.objects(None, self._term("noid:definedAction"))),
            "attributes of names": self._labels_of("noid:AttributeDefinition"),
            "ways to write names": self._labels_of("pil:SerialisationScheme", "pil:EncodingScheme"),
            "ways to cite names": self._labels_of("pil:CitationConvention"),
        }
        sorted_values = {name: tuple(sorted({value for value in values if value})) for name, values in found.items()}
        return {name: values for name, values in sorted_values.items() if values}

    def _term(self, name: str) -> Any:
        prefix, _, local = name.partition(":")
        return self._iri(PREFIXES[prefix] + local)

    def _linked(self, *terms: str) -> list[Any]:
        return [value for node in self._nodes for term in terms
                for value in self._graph.objects(node, self._term(term))]

    def _texts(self, term: str) -> list[str]:
        return [str(value) for value in self._linked(term)]

    def _labels_of(self, *classes: str) -> list[str]:
        return [self._name(node) for name in classes for node in self._graph.subjects(self._type, self._term(name))]

    def _name(self, node: Any) -> str:
        """What a node is called: its text, its label, or its IRI."""
        for term in ("noid:text", "rdfs:label"):
            for value in self._graph.objects(node, self._term(term)):
                return str(value)
        return _words(node) if str(node).startswith(PIL) else str(node)

    def _kinds(self, node: Any) -> list[str]:
        """The classes of a node that say more than what it is looked up for, in words."""
        kinds = [str(kind) for kind in self._graph.objects(node, self._type)]
        return [_words(kind) for kind in kinds if kind.startswith((PIL, NOID)) and _local(kind) not in _GENERAL]


def _local(iri: object) -> str:
    return re.split(r"[#/]", str(iri))[-1]


def _words(iri: object) -> str:
    """The last part of an IRI in words: LabelFormatPolicy is label format policy."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _local(iri)).replace("-", " ").lower()
