"""The ontology's shapes, and descriptions checked against them."""

from __future__ import annotations

import pyshacl
from rdflib import Graph, Namespace

from noidtools.description import vocabulary

PIL = Namespace(vocabulary.PIL)
OURS = Namespace(vocabulary.NOID)
SHAPES = Graph().parse(data=vocabulary.read(vocabulary.SHAPES), format="turtle")


def valid_graph(text: str | bytes, form: str = "turtle") -> Graph:
    """A description parsed; it must conform to the shapes."""
    graph = Graph().parse(data=text, format=form)
    conforms, _, report = pyshacl.validate(graph, shacl_graph=SHAPES, advanced=True)
    assert conforms, report
    return graph
