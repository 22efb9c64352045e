from __future__ import annotations

import contextlib
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.codec import pack, pack_numbers, pair, pair_prefix, split_pair, unpack, unpack_numbers
from noidtools.commands.lines import read_elements, read_one_element, split_words
from noidtools.errors import UsageError
from noidtools.names.pairtree import path


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",)))))
def test_quoted_words_come_back_as_they_were(texts):
    assert split_words(shlex.join(texts).encode()) == [text.encode() for text in texts]


@given(st.binary())
def test_any_line_splits_or_is_refused(line):
    with contextlib.suppress(UsageError):
        split_words(line)


@given(st.text("ab \\\"'\t"))
def test_words_split_as_a_shell_splits_them(line):
    try:
        expected = [word.encode() for word in shlex.split(line)]
    except ValueError:
        with pytest.raises(UsageError):
            split_words(line.encode())
    else:
        assert split_words(line.encode()) == expected


@given(st.lists(st.binary()))
def test_packed_fields_unpack(fields):
    assert unpack(pack(fields)) == fields


@given(st.binary(), st.binary(), st.binary(), st.binary())
def test_pairs_are_told_apart_and_sort_as_pairs(a, b, c, d):
    assert split_pair(pair(a, b)) == (a, b)
    assert (pair(a, b) < pair(c, d)) == ((a, b) < (c, d))
    assert pair(c, d).startswith(pair_prefix(a)) == (a == c)



def reader(text: bytes):
    pending = text.splitlines(keepends=True)
    return lambda: pending.pop(0) if pending else b""


@pytest.mark.parametrize(("text", "pairs"), [
    (b"a: 1\nb:2\n", [(b"a", b"1"), (b"b", b"2")]),
    (b"a: 1\n  more\n\tand more\n\nrest: 3\n", [(b"a", b"1 more and more")]),
    (b"# comment\na: x:y\r\n\r\n", [(b"a", b"x:y")]),
    (b"a:\n", [(b"a", b"")]),
])
def test_elements_are_read_up_to_a_blank_line(text, pairs):
    assert read_elements(reader(text)) == pairs


@pytest.mark.parametrize("text", [b"", b"\n", b"no colon\n", b"  indented: 1\n", b": no name\n"])
def test_lines_that_are_no_elements_are_refused(text):
    with pytest.raises(UsageError):
        read_elements(reader(text))


def test_one_element_takes_all_the_rest():
    assert read_one_element(reader(b"#c\n\nabstract:  one\n\n#two\n")) == [(b"abstract", b"one\n\n#two\n")]
    for text in (b"", b"# only\n", b"nothing\n"):
        with pytest.raises(UsageError):
            read_one_element(reader(text))


def test_an_identifier_becomes_a_path_two_by_two():
    assert path(b"xv8t984") == b"xv/8t/98/4/"
    assert path(b"13030/f5") == b"13/03/0=/f5/"
    assert path(b"../../etc") == b",,/=,/,=/et/c/"


@given(st.binary(min_size=1), st.binary(min_size=1))
def test_paths_are_safe_and_different(first, second):
    made = path(first)
    assert set(made) <= set(range(0x21, 0x7F)) - set(b'."*<>?\\|:')
    assert all(1 <= len(part) <= 2 for part in made.rstrip(b"/").split(b"/"))
    assert (made == path(second)) == (first == second)


@given(st.integers(0, 2**80), st.data())
def test_packed_numbers_unpack(largest, data):
    numbers = data.draw(st.lists(st.integers(0, largest), min_size=1, max_size=20))
    assert unpack_numbers(pack_numbers(numbers, largest), len(numbers)) == numbers
