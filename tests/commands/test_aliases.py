"""Aliases: made, followed, refused, taken back."""

from __future__ import annotations

import pytest

from noidtools.errors import ConflictError, InvalidError, NotFoundError, UsageError
from noidtools.minter.aliases import LONGEST_CHAIN
from support.minter import Noid

A, B = "https://a.example/", "https://b.example/"


@pytest.fixture
def minter(free_with_clock):
    return free_with_clock


def related(minter: Noid, name: str) -> list[tuple]:
    return [(r["relation"], r["name"], r["authority"]) for r in minter.records("relations", "--", name)]


def test_an_alias_resolves_and_has_the_state_of_its_target(ark):
    assert ark.records("alias", "old/17", "13030/f54x54g11") == [{"ok": "old/17 stands for 13030/f54x54g11"}]
    assert ark.resolved("old/17") == A
    ark.records("bind", "set", "13030/f54x54g11", "_t", B)
    assert ark.resolved("old/17") == B and ark.resolved("old/17/page") == B + "page"
    ark.records("reserve", "13030/f54x54g11")
    assert ark.resolved("old/17") == "reserved" == ark.state("old/17")
    ark.records("publish", "13030/f54x54g11")
    assert ark.resolved("old/17") == B and ark.state("old/17") == "published"
    ark.records("withdraw", "13030/f54x54g11")
    assert ark.resolved("old/17") == "gone" and ark.state("old/17") == "withdrawn"


def test_a_change_of_the_alias_does_not_change_its_target(ark):
    ark.records("alias", "13030/f5154dn7k", "13030/f54x54g11")
    ark.records("bind", "set", "13030/f5154dn7k", "_t", B)
    assert ark.resolved("13030/f54x54g11") == ark.resolved("13030/f5154dn7k") == A
    assert "Alias: 13030/f54x54g11\n" in ark.text("fetch", "13030/f5154dn7k")
    assert ark.records("fetch", "13030/f5154dn7k")[0]["alias"] == "13030/f54x54g11"
    ark.records("alias", "--remove", "13030/f5154dn7k")
    assert ark.resolved("13030/f5154dn7k") == B


def test_all_spellings_of_an_alias_and_of_its_target_are_one_name(ark):
    ark.records("alias", "ark:/99999/Old-Name", "https://n2t.example/ark:13030/f54x-54g11")
    for spelling in ("ark:/99999/OldName", "ark:99999/Old-Name", "ARK:/99999/OldName/", "99999/OldName"):
        assert ark.resolved(spelling) == A, spelling
        assert related(ark, spelling) == [("alias-of", "13030/f54x54g11", None)], spelling
    assert "loop" in ark.refusal("alias", "ark:13030/f54x-54g11", "ark:/99999/OldName").message
    ark.records("alias", "--remove", "99999/OldName")
    assert related(ark, "13030/f54x54g11") == []


def test_an_alias_may_name_an_identifier_of_another_system(ark):
    ark.records("alias", "old/17", "https://doi.org/10.1000/182")
    assert related(ark, "old/17") == [("alias-of", "doi:10.1000/182", None)]
    assert related(ark, "doi:10.1000/182") == [("alias", "old/17", None)]
    assert ark.state("old/17") == "published"


def test_the_target_of_an_alias_can_be_changed(minter):
    for name, target in (("a", A), ("b", B)):
        minter.records("bind", "set", name, "_t", target)
    minter.records("alias", "x", "a")
    minter.records("alias", "x", "b", "--authority", "the library")
    assert minter.resolved("x") == B
    assert related(minter, "a") == [] and related(minter, "b") == [("alias", "x", "the library")]
    assert minter.records("history", "x")[-1]["changes"] == [
        {"id": "x", "what": "alias-of", "before": "a", "after": "b"},
        {"id": "x", "what": "authority", "before": None, "after": "the library"},
    ]


def test_an_alias_is_not_minted_even_after_it_was_removed(tmp_path):
    minter = Noid.with_clock(tmp_path, "--at-last", "add1", "x.sd")
    minter.records("alias", "x3", "doi:10.1000/182")
    minter.records("queue", "now", "x4")
    assert minter.records("alias", "x4", "doi:10.1000/182")[1] == {"note": "x4 taken out of the queue"}
    minter.records("alias", "x07", "doi:10.1000/182")  # it has no form of this minter's until its mask grows
    assert "alias --remove" in minter.refusal("hold", "release", "x3").message
    minter.records("alias", "--remove", "x3")
    assert "\nHeld: 3\n" in minter.text("dbinfo")
    minted = minter.mint(30)
    assert not {"x3", "x4", "x07"} & set(minted) and "x08" in minted
    minter.records("hold", "release", "x3")
    minter.records("queue", "now", "x3")
    assert minter.mint() == ["x3"]
    minter.close()


