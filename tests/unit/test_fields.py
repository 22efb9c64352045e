"""Fields, numbers and pairs packed into bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noidtools.codec import pack, pack_numbers, pair, pair_prefix, split_pair, unpack, unpack_numbers


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
