"""What is gathered about a name comes from the transaction that found it; the outcome is that of resolving alone."""

from __future__ import annotations

import pytest

from noidtools.resolution import ALIAS, resolve
from noidtools.resolution.catalogue import MinterEntry, resolve_and_gather
from support.minter import Noid
from support.read_counter import counted_reads
from support.templates import CHECKED, LONG_TERM

A = "https://a.example/"


@pytest.fixture
def several(tmp_path):
    """Minters with aliases between them, a fallback that is not that of the minter asked, and a mistyped name."""
    made = {name: Noid.created(tmp_path / name, *words) for name, words in {
        "kt": LONG_TERM, "kx": ("kx.zd", "long", "13030", "x", "y"), "f5": CHECKED, "free": (), "free2": (),
    }.items()}
    made["kt"].mint_with_target(A + "kt")
    made["kt"].records("alias", "13030/kt154d9", "13030/kt4x551")
    made["kt"].records("alias", "13030/ktalias", "13030/kt154d9")
    made["kt"].records("alias", "13030/ktnone", "13030/ktnowhere")
    made["kx"].mint_with_target(A + "kx")
    made["f5"].mint_with_target(A + "f5")
    made["free"].records("alias", "old", "ark:/13030/kx0")
    made["free"].records("alias", "older", "old")
    made["free2"].set_target("second", A + "free2")
    made["free2"].records("alias", "back", "old")
    yield made
    for live in made.values():
        live.close()


NAMES = [
    "ark:/13030/kt4x551", "ark:/13030/kt4x551/page?q", "13030/kt154d9", "13030/ktalias/page", "13030/ktnone",
    "13030/kx0", "old", "older/page", "second", "back", "nothing", "ark:/13030/f54x54g11", "ark:/13030/f54x45g11",
    "ark:/99999/x", "",
]


@pytest.mark.parametrize("fallback", [None, "kt", "f5"])
@pytest.mark.parametrize("name", NAMES)
def test_the_outcome_is_that_of_resolving_alone(several, name, fallback):
    if fallback:
        several[fallback].records("resolver", "fallback", "https://n2t.example/")
    domains = [MinterEntry(name, live.opened) for name, live in several.items()]
    for among in (domains, domains[:1], []):
        outcome, gathered = resolve_and_gather(among, name.encode(), lambda _, outcome: (outcome.kind, outcome.value))
        if len(among) == 1:
            alone = resolve(among[0].open(), name.encode())
            facts = ("kind", "by", "minter", "identifier", "value", "suffix", "pattern", "reason")
            assert [getattr(outcome, fact) for fact in facts] == [getattr(alone, fact) for fact in facts]
        assert outcome.kind != ALIAS
        assert gathered == (None if outcome.minter is None else (outcome.kind, outcome.value))


@pytest.mark.parametrize(("name", "target"), [
    ("ark:/13030/kt4x551", "kt"), ("ark:/13030/kt4x551/page?q", "kt/page?q"), ("13030/kt154d9", "kt"),
    ("13030/ktalias/page", "kt/page"), ("13030/kx0", "kx"), ("old", "kx"), ("older/page", "kx/page"),
    ("second", "free2"), ("back", "kx"), ("ark:/13030/f54x54g11", "f5"),
])
def test_aliases_are_followed_from_one_minter_to_another(several, name, target):
    domains = [MinterEntry(name, live.opened) for name, live in several.items()]
    outcome, _ = resolve_and_gather(domains, name.encode(), lambda *_: True)
    assert [found.url.decode() for found in outcome.targets] == [A + target]


@pytest.mark.parametrize(("name", "minter"), [
    ("ark:/13030/kt4x551", "kt"), ("13030/ktalias/page", "kt"), ("13030/kx0", "kx"), ("second", "free2"),
    ("ark:/13030/f54x45g11", "f5"),
])
@pytest.mark.only("lmdb")
def test_the_minter_that_answers_is_read_once(several, name, minter):
    domains = [MinterEntry(name, live.opened) for name, live in several.items()]
    asked = several[minter].opened
    with counted_reads() as counts:
        outcome, read = resolve_and_gather(domains, name.encode(), lambda _, outcome: outcome.minter.read(id))
    assert outcome.minter is asked and read is not None
    assert counts[asked.store.location] == 1
