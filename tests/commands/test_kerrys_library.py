"""The examples of Kerry's library in the PILIN ontology (6.3, 7.1, 7.2, 10.4, appendix 2), entered by commands."""

from __future__ import annotations

import pytest
from rdflib import RDF, RDFS, Literal, URIRef

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from noidtools.minter import relations
from support.minter import START, Noid
from support.ontology import OURS, PIL, valid_graph

KERRY = ("--authority", "Kerry")
LIBRARY, PURL, HANDLES = "Kerry's Library", "http://purl.kerry.org", "hdl:100"


def home(noid: Noid) -> str:
    """The IRI of a minter."""
    return f"https://w3id.org/noidtools/minter/{noid.opened.settings['uuid']}"


@pytest.fixture(scope="module")
def kerry(tmp_path_factory):
    """The PURL server of Kerry's library, and all that the document says of it."""
    made = Noid.with_clock(tmp_path_factory.mktemp("minters") / "kerry", "--label", PURL + "/")
    for label in ("xyzzy", "elite"):
        made.records("bind", "set", label, "_t", f"https://books.example/{label}")
    for words in (
        ("abstract", "context", LIBRARY, *KERRY, "--purpose", "all that Kerry has"),
        ("abstract", "context", "all libraries", *KERRY),
        ("relate", "all libraries", "contains", LIBRARY, *KERRY),
        ("abstract", "identifier", f"{LIBRARY}:xyzzy", *KERRY, "--thing", "a book of magic"),
        ("abstract", "identifier", f"{LIBRARY}:elite", *KERRY),
        ("abstract", "name", f"{LIBRARY}:plugh", *KERRY),
        ("relate", PURL, "realises", LIBRARY, *KERRY),
        ("relate", HANDLES, "realises", LIBRARY, *KERRY),
        ("relate", PURL, "realises", "all libraries", *KERRY),
        ("relate", HANDLES, "realises", "all libraries", *KERRY),
        ("relate", f"{PURL}/xyzzy", "realises", f"{LIBRARY}:xyzzy", *KERRY),
        ("relate", f"{LIBRARY}:xyzzy", "realised-by", f"{HANDLES}/xyzzy", *KERRY),
        ("relate", f"{PURL}/elite", "realises", f"{LIBRARY}:elite", *KERRY),
        ("synonym", f"{HANDLES}/7334", f"{PURL}/elite", *KERRY),
    ):
        made.records(*words)
    yield made
    made.close()


def senses(noid: Noid, one: str, other: str) -> list[str]:
    (found,) = noid.records("same", one, other)
    assert found["same"] is False
    return found.get("senses", [])


# -- what is recorded and listed -------------------------------------------------------------------------------------


def test_abstract_contexts_names_and_identifiers_are_listed(kerry):
    """6.3: defined by what concrete contexts have in common: purpose and authority."""
    listed = {found["abstract"]: found for found in kerry.records("abstract")}
    assert set(listed) == {LIBRARY, "all libraries", *(f"{LIBRARY}:{label}" for label in ("xyzzy", "elite", "plugh"))}
    assert listed[LIBRARY] == {"abstract": LIBRARY, "kind": "context", "purpose": "all that Kerry has",
                               "authority": "Kerry", "from": START}
    assert listed[f"{LIBRARY}:xyzzy"] == {
        "abstract": f"{LIBRARY}:xyzzy", "kind": "identifier", "context": LIBRARY, "label": "xyzzy",
        "thing": "a book of magic", "authority": "Kerry", "from": START}
    assert kerry.records("abstract", "show", LIBRARY) == kerry.records("abstract", LIBRARY) == [listed[LIBRARY]]


def test_a_concrete_context_realises_an_abstract_one(kerry):
    """7.1: http://purl.kerry.org realises Kerry's Library."""
    found = {(r["relation"], r["name"], r["authority"]) for r in kerry.records("relations", LIBRARY)}
    assert found == {("realised-by", PURL, "Kerry"), ("realised-by", HANDLES, "Kerry"),
                     ("contained-in", "all libraries", "Kerry")}
    assert ("realises", LIBRARY) in {(r["relation"], r["name"]) for r in kerry.records("relations", PURL)}


