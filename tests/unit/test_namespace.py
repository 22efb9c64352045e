"""The spellings of one minter's names, and the keys that are tried for them; no store is involved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.minter.namespace import Namespace
from noidtools.schemes import scheme_for
from noidtools.schemes.base import Settings

pytestmark = pytest.mark.slow

NAAN = {"template": "f5.reedeedk", "naan": "13030"}
TEXTS = st.one_of(
    st.binary(max_size=30),
    st.lists(st.sampled_from([
        b"ark:", b"/", b"13030", b"f5", b"-", b"x:", b"%41", b"?", b"!", b"hdl:", b"doi:10.", b" ", b"A",
        b"https://n2t.net/", b"https://id.example/", b"102.100.272/", b"rplz54pqh",
    ]), max_size=7).map(b"".join),
)
SETTINGS = [
    {}, NAAN, {**NAAN, "labels": "ark:/\nhttps://id.example/"}, {"template": "f5.reedeedk", "labels": "x:"},
    {"template": "f5.rdd", "naan": "B5"}, {"labels": "https://n2t.net/ark:/13030/"},
    {"scheme": "pilin", "prefix": "102.100.272", "granularity": "0.001"}, {"labels": "ark:/\nark:"},
]


def space(**values: str) -> Namespace:
    made = Settings(values)
    return Namespace(made, scheme_for(made))


@pytest.mark.parametrize(
    ("values", "text", "keys"),
    [
        ({}, b"x y", [b"x y"]),
        ({}, b" x ", [b" x ", b"x"]),
        ({}, b"x%20y", [b"x%20y", b"x y"]),
        (NAAN, b"ark:/13030/f5-4", [b"13030/f5-4", b"13030/f54"]),
        (NAAN, b"ark:/99999/f5-4", [
            b"ark:/99999/f5-4", b"ark:/99999/f54", b"ark:99999/f54", b"99999/f5-4", b"99999/f54"]),
        (NAAN, b"https://n2t.net/ark:/13030/f54", [b"https://n2t.net/ark:/13030/f54", b"13030/f54"]),
        (NAAN, b"ark:13030/f5-4?q-q", [b"13030/f5-4?q-q", b"13030/f54?q-q"]),
        ({"labels": "x:"}, b"x:a", [b"a"]),
        ({"labels": "x:"}, b"x:x:a", [b"x:a"]),
        ({"labels": "x:\nx:y:"}, b"x:y:a", [b"a"]),
        ({"labels": "https://n2t.net/ark:/13030/"}, b"ark:13030/f5-4", [
            b"ark:13030/f5-4", b"ark:/13030/f54", b"ark:13030/f54", b"f5-4", b"f54"]),
        ({"labels": "https://n2t.net/ark:/13030/"}, b"13030/f54", [
            b"13030/f54", b"f54", b"ark:/13030/f54", b"ark:13030/f54"]),
        ({"template": "f5.rdd", "naan": "B5"}, b"ark:/b5/f51", [
            b"ark:/b5/f51", b"ark:b5/f51", b"b5/f51", b"B5/f51"]),
        (SETTINGS[6], b"hdl:102.100.272/rplz54pqh", [b"102.100.272/RPLZ54PQH"]),
        ({}, b"ark:/1/550e8400e29b41d4a716446655440000", [
            b"ark:/1/550e8400e29b41d4a716446655440000", b"ark:1/550e8400e29b41d4a716446655440000",
            b"1/550e8400e29b41d4a716446655440000", b"ark:/1/550e8400-e29b-41d4-a716-446655440000",
            b"ark:1/550e8400-e29b-41d4-a716-446655440000", b"1/550e8400-e29b-41d4-a716-446655440000"]),
    ],
)
def test_the_keys_are_tried_from_the_literal_one_to_the_normal_form(values, text, keys):
    names = space(**values)
    assert names.spellings(names.parse(text)) == keys


@pytest.mark.parametrize("values", SETTINGS)
@given(text=TEXTS)
def test_the_literal_key_is_the_first_and_the_new_key_is_among_them(values, text):
    names = space(**values)
    name = names.parse(text)
    keys = names.spellings(name)
    assert len(keys) == len(set(keys)) and all(keys)
    if names.literal_key(text.strip()):
        assert keys[0] == names.literal_key(text)
        assert names.new_key(name) in (*keys, names.literal_key(text))


@pytest.mark.parametrize("values", SETTINGS)
@given(text=TEXTS)
def test_what_is_displayed_is_read_as_the_same_name(values, text):
    names = space(**values)
    key = names.new_key(names.parse(text))
    if key == names.literal_key(key) and names.parse(key).scheme in (b"", b"hdl", b"doi"):
        assert names.literal_key(names.display(key)) == key


@pytest.mark.parametrize("values", SETTINGS)
@given(text=TEXTS)
def test_beginnings_are_shorter_and_their_rest_is_the_end_of_the_text(values, text):
    names = space(**values)
    name = names.parse(text)
    rests = []
    for keys, rest in names.beginnings(name):
        assert all(keys) and rest and (name.written + name.query).endswith(rest)
        rests.append(rest)
    assert len(rests) == len(set(rests))
    assert names.without_query(name) == [] or name.query


@pytest.mark.parametrize(
    ("values", "text", "key", "display"),
    [
        (NAAN, b"ark:/13030/x-1", b"13030/x1", b"13030/x1"),
        (NAAN, b"ark:/13031/x", b"ark:/13031/x", b"ark:/13031/x"),
        (NAAN, b"ark:13031/x", b"ark:13031/x", b"ark:13031/x"),
        (NAAN, b"https://n2t.net/ark:/13031/x", b"ark:/13031/x", b"ark:/13031/x"),
        (NAAN, b"info:ark/13031/x", b"ark:/13031/x", b"ark:/13031/x"),
        (SETTINGS[2], b"13030/x", b"13030/x", b"ark:/13030/x"),
        (SETTINGS[2], b"shelf/17", b"shelf/17", b"shelf/17"),
        (SETTINGS[2], b"ISBN 0596000278", b"ISBN 0596000278", b"ISBN 0596000278"),
        (SETTINGS[2], b"8JMKD3MGP8W/34PGRBS", b"8JMKD3MGP8W/34PGRBS", b"8JMKD3MGP8W/34PGRBS"),
        (SETTINGS[2], b"hdl:1.2/x", b"hdl:1.2/x", b"hdl:1.2/x"),
        (SETTINGS[2], b"http://purl.org/1/321", b"http://purl.org/1/321", b"http://purl.org/1/321"),
        ({"template": ".rdd", "labels": "x:"}, b"x:17", b"17", b"x:17"),
        ({"template": ".rdd", "labels": "x:"}, b"shelf", b"shelf", b"shelf"),
        ({"template": ".rdek", "labels": "x:"}, b"x:17w", b"17w", b"x:17w"),
        ({}, b"ark:/99999/x", b"ark:/99999/x", b"ark:/99999/x"),
        ({}, b"ARK:99999/x-1/", b"ark:99999/x1", b"ark:99999/x1"),
        ({"labels": "ark:/"}, b"ark:/99999/x", b"99999/x", b"ark:/99999/x"),
        ({"labels": "ark:/"}, b"ISBN 0596000278", b"ISBN 0596000278", b"ISBN 0596000278"),
        ({"labels": "ark:/"}, b"8JMKD3MGP8W/34PGRBS", b"8JMKD3MGP8W/34PGRBS", b"8JMKD3MGP8W/34PGRBS"),
        ({"labels": "https://n2t.net/ark:/"}, b"ark:/99999/x", b"99999/x", b"https://n2t.net/ark:/99999/x"),
        ({"labels": "doi:"}, b"doi:10.1/x", b"10.1/x", b"doi:10.1/x"),
        (SETTINGS[6], b"hdl:102.100.272/RPLZ54PQH", b"102.100.272/RPLZ54PQH", b"102.100.272/RPLZ54PQH"),
        (SETTINGS[6], b"hdl:10.1/x", b"hdl:10.1/x", b"hdl:10.1/x"),
    ],
)
def test_only_a_name_of_this_minter_is_stored_without_its_label_and_shown_with_it(values, text, key, display):
    names = space(**values)
    assert names.new_key(names.parse(text)) == key
    assert names.display(key) == display


@pytest.mark.parametrize(
    ("values", "key", "cited"),
    [
        (NAAN, b"13030/f54x54g11", b"ark:/13030/f54x54g11"), (NAAN, b"99999/x", b"ark:/99999/x"),
        (NAAN, b"shelf/17", b"shelf/17"), (SETTINGS[6], b"102.100.272/RPLZ54PQH", b"hdl:102.100.272/RPLZ54PQH"),
        (SETTINGS[6], b"102.100.273/RPLZ54PQH", b"102.100.273/RPLZ54PQH"), ({}, b"13030/x", b"13030/x"),
    ],
)
def test_a_name_is_cited_with_the_label_that_its_minter_implies(values, key, cited):
    names = space(**values)
    assert names.cite(key) == cited
    assert names.labels_of(key) == (names.labels if cited != key else ())


def test_rules_see_the_identifier_first_the_name_as_given_last_and_no_spelling_twice():
    names = space(**NAAN)
    keys = list(names.rule_keys(names.parse(b"ark:13030/f5-4"), b"13030/f54"))
    assert keys == [b"13030/f54", b"13030/f5-4", b"ark:13030/f5-4"]
    labelled = space(**SETTINGS[2])
    assert list(labelled.rule_keys(labelled.parse(b"13030/f54"), b"13030/f54")) == [b"13030/f54", b"ark:/13030/f54"]