def test_an_alias_that_was_issued_is_not_issued_again_after_wrapping(tmp_path):
    minter = Noid.with_clock(tmp_path, "x.sd", "short")
    minter.mint(10)
    minter.records("alias", "x3", "x4")
    assert "x3" not in minter.mint(25)
    minter.close()


def test_a_loop_of_aliases_is_refused_when_it_is_made(minter):
    minter.records("alias", "a", "b")
    minter.records("alias", "b", "c")
    refusal = minter.refusal("alias", "c", "a")
    assert isinstance(refusal, ConflictError) and "c -> a -> b -> c" in refusal.message
    assert "cannot be an alias of itself" in minter.refusal("alias", "a", "a").message
    minter.records("alias", "--remove", "b")
    minter.records("alias", "c", "a")


def test_a_loop_through_extensions_is_refused_in_whatever_order_it_is_made(tmp_path):
    for number, steps in enumerate([
        [("a", "b/x"), ("b", "a")], [("b", "a"), ("a", "b/x")], [("a", "a/x")],
        [("t/s", "k/s"), ("k", "t")], [("k", "t"), ("t/s", "k/s")],
    ]):
        minter = Noid.with_clock(tmp_path / str(number))
        for alias, target in steps[:-1]:
            minter.records("alias", alias, target)
        assert "loop" in minter.refusal("alias", *steps[-1]).message, steps
        minter.close()


def test_an_alias_is_not_removed_if_another_would_lead_to_itself_then(minter):
    minter.records("alias", "a/x", "b")
    minter.records("alias", "a", "a/x")
    refusal = minter.refusal("alias", "--remove", "a/x")
    assert isinstance(refusal, ConflictError) and "loop of aliases: a -> a" in refusal.message
    assert minter.records("alias", "--remove", "a") and minter.records("alias", "--remove", "a/x")


def test_the_longest_chain_of_aliases_that_can_be_made_is_resolved(tmp_path):
    for number, order in enumerate([range(LONGEST_CHAIN), reversed(range(LONGEST_CHAIN))]):
        minter = Noid.with_clock(tmp_path / str(number))
        minter.records("bind", "set", "n0", "_t", A)
        for place in order:
            minter.records("alias", f"n{place + 1}", f"n{place}")
        assert minter.resolved(f"n{LONGEST_CHAIN}") == A
        assert "chain" in minter.refusal("alias", f"n{LONGEST_CHAIN + 1}", f"n{LONGEST_CHAIN}").message
        minter.records("alias", f"n{LONGEST_CHAIN + 1}", "n0")
        assert "chain" in minter.refusal("alias", "n0", "elsewhere").message
        minter.close()


def test_an_alias_has_no_state_of_its_own(minter):
    minter.records("bind", "set", "a", "_t", A)
    minter.records("bind", "set", "r", "_t", B)
    minter.records("alias", "x", "a")
    for words in (["publish", "x"], ["reserve", "x"], ["withdraw", "x"]):
        assert "is an alias and follows a" in minter.refusal(*words).message
    minter.records("reserve", "r")
    assert "publish it before" in minter.refusal("alias", "r", "a").message


def test_removing_what_is_no_alias_is_refused(minter):
    assert isinstance(minter.refusal("alias", "--remove", "x"), NotFoundError)
    for words in (["alias"], ["alias", "x"], ["alias", "x", "y", "z"], ["alias", "--remove"], ["alias", "--undo", "x"],
                  ["alias", "--remove=x", "y"], ["alias", "x", "y", "--authority"]):
        assert isinstance(minter.refusal(*words), UsageError), words
    assert isinstance(minter.refusal("alias", "", "y"), InvalidError)
    assert isinstance(minter.refusal("alias", "x", ""), InvalidError)
    assert isinstance(minter.refusal("alias", "x", "y", "--authority", "a\nb"), InvalidError)


def test_names_that_look_like_options_can_be_related(minter):
    minter.records("alias", "--", "--x", "--y")
    assert related(minter, "--x") == [("alias-of", "--y", None)]