def test_an_identifier_realises_the_abstract_one_with_its_label(kerry):
    """7.1: http://purl.kerry.org/xyzzy realises Kerry's Library:xyzzy; App. 2: so does …/elite."""
    for label in ("xyzzy", "elite"):
        assert ("realises", f"{LIBRARY}:{label}") in {
            (r["relation"], r["name"]) for r in kerry.records("relations", f"{PURL}/{label}")}


def test_relations_lists_the_homologues_that_follow_from_realisations(kerry):
    listed = [r for r in kerry.records("relations", f"{PURL}/xyzzy") if r["relation"] == "homologue"]
    assert listed == [{"id": f"{PURL}/xyzzy", "relation": "homologue", "name": "hdl:100/xyzzy", "authority": None,
                       "from": START, "until": None, "current": True, "event": None}]
    assert "relation: homologue\nname: hdl:100/xyzzy\n" in kerry.text("relations", "xyzzy")
    assert "note: this follows from what both realise\n" in kerry.text("relations", "xyzzy")
    assert [r["name"] for r in kerry.records("relations", "hdl:100/xyzzy") if r["relation"] == "homologue"] == [
        f"{PURL}/xyzzy"]


# -- in which sense names are the same -------------------------------------------------------------------------------


def test_two_realisations_of_one_identifier_are_homologues_within_the_smallest_context(kerry):
    """7.2 and 10.4: homologues, not the same name; the scope does not extend to all libraries."""
    assert senses(kerry, f"{PURL}/xyzzy", f"{HANDLES}/xyzzy") == [
        f"homologues (7.2): both realise {LIBRARY}:xyzzy, in the scope of {LIBRARY}"]
    assert kerry.run("same", f"{PURL}/xyzzy", f"{HANDLES}/xyzzy").returncode == 1


def test_two_realisations_of_an_abstract_name_are_homologous_names(kerry):
    """10.4: the abstract name is no identifier, so that its realisations are names, and no homologues."""
    assert senses(kerry, f"{PURL}/grimoire", f"{HANDLES}/grimoire") == []
    kerry.records("abstract", "name", f"{LIBRARY}:grimoire", *KERRY)
    for context in (PURL, HANDLES):
        kerry.records("relate", f"{context}/grimoire", "realises", f"{LIBRARY}:grimoire", *KERRY)
    assert senses(kerry, f"{PURL}/grimoire", f"{HANDLES}/grimoire") == [
        f"homologous names (10.4): both realise {LIBRARY}:grimoire, in the scope of {LIBRARY}"]
    assert kerry.run("same", f"{PURL}/grimoire", f"{HANDLES}/grimoire").returncode == 1


def test_what_has_another_label_is_a_synonym_and_no_homologue(kerry):
    """App. 2: hdl:100/7334 and http://purl.kerry.org/elite."""
    assert senses(kerry, f"{HANDLES}/7334", f"{PURL}/elite") == ["synonyms (5.4), according to Kerry"]
    for word, other in (("realises", f"{LIBRARY}:elite"), ("homologue", f"{PURL}/elite"),
                        ("homologous-name", f"{PURL}/elite")):
        refusal = kerry.refusal("relate", f"{HANDLES}/7334", word, other, *KERRY)
        assert isinstance(refusal, ConflictError) and "synonym" in refusal.message


def test_the_same_label_in_both_contexts_is_no_homology_by_itself(kerry):
    """App. 2: an external system cannot assume that …/elite and hdl:100/elite are homologues."""
    assert senses(kerry, f"{PURL}/elite", f"{HANDLES}/elite") == []


