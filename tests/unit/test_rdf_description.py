"""Facts described in RDF, in every format, whatever octets they hold."""

from __future__ import annotations

import base64
import copy
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, URIRef

from noidtools.description.rdf import FORMATS, describe_identifier, describe_minter, serialize
from noidtools.description.reading import moment
from noidtools.errors import InvalidError, UsageError
from support.ontology import (
    DESCRIBED,
    IDENTIFIER,
    MINTER,
    OURS,
    PIL,
    RESERVED,
    WITHDRAWN,
    violations,
)

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

NODE, HOME, SYSTEM = URIRef("ark:/13030/kt639k9"), URIRef("urn:noid:kt5"), URIRef("urn:noid:kt5#system")


def test_a_description_says_what_the_facts_say() -> None:
    graph = DESCRIBED["published"]
    assert graph.value(NODE, RDFS.label) == Literal("ark:/13030/kt639k9")
    assert graph.value(URIRef(NODE + "#label"), PIL.symbol) == Literal("639k9")
    assert graph.value(NODE, OURS.state) == PIL.Published
    assert graph.value(NODE, OURS.stateSince) == Literal("2026-11-16T00:28:25+00:00", datatype=XSD.dateTime)
    assert graph.value(NODE, PIL.locator) == URIRef("https://example.org/aid%201")
    assert graph.value(NODE, OURS.locatorText) == Literal("javascript:alert(1)")
    assert graph.value(URIRef("https://example.org/maps"), PIL.aliasOf) == NODE
    assert graph.value(NODE, PIL.synonymOf) == URIRef("hdl:100/7334")
    assert (URIRef(NODE + "#quality-resolvable"), RDF.type, PIL.Verified) in graph
    assert (NODE, RDF.type, PIL.Retrievable) not in graph
    assert graph.value(URIRef(NODE + "#binding-2"), OURS.element) == Literal("/w==", datatype=XSD.base64Binary)
    assert not [n for t in graph for n in t if isinstance(n, BNode)]


def test_persistent_without_a_commitment_and_trusted_by_nobody_are_stated_and_no_more() -> None:
    minter = MINTER | {"policies": MINTER["policies"][:1]}
    qualities = [{"quality": "persistent"}, {"quality": "trusted"}, {"quality": "reliable", "by": "Jill"}]
    graph = describe_identifier({"id": b"x", "minter": minter, "state": "published", "qualities": qualities})
    node = URIRef("https://example.org/x")
    assert (node, RDF.type, PIL.Persistent) not in graph and (node, RDF.type, PIL.Trusted) not in graph
    assert (node, RDF.type, PIL.Reliable) in graph
    assert len(set(graph.subjects(PIL.statedOf, node))) == 3
    assert violations(graph) == ""


def test_a_thing_that_is_no_address_is_described_in_words() -> None:
    graph = describe_identifier(RESERVED | {"thing": "a map of Kerry"})
    (thing,) = graph.objects(URIRef("ark:/13030/kt000"), PIL.hasThing)
    assert graph.value(thing, RDFS.label) == Literal("a map of Kerry")
    assert violations(graph) == ""


def test_an_identifier_may_have_its_own_custodian_and_policy() -> None:
    own: dict[str, Any] = {
        "custodians": [{"name": "Jill", "from": "2026-01-01", "iri": "https://example.org/jill"}],
        "policies": [{"kind": "access", "text": "Jill only"}],
        "iri": "https://example.org/id/1",
    }
    graph = describe_identifier(RESERVED | own)
    assert set(graph.objects(URIRef(own["iri"]), PIL.hasAuthority)) == {URIRef("https://example.org/jill")}
    assert violations(graph) == ""


