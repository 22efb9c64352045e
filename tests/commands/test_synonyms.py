"""Synonyms, and which of them an authority prefers."""

from __future__ import annotations

import pytest

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from support.minter import START, Noid

A = "https://a.example/"
KERRY = ["--authority", "Kerry's Library"]


@pytest.fixture
def minter(free_with_clock):
    return free_with_clock


def guarantee(minter: Noid, *names: str, authority: str = "Kerry's Library") -> None:
    """Let an authority guarantee the persistence of names, without which it cannot prefer them."""
    for name in names:
        minter.records("quality", "state", "persistent", name, "--authority", authority)


def related(minter: Noid, name: str) -> list[tuple]:
    return [(r["relation"], r["name"], r["authority"]) for r in minter.records("relations", name)]


# -- synonyms --------------------------------------------------------------------------------------------------------


def test_synonyms_are_symmetric_and_listed_with_authority_and_time_span(minter):
    minter.records(
        "synonym", "hdl:100/7334", "http://purl.kerry.org/elite", *KERRY, "--from", "2020", "--until", "2126-02")
    facts = {"relation": "synonym", "authority": "Kerry's Library", "from": "20200101000000",
             "until": "21260228235959", "current": True, "event": 2}
    assert minter.records("relations", "info:hdl/100/7334") == [
        {"id": "hdl:100/7334", "name": "http://purl.kerry.org/elite", **facts}]
    assert minter.records("relations", "http://purl.kerry.org/elite") == [
        {"id": "http://purl.kerry.org/elite", "name": "hdl:100/7334", **facts}]
    assert minter.events_of("hdl:100/7334") == minter.events_of("http://purl.kerry.org/elite") == ["synonym"]


def test_a_synonym_is_in_force_from_now_or_the_given_date_until_its_end(minter):
    minter.records("synonym", "a", "b", *KERRY, "--until", "2026-11-30")
    (relation,) = minter.records("relations", "a")
    assert (relation["from"], relation["until"], relation["current"]) == (START, "20261130235959", True)
    minter.clock.set("20261201000000")
    (relation,) = minter.records("relations", "a")
    assert relation["current"] is False and "not in force now" in minter.text("relations", "a")


def test_stating_a_synonym_again_changes_its_time_span(minter):
    minter.records("synonym", "a", "b", *KERRY)
    minter.records("synonym", "b", "a", *KERRY, "--from", "2000", "--until", "2030")
    (relation,) = minter.records("relations", "a")
    assert (relation["from"], relation["until"]) == ("20000101000000", "20301231235959")
    changes = minter.records("history", "a")[-1]["changes"]
    assert {"id": "b", "what": "from", "before": START, "after": "20000101000000"} in changes


def test_each_authority_has_its_own_synonyms(minter):
    minter.records("synonym", "a", "b", "--authority", "one")
    minter.records("synonym", "a", "b", "--authority", "two")
    assert related(minter, "a") == [("synonym", "b", "one"), ("synonym", "b", "two")]
    assert isinstance(minter.refusal("synonym", "--remove", "a", "b"), UsageError)
    assert isinstance(minter.refusal("synonym", "--remove", "a", "b", "--authority", "three"), NotFoundError)
    minter.records("synonym", "--remove", "b", "a", "--authority", "one")
    minter.records("synonym", "--remove", "a", "b")
    assert related(minter, "a") == related(minter, "b") == []
    assert minter.events_of("b") == ["synonym", "synonym", "synonym remove", "synonym remove"]


def test_synonyms_need_two_names_and_an_authority(minter):
    assert "authority" in minter.refusal("synonym", "a", "b").message
    assert "same name" in minter.refusal("synonym", "hdl:1.2/x", "info:hdl/1.2/x", *KERRY).message
    assert "not a date" in minter.refusal("synonym", "a", "b", *KERRY, "--from", "yesterday").message
    backwards = minter.refusal("synonym", "a", "b", *KERRY, "--from", "2030", "--until", "2029")
    assert "before it begins" in backwards.message
    assert isinstance(minter.refusal("synonym", "a", *KERRY), UsageError)
    assert isinstance(minter.refusal("synonym", "a", "b", "c", *KERRY), UsageError)
    assert isinstance(minter.refusal("synonym", "a", "b", "--authority", " "), InvalidError)
    assert isinstance(minter.refusal("synonym", "--remove", "a", "b"), NotFoundError)
    assert isinstance(minter.refusal("synonym", "--remove", "a", "b", "--until", "2030"), UsageError)


# -- preferences -----------------------------------------------------------------------------------------------------


def test_one_of_all_synonyms_is_preferred_by_an_authority(minter):
    minter.records("synonym", "a", "b", *KERRY)
    minter.records("synonym", "b", "c", *KERRY)
    guarantee(minter, "a", "c")
    assert minter.records("prefer", "a") == [{"ok": "a is preferred by Kerry's Library"}]
    minter.records("prefer", "c")
    assert ("preferred", None, "Kerry's Library") in related(minter, "c")
    assert ("preferred", None, "Kerry's Library") not in related(minter, "a")
    assert minter.events_of("a") == ["synonym", "quality", "prefer", "prefer"]
    assert "already" in minter.refusal("prefer", "c").message
    minter.records("prefer", "--remove", "c")
    assert isinstance(minter.refusal("prefer", "--remove", "c"), NotFoundError)


