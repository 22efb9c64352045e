"""describe --text and --compare: the properties of identifier systems, in words, and what differs between two."""

from __future__ import annotations

import time

import pytest

from noidtools.description import comparison
from support.minter import Noid

pytestmark = pytest.mark.slow

PREFIXES = (f"@prefix pil: <{comparison.PIL}> . @prefix noid: <{comparison.NOID}> .\n"
            "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n")
DOI = PREFIXES + """
<https://doi.example/system> a pil:IdentifierManagementSystem ;
    pil:definesContext <https://doi.example/context> ;
    pil:exposesService [ a pil:Service, pil:Resolve ], [ a pil:Service, pil:Retrieve ] ;
    pil:hasAuthority <https://doi.example/> .
<https://doi.example/context> a pil:Context ; rdfs:label "DOI" ; pil:purpose "works" ;
    pil:hasPolicy [ a pil:PersistenceCommitment ; rdfs:label "for ever" ] .
<https://doi.example/> rdfs:label "A foundation" .
"""


@pytest.fixture
def kt(tmp_path):
    made = Noid.created(tmp_path / "kt", "kt.reeded", "long", "13030", "cdlib.org", "dpg")
    made("promise", "persistence", "for ever")
    yield made
    made.close()


def test_the_properties_of_a_minter_are_told_in_words(kt):
    lines = dict(line.split(": ", 1) for line in kt("describe", "--text").splitlines() if line)
    assert lines["namespace"] == "ark:/13030/kt" and lines["authority"] == "cdlib.org"
    assert lines["persistence commitment"] == "for ever" and "resolve" in lines["services"].split(", ")
    assert "template kt.reeded" in lines["label format policy"]
    assert "http" not in kt("describe", "--text"), "no address of a node"


def test_a_name_is_described_in_words(kt):
    kt("mint", "1", "title", "(:unkn) Anonymous")
    kt("bind", "set", "13030/kt4x551", "_t", "https://a.example/")
    text = kt("describe", "13030/kt4x551", "--text")
    assert text.startswith("title: unknown (Anonymous)\nid: ark:/13030/kt4x551\nstate: published\n")
    assert "target: https://a.example/\n" in text


def test_two_minters_are_compared(kt, tmp_path):
    other = Noid.created(tmp_path / "fk", "--label", "ark:/", "fk.zd", "medium", "13030")
    text = kt("describe", "--compare", str(tmp_path / "fk"))
    assert "differs: namespace\nhere: ark:/13030/kt\nthere: ark:/13030/fk\n" in text
    assert "only here: persistence commitment: for ever\n" in text and "only there" not in text
    same = text.splitlines()[0]
    assert same.startswith("same: ") and "services" in same and "namespace" not in same
    assert "only there: persistence commitment: for ever" in other("describe", "--compare", str(tmp_path / "kt"))
    other.close()


@pytest.mark.parametrize(("form", "ending"), [("turtle", "ttl"), ("json-ld", "jsonld"), ("xml", "rdf")])
def test_a_minter_is_the_same_as_its_own_description(kt, tmp_path, form, ending):
    (tmp_path / f"own.{ending}").write_text(kt("describe", "--format", form))
    text = kt("describe", "--compare", str(tmp_path / f"own.{ending}"))
    assert text.startswith("same: name, namespace, ") and text.count("\n") == 2


def test_a_system_of_others_is_compared_by_its_description(kt, tmp_path):
    (tmp_path / "doi.ttl").write_text(DOI)
    text = kt("describe", "--compare", str(tmp_path / "doi.ttl"))
    assert "same: persistence commitment\n" in text
    assert "differs: authority\nhere: cdlib.org\nthere: A foundation\n" in text
    assert "only there: purpose: works\n" in text and "there: retrieve\n" in text
    data = kt.records("describe", "--compare", str(tmp_path / "doi.ttl"))[0]
    assert data["differs"]["name"] == {"here": ("kt",), "there": ("DOI",)}


@pytest.mark.parametrize(("name", "content", "why"), [
    ("x.ttl", "no turtle", "is not RDF in the format turtle"), ("x.jsonld", "{", "is not RDF in the format json-ld"),
    ("x.xml", "<a", "is not RDF in the format xml"), ("x.ttl", "", "describes no identifier system"),
    ("x.jsonld", '{"@context": "https://x.example/context", "a": 1}', "which is not fetched"),
    ("x.jsonld", '[{"a": {"@context": [{}, "http://x.example/"]}}]', "which is not fetched"),
    ("x.ttl", DOI + "<urn:other> a pil:IdentifierManagementSystem .", "describes 2 identifier systems"),
    ("x.ttl", "(" * 50_000, "is not RDF"),
])
def test_what_is_no_description_is_refused_with_a_sentence(kt, tmp_path, name, content, why):
    (tmp_path / name).write_text(content)
    assert why in kt.refused("describe", "--compare", str(tmp_path / name))


RDF_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ %s ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
%s</rdf:RDF>
"""
NESTED = '<!ENTITY e0 "0123456789">' + "".join(
    f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 10))


@pytest.mark.parametrize("body", ["<rdfs:label>&e6;</rdfs:label>", "<rdfs:label>&e9;</rdfs:label>",
                                  "<rdfs:label rdf:parseType='Literal'>" + "<b>&e4;</b>" * 2000 + "</rdfs:label>"])
def test_entities_that_expand_beyond_reason_are_refused_at_once(kt, tmp_path, body):
    (tmp_path / "x.rdf").write_text(RDF_XML % (NESTED, f'<rdf:Description rdf:about="urn:x">{body}</rdf:Description>'))
    began = time.monotonic()
    assert "far more text" in kt.refused("describe", "--compare", str(tmp_path / "x.rdf"))
    assert time.monotonic() - began < 10


def test_entities_for_namespaces_as_protege_writes_them_are_understood(kt, tmp_path):
    entities = f'<!ENTITY pil "{comparison.PIL}" > <!ENTITY doi "https://doi.example/" >'
    (tmp_path / "x.owl").write_text(RDF_XML % (entities, """
        <rdf:Description rdf:about="&doi;system">
            <rdf:type rdf:resource="&pil;IdentifierManagementSystem"/><rdfs:label>The &doi; system</rdfs:label>
        </rdf:Description>"""))
    text = kt("describe", "--compare", str(tmp_path / "x.owl"))
    assert "differs: name\nhere: kt\nthere: The https://doi.example/ system\n" in text


def test_what_cannot_be_read_is_refused(kt, tmp_path, monkeypatch):
    assert "cannot be read" in kt.refused("describe", "--compare", str(tmp_path / "none"))
    assert "no minter" in kt.refused("describe", "--compare", str(tmp_path))
    monkeypatch.setattr(comparison, "LARGEST_FILE", 10)
    (tmp_path / "doi.ttl").write_text(DOI)
    assert "has more than" in kt.refused("describe", "--compare", str(tmp_path / "doi.ttl"))
