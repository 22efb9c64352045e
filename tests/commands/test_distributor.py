"""The temporal distributor in a living minter: against its definition, among many processes, under a bad clock."""

from __future__ import annotations

import subprocess
import time
from fractions import Fraction

import pytest
from conftest import NOID
from hypothesis import given, settings
from hypothesis import strategies as st
from scheme_support import IBI, IBIP, PILIN, SetClock, TimedNoid, answer, minted, session

from noidtools.clock import SECOND
from noidtools.commands.session import Session
from noidtools.errors import BusyError
from noidtools.schemes import LOOK_AHEAD, NeedsOwnTransaction, scheme_for
from noidtools.schemes.ibi import parse
from noidtools.schemes.settings import Settings
from noidtools.schemes.timed import duration

GRID = [Fraction(60), *(Fraction(1, 10**places) for places in range(10))]
SCHEME = scheme_for(Settings({"scheme": "ibi", "computer": "a.b.org", "port": "80", "granularity": "1"}))
START = 1_287_587_646 * SECOND


class Asking:
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
@settings(max_examples=150, deadline=None)
def test_a_minter_gives_the_dates_of_the_definition_whatever_the_clock_and_the_granularity_do(moves):
    state, last, now = None, None, START
    for step, count, granularity in moves:
        now += step
        generator = SCHEME.generator(state)
        generator.adjust("granularity", granularity)
        (numerator, _, decimals) = granularity.partition(b".")
        r = Fraction(int(numerator + decimals), 10 ** len(decimals))
        drawn = dates(generator.draw(count, Asking(now, whole=True)))
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
            drawn = generator.draw(count, Asking(now, patience=patience))
        except BusyError:
            continue  # nothing was taken: the state is as it was
        waits = [date * SECOND - now for date in dates(drawn)]
        assert drawn and waits[0] <= patience and all(wait <= min(LOOK_AHEAD, patience) for wait in waits[1:])
        assert generator.more_ahead <= (len(drawn) < count)
        state = generator.state()


def test_who_shares_a_transaction_is_asked_to_come_alone_when_there_is_a_wait():
    generator = SCHEME.generator(None)
    assert len(generator.draw(1, Asking(START, sharing=True))) == 1
    with pytest.raises(NeedsOwnTransaction):
        generator.draw(1, Asking(START, sharing=True))


def test_who_stood_in_line_gets_the_cells_that_nobody_took_meanwhile():
    generator = SCHEME.generator(None)
    generator.draw(1, Asking(START))
    drawn = generator.draw(9, Asking(START + 3 * SECOND, asked=START + SECOND))
    assert dates(drawn) == [1287587647, 1287587648, 1287587649]


def test_the_memory_outlives_the_process_and_many_sessions(tmp_path):
    clock = SetClock("1287588115.2")
    opened = session(tmp_path, clock, IBI)
    first = minted(opened, 2)
    opened.close()
    again = Session(str(tmp_path), opened.actor)
    clock.now += 60 * SECOND
    minute = "sid.inpe.br/mtc-m18/2010/10.20.15.2"
    assert first + minted(again, 2) == [minute + end for end in ("1.55", "1.56", "2", "2.56")]
    again.close()


@pytest.mark.parametrize("words", [IBI, IBIP, PILIN], ids=["ibi", "ibip", "pilin"])
def test_a_clock_that_jumps_about_gives_nothing_twice_and_nothing_earlier(tmp_path, words):
    clock = SetClock("1287588115.2")
    opened = session(tmp_path, clock, words)
    made: list[str] = []
    busy = 0
    for jump in (0, -1, 5, -3600, 3590, 30, -31536000, 31536001, -1, 1):
        clock.now += jump * SECOND
        try:
            made += minted(opened, 3)
        except BusyError as error:
            busy += 1
            assert error.message.startswith("the clock was set back by "), error.message
    assert busy == 2
    assert len(made) == len(set(made)) == 24
    moments = [answer(opened, "decode", label).partition("time: ")[2].partition("\n")[0] for label in made]
    assert [moment.rstrip("Z") for moment in moments] == sorted(moment.rstrip("Z") for moment in moments)
    opened.close()


def test_many_processes_get_different_labels_in_the_order_of_asking(tmp_path, noid):
    noid(*IBI, "--granularity", "0.1")
    began = time.time()
    processes = [
        subprocess.Popen([*NOID, "mint", "2", "who", str(number)], cwd=tmp_path, stdout=subprocess.PIPE)
        for number in range(12)
    ]
    made = []
    for process in processes:
        made.append(process.communicate(timeout=60)[0].decode().replace("id: ", "").split())
        assert process.returncode == 0
    ended = time.time()
    labels = [label for pair in made for label in pair]
    assert len(labels) == len(set(labels)) == 24
    # The order of asking is kept in the circulation records: the first drawn is number 1.
    drawn = {int(noid("fetch", label).partition("Circ: ")[2].split("|")[3].split()[0]): label for label in labels}
    assert sorted(drawn) == list(range(1, 25))
    moments = [parse(drawn[number].encode())[2] for number in sorted(drawn)]
    assert moments == sorted(moments)
    # None lies before the minute in which the first was asked for, and none was handed out before its time.
    assert began - 60 < moments[0].seconds and moments[-1].seconds <= ended
    for number, pair in enumerate(made):
        assert [noid("get", label, "who") for label in pair] == [f"{number}\n"] * 2


def test_a_later_asker_never_gets_an_earlier_date(tmp_path, noid):
    noid(*IBI, "--granularity", "0.01")
    found = [parse(noid.ids(1)[0].encode())[2] for _ in range(8)]
    assert found == sorted(found) and len(set(found)) == 8


def test_a_killed_waiter_loses_its_label_and_nobody_gets_it(tmp_path, noid):
    ahead = TimedNoid(tmp_path)
    soon = int(time.time()) + 100
    ahead(*IBI)
    ahead.mint_at(str(soon))
    with subprocess.Popen([*NOID, "mint", "--patience", "200", "1"], cwd=tmp_path) as waiter:
        while "Drawn: 2\n" not in noid("dbinfo"):
            time.sleep(0.05)
        assert "clock was set back by 1 minute" in noid.refused("mint", "1"), "while one waits another may ask"
        waiter.kill()
    assert "Drawn: 2\n" in noid("dbinfo")
    (label,) = ahead.mint_at(str(soon + 1))
    assert parse(label.encode())[2].seconds == soon + 2


@pytest.mark.parametrize(("nanoseconds", "said"), [
    (0, "0 seconds"), (1, "0.001 seconds"), (SECOND, "1 second"), (1_500_000_000, "1.5 seconds"),
    (90 * SECOND, "1 minute 30 seconds"), (3600 * SECOND, "1 hour"), (86400 * 366 * SECOND, "366 days"),
    (90_000 * SECOND, "1 day 1 hour"),
])
def test_durations_are_said_as_people_say_them(nanoseconds, said):
    assert duration(nanoseconds) == said
