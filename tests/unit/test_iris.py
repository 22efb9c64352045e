"""IRIs of names, of addresses and of parts of a description."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.codec import decode_text
from noidtools.description.vocabulary import address, name_iri, part_iri

IRI = re.compile(r"[a-z][a-z0-9+.-]*:([A-Za-z0-9?/:@!$&'()*+,;=~._#\[\]-]|%[0-9A-F]{2}|%[0-9a-fA-F]{2})*")


@given(st.binary(max_size=40) | st.binary(max_size=20).map(lambda rest: b"https://" + rest))
def test_every_name_has_an_iri_and_every_address_is_one(name: bytes) -> None:
    made = name_iri(decode_text(name), "urn:noid:kt5:")
    assert IRI.fullmatch(made) and "#" not in made
    found = address(decode_text(name))
    assert found is None or (IRI.fullmatch(found) and found.count("#") <= 1)


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_different_names_in_no_scheme_get_different_iris(one: bytes, other: bytes) -> None:
    first, second = (name_iri(decode_text(name), "urn:noid:kt5:") for name in (one, other))
    assert (first == second) == (one == other)


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ("ark:/13030/kt639k9", "ark:/13030/kt639k9"),
        ("ARK:/13030/kt639k9", "ark:/13030/kt639k9"),
        ("hdl:102.100.272/XY/ZZY", "hdl:102.100.272/XY/ZZY"),
        ("ark:/1/\u00e9 b", "ark:/1/%C3%A9%20b"),
        ("ark:/1/50%", "ark:/1/50%25"),
        ("ark:/1/a%2Fb", "ark:/1/a%2Fb"),
        ("ark:/1/a#b", "ark:/1/a%23b"),
        ("13030/xf93", "https://example.org/13030/xf93"),
        ("50%25", "https://example.org/50%2525"),
        ("javascript:alert(1)", "https://example.org/javascript:alert(1)"),
        ("ar\u212a:/1/x", "https://example.org/ar%E2%84%AA:/1/x"),
        ("ark:", "https://example.org/ark:"),
        ("http://[2001:db8::1]:80/x[1]", "http://[2001:db8::1]:80/x%5B1%5D"),
    ],
)
def test_a_name_in_a_scheme_is_its_own_iri_and_others_get_the_base(name: str, iri: str) -> None:
    assert name_iri(name, "https://example.org/") == iri


def test_addresses_keep_their_fragment_and_other_texts_are_none() -> None:
    assert address("HTTPS://example.org/a b#c#d") == "https://example.org/a%20b#c%23d"
    assert address("data:text/html,x") is None and address("nowhere") is None and address("http:") is None


def test_parts_of_parts_have_one_fragment() -> None:
    assert part_iri(part_iri("urn:noid:a", "system"), "party", "a/b") == "urn:noid:a#system-party-a%2Fb"
