"""Repository names: the standard's examples, the round trip, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.schemes.ibi import canonical, computer_name, encode, parse, prefix, suffix
from noidtools.schemes.timed import MAX_PLACES, Date, parse_date, parse_port
from noidtools.times import posix
from support.project import vectors

VECTORS = vectors("ibi.json")

words = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
last_words = st.from_regex(r"[a-z]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
computers = st.builds(
    lambda first, last: ".".join([*first, last]).encode(), st.lists(words, min_size=1, max_size=5), last_words
)
ports = st.integers(1, 65535) | st.sampled_from([80, 800, 1905])
whole_seconds = st.builds(Date, st.integers(0, 4 * 10**10))
dates = whole_seconds | st.builds(Date, st.integers(0, 10**14), st.integers(0, MAX_PLACES))
SUFFIXES = VECTORS["repository_suffix"] + VECTORS["distributor"]["rows"]
NAME = b"sid.inpe.br/mtc-m18/2009/02.16.17.46"


@pytest.mark.parametrize("row", VECTORS["repository_prefix"], ids=lambda row: row["prefix"])
def test_a_prefix_is_the_computer_and_its_port(row: dict[str, str]) -> None:
    assert prefix(row["computer"].encode(), int(row["port"])) == row["prefix"].encode()


@pytest.mark.parametrize("row", SUFFIXES, ids=lambda row: row["suffix"])
def test_a_suffix_is_the_date_in_utc(row: dict[str, str]) -> None:
    date = parse_date(row["date"].encode())
    assert suffix(date) == row["suffix"].encode()
    assert parse(b"sid.inpe.br/mtc-m18/" + row["suffix"].encode())[2] == date


@pytest.mark.parametrize("label", VECTORS["repository_accepts"])
def test_names_of_the_standard_are_accepted(label: str) -> None:
    assert parse(canonical(label.encode())) == parse(label.encode())


@pytest.mark.parametrize(("one", "other"), [pair for pair in VECTORS["same_name"] if "inpe" in pair[0]])
def test_case_makes_no_other_name(one: str, other: str) -> None:
    assert canonical(one.encode()) == canonical(other.encode())


def test_a_name_is_read_into_computer_port_and_date() -> None:
    date = Date(1234806360)
    assert parse(b"sid.inpe.br/mtc-m18@80/2009/02.16.17.46") == (b"mtc-m18.sid.inpe.br", 80, date)
    assert parse(b"sid.inpe.br/mtc-m18.1905/2009/02.16.17.46") == (b"mtc-m18.sid.inpe.br", 1905, date)


@pytest.mark.parametrize(
    "spelling",
    [
        b"sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
        b"sid.inpe.br/mtc-m18.80/2009/02.16.17.46",
        b"sid.inpe.br/mtc-m18.0080/2009/02.16.17.46",
        b"SID.inpe.br./MTC-M18/2009/02.16.17.46",
        b"sid.inpe.br/mtc-m18/2009/02.16.17.46.00",
        b"sid.inpe.br/mtc-m18/2009/02.16.17.46.00.000",
        b"sid.inpe.br/mtc-m18/002009/02.16.17.46",
    ],
)
def test_spellings_of_one_computer_port_and_date_are_one_name(spelling: bytes) -> None:
    assert canonical(spelling) == NAME


def test_another_port_and_the_older_sign_for_it_are_kept_apart_from_port_80() -> None:
    assert canonical(b"sid.inpe.br/mtc-m18@1905/2009/02.16.17.46") == b"sid.inpe.br/mtc-m18.1905/2009/02.16.17.46"
    assert canonical(b"sid.inpe.br/mtc-m18@800/2009/02.16.17.46") != NAME


def test_a_fraction_keeps_its_leading_and_loses_its_trailing_zeros() -> None:
    start = b"sid.inpe.br/mtc-m18/2010/10.20.15.21.55"
    assert canonical(start + b".050") == start + b".05"
    assert canonical(start + b".0") == start
    assert canonical(start + b".5" + b"0" * 5000) == start + b".5"
    assert canonical(start + b".5") != canonical(start + b".05")


@given(computers, ports, dates)
def test_a_name_parses_to_its_parts(computer: bytes, port: int, date: Date) -> None:
    label = encode(computer, port, date)
    assert parse(label) == (computer, port, date)
    assert parse(label.upper()) == (computer, port, date)
    assert canonical(label) == label == canonical(label.upper())


@given(st.lists(st.tuples(computers, ports, dates), min_size=2, max_size=6))
def test_different_computers_ports_or_dates_have_different_names(pairs: list[tuple[bytes, int, Date]]) -> None:
    assert len({encode(*pair) for pair in pairs}) == len(set(pairs))


@given(
    *[st.tuples(st.sampled_from([b"a.b", b"b.a.b", b"a.a.b"]), st.sampled_from([1, 8, 80]),
                st.builds(Date, st.integers(599, 601), st.integers(0, 3)))] * 2
)  # fmt: skip
def test_neighbouring_computers_ports_and_dates_have_different_names(
    one: tuple[bytes, int, Date], other: tuple[bytes, int, Date]
) -> None:
    assert (encode(*one) == encode(*other)) == (one == other)


@given(computers, ports, dates)
def test_a_path_has_four_levels_and_no_parent_directory(computer: bytes, port: int, date: Date) -> None:
    levels = canonical(encode(computer, port, date)).split(b"/")
    assert len(levels) == 4
    assert all(level and level.strip(b".") == level for level in levels)


def test_the_path_of_an_older_spelling_is_the_one_directory_of_the_item() -> None:
    assert canonical(b"sid.INPE.br/MTC-m18@80/2009/02.16.17.46") == NAME


def test_years_may_have_more_than_four_digits() -> None:
    date = Date(posix(12345, 1, 2, 3, 4, 0))
    assert suffix(date) == b"12345/01.02.03.04"
    assert parse(b"b.c/a/" + suffix(date))[2] == date


@pytest.mark.parametrize(
    ("date", "complaint"),
    [
        (b"2009/02.29.17.46", "month 02 of 2009 has no day 29"),
        (b"2100/02.29.17.46", "month 02 of 2100 has no day 29"),
        (b"2009/04.31.17.46", "month 04 of 2009 has no day 31"),
        (b"2009/00.16.17.46", "no month 00"),
        (b"2009/13.16.17.46", "no month 13"),
        (b"2009/02.00.17.46", "no day 00"),
        (b"2009/02.16.24.00", "no time 24:00:00"),
        (b"2009/02.16.17.60", "no time 17:60:00"),
        (b"2016/12.31.23.59.60", "no time 23:59:60"),
        (b"1969/12.31.23.59", "before 1970"),
        (b"0000/01.01.00.00", "before 1970"),
        (b"209/02.16.17.46", "is not a date"),
        (b"2009/2.16.17.46", "two digits"),
        (b"2009/02.16.17.046", "two digits"),
        (b"2009/02.16.17", "is not a date"),
        (b"2009/02.16.17.46.", "two digits"),
        (b"2009/02.16.17.46.01.", "is not a date"),
        (b"2009/02.16.17.46.01.5.5", "is not a date"),
        (b"2009/02.16.17.46-RPQ", "two digits"),
        (b"2009/02.16.17.+6", "two digits"),
        (b"2009/02.16.17.46.01." + b"1" * 5000, "at most 9 digits"),
        (b"9" * 5000 + b"/02.16.17.46", "at most 9 digits"),
        (b"999999999/02.16.17.46", "after 1970"),
    ],
)
def test_impossible_dates_are_refused(date: bytes, complaint: str) -> None:
    with pytest.raises(InvalidError, match=complaint):
        parse(b"sid.inpe.br/mtc-m18/" + date)


@pytest.mark.parametrize("port", [b"", b"0", b"65536", b"99999999999", b"-1", b"8o", b"80.5", b"@80", b"\xb2"])
@pytest.mark.parametrize("sign", [b"@", b"."])
def test_impossible_ports_are_refused(port: bytes, sign: bytes) -> None:
    with pytest.raises(InvalidError, match="a port is a number from 1 to 65535"):
        parse_port(port)
    with pytest.raises(InvalidError):
        parse(b"sid.inpe.br/mtc-m18" + sign + port + b"/2009/02.16.17.46")


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_no_prefix_is_made_for_an_impossible_port(port: int) -> None:
    with pytest.raises(InvalidError, match="1 to 65535"):
        prefix(b"a.b", port)


@pytest.mark.parametrize(
    "computer",
    [b"", b".", b"localhost", b"localhost.", b"a..b", b".a.b", b"a.b..", b"-a.b", b"a-.b", b"a_b.c", b"a b.c", b"a/b.c",
     b"\xe9.br", b"150.163.34.243", b"a.1b", b"a." + b"b" * 64, b".".join([b"a" * 49] * 6), b"a.b\n", b"a@b.c"],
)  # fmt: skip
def test_impossible_computers_are_refused(computer: bytes) -> None:
    with pytest.raises(InvalidError) as refusal:
        computer_name(computer)
    assert "\n" not in refusal.value.message
    word, _, subdomain = computer.partition(b".")
    with pytest.raises(InvalidError):
        parse(subdomain + b"/" + word + b"/2009/02.16.17.46")


def test_a_domain_name_may_be_as_long_as_the_domain_system_allows() -> None:
    longest = b".".join([b"a" * 63] * 3 + [b"a" * 61])
    assert computer_name(longest.upper() + b".") == longest
    with pytest.raises(InvalidError, match="at most 253 characters, not 254"):
        computer_name(longest + b"a")


@pytest.mark.parametrize(
    "label", [b"", b"/", b"///", b"sid.inpe.br/mtc-m18/2009", NAME + b"/", b"/" + NAME, b"ark:/1/2/3"]
)
def test_names_without_four_valid_parts_are_refused(label: bytes) -> None:
    with pytest.raises(InvalidError):
        parse(label)


pieces = st.sampled_from(
    [b"sid.inpe.br", b"mtc-m18", b"/", b"/", b"/", b"@", b".", b"80", b"2009", b"02.16.17.46", b"-", b"\n"]
)


@given(st.binary() | st.lists(pieces, max_size=10).map(b"".join))
def test_garbage_is_invalid_or_has_one_spelling(label: bytes) -> None:
    for reads in (canonical, computer_name):
        try:
            spelling = reads(label)
        except InvalidError as error:
            assert "\n" not in error.message
        else:
            assert reads(spelling) == spelling
