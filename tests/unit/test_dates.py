"""Dates as people write them, and the spans of time they stand for."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.dates import first_second, last_second
from noidtools.errors import UsageError


@pytest.mark.parametrize(("text", "first", "last"), [
    ("2026", b"20260101000000", b"20261231235959"),
    ("2024-02", b"20240201000000", b"20240229235959"),
    ("2026-12", b"20261201000000", b"20261231235959"),
    ("2026-11-16", b"20261116000000", b"20261116235959"),
    ("2026-11-16T07:08", b"20261116070800", b"20261116070859"),
    ("2026-11-16T07:08:09Z", b"20261116070809", b"20261116070809"),
    ("2026-11-16 07:08:09", b"20261116070809", b"20261116070809"),
    ("20261116070809", b"20261116070809", b"20261116070809"),
    ("0033", b"00330101000000", b"00331231235959"),
    ("9999", b"99990101000000", b"99991231235959"),
])
def test_a_date_names_a_span(text, first, last):
    assert (first_second(text), last_second(text)) == (first, last)


@pytest.mark.parametrize("text", ["", "soon", "0000", "26", "2026-13", "2026-02-30", "2026-1-1", "20261116", "１２３４",
                                  "2026-11-16T25:00", "2026/11/16", "-2026", "12345678901234567",
                                  "2026-11-16T07:08:09+01"])
def test_text_that_is_no_date_is_refused_with_an_example(text):
    for read in (first_second, last_second):
        with pytest.raises(UsageError, match="2026-11-16"):
            read(text)


@given(st.datetimes())
def test_a_moment_is_kept_to_the_second(moment):
    moment = moment.replace(microsecond=0)
    digits = f"{moment.year:04}{moment:%m%d%H%M%S}"
    assert first_second(moment.isoformat()[:19]) == last_second(digits) == digits.encode()


@given(st.text(max_size=20))
def test_any_text_is_a_date_or_refused(text):
    with contextlib.suppress(UsageError):
        assert first_second(text) <= last_second(text)
