"""Paths made from identifiers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noidtools.schemes.base import pairtree_path


def test_each_level_of_a_path_has_two_characters_of_the_identifier():
    assert pairtree_path(b"xv8t984") == b"xv/8t/98/4/"
    assert pairtree_path(b"13030/f5") == b"13/03/0=/f5/"
    assert pairtree_path(b"../../etc") == b",,/=,/,=/et/c/"


@given(st.binary(min_size=1), st.binary(min_size=1))
def test_paths_are_safe_and_different(first, second):
    made = pairtree_path(first)
    assert set(made) <= set(range(0x21, 0x7F)) - set(b'."*<>?\\|:')
    assert all(1 <= len(part) <= 2 for part in made.rstrip(b"/").split(b"/"))
    assert (made == pairtree_path(second)) == (first == second)