def test_a_synonym_between_two_preferred_names_is_refused(minter):
    minter.records("synonym", "a", "b", *KERRY)
    minter.records("synonym", "c", "d", *KERRY)
    guarantee(minter, "a", "d")
    minter.records("prefer", "a")
    minter.records("prefer", "d")
    assert "prefers both a and d" in minter.refusal("synonym", "b", "c", *KERRY).message
    minter.records("prefer", "--remove", "d")
    minter.records("synonym", "b", "c", *KERRY)


def test_a_preference_needs_a_synonym_and_ends_with_the_last_one(minter):
    assert isinstance(minter.refusal("prefer", "a"), NotFoundError)
    minter.records("synonym", "a", "b", "--authority", "one")
    minter.records("synonym", "a", "c", "--authority", "two")
    assert "one, two" in minter.refusal("prefer", "a").message
    assert isinstance(minter.refusal("prefer", "a", "--authority", "three"), NotFoundError)
    guarantee(minter, "a", authority="two")
    minter.records("prefer", "a", "--authority", "two")
    minter.records("synonym", "--remove", "a", "c")
    assert related(minter, "a") == [("synonym", "b", "one")]
    changes = minter.records("history", "a")[-1]["changes"]
    assert {"id": "a", "what": "preferred", "before": "two", "after": None} in changes
    assert isinstance(minter.refusal("prefer"), UsageError)


@pytest.mark.parametrize(("words", "committed"), [
    (("x.sd",), False), (("x.sd", "long", "13030", "a", "b"), True), (("x.sd", "medium", "--label", "hdl:1/"), False),
])
def test_only_a_name_to_which_somebody_is_committed_can_be_preferred(tmp_path, words, committed):
    """5.6: the authority guarantees the persistence of what it prefers; only what is managed can be so."""
    minter = Noid.with_clock(tmp_path, *words)
    (name,) = minter.mint()
    minter.records("synonym", name, "doi:10.1/2", *KERRY)
    refusal = minter.refusal("prefer", "doi:10.1/2")
    assert isinstance(refusal, ConflictError) and "not registered here" in refusal.message
    if not committed:
        assert "nothing is promised" in minter.refusal("prefer", name).message
        minter.records("policy", "persistence", "until last year", "--from", "2020", "--until", "2025")
        assert "nothing is promised" in minter.refusal("prefer", name).message
        minter.records("policy", "persistence", "as long as we can", "--from", "2020")
    minter.records("prefer", name)
    minter.records("quality", "state", "persistent", "doi:10.1/2", "--authority", "somebody else")
    assert isinstance(minter.refusal("prefer", "doi:10.1/2"), ConflictError)
    guarantee(minter, "doi:10.1/2")
    minter.records("prefer", "doi:10.1/2")
    assert [relation for relation, *_ in related(minter, name)] == ["synonym"]
    minter.close()


def test_a_withdrawn_name_is_no_longer_preferred(ark):
    ark.records("synonym", "13030/f54x54g11", "doi:10.1000/182", *KERRY)
    ark.records("prefer", "13030/f54x54g11")
    ark.records("withdraw", "13030/f54x54g11", "--successor", "13030/f5154dn7k")
    assert [r[0] for r in related(ark, "13030/f54x54g11")] == ["successor", "synonym"]
    assert isinstance(ark.refusal("prefer", "13030/f54x54g11"), ConflictError)
    assert related(ark, "13030/f5154dn7k") == [("predecessor", "13030/f54x54g11", None)]


def test_relations_and_custodians_end_when_an_identifier_is_issued_again(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sd")
    minter.mint()
    minter.records("alias", "old", "x0")
    minter.records("synonym", "x0", "doi:10.1000/182", *KERRY)
    guarantee(minter, "x0")
    minter.records("prefer", "x0")
    minter.records("custodian", "set", "Jane", "x0")
    minter.records("custodian", "set", "Kim", "x0", "--purpose", "its title")
    minter.records("queue", "now", "x0")
    assert minter.mint() == ["x0"]
    assert related(minter, "doi:10.1000/182") == [] and related(minter, "x0") == [("alias", "old", None)]
    assert minter.records("custodian", "x0")[0]["of"] == "this minter"
    cleared = minter.records("history", "x0")[-1]
    assert cleared["what"] == "clear"
    assert {(c["what"], c["before"]) for c in cleared["changes"]} == {
        ("synonym", "doi:10.1000/182"), ("authority", "Kerry's Library"), ("preferred", "Kerry's Library"),
        ("custodian", "Jane"), ("custodian", "Kim"), ("purpose", "its title"), ("persistent", "yes"), ("from", START)}
    assert minter.text("quality", "x0") == "note: nobody states a quality of x0\n"
    assert minter.events_of("doi:10.1000/182") == ["synonym", "clear"]
    minter.close()
