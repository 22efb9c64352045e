"""PILIN suffixes: the policy's examples, its goals, and what is refused."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import ExhaustedError, InvalidError
from noidtools.schemes import pilin
from noidtools.schemes.pilin import ALPHABET, LENGTH, TOTAL, canonical, check, decode, encode
from support.project import vectors

VECTORS = vectors("pilin.json")
UUID_EPOCH = datetime.datetime(1582, 10, 15)

counts = st.integers(0, TOTAL - 1)


def test_the_alphabet_is_the_digits_and_the_consonants() -> None:
    assert ALPHABET.decode() == VECTORS["alphabet"]
    assert len(ALPHABET) == 31


@pytest.mark.parametrize("row", VECTORS["suffixes"], ids=lambda row: row["suffix"])
def test_known_suffixes_are_written_and_read(row: dict[str, str]) -> None:
    suffix, milliseconds = row["suffix"].encode(), int(row["milliseconds"])
    assert encode(milliseconds) == suffix
    assert decode(suffix) == milliseconds
    assert pilin.utc(milliseconds) == row["utc"].encode()
    assert VECTORS["handle_example"].endswith("/RPLZ54PQH")


@given(counts)
def test_a_suffix_decodes_to_its_time(milliseconds: int) -> None:
    assert decode(encode(milliseconds)) == milliseconds
    assert decode(encode(milliseconds).lower()) == milliseconds


@given(counts, counts)
def test_different_times_have_different_suffixes(one: int, other: int) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@given(counts)
def test_times_are_those_of_the_standard_library(milliseconds: int) -> None:
    moment = UUID_EPOCH + datetime.timedelta(milliseconds=milliseconds)
    assert pilin.utc(milliseconds).decode() == moment.isoformat(timespec="milliseconds") + "Z"
    unix = pilin.to_unix_ms(milliseconds)
    assert datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=unix) == moment
    assert pilin.from_unix_ms(unix) == milliseconds


@given(st.integers(0, TOTAL - 2))
def test_suffixes_are_succinct_and_opaque_with_a_new_one_each_millisecond(milliseconds: int) -> None:
    one, next_one = encode(milliseconds), encode(milliseconds + 1)
    assert len(one) == len(next_one) == LENGTH == 9
    assert one[0] != next_one[0]
    assert not set(one) & set(b"AEIOU")


def test_there_are_suffixes_for_at_least_a_thousand_million_things() -> None:
    today = decode(b"RPLZ54PQH")
    assert TOTAL - today >= 10**9


def test_the_nine_characters_end_in_the_year_2420() -> None:
    assert pilin.utc(TOTAL - 1) == b"2420-08-16T03:29:20.670Z"
    assert encode(TOTAL - 1) == b"ZZZZZZZZZ"
    for late in (TOTAL, TOTAL + 1, 10**30):
        with pytest.raises(ExhaustedError, match="2420-08-16"):
            encode(late)


def test_times_before_the_count_began_are_refused() -> None:
    assert encode(0) == b"000000000"
    with pytest.raises(InvalidError, match="1582"):
        encode(-1)


@pytest.mark.parametrize(
    ("label", "place", "letter", "meant"),
    [
        (b"Y35XYSOQH", 7, "O", "0"),
        (b"y35xysoqh", 7, "o", "0"),
        (b"I3417QQQH", 1, "I", "1"),
        (b"RPLZ54PQU", 9, "U", "V"),
        (b"RPLZ5APQH", 6, "A", "4"),
        (b"EPLZ54PQH", 1, "E", "F or 3"),
    ],
)
def test_a_look_alike_is_refused_with_the_character_probably_meant(
    label: bytes, place: int, letter: str, meant: str
) -> None:
    with pytest.raises(InvalidError) as refusal:
        check(label)
    assert f"character {place} of" in refusal.value.message
    assert f"is '{letter}'," in refusal.value.message
    assert refusal.value.message.endswith(f"probably {meant} was meant")


@pytest.mark.parametrize(
    "label",
    [b"", b"RPLZ54PQ", b"RPLZ54PQHH", b"RPLZ54PQ-", b"RPLZ54PQ\n", b"\xd2PLZ54PQH", b"102.100.272/RPLZ54PQH"],
)
def test_text_that_is_no_suffix_is_refused(label: bytes) -> None:
    for reads in (check, decode, canonical):
        with pytest.raises(InvalidError) as refusal:
            reads(label)
        assert "\n" not in refusal.value.message


@given(st.binary(max_size=12) | st.text("0123456789OIUAEBCDXYZoiu", min_size=9, max_size=9).map(str.encode))
def test_garbage_is_invalid_or_has_one_spelling(label: bytes) -> None:
    try:
        milliseconds = decode(label)
    except InvalidError:
        return
    assert encode(milliseconds) == canonical(label) == label.upper()
