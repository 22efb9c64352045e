"""After any use of the original, the imported minter mints what the original would have minted, to the end."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.minter import Noid
from support.perl_dump import recorded_items, written
from support.perl_noid import PerlNoid
from support.project import ROOT

pytestmark = pytest.mark.slow

FUTURE = "20990101000000"
FORMS = [
    ("rdd", "medium", "", "f5"), ("sdd", "medium", "", ""), ("rdd", "long", "13030", "f5"), ("rd", "short", "", "x"),
    ("sd", "short", "", ""), ("zd", "medium", "", ""), ("redk", "medium", "13030", "b3"), ("zdk", "long", "13030", ""),
]

actions = st.lists(st.one_of(
    st.tuples(st.just("mint"), st.integers(1, 15)),
    st.tuples(st.sampled_from(["hold", "release"]), st.integers(0, 40)),
    st.tuples(st.sampled_from(["first", "lvf", "delete", "past", "future", "in and out"]), st.integers(0, 40)),
), min_size=1, max_size=25)


def some_identifiers(model: PerlNoid) -> list[str]:
    """Forty identifiers of the namespace, minted or not."""
    return [model._label(number) for number in range(1, 41)]


def play(model: PerlNoid, steps: list[tuple[str, int]]) -> None:
    names = some_identifiers(model)
    for action, number in steps:
        model.now += 1
        if action == "mint":
            for _ in range(number):
                model.mint()
        elif action in ("hold", "release"):
            getattr(model, action)(names[number % len(names)])
        elif action == "in and out":
            for when in (str(model.now), "delete"):
                model.queue(when, names[number % len(names)])
        else:
            when = {"past": str(model.now), "future": FUTURE}.get(action, action)
            model.queue(when, names[number % len(names)])


@settings(max_examples=35, deadline=None)
@given(st.sampled_from(FORMS), actions)
def test_the_next_identifiers_are_those_of_the_original(tmp_path_factory, form, steps):
    model = PerlNoid(*form)
    play(model, steps)
    # A short-term minter of which nothing was drawn is a new one, and new ones reissue only after the first pass.
    assume(form[1] != "short" or model.db[":/oacounter"] != "0")
    noid = Noid(tmp_path_factory.mktemp("m"))
    noid("import", "perl", "-", stdin=written(model.items()))
    assert "nothing is wrong" in noid("check")
    model.now = 20260101000000
    expected = []
    while len(expected) < 130 and (identifier := model.mint()) is not None:
        expected.append(identifier)
        if form[1] == "short" and len(expected) == 25:
            break
    done = noid.run("mint", str(max(1, len(expected))))
    assert [line[4:] for line in done.stdout.decode().splitlines() if line] == expected
    assert "nothing is wrong" in noid("check")
    noid.close()


@pytest.mark.parametrize("count", [40, 3000])
def test_the_model_mints_what_the_original_was_recorded_to_mint(count):
    import json

    model = PerlNoid("reedk", "long", "12345", "xt")
    model.db = {key.decode(): value.decode() for key, value in recorded_items().items()}
    model.now = 20261116005400
    after = json.loads((ROOT / "tests/vectors/perl-minter-after.json").read_text())
    assert [model.mint() for _ in range(count)] == after["next"][:count]
