"""What is gathered of a name and of a minter: typed values that hold nothing of the transaction."""

from __future__ import annotations

import pytest

from noidtools.codec import encode_text
from noidtools.description import formats, gatherer
from noidtools.description.facts import CustodyPeriod, NameDescription, RedirectTarget
from noidtools.description.gatherer import COMPLETE, SUMMARY, gather_minter, gather_outcome, gather_text
from noidtools.errors import NotFoundError
from noidtools.resolution import Lookup, follow_aliases
from support.minter import Noid
from support.templates import LONG_TERM

NAME = "13030/kt4x551"


@pytest.fixture
def live(tmp_path):
    live = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert live.mint_with_target("https://a.example/x|303 https://b.example/") == NAME
    yield live
    live.close()


def resolved(live: Noid, text: str, extent=SUMMARY, **options) -> NameDescription | None:
    """As the web resolver gathers it."""
    def work(reader):
        outcome = follow_aliases(Lookup(live.opened, reader).find, text.encode())
        return gather_outcome(reader, outcome, text.encode(), extent, **options)

    return live.opened.read(work)


def spelled(live: Noid, text: str) -> NameDescription:
    """As the command describe gathers it."""
    return live.opened.read(lambda reader: gather_text(live.opened, reader, text.encode()))


def test_both_ways_to_a_name_gather_the_same(live):
    live.records("bind", "set", NAME, "what", "A title")
    live.records("synonym", NAME, "doi:10.5/a", "--authority", "A Library")
    live.records("verify", "--record", NAME)
    one, other = resolved(live, f"ark:/{NAME}", COMPLETE), spelled(live, NAME)
    assert one == other and one.findings
    assert (one.name, one.identifier, one.thing) == ("ark:/" + NAME, NAME, "A title")


def test_a_longer_name_leads_further_than_the_name_it_extends(live):
    facts = resolved(live, f"ark:/{NAME}/page?q")
    assert facts.identifier == NAME and facts.suffix == "/page?q"
    assert facts.requested_targets == (
        RedirectTarget("https://a.example/x/page?q"), RedirectTarget("https://b.example/page?q", 303))
    assert facts.targets == (RedirectTarget("https://a.example/x"), RedirectTarget("https://b.example/", 303))


def test_an_alias_is_followed_by_the_resolver_and_described_by_the_command(live):
    live.records("alias", "13030/ktold", NAME, "--authority", "A Library")
    assert resolved(live, "13030/ktold").identifier == NAME
    facts = spelled(live, "13030/ktold")
    assert facts.identifier == "13030/ktold" and facts.targets[0].url == "https://a.example/x"
    (target,) = facts.relations
    assert (target.relation, target.cited, target.name) == ("alias-of", "ark:/" + NAME, NAME)


def test_a_summary_is_bounded_and_a_complete_one_has_whole_values(live, monkeypatch):
    monkeypatch.setattr(gatherer, "SUMMARY", gatherer.Extent(elements=3, longest_value=10, relations=2, complete=False))
    for number in range(4):
        live.records("bind", "set", NAME, f"e{number}", "x" * 8 * (number + 1))
        live.records("synonym", NAME, f"hdl:1/{number}", "--authority", "A Library")
    live.records("synonym", NAME, "hdl:0/0", "--authority", "A Library", "--from", "2019", "--until", "2020")
    short = resolved(live, NAME, gatherer.SUMMARY)
    assert short.elements == {"e0": "x" * 8, "e1": "x" * 10, "e2": "x" * 10}
    assert short.whole_sizes == {"e1": 16, "e2": 24}
    assert [related.name for related in short.relations] == ["hdl:1/0", "hdl:1/1"]
    assert formats.displayed_elements(short)["e1"] == "xxxxxxxxxx ... (16 bytes in all)"
    whole = resolved(live, NAME, COMPLETE)
    assert [len(value) for value in whole.elements.values()] == [8, 16, 24, 32]
    assert [(related.name, related.current) for related in whole.relations][:2] == [
        ("hdl:0/0", False), ("hdl:1/0", True)]
    assert not short.state_since and whole.state_since


def test_private_elements_are_never_gathered_and_others_only_for_those_who_may_read(live):
    live.records("bind", "set", NAME, "what", "A title")
    live.records("bind", "set", NAME, "_secret", "x")
    assert [*resolved(live, NAME, COMPLETE).elements] == ["what"]
    closed = resolved(live, NAME, COMPLETE, targets_only=True)
    assert closed.elements == {} and closed.thing == "" and closed.targets


