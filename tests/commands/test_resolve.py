"""Resolving a name in one minter, and the commands resolve and resolver."""

from __future__ import annotations

import pytest

from noidtools.errors import NoidError
from noidtools.resolution import FOUND, GONE, resolve
from support.minter import Noid
from support.templates import LONG_TERM

A, B = "https://a.example/", "https://b.example/"


@pytest.fixture
def minter(tmp_path):
    """A long-term minter with one bound name, 13030/kt4x551."""
    minter = Noid.created(tmp_path, *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


@pytest.fixture
def free(tmp_path):
    """A minter that binds anything."""
    minter = Noid.created(tmp_path)
    yield minter
    minter.close()


def led(minter: Noid, name: str | bytes, **options) -> str | None:
    """Where a name leads."""
    given = name if isinstance(name, bytes) else name.encode()
    found = resolve(minter.opened, given, **options).targets
    return found[0].url.decode() if found else None


def by(minter: Noid, name: str) -> str:
    return resolve(minter.opened, name.encode()).by


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
def test_spellings_of_one_ark_lead_to_one_place(minter, spelling):
    assert led(minter, spelling) == "https://a.example/x"


@pytest.mark.parametrize("other", [
    "ark:/13030/KT4X551", "ark:/13031/kt4x551", "kt4x551", "ark:/13030/kt4x55", "ark:/13030/kt4x5511",
    "hdl:13030/kt4x551", "ark:/13030", "", " ", "/", "ark:", "ark:/",
])
def test_other_names_do_not(minter, other):
    assert led(minter, other) is None


def test_handles_dois_urns_and_plain_names_are_each_read_in_their_way(free):
    free.set_target("hdl:102.100.272/XYZZY", A + "handle")
    free.set_target("10.1000/abc", A + "doi")
    free.set_target("urn:isbn:9780596000271", A + "urn")
    free.set_target("Some Name", A + "plain")
    assert led(free, "HDL:102.100.272/XYZZY") == A + "handle"
    assert led(free, "info:hdl/102.100.272/XYZZY") == A + "handle"
    assert led(free, "https://hdl.handle.net/102.100.272/XYZZY") == A + "handle"
    assert led(free, "hdl:102.100.272/xyzzy") is None
    assert led(free, "doi:10.1000/ABC") == A + "doi"
    assert led(free, "https://doi.org/10.1000/AbC") == A + "doi"
    assert led(free, "URN:ISBN:9780596000271") == A + "urn"
    assert led(free, "Some Name") == A + "plain"
    assert led(free, "Some%20Name") == A + "plain"
    assert led(free, "some name") is None


def test_the_minters_own_labels_are_taken_off(tmp_path):
    minter = Noid.created(tmp_path, *LONG_TERM, "--label", "ark:/", "--label", "https://id.example/")
    name = minter.mint_with_target(A)
    assert name == "ark:/13030/kt4x551"
    assert led(minter, "13030/kt4x551") == led(minter, "https://id.example/13030/kt4x551") == A
    minter.close()


def test_hyphens_of_a_template_are_kept_and_those_of_readers_ignored(tmp_path):
    minter = Noid.created(tmp_path, "b-c.sdd", "long", "13030", "x", "y")
    assert minter.mint_with_target(A) == "13030/b-c00"
    assert led(minter, "ark:/13030/b-c00") == A
    minter.close()


def test_uuids_lead_on_with_and_without_hyphens(free):
    with_hyphens, without = "550e8400-e29b-41d4-a716-446655440000", "123e4567e89b12d3a456426614174000"
    free.set_target(f"13030/{with_hyphens}", A)
    free.set_target(f"13030/{without}", B)
    for name, expected in ((with_hyphens, A), (without, B)):
        digits = name.replace("-", "")
        spellings = (digits, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
        for spelling in spellings:
            assert led(free, f"ark:/13030/{spelling}") == expected


# -- stored, alias, withdrawn ------------------------------------------------------------------------------------


def test_the_element_is_t_unless_configured_or_named(minter):
    minter.set_target("13030/kt4x551", B, "myGoto")
    assert led(minter, "13030/kt4x551") == "https://a.example/x"
    assert led(minter, "13030/kt4x551", element=b"myGoto") == B
    minter.text("resolver", "element", "myGoto")
    assert led(minter, "13030/kt4x551") == B
    minter.text("resolver", "element", "-")
    assert led(minter, "13030/kt4x551") == "https://a.example/x"


@pytest.mark.parametrize("value", ["", " ", "\n", "|", " | | "])
def test_an_empty_target_is_none(minter, value):
    minter.set_target("13030/kt4x551", value)
    assert led(minter, "13030/kt4x551") is None


def test_an_alias_goes_where_its_target_goes(minter):
    minter.text("alias", "13030/alias", "ark:/13030/kt4x551")
    minter.text("alias", "13030/alias2", "13030/alias")
    assert led(minter, "ark:/13030/alias") == led(minter, "ark:/13030/ali-as2") == "https://a.example/x"
    assert led(minter, "13030/alias2/page?x=1") == "https://a.example/x/page?x=1"
    minter.set_target("13030/kt4x551", B)
    assert led(minter, "ark:/13030/alias") == B


def test_an_alias_goes_before_a_stored_target(minter):
    other = minter.mint_with_target(B)
    minter.text("alias", other, "13030/kt4x551")
    assert led(minter, other) == "https://a.example/x"


def test_a_withdrawn_name_is_gone_and_so_are_its_extensions(minter):
    minter.text("withdraw", "13030/kt4x551")
    assert resolve(minter.opened, b"ark:/13030/kt4x551").kind == GONE
    assert resolve(minter.opened, b"ark:/13030/kt4x551/page").kind == GONE
    assert led(minter, "ark:/13030/kt4x551") is None


# -- the commands ------------------------------------------------------------------------------------------------


def test_resolve_prints_the_target(minter):
    assert minter.text("resolve", "ark:/13030/kt4-x551/p") == "https://a.example/x/p\n"
    assert minter.text("resolve", "--element", "_t", "ark:/13030/kt4x551") == "https://a.example/x\n"
    with pytest.raises(NoidError, match="nothing is known of this name"):
        minter.text("resolve", "ark:/13030/kt0")


def test_explain_prints_the_steps(minter):
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


def test_the_steps_and_the_quick_way_agree(minter):
    for name in ("13030/kt4x551", "ark:13030/kt4x551/x", "zzz", "", "ark:/13030/kt4x551?q"):
        trace: list[tuple[str, bytes]] = []
        quick, slow = resolve(minter.opened, name.encode()), resolve(minter.opened, name.encode(), trace=trace)
        assert (quick.kind, quick.by, quick.targets) == (slow.kind, slow.by, slow.targets)
        assert trace


def test_wrong_words_are_refused(minter):
    for words in (["resolve"], ["resolve", "a", "b"], ["resolver", "passthrough", "maybe"], ["resolver", "colour", "x"],
                  ["resolver", "element"], ["resolver", "passthrough", "maybe", "13030/kt4x551"], ["check", "x"],
                  ["export", "--map", "xml", "f"], ["export", "--map", "txt"], ["resolve-loop"],
                  ["resolver", "element", "a", "b"]):
        with pytest.raises(NoidError):
            minter.text(*words)


def test_outcomes_are_found_by_the_step_that_decided(minter):
    assert by(minter, "13030/kt4x551") == "stored"
    assert by(minter, "13030/kt4x551/x") == "passthrough"
    assert resolve(minter.opened, b"13030/kt4x551").kind == FOUND