def changed(facts: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The facts with one of them replaced, or left out where the value is None."""
    result = copy.deepcopy(facts)
    inner: Any = result
    *way, last = path.split(".")
    for step in way:
        inner = inner[int(step) if step.isdigit() else step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return result


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("id", None, "'id'"),
        ("id", 7, "'id'"),
        ("minter", None, "'minter'"),
        ("minter", b"kt5", "'minter'"),
        ("minter.name", None, "'name'"),
        ("minter.namespace", None, "'namespace'"),
        ("minter.base", "not an iri", "not an iri"),
        ("minter.iri", "https://example.org/a b", "absolute IRI"),
        ("minter.custodians", [], "at least one custodian"),
        ("minter.custodians.0.until", "2021-01-01", "at least one custodian"),
        ("minter.custodians.0.name", b"", "not empty"),
        ("minter.policies", [], "label-format"),
        ("minter.policies.1.kind", "label-format", "two policies"),
        ("minter.policies.1.kind", "secret", "'secret' is no kind of policy"),
        ("minter.policies.3.from", None, "'from'"),
        ("state", "lost", "'lost' is no state"),
        ("state_since", "yesterday", "'yesterday' is no date"),
        ("targets", b"https://example.org/", "'targets' that is not a list"),
        ("synonyms.0.authority", None, "'authority'"),
        ("synonyms.0.from", None, "'from'"),
        ("qualities.0.quality", "beautiful", "'beautiful' is no quality"),
        ("qualities.0.quality", "unique", "two statements of the quality unique"),
        ("qualities.0.verified", None, "both the date"),
        ("qualities.0.confirmed", "yes", "neither true nor false"),
        ("actions.0.action", "destroy", "'destroy' is no action"),
        ("actions.0.action", "cite", "cite is on offer twice"),
        ("actions.0.doors", [], "without a door"),
        ("bindings.0.value", None, "'value'"),
    ],
)
def test_facts_that_do_not_do_are_refused_in_a_sentence(path: str, value: Any, told: str) -> None:
    with pytest.raises(InvalidError) as refusal:
        describe_identifier(changed(IDENTIFIER, path, value))
    assert told in refusal.value.message and refusal.value.message.endswith(".")


def test_a_withdrawn_identifier_needs_the_date_of_it() -> None:
    with pytest.raises(InvalidError, match="state_since"):
        describe_identifier(changed(WITHDRAWN, "state_since", None))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_survives_each_format(name: str, format: str) -> None:
    written = serialize(DESCRIBED[name], format)
    assert set(Graph().parse(data=written, format=format)) == set(DESCRIBED[name])


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="turtle, json-ld, xml, not as 'hdt'"):
        serialize(DESCRIBED["minter"], "hdt")


octets = st.binary(max_size=12) | st.text(max_size=8).map(lambda t: t.encode("utf-8", "surrogatepass"))
nasty = octets | st.sampled_from(
    [
        b"a\r\nb",
        b'">\x00<script>',
        b'"""\\',
        b"\\u0041",
        b"]]>",
        b"ark:/1/<>",
        b"http://[::1]/",
        b"http://[x",
        b"50%",
        b"#a#b",
    ]
)


@given(nasty, nasty, nasty, nasty.filter(bool), nasty)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_octets_come_they_are_literals_and_come_back(
    name: bytes, element: bytes, value: bytes, party: bytes, target: bytes
) -> None:
    graph = describe_identifier(
        {
            "id": name,
            "minter": {
                "name": party,
                "namespace": value,
                "custodians": [{"name": party, "contact": element}],
                "policies": [{"kind": "label-format", "text": value, "template": element}],
            },
            "state": "published",
            "thing": element,
            "targets": [target],
            "synonyms": [{"other": target, "authority": party, "from": "2026-01-01"}],
            "bindings": [{"element": element, "value": value}],
            "actions": [{"action": "resolve", "doors": [target]}],
        }
    )
    for format in FORMATS:
        back = Graph().parse(data=serialize(graph, format), format=format)
        assert set(back) == set(graph)
    (literal,) = graph.objects(None, OURS.value)
    assert isinstance(literal, Literal)
    binary = literal.datatype == XSD.base64Binary
    assert (base64.b64decode(str(literal)) if binary else str(literal).encode("utf-8")) == value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-16", "2026-11-16T00:00:00+00:00"),
        ("20261116002825", "2026-11-16T00:28:25+00:00"),
        ("2026-11-16T00:28:25Z", "2026-11-16T00:28:25+00:00"),
        ("2026-11-16T01:28:25+01:00", "2026-11-16T00:28:25+00:00"),
    ],
)
def test_dates_are_read_in_several_writings_and_meant_in_utc(written: str, meant: str) -> None:
    assert moment(written) == meant


@pytest.mark.parametrize("written", ["", "20261316002825", "0001-01-01T00:00:00+10:00", "2026", "\u0661" * 14])
def test_what_is_no_date_is_refused(written: str) -> None:
    with pytest.raises(InvalidError, match="is no date"):
        moment(written)


def test_without_rdflib_the_refusal_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DESCRIBED["minter"]
    monkeypatch.setitem(sys.modules, "rdflib", None)
    for attempt in (
        lambda: describe_minter(MINTER),
        lambda: describe_identifier(IDENTIFIER),
        lambda: serialize(graph, "turtle"),
    ):
        with pytest.raises(UsageError, match=r"install noidtools\[rdf\]"):
            attempt()