def test_the_custodian_is_who_was_appointed(live):
    assert resolved(live, NAME).custodian is None
    (stand_in,) = resolved(live, NAME).minter.custodians
    assert (stand_in.name, stand_in.appointed) == ("cdlib.org", False)
    live.records("custodian", "set", "A Library")
    # In the same second in which the minter was created, as likely as not.
    assert resolved(live, NAME).custodian.name == "A Library"
    live.records("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    facts = resolved(live, NAME)
    assert (facts.custodian.name, facts.custodian.contact) == ("Jo Keeper", "jo@example.org")
    live.records("custodian", "remove", NAME)
    assert resolved(live, NAME).custodian.name == "A Library" and resolved(live, NAME).custodians == ()


def test_a_withdrawn_name_has_the_facts_of_its_tombstone(live):
    other = live.mint_with_target("https://c.example/")
    live.records("withdraw", NAME, "--reason", "a mistake", "--successor", other)
    for facts in (resolved(live, f"{NAME}/page", COMPLETE), spelled(live, NAME)):
        assert (facts.state, facts.reason) == ("withdrawn", "a mistake")
        assert (facts.successor, facts.successor_relation.cited) == (other, "ark:/" + other)
        assert facts.date == facts.state_since and facts.minted <= facts.date and facts.targets == ()
        assert [related.relation for related in facts.relations] == ["successor"]
        assert formats.other_relations(facts) == []
        assert [action.name for action in facts.actions] == [
            "cite", "print-cite", "query", "represent", "speech-cite", "web-cite"]


def test_a_name_that_only_a_rule_knows_has_no_state(live):
    live.records("bind", "set", ":idmap/^13030/zz(.)$", "_t", "https://r.example/$1")
    for facts in (resolved(live, "ark:/13030/zz1?x"), spelled(live, "13030/zz1")):
        assert (facts.state, facts.pattern, facts.targets) == ("", "^13030/zz(.)$", (RedirectTarget("https://r.example/1"),))
    assert resolved(live, "ark:/13030/zz1?x").requested_targets == (RedirectTarget("https://r.example/1?x"),)


def test_what_is_not_known_is_refused_in_one_line(live):
    assert resolved(live, "13030/ktnothing") is None
    with pytest.raises(NotFoundError, match=r"there is nothing to describe: a\\nb is not known here"):
        spelled(live, "a\nb")


def test_a_minter_is_gathered_with_its_parties_policies_and_names(live):
    live.records("custodian", "set", "The first")
    live.records("custodian", "set", "A Library", "--contact", "names@library.example")
    live.records("context", "resolver", "https://id.example.org", "https://n2t.net/")
    live.records("context", "alias", "99999", "ark:/13030", "--authority", "A Library")
    live.records("policy", "bind", "alice")
    facts = live.opened.read(lambda reader: gather_minter(live.opened, reader))
    assert (facts.name, facts.namespace, facts.names) == ("kt5", "ark:/13030/kt", ("ark:/13030/kt",))
    assert facts.base == "https://id.example.org/" and facts.authority == "cdlib.org/dpg"
    first, second = facts.custodians
    assert first.until and second == CustodyPeriod("A Library", "names@library.example", second.start)
    (claim,) = facts.context_aliases
    assert (claim.alias, claim.target, claim.authority) == ("ark:99999", "ark:/13030", "A Library")
    assert [policy.kind for policy in facts.policies] == ["label-format", "access"]
    assert "certain users" in facts.policies[1].text and "alice" not in facts.policies[1].text


def test_a_summary_has_nothing_that_no_page_shows(live):
    live.records("policy", "persistence", "kept")
    short, whole = resolved(live, NAME), resolved(live, NAME, COMPLETE)
    for part in ("actions", "representations", "performed", "state_since", "statements"):
        assert not getattr(short, part) and getattr(whole, part), part
    for part in ("actions", "audiences", "initial_state"):
        assert not getattr(short.minter, part) and getattr(whole.minter, part), part


def test_octets_that_are_no_text_come_back(live):
    live.records("bind", "set", NAME, b"\xff", b"caf\xe9")
    (pair,) = resolved(live, NAME).elements.items()
    assert tuple(map(encode_text, pair)) == (b"\xff", b"caf\xe9")
