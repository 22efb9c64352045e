"""Descriptions in RDF by URL."""

from __future__ import annotations

import pytest
from rdflib import Literal
from rdflib.compare import isomorphic

from support.ontology import OURS, valid_graph
from support.wsgi import USER, CommandClient


@pytest.fixture
def web(tmp_path, noid):
    (tmp_path / "kt5").mkdir()
    noid("-f", "kt5", "dbcreate", "kt5.sdd")
    noid("-f", "kt5", "mint", "1", "_t", "https://example.org/")
    noid("-f", "kt5", "bind", "set", "kt500", "note", 'two\n lines and """quotes"""\n\ncid: x')
    return CommandClient(tmp_path)


def test_a_description_is_available_by_url_and_in_bulk(web):
    reply = web("describe+kt500", user=USER)
    assert reply.status == 200
    graph = valid_graph(reply.text)
    assert Literal('two\n lines and """quotes"""\n\ncid: x') in set(graph.objects(None, OURS.value))
    reply = web("describe+--format+xml", accept="application/json")
    assert reply.json["records"][0]["format"] == "application/rdf+xml"
    valid_graph(reply.json["records"][0]["document"], "xml")
    reply = web.post("describe kt500\nhello\n")
    assert isomorphic(valid_graph(reply.text.partition("\n\nHello.")[0]), graph) and "Hello." in reply.text
    assert web("describe+kt599").status == 404