def test_an_abstract_name_and_its_realisation_are_the_same_in_that_sense(kerry):
    assert senses(kerry, f"{LIBRARY}:xyzzy", f"{PURL}/xyzzy") == [
        f"realisation (7.1): {LIBRARY}:xyzzy is realised by {PURL}/xyzzy, according to Kerry"]
    (found,) = kerry.records("same", f"{LIBRARY}:xyzzy", f"{PURL}/xyzzy")
    assert found["why"] == [f"{LIBRARY}:xyzzy is an abstract identifier, and the same as no other name."]
    assert senses(kerry, PURL, HANDLES) == [
        f"realisations of one context (7.1): both realise {LIBRARY}",
        "realisations of one context (7.1): both realise all libraries"]


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "why"), [
    (("relate", "Nigel's Library", "contains", LIBRARY), "concrete"),
    (("relate", LIBRARY, "contains", "all libraries"), "cannot be contained in it"),
    (("relate", "all libraries", "contained-in", LIBRARY), "cannot be contained in it"),
    (("relate", LIBRARY, "contains", f"{LIBRARY}:xyzzy"), "not a context"),
    (("relate", LIBRARY, "realises", "all libraries"), "only something concrete"),
    (("relate", "hdl:200", "realises", "Nigel's Library"), "not declared as abstract"),
    (("relate", "hdl:200/xyzzy", "realises", f"{LIBRARY}:xyzzy"), "in no context"),
    (("relate", f"{PURL}/xyzzy", "realises", LIBRARY), "not a context"),
    (("relate", "hdl:200/xyzzy", "homologue", f"{PURL}/xyzzy"), "no abstract context"),
    (("relate", f"{LIBRARY}:xyzzy", "homologue", f"{PURL}/xyzzy"), "is abstract"),
    (("relate", f"{PURL}/xyzzy", "equivalent", "xyzzy"), "the same name, not two"),
    (("bind", "set", f"{LIBRARY}:xyzzy", "_t", "https://x.example/"), "only what realises it"),
    (("alias", "old", f"{LIBRARY}:xyzzy"), "only what realises it"),
    (("hold", "set", LIBRARY), "only what realises it"),
    (("abstract", "context", "xyzzy"), "registered here"),
    (("abstract", "context", "hdl:300"), "a name of a system"),
    (("abstract", "name", LIBRARY), "is an abstract context"),
    (("abstract", "--remove", LIBRARY), "has relations"),
])
def test_what_the_ontology_excludes_is_refused(kerry, words, why):
    options = () if words[0] in ("bind", "alias", "hold") or "--remove" in words else KERRY
    refusal = kerry.refusal(*words, *options)
    assert isinstance(refusal, ConflictError) and why in refusal.message, refusal


@pytest.mark.parametrize(("words", "kind"), [
    (("abstract", "name", "Nigel's Library:x", *KERRY), NotFoundError),
    (("abstract", "name", f"{LIBRARY}:", *KERRY), NotFoundError),
    (("abstract", "context", "", *KERRY), InvalidError), (("abstract", "context", "a\nb", *KERRY), InvalidError),
    (("abstract", "context", "x" * 2000, *KERRY), InvalidError), (("abstract", "context", "x"), UsageError),
    (("abstract", "thing", "x", *KERRY), UsageError), (("abstract", "show", "nothing"), NotFoundError),
    (("abstract", "--remove", "nothing"), NotFoundError), (("relate", "a", "likes", "b", *KERRY), UsageError),
    (("relate", "a", "equivalent", "b"), UsageError),
    (("relate", "a", "equivalent", "b", "--authority", ""), InvalidError),
    (("relate", "a", "equivalent", "b", *KERRY, "--from", "2030", "--until", "2020"), UsageError),
    (("relate", "--remove", "a", "equivalent", "b"), NotFoundError),
])
def test_bad_words_are_refused(kerry, words, kind):
    assert isinstance(kerry.refusal(*words), kind)


# -- claims have an authority and a time, and can be taken back ------------------------------------------------------


CLAIMS = [
    ("contains", "https://n2t.net", "ark:/13030", "https://n2t.net contains ark:/13030"),
    ("equivalent", "xyzzy", "doi:10.1000/1", "http://purl.kerry.org/xyzzy and doi:10.1000/1 are equivalent"),
    ("homologue", "xyzzy", "hdl:100/xyzzy", "http://purl.kerry.org/xyzzy and hdl:100/xyzzy are homologues"),
    ("homologous-name", "xyzzy", "hdl:100/xyzzy",
     "http://purl.kerry.org/xyzzy and hdl:100/xyzzy are homologous names"),
    ("realises", "hdl:100/plugh", f"{LIBRARY}:plugh", f"hdl:100/plugh realises {LIBRARY}:plugh"),
]


