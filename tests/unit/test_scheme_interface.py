"""Schemes and generators are abstract: a class that lacks a member cannot be used."""

from __future__ import annotations

import pytest

from noidtools.schemes import NAMES, Generator, Scheme, scheme_class
from noidtools.schemes.base import Settings
from noidtools.schemes.timed import TimedScheme

SETTINGS = {
    "noid": {"template": ".sd"},
    "ibi": {"computer": "a.example.org"},
    "ibip": {"ip": "150.163.34.243"},
    "pilin": {"prefix": "102.100.272"},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_scheme_and_its_generator_are_complete(name):
    made = scheme_class(name)
    settings = made.check_settings(Settings({"scheme": name, **SETTINGS[name]}))
    scheme = made(settings)
    generator = scheme.generator(None)
    assert isinstance(scheme, Scheme) and isinstance(generator, Generator)
    assert scheme.generator(generator.state()).drawn == generator.drawn == 0
    assert not hasattr(scheme, "__dict__"), "a scheme has slots"


@pytest.mark.parametrize("base", [Scheme, Generator, TimedScheme])
def test_a_class_without_the_abstract_members_cannot_be_instantiated(base):
    with pytest.raises(TypeError, match="abstract"):
        type("Incomplete", (base,), {"__init__": lambda self: None})()


@pytest.mark.parametrize("member", ["next_date", "label", "canonical_label", "form", "durability"])
def test_a_scheme_of_time_needs_each_member(member):
    pilin = scheme_class("pilin")
    incomplete = type("Incomplete", (TimedScheme,), {
        name: vars(pilin)[name] for name in ("next_date", "label", "canonical_label", "form", "durability")
        if name != member})
    with pytest.raises(TypeError, match=member):
        incomplete(Settings({"granularity": "1"}))
