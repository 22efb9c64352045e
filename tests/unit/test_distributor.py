"""The generator of labels from the time, against the definition of the temporal distributor."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.errors import BusyError
from noidtools.schemes import LOOK_AHEAD, NeedsOwnTransaction, scheme_for
from noidtools.schemes.base import Settings
from noidtools.schemes.ibi import parse
from noidtools.schemes.timed import duration
from noidtools.times import SECOND

GRID = [Fraction(60), *(Fraction(1, 10**places) for places in range(10))]
SCHEME = scheme_for(Settings({"scheme": "ibi", "computer": "a.b.org", "port": "80", "granularity": "1"}))
START = 1_287_587_646 * SECOND


class DrawRequest:
    """A request as the generator sees it."""

    def __init__(self, now: int, *, asked: int | None = None, patience: int = 10**18, sharing=False, whole=False):
        self.clock = lambda: now
        self.requested_at = now if asked is None else asked
        self.patience = patience
        self.sharing = sharing
        self.whole = whole


def rounded(t: Fraction, r: Fraction) -> Fraction:
    return r * (t // r)


def by_definition(last: Fraction | None, asked: Fraction, r: Fraction) -> Fraction:
    """t(i) of the Definition, with the last date brought onto the grid of a changed r as line 4 does."""
    created = rounded(asked, r) if last is None else max(rounded(last, r) + r, rounded(asked, r))
    before = created - r if last is None else rounded(last, r)
    return rounded(created, max(g for g in GRID if rounded(created, g) > before))


def dates(drawn: list[tuple[bytes, int]]) -> list[Fraction]:
    found = [parse(label)[2] for label, _ in drawn]
    return [Fraction(date.units, 10**date.places) for date in found]


requests = st.lists(
    st.tuples(st.integers(-3 * SECOND, 200 * SECOND) | st.integers(0, SECOND), st.integers(1, 4),
              st.sampled_from([b"60", b"1", b"0.1", b"0.01", b"0.001", b"0.000000001"])),
    min_size=1, max_size=12,
)


@given(requests)
def test_a_minter_gives_the_dates_of_the_definition_whatever_the_clock_and_the_granularity_do(moves):
    state, last, now = None, None, START
    for step, count, granularity in moves:
        now += step
        generator = SCHEME.generator(state)
        generator.adjust("granularity", granularity)
        (numerator, _, decimals) = granularity.partition(b".")
        r = Fraction(int(numerator + decimals), 10 ** len(decimals))
        drawn = dates(generator.draw(count, DrawRequest(now, whole=True)))
        for date in drawn:
            assert date == by_definition(last, Fraction(now, SECOND), r)
            assert last is None or date > last
            last = date
        due = max(now, int(last * SECOND))
        assert generator.due == (due if due > now else 0)
        state = generator.state()
        assert generator.drawn == SCHEME.generator(state).drawn


@given(requests, st.integers(0, 2 * SECOND))
@settings(max_examples=100, deadline=None)
def test_no_label_is_reserved_beyond_patience_and_little_beyond_now(moves, patience):
    state, now = None, START
    for step, count, granularity in moves:
        now += step
        generator = SCHEME.generator(state)
        generator.adjust("granularity", granularity)
        try:
            drawn = generator.draw(count, DrawRequest(now, patience=patience))
        except BusyError:
            continue  # nothing was taken: the state is as it was
        waits = [date * SECOND - now for date in dates(drawn)]
        assert drawn and waits[0] <= patience and all(wait <= min(LOOK_AHEAD, patience) for wait in waits[1:])
        assert generator.more_ahead <= (len(drawn) < count)
        state = generator.state()


def test_a_request_in_a_shared_transaction_that_would_wait_raises_not_yet():
    generator = SCHEME.generator(None)
    assert len(generator.draw(1, DrawRequest(START, sharing=True))) == 1
    with pytest.raises(NeedsOwnTransaction):
        generator.draw(1, DrawRequest(START, sharing=True))


def test_a_request_that_waited_for_the_lock_gets_the_free_cells_since_it_asked():
    generator = SCHEME.generator(None)
    generator.draw(1, DrawRequest(START))
    drawn = generator.draw(9, DrawRequest(START + 3 * SECOND, asked=START + SECOND))
    assert dates(drawn) == [1287587647, 1287587648, 1287587649]


@pytest.mark.parametrize(("nanoseconds", "text"), [
    (0, "0 seconds"), (1, "0.001 seconds"), (SECOND, "1 second"), (1_500_000_000, "1.5 seconds"),
    (90 * SECOND, "1 minute 30 seconds"), (3600 * SECOND, "1 hour"), (86400 * 366 * SECOND, "366 days"),
    (90_000 * SECOND, "1 day 1 hour"),
])
def test_durations_are_formatted_in_days_hours_minutes_and_seconds(nanoseconds, text):
    assert duration(nanoseconds) == text
