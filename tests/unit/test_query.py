"""The words of a command in the query of a URL."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import UsageError
from noidtools.web.query import decode_word, query_words
from support.wsgi import encode_word


@pytest.mark.parametrize(("query", "words"), [
    (b"", []),
    (b"mint+1", [b"mint", b"1"]),
    (b"mint++1+", [b"mint", b"1"]),
    (b"bind+set+13030/kt639k9+myGoto+http://foo.ucsd.edu/",
     [b"bind", b"set", b"13030/kt639k9", b"myGoto", b"http://foo.ucsd.edu/"]),
    (b"a+%20", [b"a", b" "]),
    (b"a+b%2Bc", [b"a", b"b+c"]),
    (b"a+%22b+c%22", [b"a", b'"b', b'c"']),
    (b"a+'b+c'", [b"a", b"b c"]),
    (b'a+"b+c"', [b"a", b"b c"]),
    (b"a+'%27'", [b"a", b"'"]),
    (b"a+\\+b", [b"a", b" b"]),
    (b"a+''", [b"a", b""]),
    (b"a+%5Cd", [b"a", b"\\d"]),
    (b"a+K%C3%A4se", [b"a", "Käse".encode()]),
    ("a+Käse".encode(), [b"a", "Käse".encode()]),
    (b"a+%00%0a%0D", [b"a", b"\0\n\r"]),
    (b"a+%FF", [b"a", b"\xff"]),
    (b"get+id+x=1&y=2", [b"get", b"id", b"x=1&y=2"]),
    (b"a+%2525", [b"a", b"%25"]),
    (b"-", [b"-"]),
])
def test_words_are_split_at_plus_signs_and_decoded_afterwards(query: bytes, words: list[bytes]) -> None:
    assert query_words(query) == words


@pytest.mark.parametrize("query", [
    b"%", b"a+%2", b"%zz", b"%+1", b"%2%41", b"a%g0", b"%-1", b"%0x", b"%\xc2\xb21", b"'%'",
])
def test_malformed_percent_encoding_is_refused(query: bytes) -> None:
    with pytest.raises(UsageError):
        query_words(query)


@pytest.mark.parametrize("query", [b"a b", b"a\tb", b"a\nb", b"a\rb", b"a\0b", b"a\x7fb"])
def test_blanks_and_control_characters_that_are_not_encoded_are_refused(query: bytes) -> None:
    with pytest.raises(UsageError):
        query_words(query)


@pytest.mark.parametrize("query", [b"'open", b'"open', b"end\\"])
def test_quotes_that_are_not_closed_are_refused(query: bytes) -> None:
    with pytest.raises(UsageError):
        query_words(query)


@given(st.lists(st.binary(max_size=12), max_size=5))
def test_encoded_words_are_read_back(words: list[bytes]) -> None:
    assert query_words(b"+".join(encode_word(word) for word in words)) == words


@given(st.binary(max_size=20))
def test_any_bytes_give_words_or_a_refusal(query: bytes) -> None:
    with contextlib.suppress(UsageError):
        assert all(isinstance(word, bytes) for word in query_words(query))


@given(st.binary(max_size=8).filter(lambda word: b"%" not in word))
def test_text_without_a_percent_sign_is_not_changed(word: bytes) -> None:
    assert decode_word(word) == word
