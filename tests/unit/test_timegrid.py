"""Exact dates, the calendar, and the temporal distributor against its definition."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.schemes.timed import (
    MAX_PLACES,
    MAX_SECONDS,
    Date,
    allot,
    from_ns,
    parse_date,
    parse_granularity,
    quoted,
    utc,
    wait_ns,
)
from noidtools.times import calendar, posix
from support.project import vectors

DISTRIBUTOR = vectors("ibi.json")["distributor"]

GRID = [Fraction(60), *(Fraction(1, 10**places) for places in range(13))]

dates = st.builds(Date, st.integers(0, 4 * 10**18), st.integers(9, 12)) | st.builds(Date, st.integers(0, 10**10))
granularities = st.just(Date(60)) | st.builds(Date, st.just(1), st.integers(0, 9))


def exact(value: Date) -> Fraction:
    return Fraction(value.units, 10**value.places)


def rounded(t: Fraction, r: Fraction) -> Fraction:
    """t(r) of the Definition."""
    return r * (t // r)


def by_definition(last: Fraction | None, now: Fraction, r: Fraction) -> Fraction:
    """The Definition, word by word, with the last date brought onto the grid of a changed r."""
    if last is None:
        created = rounded(now, r)
        before = created - r
    else:
        before = rounded(last, r)
        created = max(before + r, rounded(now, r))
    widest = max(g for g in GRID if rounded(created, g) > before)
    return rounded(created, widest)


def by_algorithm(last: Fraction | None, now: Fraction, r: Fraction) -> tuple[Fraction, Fraction]:
    """Algorithm 4 line by line: the date, and the delay it waits."""
    arrived = r * (now // r)
    if last is None:
        last = arrived - r
    last = r * (last // r)
    creation = max(last + r, arrived)
    delay = max(Fraction(0), creation - now)
    short, s, t = creation, r, creation
    while last < short:
        s = 10 * s
        if s == 10:
            s = Fraction(60)
        t = short
        if s > 60:
            break
        short = s * (creation // s)
    return t, delay


def test_the_distributor_gives_the_dates_of_the_standards_table() -> None:
    granularity = parse_granularity(DISTRIBUTOR["granularity"].encode())
    last = None
    for row in DISTRIBUTOR["rows"]:
        last = allot(last, parse_date(row["requested"].encode()), granularity)
        assert bytes(last) == row["date"].encode()


@given(dates, st.lists(st.tuples(st.integers(-(10**11), 10**11), granularities), min_size=1, max_size=20))
def test_the_distributor_follows_definition_and_algorithm_while_clock_and_granularity_change(
    start: Date, steps: list[tuple[int, Date]]
) -> None:
    last, nanoseconds = None, start.floor(9)
    for step, granularity in steps:
        nanoseconds = max(0, nanoseconds + step)
        now = from_ns(nanoseconds)
        given_last = None if last is None else exact(last)
        date = allot(last, now, granularity)
        literal, delay = by_algorithm(given_last, exact(now), exact(granularity))
        assert exact(date) == by_definition(given_last, exact(now), exact(granularity)) == literal
        assert wait_ns(date, now) == -(-delay * 10**9 // 1)
        assert last is None or last < date
        last = date


@given(dates, dates, granularities)
def test_an_allotted_date_lies_on_the_grid_after_the_last_and_never_needlessly_ahead(
    last: Date, now: Date, granularity: Date
) -> None:
    date, r = exact(allot(last, now, granularity)), exact(granularity)
    assert date % r == 0
    assert date > exact(last)
    assert date <= max(exact(now), exact(last) + r)


def test_requests_within_one_minute_get_minute_then_seconds_then_fractions() -> None:
    now, last, texts = parse_date(b"1287588115.25"), parse_date(b"1287588059.5"), []
    for _ in range(4):
        last = allot(last, now, parse_granularity(b"0.1"))
        texts.append(bytes(last))
    assert texts == [b"1287588060", b"1287588115", b"1287588115.2", b"1287588115.3"]


def test_the_first_request_gets_its_own_cell_and_no_shorter_date() -> None:
    now = parse_date(b"1287588115.186234")
    assert bytes(allot(None, now, parse_granularity(b"60"))) == b"1287588060"
    assert bytes(allot(None, now, parse_granularity(b"1"))) == b"1287588115"
    assert bytes(allot(None, now, parse_granularity(b"0.001"))) == b"1287588115.186"
    assert bytes(allot(None, Date(0), parse_granularity(b"60"))) == b"0"


def test_after_a_clock_was_set_back_the_next_cell_follows_the_last_one() -> None:
    last = parse_date(b"1287588115")
    date = allot(last, parse_date(b"1287584515.5"), parse_granularity(b"1"))
    assert bytes(date) == b"1287588116"
    assert wait_ns(date, parse_date(b"1287584515.5")) == 3_600_500_000_000


def test_coarsening_the_granularity_skips_the_cell_that_was_begun() -> None:
    last = parse_date(b"1287588115.5")
    assert bytes(allot(last, parse_date(b"1287588115.6"), parse_granularity(b"1"))) == b"1287588116"
    assert bytes(allot(last, parse_date(b"1287588115.6"), parse_granularity(b"60"))) == b"1287588120"


def test_granularities_are_a_minute_a_second_and_its_decimal_parts() -> None:
    for text in [b"60", b"1", b"0.1", b"0.01", b"0.001", b"0." + b"0" * (MAX_PLACES - 1) + b"1"]:
        assert bytes(parse_granularity(text)) == text
    assert parse_granularity(b"0.10") == parse_granularity(b"0.1")
    assert parse_granularity(b"60.0") == Date(60)
    assert hash(parse_granularity(b"1.00")) == hash(Date(1))


@pytest.mark.parametrize(
    "text",
    [b"30", b"0.5", b"10", b"600", b"0", b"0.0", b"-1", b"6", b"0.6", b"1e-3", b"1/10", b"0,1", b".1", b"1.", b"",
     b" 1", b"nan", b"1\n", b"\xb2", b"0." + b"0" * MAX_PLACES + b"1", b"0" * 5000 + b"1"],
)  # fmt: skip
def test_other_granularities_are_refused_with_the_list_of_good_ones(text: bytes) -> None:
    with pytest.raises(InvalidError, match="60, 1, 0.1, 0.01"):
        parse_granularity(text)


@given(st.binary() | st.text("0123456789.-+e").map(str.encode))
def test_invalid_dates_and_granularities_are_refused(text: bytes) -> None:
    for parse in (parse_date, parse_granularity):
        try:
            value = parse(text)
        except InvalidError as error:
            assert "\n" not in error.message
        else:
            assert parse(bytes(value)) == value


@given(dates)
def test_a_date_is_read_back_from_its_text(date: Date) -> None:
    assert parse_date(bytes(date)) == date
    assert Fraction(bytes(date).decode()) == exact(date)
    assert date.seconds + Fraction("0." + (date.fraction.decode() or "0")) == exact(date)


@given(dates, dates)
def test_dates_compare_as_numbers(one: Date, other: Date) -> None:
    assert (one < other) == (exact(one) < exact(other))
    assert (one <= other) == (exact(one) <= exact(other))
    assert (one > other) == (exact(one) > exact(other))
    assert (one == other) == (exact(one) == exact(other))


def test_trailing_zeros_make_no_difference() -> None:
    assert parse_date(b"5.50") == parse_date(b"5.5") == Date(5500, 3)
    assert hash(parse_date(b"5.50")) == hash(Date(55, 1))
    assert parse_date(b"5.05") != parse_date(b"5.5")
    assert Date(5) != 5
    assert repr(Date(5500, 3)) == "Date(55, 1)"


@pytest.mark.parametrize(
    ("units", "places"),
    [(-1, 0), (-5, 1), (1, MAX_PLACES + 1), (1, -1), (MAX_SECONDS, 0), (MAX_SECONDS * 10 + 1, 1)],
)
def test_dates_outside_the_limits_are_refused(units: int, places: int) -> None:
    with pytest.raises(InvalidError):
        Date(units, places)


@given(st.integers(-62135596800, 253402300799))
def test_the_calendar_is_the_one_of_the_standard_library(seconds: int) -> None:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    assert calendar(seconds) == tuple(moment.timetuple())[:6]
    assert posix(*calendar(seconds)) == seconds


@given(st.integers(-(10**17), 10**17))
def test_the_calendar_and_its_inverse_agree_beyond_that(seconds: int) -> None:
    assert posix(*calendar(seconds)) == seconds


@given(st.integers(1970, 9999), st.integers(0, 13), st.integers(0, 32), *[st.integers(0, 61)] * 3)
def test_only_possible_dates_are_dates(year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    try:
        expected = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        with pytest.raises(InvalidError):
            posix(year, month, day, hour, minute, second)
    else:
        seconds = posix(year, month, day, hour, minute, second)
        assert expected == datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)


def test_leap_days_come_every_four_years_but_in_three_of_four_centuries() -> None:
    for year in (2000, 2012, 2400):
        assert calendar(posix(year, 2, 29, 0, 0, 0))[:3] == (year, 2, 29)
    for year in (1900, 2009, 2100):
        with pytest.raises(InvalidError, match=f"month 02 of {year} has no day 29"):
            posix(year, 2, 29, 0, 0, 0)


def test_a_date_is_shown_in_iso_8601() -> None:
    assert utc(parse_date(b"1234806360")) == b"2009-02-16T17:46:00Z"
    assert utc(parse_date(b"1287588115.05")) == b"2010-10-20T15:21:55.05Z"


def test_the_wait_is_rounded_up_to_the_next_nanosecond() -> None:
    assert wait_ns(parse_date(b"1.0000000001"), Date(1)) == 1
    assert wait_ns(Date(2), parse_date(b"1.75")) == 250_000_000
    assert wait_ns(Date(1), Date(2)) == 0


def test_quoted_bytes_are_printable_and_short() -> None:
    assert quoted(b"a\nb\xff") == r"'a\nb\xff'"
    assert quoted(b"x" * 81) == "'" + "x" * 80 + "'..."