@pytest.mark.parametrize(("word", "one", "other", "sentence"), CLAIMS)
def test_every_kind_of_relation_has_an_authority_and_dates_and_can_be_taken_back(kerry, word, one, other, sentence):
    span = ("--from", "2020-02-03", "--until", "2020-12")
    answer = kerry.text("relate", one, word, other, "--authority", "Nigel", *span)
    assert answer == f"ok: {sentence} according to Nigel\n"
    found = [r for r in kerry.records("relations", one) if r["relation"] == word and r["authority"] == "Nigel"]
    assert [(r["from"], r["until"], r["current"]) for r in found] == [("20200203000000", "20201231235959", False)]
    inverse = [r for r in kerry.records("relations", other) if r["authority"] == "Nigel"]
    assert len(inverse) == 1 and inverse[0]["name"].endswith(one) and inverse[0]["event"] == found[0]["event"]
    assert [sense for sense in senses(kerry, one, other) if "Nigel" in sense] == [], "it is not in force"
    kerry.records("relate", one, word, other, "--authority", "Nigel")
    assert any("Nigel" in sense for sense in senses(kerry, one, other)) == (word != "contains")
    change = kerry.records("history", one)[-1]
    assert change["what"] == "relate" and {c["what"]: c["after"] for c in change["changes"]}["from"] == START
    ended = sentence.replace(" are ", " are no longer ").replace(" contains ", " no longer contains ").replace(
        " realises ", " no longer realises ")
    assert kerry.text("relate", "--remove", one, word, other, "--authority", "Nigel") == (
        f"ok: {ended} according to Nigel\n")
    for name in (one, other):
        assert not [r for r in kerry.records("relations", name) if r["authority"] == "Nigel"]


def test_an_abstract_name_is_declared_again_and_removed(tmp_path):
    noid = Noid.with_clock(tmp_path / "ark", "--label", "ark:/", "f5.reedk", "long", "13030", "a", "b")
    noid.records("abstract", "context", "Monash", "--authority", "Monash University")
    noid.clock.set("20270101000000")
    again = ("abstract", "context", "Monash", "--authority", "Monash University", "--purpose", "all of its names")
    assert noid.records(*again)[0]["from"] == START
    events = noid.event_count()
    noid.records(*again)
    assert noid.event_count() == events
    noid.records("abstract", "identifier", "Monash::a/b:c", "--authority", "Monash University")
    assert noid.records("abstract", "show", "Monash::a/b:c")[0]["label"] == "a/b:c"
    assert "Monash::a/b:c is in the context Monash" in noid.refusal("abstract", "--remove", "Monash").message
    noid.records("abstract", "--remove", "Monash::a/b:c")
    noid.records("abstract", "--remove", "Monash")
    assert noid.text("abstract") == "note: nothing abstract is declared here\n"
    assert [event["what"] for event in noid.records("history", "Monash")] == ["abstract", "abstract", "abstract remove"]
    noid.close()
    plain = Noid.created(tmp_path / "plain", ".sdd")
    assert "has the form of this minter's names" in plain.refusal("abstract", "context", "07", *KERRY).message
    plain.close()


def test_the_context_of_a_minter_with_a_prefix_realises_an_abstract_one(tmp_path):
    """6.3: Monash University has two servers; each of its names is a label in one of them."""
    noid = Noid.created(tmp_path / "monash", "--label", "ark:/", "f5.reedk", "long", "13030", "a", "b")
    (identifier,) = noid.mint()
    label = identifier.removeprefix("ark:/13030/f5")
    who = ("--authority", "Monash University")
    noid.records("abstract", "context", "Monash", *who)
    noid.records("abstract", "identifier", f"Monash:{label}", *who)
    noid.records("relate", "ark:/13030/f5", "realises", "Monash", *who)
    noid.records("relate", identifier, "realises", f"Monash:{label}", *who)
    graph = valid_graph(noid.text("describe"))
    (minter,) = graph.subjects(RDF.type, OURS.Minter)
    assert (minter, PIL.realisesContext, URIRef(f"{minter}/Monash")) in graph
    context = valid_graph(noid.text("describe", "ark:/13030/f5"))
    assert (minter, PIL.realisesContext, URIRef(f"{minter}/Monash")) in context
    noid.close()


