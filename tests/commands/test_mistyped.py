"""Names with a wrong check character, and which name was meant."""

from __future__ import annotations

import pytest

from noidtools import names
from noidtools.minter import identifiers
from noidtools.resolution import INVALID, NOT_FOUND
from support.minter import Noid
from support.templates import CHECKED

A = "https://a.example/"


@pytest.fixture
def checked(tmp_path):
    minter = Noid.created(tmp_path, *CHECKED)
    assert minter.mint_with_target(A) == "13030/f54x54g11"
    yield minter
    minter.close()


def meant(minter: Noid, name: str) -> bytes | None:
    return minter.read(lambda reader: identifiers.suggest_correction(minter.opened, reader, names.parse(name.encode())))


@pytest.mark.parametrize("name", [
    "13030/f54y54g11", "13030/f54x45g11", "13030/f54x54g12", "ark:/13030/f54x54g1l", "ark:/13030/f54-x54-g21",
    "ark:/13030/f54x54g12/page.pdf", "ark:13030/f5Ax54g11", "ark:/13030/f54x54g12?x",
])
def test_a_mistyped_name_is_invalid_and_the_intended_one_is_found(checked, name):
    assert checked.outcome(name).kind == INVALID
    assert meant(checked, name) == b"13030/f54x54g11"


@pytest.mark.parametrize("name", [
    "13030/f50000005", "13030/f54x54g", "13030/f54x54g111", "13030/g54x54g11", "f54x54g11",
])
def test_a_name_with_a_right_check_character_or_of_another_form_is_not_found(checked, name):
    assert checked.outcome(name).kind == NOT_FOUND


def test_a_mistyped_name_is_not_sent_to_the_fallback(checked):
    checked.text("resolver", "fallback", "https://n2t.net/")
    assert checked.outcome(b"13030/f54x54g12").kind == INVALID
    assert checked.outcome(b"13031/f50000005").by == "fallback"


@pytest.mark.parametrize("words", [("resolve", "NAME"), ("get", "NAME", "_t"), ("fetch", "NAME"), ("get", "NAME")])
@pytest.mark.parametrize("name", ["ark:/13030/f54x54g12", "13030/f54x54gl1", "<13030/f54x54g11>.",
                                  "13030/f54x5&#52;g11"])
def test_the_shell_suggests_the_intended_name(checked, words, name):
    message = checked.refusal(*(name if word == "NAME" else word for word in words)).message
    assert message.endswith("; did you mean ark:/13030/f54x54g11?")
    for known in ("13030/f54x54g11", "ark:/13030/f54x54g11??"):
        assert "did you mean" not in checked.refusal("get", known, "nothing").message


def test_no_name_is_suggested_unless_exactly_one_is_near(checked):
    assert meant(checked, "13030/f5zzzzzzz") is None
    known = {*checked.text("mint", "2000").split()[1::2], "13030/f54x54g11"}
    ambiguous = [text for text in _between(sorted(known)) if len(_near(text) & known) > 1]
    assert ambiguous
    for text in ambiguous[:5]:
        assert checked.outcome(text.encode()).kind == INVALID
        assert meant(checked, text) is None


def _between(identifiers: list[str]) -> list[str]:
    """Of identifiers that differ in two places, what has one character of each: one error away from both."""
    found = []
    for number, one in enumerate(identifiers[:300]):
        for other in identifiers[number + 1 : number + 200]:
            differ = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
            if len(differ) == 2:
                found.append(one[: differ[0]] + other[differ[0]] + one[differ[0] + 1 :])
    return found


def _near(text: str) -> set[str]:
    letters = "0123456789bcdfghjkmnpqrstvwxz"
    found = {text[:place] + letter + text[place + 1 :] for place in range(8, len(text)) for letter in letters}
    return found | {text[:p] + text[p + 1] + text[p] + text[p + 2 :] for p in range(8, len(text) - 1)}
