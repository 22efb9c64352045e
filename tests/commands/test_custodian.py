"""The command custodian: who answers for a minter and its identifiers."""

from __future__ import annotations

import pytest
from rdflib import RDF, RDFS, Graph

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from noidtools.minter import custody
from support.minter import START, Noid
from support.ontology import OURS, PIL, violations
from support.templates import CHECKED


@pytest.fixture
def minter(tmp_path):
    minter = Noid.with_clock(tmp_path, *CHECKED)
    minter.mint(2)
    yield minter
    minter.close()


ID, OTHER = "13030/f54x54g11", "13030/f5154dn7k"


def test_a_new_minter_has_a_custodian(minter, tmp_path):
    assert minter.records("custodian") == [{"of": "this minter", "custodian": "cdlib.org", "from": START}]
    plain = Noid.with_clock(tmp_path / "plain", ".sd")
    assert plain.records("custodian") == [{"of": "this minter", "custodian": "me/us", "from": START}]
    plain.close()


def test_the_custodian_of_a_minter_changes_and_its_history_is_kept(minter):
    minter.records("custodian", "set", "Jane Doe", "--contact", "mailto:jane@example.org")
    minter.clock.set("20280101000000")
    minter.records("custodian", "set", "The Archive")
    assert minter.records("custodian") == [{"of": "this minter", "custodian": "The Archive", "from": "20280101000000"}]
    assert minter.records("custodian", "history") == [
        {"of": "this minter", "custodian": "Jane Doe", "contact": "mailto:jane@example.org", "from": START,
         "until": "20280101000000"},
        {"of": "this minter", "custodian": "The Archive", "from": "20280101000000"},
    ]
    events = minter.records("log", "--since", "2")
    assert [(e["what"], e["changes"][0]["before"], e["changes"][0]["after"]) for e in events] == [
        ("custodian", None, "Jane Doe"), ("custodian", "Jane Doe", "The Archive")]


def test_an_identifier_may_have_a_custodian_of_its_own(minter):
    minter.records("custodian", "set", "Jane", "--contact", "jane@example.org")
    (custodian,) = minter.records("custodian", ID)
    assert custodian["of"] == "this minter" and custodian["custodian"] == "Jane"
    minter.records("custodian", "set", "Kim", "--contact", "kim@example.org", ID)
    assert minter.records("custodian", "show", ID) == [
        {"of": ID, "custodian": "Kim", "contact": "kim@example.org", "from": START}]
    assert minter.records("custodian", OTHER)[0]["custodian"] == "Jane"
    minter.records("custodian", "set", "Lee", ID)
    minter.records("custodian", "remove", ID)
    assert minter.records("custodian", ID)[0]["custodian"] == "Jane"
    assert [c["custodian"] for c in minter.records("custodian", "history", ID)] == ["Kim", "Lee"]
    assert minter.events_of(ID) == ["mint", "custodian", "custodian", "custodian remove"]
    assert isinstance(minter.refusal("custodian", "remove", ID), NotFoundError)


def test_a_withdrawn_identifier_keeps_its_custodian_and_is_not_handed_over(minter):
    minter.records("custodian", "set", "Kim", ID)
    minter.records("withdraw", ID)
    for words in (["set", "Lee", ID], ["remove", ID]):
        assert "withdrawn" in minter.refusal("custodian", *words).message
    assert minter.records("custodian", ID)[0]["custodian"] == "Kim"


def test_custodian_refuses_wrong_words_and_unknown_names(minter):
    for words, kind in (
        (["custodian", "set"], UsageError), (["custodian", "remove"], UsageError),
        (["custodian", "a", "b"], UsageError), (["custodian", "--contact", "x"], UsageError),
        (["custodian", "set", "Kim", ID, "x"], UsageError), (["custodian", "set", ""], InvalidError),
        (["custodian", "set", "a\nb"], InvalidError), (["custodian", "set", "x" * 2000], InvalidError),
        (["custodian", "set", "Kim", "--contact", "a\tb"], InvalidError),
        (["custodian", "set", "Kim", "13030/f5wd3q12m"], NotFoundError), (["custodian", "nonsense"], InvalidError),
        (["custodian", "history"], NotFoundError), (["custodian", "history", ID], NotFoundError),
    ):
        assert isinstance(minter.refusal(*words), kind), words
    minter.records("custodian", "set", "Kim")
    assert isinstance(minter.refusal("custodian", "set", "Kim"), ConflictError)


def test_an_identifier_may_equal_a_subcommand(tmp_path):
    minter = Noid.with_clock(tmp_path)
    minter.records("bind", "set", "set", "e", "v")
    minter.records("custodian", "set", "Kim", "set")
    assert minter.records("custodian", "show", "set")[0] == {"of": "set", "custodian": "Kim", "from": START}
    minter.close()


def test_the_current_custodian_is_available_to_other_modules(minter):
    (found,) = minter.read(lambda reader: custody.current_custodians(minter.opened, reader, ID.encode()))
    assert (found.name, found.contact, found.of) == (b"cdlib.org", b"", custody.MINTER)