# -- descriptions ----------------------------------------------------------------------------------------------------


def test_describe_draws_realisations_and_homologues(kerry):
    graph = valid_graph(kerry.text("describe", "xyzzy"))
    node, handle = URIRef(f"{PURL}/xyzzy"), URIRef("hdl:100/xyzzy")
    abstract = URIRef(f"{home(kerry)}/Kerry's%20Library:xyzzy")
    assert (node, PIL.realisesIdentifier, abstract) in graph and (node, PIL.realises, abstract) in graph
    assert (abstract, RDF.type, PIL.AbstractIdentifier) in graph
    assert (node, PIL.homologueOf, handle) in graph
    (homology,) = graph.objects(node, PIL.isHomologue)
    scope = graph.value(homology, PIL.homologyScope)
    assert graph.value(scope, RDFS.label) == Literal(LIBRARY) and (scope, RDF.type, PIL.AbstractContext) in graph
    (claim,) = graph.subjects(OURS.relation, Literal("realises"))
    assert set(graph.objects(claim, OURS.relates)) == {node, abstract}
    (authority,) = graph.subjects(PIL.claims, claim)
    assert graph.value(authority, RDFS.label) == Literal("Kerry")


def test_describe_draws_what_is_abstract_and_what_realises_it(kerry):
    graph = valid_graph(kerry.text("describe", f"{LIBRARY}:xyzzy"))
    node = URIRef(f"{home(kerry)}/Kerry's%20Library:xyzzy")
    assert set(graph.objects(node, PIL.isIdentifierRealisedBy)) == {URIRef(f"{PURL}/xyzzy"), URIRef("hdl:100/xyzzy")}
    name = graph.value(node, PIL.hasName)
    assert (name, RDF.type, PIL.AbstractName) in graph
    assert graph.value(graph.value(name, PIL.hasContext), RDFS.label) == Literal(LIBRARY)
    assert graph.value(graph.value(name, PIL.hasLabel), PIL.symbol) == Literal("xyzzy")
    assert graph.value(graph.value(node, PIL.hasThing), RDFS.label) == Literal("a book of magic")
    context = valid_graph(kerry.text("describe", LIBRARY))
    node = URIRef(f"{home(kerry)}/Kerry's%20Library")
    assert context.value(node, PIL.purpose) == Literal("all that Kerry has")
    assert (node, PIL.containedIn, URIRef(f"{home(kerry)}/all%20libraries")) in context
    realised = set(context.objects(node, PIL.isRealisedBy))
    assert realised == {URIRef(home(kerry)), URIRef("hdl:100#context")}
    plain = valid_graph(kerry.text("describe", f"{LIBRARY}:plugh"))
    assert (URIRef(f"{home(kerry)}/Kerry's%20Library:plugh"), RDF.type, PIL.AbstractName) in plain


def test_describe_draws_names_and_contexts_of_other_systems(kerry):
    graph = valid_graph(kerry.text("describe", "hdl:100/xyzzy"))
    handle, purl = URIRef("hdl:100/xyzzy"), URIRef(f"{PURL}/xyzzy")
    assert (handle, PIL.realisesIdentifier, URIRef(f"{home(kerry)}/Kerry's%20Library:xyzzy")) in graph
    assert (handle, PIL.homologueOf, purl) in graph
    context = valid_graph(kerry.text("describe", HANDLES))
    node = URIRef("hdl:100#context")
    assert (node, PIL.realisesContext, URIRef(f"{home(kerry)}/Kerry's%20Library")) in context
    assert context.value(node, PIL.contextIdentifier) == URIRef(HANDLES)
    own = valid_graph(kerry.text("describe", PURL))
    assert (URIRef(home(kerry)), PIL.realisesContext, URIRef(f"{home(kerry)}/Kerry's%20Library")) in own
    assert "not known here" in kerry.refusal("describe", "hdl:100/nothing").message


def test_describe_draws_the_context_of_the_minter(kerry):
    graph = valid_graph(kerry.text("describe"))
    assert (URIRef(home(kerry)), PIL.realisesContext, URIRef(f"{home(kerry)}/Kerry's%20Library")) in graph


