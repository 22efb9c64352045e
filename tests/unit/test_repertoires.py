"""Repertoires of characters, and check characters."""

from __future__ import annotations

from noidtools.schemes.noid import Checker
from noidtools.schemes.template import REPERTOIRES as OURS
from noidtools.schemes.template import Template
from support.project import vectors

REPERTOIRES = vectors("noid-repertoires.json")


def test_check_characters_are_those_of_the_original():
    checker = Checker(Template(".zek"), "")
    for vector in vectors("noid-checkchars.json"):
        assert checker.character(vector["base"]) == vector["check"], vector


def test_the_further_repertoires_are_as_listed():
    assert REPERTOIRES["repertoires"] == OURS
