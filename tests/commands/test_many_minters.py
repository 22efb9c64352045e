"""Names resolved among several minters."""

from __future__ import annotations

import pytest

from noidtools import names
from noidtools.resolution import NOT_FOUND
from noidtools.resolution.catalogue import MinterEntry, select_entries
from support.minter import Noid
from support.resolving import resolve_among
from support.templates import LONG_TERM

A = "https://a.example/"


@pytest.fixture
def several(tmp_path):
    made = {
        "kt": Noid.created(tmp_path / "kt", *LONG_TERM),
        "kt4": Noid.created(tmp_path / "kt4", "kt4.zd", "long", "13030", "x", "y"),
        "other": Noid.created(tmp_path / "other", "kt.reeded", "long", "99999", "x", "y"),
        "free": Noid.created(tmp_path / "free"),
        "free2": Noid.created(tmp_path / "free2"),
        "digits": Noid.created(tmp_path / "digits", ".zd"),
    }
    yield made
    for minter in made.values():
        minter.close()


def domains(several: dict[str, Noid]) -> list[MinterEntry]:
    return [MinterEntry(name, minter.opened) for name, minter in several.items()]


@pytest.mark.parametrize(("name", "expected"), [
    ("ark:/13030/kt154d9", ["kt"]),
    ("ark:/13030/kt40", ["kt4"]),
    ("ARK:13030/k-t40/page", ["kt4"]),
    ("99999/kt4", ["other"]),
    ("ark:/12345/kt4", ["free", "free2", "digits"]),
    ("anything", ["free", "free2", "digits"]),
])
def test_a_name_is_resolved_by_the_minter_whose_naan_and_prefix_it_has(several, name, expected):
    assert [domain.name for domain in select_entries(domains(several), names.parse(name.encode()))] == expected


def among(several: dict[str, Noid], name: str) -> bytes | str:
    outcome = resolve_among(domains(several), name.encode())
    return outcome.targets[0].url if outcome.targets else outcome.kind


def test_a_name_is_resolved_among_many_minters(several):
    several["kt"].mint()
    name = several["kt"].mint_with_target(A + "kt")
    several["kt4"].mint_with_target(A + "kt4")
    several["free2"].set_target("anything", A + "free2")
    several["digits"].mint_with_target(A + "digits")
    assert among(several, f"ark:/{name}") == (A + "kt").encode()
    assert among(several, "ark:/13030/kt40") == (A + "kt4").encode()
    assert among(several, "anything/page") == (A + "free2/page").encode()
    assert among(several, "0") == (A + "digits").encode()
    assert among(several, "ark:/13030/kt4zzz") == NOT_FOUND


def test_an_alias_may_name_an_identifier_of_another_minter(several):
    several["free"].text("alias", "old", "ark:/13030/kt40")
    several["kt4"].mint_with_target(A)
    assert among(several, "old/page") == (A + "page").encode()


def test_resolving_ends_when_aliases_of_two_minters_form_a_loop(several):
    """Each minter refuses a loop of its own aliases, but does not know those of another."""
    several["kt"].text("alias", "13030/kta", "99999/kta")
    several["other"].text("alias", "99999/kta", "13030/kta")
    assert among(several, "13030/kta") == NOT_FOUND
    for number in range(0, 40, 2):
        several["kt"].text("alias", f"13030/ktc{number}", f"99999/ktc{number + 1}")
        several["other"].text("alias", f"99999/ktc{number + 1}", f"13030/ktc{number + 2}")
    assert among(several, "13030/ktc0") == NOT_FOUND


def test_resolving_ends_when_aliases_of_two_minters_grow_with_each_step(several):
    several["kt"].text("alias", "13030/kta", "99999/ktb/x")
    several["other"].text("alias", "99999/ktb", "13030/kta/x")
    assert among(several, "13030/kta") == NOT_FOUND


def test_a_name_that_no_minter_resolves_goes_to_a_fallback(several):
    several["digits"].text("resolver", "fallback", "https://n2t.net/")
    assert among(several, "ark:/12345/x") == b"https://n2t.net/ark:/12345/x"
    assert among(several, "ark:/12345/x/page.pdf") == b"https://n2t.net/ark:/12345/x/page.pdf"
    for known_naan in ("ark:/13030/kt9", "ark:/13030/zz9", "13030/zz9", "ark:/99999/zz9", "robots.txt"):
        assert among(several, known_naan) == NOT_FOUND


def test_no_minter_sends_a_name_of_another_minters_naan_elsewhere(several):
    several["free"].text("resolver", "fallback", "https://free.example/")
    several["kt"].text("resolver", "fallback", "https://kt.example/")
    assert among(several, "ark:/12345/x") == b"https://free.example/ark:/12345/x"
    for known_naan in ("ark:/13030/kt9", "ark:/99999/kt9", "ark:/13030/zz9"):
        assert among(several, known_naan) == NOT_FOUND


def test_without_minters_no_name_is_found():
    assert resolve_among([], b"x").kind == NOT_FOUND


def test_an_imported_name_of_any_form_is_found_beside_other_minters(several):
    several["kt"]("import", "csv", stdin=b"id,_t\nark:/55555/old17,https://old.example/17\ndoi:10.1/x,https://b.example/\n")
    minters = domains(several)
    for name in ("ark:/55555/old17", "ark:55555/old-17", "ark:/55555/old17/page", "doi:10.1/x"):
        outcome = resolve_among(minters, name.encode())
        assert outcome.targets and outcome.minter is several["kt"].opened, name
    assert resolve_among(minters, b"ark:/55555/other").kind == NOT_FOUND
