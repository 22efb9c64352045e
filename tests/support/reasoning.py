"""The OWL 2 RL rules applied to the ontology and to what is described in its terms."""

from __future__ import annotations

import owlrl
from rdflib import RDFS, Graph
from rdflib.term import Node

from support.ontology import MODEL, PIL, PREFIXES


class Reasoner(owlrl.OWLRL_Semantics):  # type: ignore[misc]
    """The same rules without the conclusions that each thing is the same as itself, which take half of the time."""

    def store_triple(self, triple: tuple[Node, Node, Node]) -> None:
        if triple[0] != triple[2]:
            super().store_triple(triple)


def close(data: str, *graphs: Graph) -> tuple[Graph, list[str]]:
    """The OWL RL closure of the model with the data, and what the reasoner finds contradictory."""
    graph = Graph()
    for triple in MODEL:
        if triple[1] not in (RDFS.label, RDFS.comment, RDFS.seeAlso, PIL.section, PIL.origin, PIL.necessaryRule):
            graph.add(triple)
    graph.parse(data=PREFIXES + data, format="turtle")
    for other in graphs:
        graph += other
    reasoner = Reasoner(graph, False, False, False)
    reasoner.closure()
    return graph, reasoner.error_messages
