"""Resolving a name in one minter, and the commands resolve and resolver."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError
from noidtools.resolution import FOUND, GONE
from support.minter import Noid
from support.templates import LONG_TERM

A, B = "https://a.example/", "https://b.example/"


# -- spellings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", [
    "13030/kt4x551",
    "ark:/13030/kt4x551",
    "ark:13030/kt4x551",
    "ARK:/13030/kt4x551",
    "Ark:13030/kt4x551",
    "ark:/13030/kt4-x5-51",
    "ark:/13030/-kt4x551-",
    "ark:/13030/kt4x551/",
    "ark:/13030/kt4x551.",
    "ark:/13030/kt4x551./",
    "ark:/13030/%6bt4x551",
    "ark:/13030/kt4%2Dx551",
    "ark:/13030/kt4‐x551",
    "https://example.org/ark:/13030/kt4x551",
    "http://n2t.net/ark:13030/kt4-x551",
    "<https://example.org/ark:/13030/kt4x551>",
    "info:ark/13030/kt4x551",
    " 13030/kt4x551 ",
])
def test_spellings_of_one_ark_resolve_to_one_target(minter, spelling):
    assert minter.target_of(spelling) == "https://a.example/x"


@pytest.mark.parametrize("other", [
    "ark:/13031/kt4x551", "kt4x551", "ark:/13030/kt4x55", "ark:/13030/kt4x5511",
    "hdl:13030/kt4x551", "ark:/13030", "", " ", "/", "ark:", "ark:/",
])
def test_names_that_differ_do_not_resolve(minter, other):
    assert minter.target_of(other) is None


def test_handles_dois_urns_and_plain_names_resolve_in_all_their_spellings(free):
    free.set_target("hdl:102.100.272/XYZZY", A + "handle")
    free.set_target("10.1000/abc", A + "doi")
    free.set_target("urn:isbn:9780596000271", A + "urn")
    free.set_target("Some Name", A + "plain")
    assert free.target_of("HDL:102.100.272/XYZZY") == A + "handle"
    assert free.target_of("info:hdl/102.100.272/XYZZY") == A + "handle"
    assert free.target_of("https://hdl.handle.net/102.100.272/XYZZY") == A + "handle"
    assert free.target_of("hdl:102.100.272/xyzzy") is None
    assert free.target_of("doi:10.1000/ABC") == A + "doi"
    assert free.target_of("https://doi.org/10.1000/AbC") == A + "doi"
    assert free.target_of("URN:ISBN:9780596000271") == A + "urn"
    assert free.target_of("Some Name") == A + "plain"
    assert free.target_of("Some%20Name") == A + "plain"
    assert free.target_of("some name") is None


def test_the_minters_own_labels_are_taken_off(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM, "--label", "ark:/", "--label", "https://id.example/")
    name = minter.mint_with_target(A)
    assert name == "ark:/13030/kt4x551"
    assert minter.target_of("13030/kt4x551") == minter.target_of("https://id.example/13030/kt4x551") == A
    minter.close()


def test_hyphens_of_a_template_are_kept_and_those_of_readers_ignored(tmp_path):
    minter = Noid.created(tmp_path, "b-c.sdd", "long", "13030", "x", "y")
    assert minter.mint_with_target(A) == "13030/b-c00"
    assert minter.target_of("ark:/13030/b-c00") == A
    minter.close()


def test_uuids_resolve_with_and_without_hyphens(free):
    with_hyphens, without = "550e8400-e29b-41d4-a716-446655440000", "123e4567e89b12d3a456426614174000"
    free.set_target(f"13030/{with_hyphens}", A)
    free.set_target(f"13030/{without}", B)
    for name, expected in ((with_hyphens, A), (without, B)):
        digits = name.replace("-", "")
        spellings = (digits, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
        for spelling in spellings:
            assert free.target_of(f"ark:/13030/{spelling}") == expected


# -- stored, alias, withdrawn ------------------------------------------------------------------------------------


def test_the_element_is_t_unless_configured_or_named(minter):
    minter.set_target("13030/kt4x551", B, "myGoto")
    assert minter.target_of("13030/kt4x551") == "https://a.example/x"
    assert minter.target_of("13030/kt4x551", element=b"myGoto") == B
    minter.text("resolver", "element", "myGoto")
    assert minter.target_of("13030/kt4x551") == B
    minter.text("resolver", "element", "-")
    assert minter.target_of("13030/kt4x551") == "https://a.example/x"


@pytest.mark.parametrize("value", ["", " ", "\n", "|", " | | "])
def test_an_empty_target_is_none(minter, value):
    minter.set_target("13030/kt4x551", value)
    assert minter.target_of("13030/kt4x551") is None


def test_an_alias_resolves_to_the_target_of_its_name(minter):
    minter.text("alias", "13030/alias", "ark:/13030/kt4x551")
    minter.text("alias", "13030/alias2", "13030/alias")
    assert minter.target_of("ark:/13030/alias") == minter.target_of("ark:/13030/ali-as2") == "https://a.example/x"
    assert minter.target_of("13030/alias2/page?x=1") == "https://a.example/x/page?x=1"
    minter.set_target("13030/kt4x551", B)
    assert minter.target_of("ark:/13030/alias") == B


def test_an_alias_takes_precedence_over_a_stored_target(minter):
    other = minter.mint_with_target(B)
    minter.text("alias", other, "13030/kt4x551")
    assert minter.target_of(other) == "https://a.example/x"


def test_a_withdrawn_name_is_gone_and_so_are_its_extensions(minter):
    minter.text("withdraw", "13030/kt4x551")
    assert minter.outcome(b"ark:/13030/kt4x551").kind == GONE
    assert minter.outcome(b"ark:/13030/kt4x551/page").kind == GONE
    assert minter.target_of("ark:/13030/kt4x551") is None


# -- the commands ------------------------------------------------------------------------------------------------


def test_resolve_prints_the_target(minter):
    assert minter.text("resolve", "ark:/13030/kt4-x551/p") == "https://a.example/x/p\n"
    assert minter.text("resolve", "--element", "_t", "ark:/13030/kt4x551") == "https://a.example/x\n"
    with pytest.raises(NoidError, match="nothing is known of this name"):
        minter.text("resolve", "ark:/13030/kt0")


def test_resolve_explain_prints_the_steps(minter):
    minter.text("bind", "set", ":idmap/^nothing", "_t", "x")
    minter.text("alias", "13030/alias", "ark:/13030/kt4x551")
    assert minter.text("resolve", "--explain", "ark:/13030/ali-as/my-p?q") == (
        "given: ark:/13030/ali-as/my-p?q\n"
        "normal form: 13030/alias/myp and ?q\n"
        "alias: it is none\n"
        "stored: nothing is bound to _t\n"
        "rule: none of 1 matches\n"
        "passthrough: 13030/alias is the longest bound name; the rest is /my-p?q\n"
        "given: 13030/kt4x551/my-p?q\n"
        "normal form: 13030/kt4x551/my-p?q\n"
        "alias: it is none\n"
        "stored: nothing is bound to _t\n"
        "rule: none of 1 matches\n"
        "passthrough: 13030/kt4x551 is the longest bound name; the rest is /my-p?q\n"
        "answer: 302 https://a.example/x/my-p?q\n"
    )
    assert minter.text("resolve", "--explain", "zzz").endswith(
        "fallback: there is none\nanswer: not found: zzz does not resolve: nothing is known of this name\n")
    minter.text("withdraw", "13030/kt4x551")
    assert "stored: 13030/kt4x551 was withdrawn\n" in minter.text("resolve", "--explain", "13030/kt4x551")


def test_resolving_with_and_without_a_trace_gives_the_same_outcome(minter):
    for name in ("13030/kt4x551", "ark:13030/kt4x551/x", "zzz", "", "ark:/13030/kt4x551?q"):
        trace: list[tuple[str, bytes]] = []
        quick, slow = minter.outcome(name.encode()), minter.outcome(name.encode(), trace=trace)
        assert (quick.kind, quick.by, quick.targets) == (slow.kind, slow.by, slow.targets)
        assert trace


def test_resolve_resolver_check_and_export_refuse_wrong_words(minter):
    for words in (["resolve"], ["resolve", "a", "b"], ["resolver", "passthrough", "maybe"], ["resolver", "colour", "x"],
                  ["resolver", "element"], ["resolver", "passthrough", "maybe", "13030/kt4x551"], ["check", "x"],
                  ["export", "--map", "xml", "f"], ["export", "--map", "txt"], ["resolve-loop"],
                  ["resolver", "element", "a", "b"]):
        with pytest.raises(NoidError):
            minter.text(*words)


def test_an_outcome_names_the_step_that_decided(minter):
    assert minter.outcome("13030/kt4x551").by == "stored"
    assert minter.outcome("13030/kt4x551/x").by == "passthrough"
    assert minter.outcome(b"13030/kt4x551").kind == FOUND
