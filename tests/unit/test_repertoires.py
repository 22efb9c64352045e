"""Repertoires of characters, and check characters."""

from __future__ import annotations

from support.project import vectors

REPERTOIRES = vectors("noid-repertoires.json")


def test_check_characters_are_those_of_the_original():
    from noidtools.schemes.template import check_character

    for vector in vectors("noid-checkchars.json"):
        assert check_character(vector["base"]) == vector["check"], vector


def test_the_further_repertoires_are_as_listed():
    from noidtools.schemes.template import REPERTOIRES as OURS

    assert REPERTOIRES["repertoires"] == OURS