def test_custodians_are_set_shown_and_removed_by_commands(noid):
    noid("dbcreate", "x.sd")
    noid("mint", "1")
    out = noid("custodian", "set", "Jane Doe", "--contact", "mailto:jane@example.org")
    assert out.startswith("of: this minter\nCustodian: Jane Doe\nContact: mailto:jane@example.org\nFrom: ")
    assert noid("custodian", "x0") == noid("custodian") == out
    noid("custodian", "set", "Kim", "x0")
    assert noid("custodian", "remove", "x0") == "ok: Kim no longer answers for x0\n\n"
    assert "\nUntil: " in noid("custodian", "history", "x0")
    noid.refused("custodian", "set", status=2)


def test_several_custodians_answer_at_a_time_each_for_its_purpose(minter):
    """3.6: a context may have more than one authority responsible for it."""
    minter.records("custodian", "set", "Jane", "--contact", "mailto:jane@example.org")
    minter.records("custodian", "set", "Kim", "--purpose", "titles")
    minter.records("custodian", "set", "Lee", ID, "--purpose", "titles")
    minter.records("custodian", "set", "Max", ID, "--purpose", "links")

    def present(*words: str) -> list[tuple]:
        return [(c["custodian"], c.get("purpose"), c["of"]) for c in minter.records("custodian", *words)]

    assert present() == [("Jane", None, "this minter"), ("Kim", "titles", "this minter")]
    assert present(ID) == [("Jane", None, "this minter"), ("Max", "links", ID), ("Lee", "titles", ID)]
    assert minter.text("custodian", ID).count("\n\n") == 2
    minter.records("custodian", "set", "Noa", ID, "--purpose", "titles")
    assert [c["custodian"] for c in minter.records("custodian", "history", ID)] == ["Lee", "Max", "Noa"]
    assert "'links', 'titles'" in minter.refusal("custodian", "remove", ID).message
    minter.records("custodian", "remove", ID, "--purpose", "titles")
    assert present(ID)[2] == ("Kim", "titles", "this minter")
    minter.records("custodian", "remove", ID)
    removed = minter.records("custodian", "remove", "--purpose", "titles")
    assert removed == [{"ok": "Kim no longer answers for this minter"}]
    assert present(ID) == [("Jane", None, "this minter")]
    for words in (["remove"], ["remove", "--purpose", ""]):  # the minter always has one
        assert isinstance(minter.refusal("custodian", *words), UsageError)
    assert isinstance(minter.refusal("custodian", "remove", "--purpose", "titles"), NotFoundError)
    assert isinstance(minter.refusal("custodian", "set", "X", "--purpose", "a\nb"), InvalidError)
    changes = minter.records("history", ID)[-1]["changes"]
    assert {(c["what"], c["before"]) for c in changes} == {("custodian", "Max"), ("purpose", "links")}


def test_who_answers_for_one_purpose_does_not_answer_for_the_rest(minter):
    minter.records("custodian", "set", "Kim", "--purpose", "titles")
    assert [c["custodian"] for c in minter.records("custodian")] == ["cdlib.org", "Kim"]
    assert [c["custodian"] for c in minter.records("custodian", ID)] == ["cdlib.org", "Kim"]


def test_a_binding_may_have_a_custodian_of_its_own(minter):
    """5.2: an authority can be responsible for an attribute of an entity."""
    minter.records("bind", "set", ID, "title", "On the origin of species")
    minter.records("bind", "set", ID, "when", "1859")
    minter.records("custodian", "set", "Jane", "--contact", "jane@example.org")
    assert minter.records("custodian", "set", "Kim", ID, "--element", "title", "--contact", "kim@example.org") == [
        {"of": ID, "custodian": "Kim", "purpose": "the element title", "contact": "kim@example.org", "from": START}]
    assert [(c["custodian"], c.get("purpose")) for c in minter.records("custodian", ID)] == [
        ("Jane", None), ("Kim", "the element title")]
    graph = Graph().parse(data=minter.text("describe", ID))
    responsible = {str(graph.value(binding, OURS.element)): {
        str(graph.value(party, RDFS.label)) for party in graph.objects(binding, PIL.hasAuthority)}
        for binding in graph.subjects(RDF.type, OURS.Binding)}
    assert responsible == {"title": {"Kim"}, "when": set()}
    (name,) = graph.subjects(OURS.binding, None, unique=True)
    assert {str(graph.value(party, RDFS.label)) for party in graph.objects(name, PIL.hasAuthority)} == {"Jane"}
    assert violations(graph) == ""
    minter.records("bind", "delete", ID, "title")
    minter.records("custodian", "remove", ID, "--element", "title")
    assert [c["custodian"] for c in minter.records("custodian", ID)] == ["Jane"]
    assert "nothing is bound to none" in minter.refusal("custodian", "set", "Kim", ID, "--element", "none").message
    assert isinstance(minter.refusal("custodian", "set", "Kim", "--element", "title"), UsageError)


def test_the_authority_that_states_a_relation_answers_for_it(minter):
    """5.2: an authority can be responsible for a relation between the entity and another."""
    minter.records("relate", ID, "equivalent", "doi:10.1000/x", "--authority", "A Registry")
    graph = Graph().parse(data=minter.text("describe", ID))
    (claim,) = graph.subjects(RDF.type, OURS.RelationClaim)
    assert {str(graph.value(party, RDFS.label)) for party in graph.objects(claim, PIL.hasAuthority)} == {"A Registry"}
