"""Templates: numbers to labels and back, check characters, the quasi-random order."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noidtools.errors import ExhaustedError, InvalidError
from noidtools.schemes.base import Settings
from noidtools.schemes.noid import MOST_COUNTERS, NoidScheme, QuasiRandom, Sequential, ensure_form, per_counter
from noidtools.schemes.template import REPERTOIRES, Template, checking_repertoire, ordinals


def check_character(base: str, repertoire: str = "e") -> str:
    """The Noid Check Digit Algorithm: the sum of value times position (from 1), modulo the size."""
    values = ordinals(repertoire)
    total = 0
    for position, character in enumerate(base, 1):
        total += position * values.get(character, 0)
    return REPERTOIRES[repertoire][total % len(REPERTOIRES[repertoire])]


letters = st.text("deixvElwc", min_size=1, max_size=8)
prefixes = st.text("bcdfghjkmnpqrstvwxz0123456789", max_size=4)
generators = st.sampled_from("rsz")


@given(prefixes, generators, letters, st.data())
def test_a_number_and_its_label_are_converted_into_each_other(prefix, generator, mask, data):
    template = Template(f"{prefix}.{generator}{mask}")
    number = data.draw(st.integers(0, 10**30 if template.total is None else template.total - 1))
    assert template.number(template.label(number)) == number


@given(letters)
def test_numbers_beyond_a_bounded_namespace_wrap_to_its_beginning(mask):
    template = Template(f".s{mask}")
    assert template.label(template.total) == template.label(0)


@given(generators, letters, st.text(max_size=10))
def test_any_label_is_either_refused_or_round_trips(generator, mask, label):
    template = Template(f".{generator}{mask}")
    try:
        number = template.number(label)
    except InvalidError:
        return
    assert template.label(number) == label


@given(st.text(max_size=20))
def test_any_text_is_a_template_or_refused(text):
    try:
        template = Template(text)
    except InvalidError:
        return
    assert f"{template.prefix}.{template.mask}" == text


@pytest.mark.parametrize("repertoire", ["e", "x", "v", "E", "l", "w", "c"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_every_single_error_and_transposition_is_detected(repertoire, data):
    alphabet = REPERTOIRES[repertoire]
    base = data.draw(st.text(alphabet, min_size=1, max_size=min(len(alphabet) - 2, 30)))
    checked = base + check_character(base, repertoire)
    for place, right in enumerate(checked):
        for wrong in alphabet:
            if wrong != right:
                broken = checked[:place] + wrong + checked[place + 1 :]
                assert check_character(broken[:-1], repertoire) != broken[-1]
    for first in range(len(checked)):
        for second in range(first + 1, len(checked)):
            if checked[first] != checked[second]:
                swapped = list(checked)
                swapped[first], swapped[second] = swapped[second], swapped[first]
                broken = "".join(swapped)
                assert check_character(broken[:-1], repertoire) != broken[-1]


@pytest.mark.parametrize("repertoire", ["e", "x", "v", "E", "l", "w", "c"])
def test_the_guarantee_ends_where_the_length_reaches_the_size_of_the_repertoire(repertoire):
    size = len(REPERTOIRES[repertoire])
    longest = Template(f".s{repertoire * (size - 2)}k")
    longest.ensure_checkable(size - 1)
    with pytest.raises(ExhaustedError):
        longest.ensure_checkable(size)
    # And rightly so: swapping the last two characters of so long a string goes unnoticed.
    alphabet = REPERTOIRES[repertoire]
    base = alphabet[0] * (size - 2) + alphabet[1]
    checked = base + check_character(base, repertoire)
    swapped = checked[:-2] + checked[-1] + checked[-2]
    assert swapped != checked and check_character(swapped[:-1], repertoire) == swapped[-1]


@given(st.integers(1, 5000), st.integers(0, 3), st.lists(st.integers(1, 500), min_size=1, max_size=5))
def test_quasi_random_order_gives_every_number_once_however_it_is_interrupted(total, seed, pieces):
    whole = QuasiRandom(total, seed=seed).draw(total + 10)
    assert sorted(whole) == list(range(1, total + 1))
    drawn: list[int] = []
    order = QuasiRandom(total, seed=seed)
    for piece in pieces:
        drawn += order.draw(piece)
        order = QuasiRandom(total, seed=seed, drawn=order.drawn, values=list(order.values))
    drawn += order.draw(total)
    assert drawn == whole


def test_another_seed_is_another_order():
    first, second = QuasiRandom(1000).draw(50), QuasiRandom(1000, seed=1).draw(50)
    assert len(set(zip(first, first[1:], strict=False)) & set(zip(second, second[1:], strict=False))) < 10


@given(st.integers(1, 10**40))
def test_counters_cover_the_namespace(total):
    size = per_counter(total)
    assert size * MOST_COUNTERS >= total
    assert Sequential(total).draw(1) == [0]


@given(prefixes, letters, st.data())
def test_what_a_scheme_draws_is_valid_and_its_neighbours_are_not(prefix, mask, data):
    try:
        scheme = NoidScheme(Settings({"template": f"{prefix}.s{mask}k"}))
        identifier, _ = scheme.generator(None).draw(3)[0]
        repertoire = checking_repertoire(prefix, mask)
    except (InvalidError, ExhaustedError):
        assume(False)
    scheme.ensure_valid(identifier)
    place = data.draw(st.integers(len(prefix), len(identifier) - 1))
    text = identifier.decode()
    wrong = data.draw(st.sampled_from(REPERTOIRES[repertoire]))
    assume(wrong != text[place])
    with pytest.raises(InvalidError):
        ensure_form(scheme.template, prefix, (text[:place] + wrong + text[place + 1 :]).encode())
