"""Lines split into words."""

from __future__ import annotations

import contextlib
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.commands.lines import split_words
from noidtools.errors import UsageError


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
