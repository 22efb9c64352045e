"""IRIs of names, of addresses and of parts of a description."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.description.vocabulary import address, name_iri, part_iri

IRI = re.compile(r"[a-z][a-z0-9+.-]*:([A-Za-z0-9?/:@!$&'()*+,;=~._#\[\]-]|%[0-9A-F]{2}|%[0-9a-fA-F]{2})*")


@given(st.binary(max_size=40) | st.binary(max_size=20).map(lambda rest: b"https://" + rest))
@settings(deadline=None)
def test_every_name_has_an_iri_and_every_address_is_one(name: bytes) -> None:
    made = name_iri(name, "urn:noid:kt5:")
    assert IRI.fullmatch(made) and "#" not in made
    found = address(name)
    assert found is None or (IRI.fullmatch(found) and found.count("#") <= 1)


@given(st.binary(max_size=4), st.binary(max_size=4))
@settings(deadline=None)
def test_different_names_in_no_scheme_get_different_iris(one: bytes, other: bytes) -> None:
    assert (name_iri(one, "urn:noid:kt5:") == name_iri(other, "urn:noid:kt5:")) == (one == other)


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        (b"ark:/13030/kt639k9", "ark:/13030/kt639k9"),
        (b"ARK:/13030/kt639k9", "ark:/13030/kt639k9"),
        (b"hdl:102.100.272/XY/ZZY", "hdl:102.100.272/XY/ZZY"),
        ("ark:/1/\u00e9 b".encode(), "ark:/1/%C3%A9%20b"),
        (b"ark:/1/50%", "ark:/1/50%25"),
        (b"ark:/1/a%2Fb", "ark:/1/a%2Fb"),
        (b"ark:/1/a#b", "ark:/1/a%23b"),
        (b"13030/xf93", "https://example.org/13030/xf93"),
        (b"50%25", "https://example.org/50%2525"),
        (b"javascript:alert(1)", "https://example.org/javascript:alert(1)"),
        (b"ark:", "https://example.org/ark:"),
        (b"http://[2001:db8::1]:80/x[1]", "http://[2001:db8::1]:80/x%5B1%5D"),
    ],
)
def test_a_name_in_a_scheme_is_its_own_iri_and_others_get_the_base(name: bytes, iri: str) -> None:
    assert name_iri(name, "https://example.org/") == iri


def test_addresses_keep_their_fragment_and_other_texts_are_none() -> None:
    assert address(b"HTTPS://example.org/a b#c#d") == "https://example.org/a%20b#c%23d"
    assert address(b"data:text/html,x") is None and address(b"nowhere") is None and address(b"http:") is None


def test_parts_of_parts_have_one_fragment() -> None:
    assert part_iri(part_iri("urn:noid:a", "system"), "party", b"a/b") == "urn:noid:a#system-party-a%2Fb"
