"""What is gathered of a name and of a minter: typed values that hold nothing of the transaction."""

from __future__ import annotations

import dataclasses

import pytest

from noidtools.description import formats, gatherer
from noidtools.description.facts import Element, NameFacts, Party
from noidtools.description.gatherer import COMPLETE, SUMMARY, gather_outcome, gather_text
from noidtools.description.minter_gatherer import gather_minter
from noidtools.errors import NotFoundError
from noidtools.names.targets import Target
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


def resolved(live: Noid, text: str, extent=SUMMARY, **options) -> NameFacts | None:
    """As the web resolver gathers it."""
    def work(reader):
        outcome = follow_aliases(Lookup(live.opened, reader).find, text.encode())
        return gather_outcome(reader, outcome, text.encode(), extent, **options)

    return live.opened.read(work)


def spelled(live: Noid, text: str, extent=COMPLETE) -> NameFacts:
    """As the command describe gathers it."""
    return live.opened.read(lambda reader: gather_text(live.opened, reader, text.encode(), extent))


def test_both_ways_to_a_name_gather_the_same(live):
    live.records("bind", "set", NAME, "what", "A title")
    live.records("synonym", NAME, "doi:10.5/a", "--authority", "A Library")
    live.records("verify", "--record", NAME)
    one, other = resolved(live, f"ark:/{NAME}", COMPLETE), spelled(live, NAME)
    findings = [[(found.code, found.date) for found in facts.findings] for facts in (one, other)]
    assert dataclasses.replace(one, findings=()) == dataclasses.replace(other, findings=())
    assert findings[0] == findings[1] != []
    assert one.name == b"ark:/" + NAME.encode() and one.identifier == NAME.encode() and one.thing == b"A title"


def test_a_longer_name_leads_further_than_the_name_it_extends(live):
    facts = resolved(live, f"ark:/{NAME}/page?q")
    assert facts.identifier == NAME.encode() and facts.suffix == b"/page?q"
    assert facts.requested_targets == (Target(b"https://a.example/x/page?q"), Target(b"https://b.example/page?q", 303))
    assert facts.targets == (Target(b"https://a.example/x"), Target(b"https://b.example/", 303))


def test_an_alias_is_followed_by_the_resolver_and_described_by_the_command(live):
    live.records("alias", "13030/ktold", NAME, "--authority", "A Library")
    assert resolved(live, "13030/ktold").identifier == NAME.encode()
    facts = spelled(live, "13030/ktold")
    assert facts.identifier == b"13030/ktold" and facts.targets[0].url == b"https://a.example/x"
    (target,) = facts.relations
    assert (target.relation, target.name, target.display) == ("alias-of", b"ark:/" + NAME.encode(), NAME.encode())


def test_a_summary_is_bounded_and_a_complete_one_has_whole_values(live, monkeypatch):
    monkeypatch.setattr(gatherer, "SUMMARY", gatherer.Extent(elements=3, longest_value=10, relations=2, history=False))
    for number in range(4):
        live.records("bind", "set", NAME, f"e{number}", "x" * 8 * (number + 1))
        live.records("synonym", NAME, f"hdl:1/{number}", "--authority", "A Library")
    live.records("synonym", NAME, "hdl:0/0", "--authority", "A Library", "--from", "2019", "--until", "2020")
    short = resolved(live, NAME, gatherer.SUMMARY)
    assert short.elements == (Element(b"e0", b"x" * 8), Element(b"e1", b"x" * 10, 16), Element(b"e2", b"x" * 10, 24))
    assert [related.name for related in short.relations] == [b"hdl:1/0", b"hdl:1/1"]
    assert formats.display_value(short.elements[1]) == b"xxxxxxxxxx ... (16 bytes in all)"
    whole = resolved(live, NAME, COMPLETE)
    assert [len(element.value) for element in whole.elements] == [8, 16, 24, 32]
    assert [(related.name, related.in_force) for related in whole.relations][:2] == [
        (b"hdl:0/0", False), (b"hdl:1/0", True)]
    assert not short.state_since and whole.state_since


def test_private_elements_are_never_gathered_and_others_only_for_those_who_may_read(live):
    live.records("bind", "set", NAME, "what", "A title")
    live.records("bind", "set", NAME, "_secret", "x")
    assert [element.name for element in resolved(live, NAME, COMPLETE).elements] == [b"what"]
    closed = resolved(live, NAME, COMPLETE, targets_only=True)
    assert closed.elements == () and closed.thing == b"" and closed.targets


def test_the_custodian_is_who_was_appointed(live):
    assert resolved(live, NAME).custodian is None
    (stand_in,) = resolved(live, NAME).minter.custodians
    assert (stand_in.name, stand_in.appointed) == (b"cdlib.org", False)
    live.records("custodian", "set", "A Library")
    # In the same second in which the minter was created, as likely as not.
    assert resolved(live, NAME).custodian.name == b"A Library"
    live.records("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    facts = resolved(live, NAME)
    assert (facts.custodian.name, facts.custodian.contact) == (b"Jo Keeper", b"jo@example.org")
    live.records("custodian", "remove", NAME)
    assert resolved(live, NAME).custodian.name == b"A Library" and resolved(live, NAME).custodians == ()


def test_a_withdrawn_name_has_the_facts_of_its_tombstone(live):
    other = live.mint_with_target("https://c.example/")
    live.records("withdraw", NAME, "--reason", "a mistake", "--successor", other)
    for facts in (resolved(live, f"{NAME}/page"), spelled(live, NAME)):
        assert (facts.state, facts.reason) == ("withdrawn", b"a mistake")
        assert (facts.successor.display, facts.successor.name) == (other.encode(), b"ark:/" + other.encode())
        assert facts.date == facts.state_since and len(facts.minted) == 14 and facts.targets == ()
        assert [related.relation for related in facts.relations] == ["successor"]
        assert formats.related_names(facts) == []
        assert [action.name for action in facts.actions] == [
            "cite", "print-cite", "query", "represent", "speech-cite", "web-cite"]


def test_a_name_that_only_a_rule_knows_has_no_state(live):
    live.records("bind", "set", ":idmap/^13030/zz(.)$", "_t", "https://r.example/$1")
    for facts in (resolved(live, "ark:/13030/zz1?x"), spelled(live, "13030/zz1")):
        assert (facts.state, facts.pattern, facts.targets) == ("", b"^13030/zz(.)$", (Target(b"https://r.example/1"),))
    assert resolved(live, "ark:/13030/zz1?x").requested_targets == (Target(b"https://r.example/1?x"),)


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
    assert (facts.name, facts.namespace, facts.names) == (b"kt5", b"ark:/13030/kt", (b"ark:/13030/kt",))
    assert facts.base == "https://id.example.org/" and facts.authority == "cdlib.org/dpg"
    first, second = facts.custodians
    assert first.until and second == Party(b"A Library", b"names@library.example", second.start)
    (claim,) = facts.context_aliases
    assert (claim.alias, claim.target, claim.authority) == (b"ark:99999", b"ark:/13030", b"A Library")
    assert [policy.kind for policy in facts.policies] == ["label-format", "access"]
    assert b"certain users" in facts.policies[1].text and b"alice" not in facts.policies[1].text
