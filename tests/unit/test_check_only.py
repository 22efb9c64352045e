"""Masks that end in K: the last character of the repertoire occurs as check character only."""

from __future__ import annotations

import pytest

from noidtools.errors import InvalidError
from noidtools.minter.creation import new_settings
from noidtools.schemes import scheme_for
from noidtools.schemes.noid import ensure_form
from noidtools.schemes.template import REPERTOIRES, Template


def minted(template: str, count: int, **values: str) -> list[str]:
    scheme = scheme_for(new_settings({"template": template, **values}))
    return [identifier.decode() for identifier, _ in scheme.generator(None).draw(count)]


@pytest.mark.parametrize(("template", "size", "last"), [
    (".siiK", 100, "x"), (".sddK", 100, "x"), (".sdiK", 100, "x"), ("7.siiiK", 1000, "x"), (".sxxK", 256, "_"),
    (".sdxK", 160, "_"), (".svvK", 1296, "_"), (".sEEK", 2116, "Z"), (".sllK", 3600, "Z"), (".swwK", 4356, "_"),
    (".sccK", 7744, "~"), (".seeK", 784, "z"),
])
def test_the_last_character_occurs_only_as_check_character(template, size, last):
    assert Template(template).total == size
    identifiers = minted(template, size + 1)
    assert len(set(identifiers)) == size
    assert not any(last in identifier[:-1] for identifier in identifiers)
    assert any(identifier.endswith(last) for identifier in identifiers)


@pytest.mark.parametrize(("template", "step"), [(".siiiK", 7), (".sxxxK", 41), ("ab4.siiK", 1)])
def test_every_wrong_character_and_every_transposition_is_detected(template, step):
    parsed = Template(template)
    letters = REPERTOIRES[parsed.check_letter]
    for identifier in minted(template, parsed.total or 0)[::step]:
        ensure_form(parsed, parsed.prefix, identifier.encode())
        wrong = {identifier[:place] + letter + identifier[place + 1 :]
                 for place in range(len(identifier)) for letter in letters}
        for one in range(len(identifier)):
            for other in range(one + 1, len(identifier)):
                middle = identifier[one + 1 : other]
                wrong.add(identifier[:one] + identifier[other] + middle + identifier[one] + identifier[other + 1 :])
        for text in wrong - {identifier}:
            with pytest.raises(InvalidError):
                ensure_form(parsed, parsed.prefix, text.encode())


def test_the_check_character_is_that_of_an_isbn_but_for_the_direction_of_the_weights():
    # The weights of this algorithm are 1, 2, 3, …, and those of ISBN-10, read from its front, are the same.
    assert Template(".sdddddddddK").check_letter == "i"
    ensure_form(Template(".sdddddddddK"), "", b"0596000278")
    ensure_form(Template(".sdddddddddK"), "", b"080442957x")


def test_the_mask_grows_and_stays_checked():
    grown = minted(".zdK", 11)
    assert grown[:3] == ["00", "11", "22"] and grown[-1] == "101"
    assert Template(".siK").grown(1).mask == "siiK"


@pytest.mark.parametrize("template", [".sieK", ".sEdK", ".sixK", ".sK", ".siKi", "x.siK", "_.sxK", ".siKk", ".sikK"])
def test_what_cannot_be_checked_so_is_refused(template):
    with pytest.raises(InvalidError):
        minted(template, 1)


def test_the_naan_may_not_have_the_character_either():
    with pytest.raises(InvalidError, match="only as check character"):
        minted(".siK", 1, term="long", naan="x1", naa="a", subnaa="b")


def test_identifiers_that_are_too_long_for_the_guarantee_are_refused():
    assert minted(".siiiiiiiiiK", 1) == ["0000000000"]
    with pytest.raises(InvalidError, match="too long for its check character"):
        minted(".siiiiiiiiiiK", 1)
