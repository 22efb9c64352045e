"""Descriptions as RDF, from facts and whatever octets they hold."""

from __future__ import annotations

import base64
import dataclasses
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, URIRef

from noidtools.codec import decode_text, encode_text
from noidtools.commands.call import Invocation
from noidtools.description import RDF_FORMATS, vocabulary
from noidtools.description.facts import (
    ContextClaim,
    CustodyPeriod,
    MinterDescription,
    NameDescription,
    OfferedAction,
    PolicyStatement,
    QualityClaim,
    RedirectTarget,
)
from noidtools.description.formats import serialize
from noidtools.description.gatherer import minter_actions
from noidtools.description.rdf import describe_minter, describe_name
from noidtools.errors import InvalidError, UsageError
from noidtools.minter import qualities
from support.ontology import (
    DESCRIBED,
    IDENTIFIER,
    MINTER,
    OURS,
    PIL,
    RESERVED,
    day,
    related,
    violations,
)

# rdflib's own JSON-LD parser uses a class that rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")

# --- describing ---------------------------------------------------------------------------------


NODE = URIRef("ark:/13030/kt639k9")


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
    minter = replace(MINTER, policies=MINTER.policies[:1])
    statements = (
        QualityClaim(None, "persistent"), QualityClaim(None, "trusted"),
        QualityClaim(None, "reliable", authority="Jill"),
    )
    graph = describe_name(
        NameDescription(name="x", identifier="x", minter=minter, state="published", statements=statements)
    )
    node = URIRef("https://example.org/x")
    assert (node, RDF.type, PIL.Persistent) not in graph and (node, RDF.type, PIL.Trusted) not in graph
    assert (node, RDF.type, PIL.Reliable) in graph
    assert len(set(graph.subjects(PIL.statedOf, node))) == 3
    assert violations(graph) == ""


def test_a_thing_that_is_no_address_is_described_in_words() -> None:
    graph = describe_name(replace(RESERVED, thing="a map of Kerry"))
    (thing,) = graph.objects(URIRef("ark:/13030/kt000"), PIL.hasThing)
    assert graph.value(thing, RDFS.label) == Literal("a map of Kerry")
    assert violations(graph) == ""


def test_an_identifier_may_have_its_own_custodian() -> None:
    graph = describe_name(replace(RESERVED, custodians=(CustodyPeriod("Jill", start=day("20260101000000")),)))
    (custodian,) = graph.objects(URIRef("ark:/13030/kt000"), PIL.hasAuthority)
    assert graph.value(custodian, RDFS.label) == Literal("Jill")
    assert violations(graph) == ""


def changed(facts: Any, path: str, value: object) -> Any:
    """The facts with one of them, however deep inside, replaced."""
    step, _, rest = path.partition(".")
    if step.isdigit():
        place = int(step)
        return (*facts[:place], changed(facts[place], rest, value) if rest else value, *facts[place + 1 :])
    return replace(facts, **{step: changed(getattr(facts, step), rest, value) if rest else value})


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("minter.base", "not an iri", "not an iri"),
        ("minter.iri", "https://example.org/a ", "absolute IRI"),
        ("minter.custodians.0.name", "", "not empty"),
        ("minter.policies.3.start", None, "'from'"),
        ("relations.1.authority", "", "'authority'"),
        ("relations.1.start", None, "'from'"),
    ],
)
def test_facts_that_do_not_do_are_refused_in_a_sentence(path: str, value: object, told: str) -> None:
    with pytest.raises(InvalidError) as refusal:
        describe_name(changed(IDENTIFIER, path, value))
    assert told in refusal.value.message and refusal.value.message.endswith(".")


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        (NameDescription, "name"),
        (NameDescription, "identifier"),
        (NameDescription, "minter"),
        (NameDescription, "state"),
        (MinterDescription, "name"),
        (MinterDescription, "namespace"),
        (MinterDescription, "custodians"),
        (ContextClaim, "start"),
    ],
)
def test_facts_cannot_be_made_without(kind: Any, fact: str) -> None:
    missing = dataclasses.MISSING
    needed = {field.name: "" for field in dataclasses.fields(kind) if field.default is field.default_factory is missing}
    assert kind(**needed)
    del needed[fact]
    with pytest.raises(TypeError, match=f"'{fact}'"):
        kind(**needed)