def test_an_abstract_name_does_not_resolve(kerry):
    assert kerry.refusal("resolve", f"{LIBRARY}:xyzzy").message == (
        f"{LIBRARY}:xyzzy is an abstract identifier, which leads nowhere by itself: hdl:100/xyzzy, {PURL}/xyzzy "
        "realise it")
    assert kerry.refusal("resolve", f"{LIBRARY}:plugh").message.endswith("which leads nowhere by itself")
    assert isinstance(kerry.refusal("resolve", "Nigel's Library:xyzzy"), NotFoundError)


REALISED = f": hdl:100/xyzzy, {PURL}/xyzzy realise it"


@pytest.mark.parametrize(("words", "lack"), [
    (("cite",), "is not cited by itself"), (("fetch",), "has nothing bound to it"),
    (("get",), "has nothing bound to it"),
    (("resolve",), "leads nowhere by itself"),
])
def test_what_only_a_concrete_name_has_is_refused_with_what_realises_the_abstract_one(kerry, words, lack):
    for name in (f"{LIBRARY}:xyzzy", f"{LIBRARY}::xyzzy"):
        refusal = kerry.refusal(*words, name)
        assert isinstance(refusal, NotFoundError)
        assert refusal.message == f"{LIBRARY}:xyzzy is an abstract identifier, which {lack}{REALISED}"
    assert "abstract context" in kerry.refusal(*words, LIBRARY).message
    if words[0] in ("get", "fetch"):
        assert "abstract identifier" in kerry.refusal(*words, f"{LIBRARY}:xyzzy", "title").message


def test_verify_says_that_an_abstract_name_is_not_registered(kerry):
    answer = kerry.records("verify", f"{LIBRARY}:xyzzy")[0]
    assert answer["answer"] is False
    (finding,) = answer["findings"]
    assert finding["quality"] == "registered" and finding["detail"] == (
        f"{LIBRARY}:xyzzy is an abstract identifier, which is not registered{REALISED}")


def test_the_same_label_in_the_same_abstract_context_is_one_name(kerry):
    """5.8, with the spellings of 7.1 and 10.4."""
    (found,) = kerry.records("same", f"{LIBRARY}:xyzzy", f"{LIBRARY}::xyzzy")
    assert found["same"] is True
    for spelling in (f"{LIBRARY}::xyzzy", f"{LIBRARY}/xyzzy"):
        (shown,) = kerry.records("abstract", "identifier", spelling, *KERRY, "--thing", "a book of magic")
        assert shown["abstract"] == f"{LIBRARY}:xyzzy"
        assert kerry.records("relations", spelling) == kerry.records("relations", f"{LIBRARY}:xyzzy")
        assert kerry.records("history", spelling) == kerry.records("history", f"{LIBRARY}:xyzzy")
        assert kerry.text("describe", spelling) == kerry.text("describe", f"{LIBRARY}:xyzzy")
        assert "only what realises it" in kerry.refusal("bind", "set", spelling, "_t", "https://x.example/").message
        (other,) = kerry.records("same", spelling, "xyzzy")
        assert other["same"] is False and other["senses"] == [
            f"realisation (7.1): {LIBRARY}:xyzzy is realised by {PURL}/xyzzy, according to Kerry"]
    assert isinstance(kerry.refusal("abstract", "context", f"{LIBRARY}::xyzzy", *KERRY), ConflictError)
    assert kerry.records("same", f"{LIBRARY}:xyzzy", f"{LIBRARY}::XYZZY")[0]["same"] is False, "labels differ in case"


def test_check_finds_nothing_wrong_but_a_claim_that_has_lost_its_other_half(kerry):
    assert kerry.run("check").returncode == 0
    key = b"hdl:100/xyzzy"
    (half,) = kerry.read(lambda reader: list(relations.relations_of(reader, key, relations.REALISES)))
    kerry.write(lambda writer: relations.delete_relation(writer, key, half))
    found = kerry.run("check")
    assert found.returncode == 1 and b"realised-by hdl:100/xyzzy, but not the other way round" in found.stdout
