"""Fields, numbers and pairs packed into bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.codec import (
    pack,
    pack_numbers,
    pair,
    pair_prefix,
    split_pair,
    unpack,
    unpack_numbers,
)


@given(st.lists(st.binary()))
def test_packed_fields_unpack(fields):
    assert unpack(pack(fields)) == fields


@given(st.binary(), st.binary(), st.binary(), st.binary())
def test_packed_pairs_are_distinct_and_sort_as_pairs(a, b, c, d):
    assert split_pair(pair(a, b)) == (a, b)
    assert (pair(a, b) < pair(c, d)) == ((a, b) < (c, d))
    assert pair(c, d).startswith(pair_prefix(a)) == (a == c)


@given(st.integers(0, 2**80), st.data())
def test_packed_numbers_unpack(largest, data):
    numbers = data.draw(st.lists(st.integers(0, largest), min_size=1, max_size=20))
    assert unpack_numbers(pack_numbers(numbers, largest), len(numbers)) == numbers


@pytest.mark.parametrize("largest, width", [(300, 4), (2**32 - 1, 4), (2**32, 8), (2**64 - 1, 8), (2**64, 9)])
def test_packed_numbers_have_their_first_byte_first_on_every_machine(largest, width):
    assert pack_numbers([1, largest], largest) == (1).to_bytes(width, "big") + largest.to_bytes(width, "big")


def test_numbers_that_were_cut_short_are_refused():
    with pytest.raises(ValueError, match="7 bytes are not 2 numbers"):
        unpack_numbers(pack_numbers([1, 2], 300)[:-1], 2)