@pytest.mark.parametrize("format", RDF_FORMATS)
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
texts = nasty.map(decode_text)


@given(texts, texts, texts, texts.filter(bool), texts)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_octets_come_they_are_literals_and_come_back(
    name: str, element: str, value: str, party: str, target: str
) -> None:
    graph = describe_name(
        NameDescription(
            name=name,
            identifier=name,
            minter=MinterDescription(
                name=party,
                namespace=value,
                custodians=(CustodyPeriod(party, element),),
                policies=(PolicyStatement("label-format", value, template=element),),
            ),
            state="published",
            thing=element,
            targets=(RedirectTarget(target),),
            relations=(related("synonym", target, authority=party, start=day("20260101000000")),),
            elements={element: value},
            actions=(OfferedAction("resolve", (target,)),),
        )
    )
    for format in RDF_FORMATS:
        back = Graph().parse(data=serialize(graph, format), format=format)
        assert set(back) == set(graph)
    (literal,) = graph.objects(None, OURS.value)
    assert isinstance(literal, Literal)
    binary = literal.datatype == XSD.base64Binary
    assert (base64.b64decode(str(literal)) if binary else str(literal).encode("utf-8")) == encode_text(value)


# --- the model of a minter: a template that repeats what the code knows -------------------------


def test_the_model_says_of_every_quality_how_it_is_managed() -> None:
    graph = DESCRIBED["minter"]
    managed = {graph.value(node, OURS.managedQuality): str(graph.value(node, OURS.managedBy))
               for node in graph.subjects(RDF.type, OURS.QualityManagement)}
    named = {name: managed.pop(expanded(term)) for name, term in vocabulary.QUALITIES.items()}
    assert managed == {}
    for quality in qualities.QUALITIES:
        assert f"noid verify: {quality.rule}" in named[quality.name]
    for name in qualities.STATABLE:
        assert "an authority, by noid quality" in named[name]
    assert all(("noid verify" in text) == (name in {quality.name for quality in qualities.QUALITIES})
               for name, text in named.items())


def test_the_model_defines_every_action_that_a_minter_offers() -> None:
    graph = describe_minter(replace(MINTER, actions=minter_actions(), audiences=(("mint", "nobody"),)))
    defined = {graph.value(node, OURS.definedAction): node for node in graph.subjects(RDF.type, OURS.ActionDefinition)}
    for action in minter_actions():
        node = defined.pop(expanded(vocabulary.ACTIONS[action.name]))
        words = action.interfaces[0].replace("N", "1").encode().split()[1:]
        assert str(graph.value(node, OURS.accessClass)) in Invocation(words).access
        accounts = "accounts that may use its files, at the shell"
        permitted = f"{accounts}; on the web nobody" if Invocation(words).access == ("mint",) else accounts
        assert str(graph.value(node, OURS.permittedTo)) == permitted
    assert defined == {}


def expanded(term: str) -> URIRef:
    prefix, _, name = term.partition(":")
    return (PIL if prefix == "pil" else OURS)[name]


# --- the package --------------------------------------------------------------------------------


def in_a_new_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode("utf-8")


def test_without_rdflib_the_refusal_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DESCRIBED["minter"]
    monkeypatch.setitem(sys.modules, "rdflib", None)
    for attempt in (
        lambda: describe_minter(MINTER),
        lambda: describe_name(IDENTIFIER),
        lambda: serialize(graph, "turtle"),
    ):
        with pytest.raises(UsageError, match=r"install noidtools\[rdf\]"):
            attempt()


def test_the_same_facts_give_the_same_octets_in_every_process() -> None:
    code = (
        "import hashlib, pickle\nfrom noidtools.description import RDF_FORMATS\n"
        "from noidtools.description.formats import serialize\n"
        "from noidtools.description.rdf import describe_name\n"
        f"graph = describe_name(pickle.loads({pickle.dumps(IDENTIFIER)!r}))\n"
        "for format in RDF_FORMATS: print(hashlib.sha256(serialize(graph, format)).hexdigest())"
    )
    assert in_a_new_process(code, PYTHONHASHSEED="1") == in_a_new_process(code, PYTHONHASHSEED="2")
