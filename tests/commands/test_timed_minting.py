"""Minting labels made from the time: waits, patience, a clock that is set back."""

from __future__ import annotations

import re

import pytest

from noidtools.errors import BusyError
from noidtools.times import SECOND
from support.clock import SettableClock
from support.minter import Noid, timed_noid
from support.templates import IBI, IBIP, PILIN

NAME = "sid.inpe.br/mtc-m18/2010/10.20.15.14.06"
FIRST = "1287587646.394023"  # when NAME is made


def test_a_hundred_labels_at_one_a_second_take_their_hundred_seconds(timed):
    timed("dbcreate", *IBI, "--granularity", "1")
    names = timed.at("1287587646").ids(100)
    assert len(set(names)) == 100 and names[0] == NAME and timed.clock.seconds == "1287587745"
    assert names[13:16] == [NAME[:-2] + "19", NAME[:-2] + "20", NAME[:-2] + "21"] and names[54] == NAME[:-5] + "15"


def test_the_granularity_of_a_minter_can_be_changed(timed):
    timed("dbcreate", *IBI)
    assert timed.at(FIRST).ids(1) == [NAME]
    assert timed("granularity", "0.10") == "ok: granularity is 0.1, was 1\n\n"
    assert timed("mint", "2") == f"id: {NAME}.3\nid: {NAME}.4\n\n"
    assert timed("granularity", "60") == "ok: granularity is 60, was 0.1\n\n"
    assert timed("mint", "--patience", "60", "1") == f"id: {NAME[:-4]}5\n\n"
    assert "granularity is one of" in timed.refused("granularity", "2", status=1)
    assert "Granularity: 60\n" in timed("dbinfo") and "Patience: 60\n" in timed("dbinfo")


def test_schemes_without_a_grid_have_no_granularity_to_change(timed):
    timed("dbcreate", *PILIN)
    assert "part of its form" in timed.refused("granularity", "1")
    other = timed_noid(timed.folder / "other")
    other("dbcreate", ".rdd")
    for command in ("granularity", "patience"):
        assert "not made from the time" in other.refused(command, "1")


def test_a_wait_beyond_the_patience_is_refused_and_takes_nothing(timed):
    timed("dbcreate", *IBI, "--granularity", "60", "--patience", "5")
    assert timed.at(FIRST).ids(1) == [NAME[:-3]]
    refused = timed.refused("mint", "1", status=1)
    assert "2010-10-20T15:15:00Z, 53.606 seconds ahead, longer than the patience of 5 seconds" in refused
    assert timed("patience", "54") == "ok: patience is 54, was 5\n\n"
    assert timed.ids(1) == [NAME[:-4] + "5"]
    assert timed.clock.seconds == "1287587700"
    assert "patience" in timed.refused("mint", "--patience=10", "1")
    assert "Drawn: 2\n" in timed("dbinfo")
    for wrong in ("-1", "x", "", "1e3", "99999999999"):
        assert "patience" in timed.refused("mint", "--patience", wrong, "1", status=2)
    assert "--haste" in timed.refused("mint", "--haste", "1", status=2)


def test_values_of_mint_may_look_like_options(timed):
    timed("dbcreate", *IBI)
    timed.at(FIRST)("mint", "--", "1", "--patience", "7")
    assert timed("get", "--", NAME, "--patience") == "7\n"


@pytest.mark.parametrize(("back", "words"), [(3600, "1 hour"), (31536000, "365 days")])
def test_a_clock_that_was_set_back_is_reported_and_no_label_is_made_twice(timed, back, words):
    timed("dbcreate", *IBI)
    assert timed.at(FIRST).ids(1) == [NAME]
    timed.clock.set_seconds(str(1287587646 - back))
    for _ in range(2):
        refused = timed.refused("mint", "1", status=1)
        assert f"the clock was set back by {words}" in refused and "2010-10-20T15:14:07Z" in refused
        assert "set the clock right, or wait" in refused
    assert timed.at(FIRST).ids(1) == [NAME[:-1] + "7"]


def test_a_clock_that_was_set_back_a_little_is_waited_for(timed):
    timed("dbcreate", *IBI)
    assert timed.at(FIRST).ids(1) == [NAME]
    timed.clock.set_seconds("1287587645.4")
    done = timed.run("mint", "1")
    assert done.stdout.decode() == f"id: {NAME[:-1]}7\n\n"
    assert done.stderr.startswith(b"note: the clock was set back by ") and done.stderr.count(b"\n") == 1
    assert timed.clock.seconds == "1287587647"


def test_a_clock_before_the_first_date_of_a_scheme_is_refused(timed):
    timed("dbcreate", *IBIP)
    timed.clock.set_seconds("800000000")
    assert "August 1995" in timed.refused("mint", "1")


def test_a_clock_that_is_set_back_during_a_wait_does_not_prolong_it(tmp_path):
    clock = SettableClock(FIRST)
    noid = Noid.created(tmp_path, *IBI, clock=clock)
    noid.mint()
    clock.jumps = [-3600]
    assert noid.mint() == [NAME[:-1] + "7"]
    assert clock.slept < 2 * 10**9
    noid.close()


def test_a_wait_comes_after_the_commit_when_others_may_write(tmp_path):
    class ClockThatWrites(SettableClock):
        def sleep(self, nanoseconds):
            assert not noid.opened.store.writing
            noid.records("note", "written", "while waiting")
            super().sleep(nanoseconds)

    clock = ClockThatWrites(FIRST)
    noid = Noid.created(tmp_path, *IBI, clock=clock)
    assert noid.mint(2) == [NAME, NAME[:-1] + "7"]
    assert clock.slept
    # The same when minting is part of a larger transaction, as for requests that may be repeated.
    assert noid.write(lambda _: noid.mint(3)) == [NAME[:-1] + "8", NAME[:-1] + "9", NAME[:-2] + "10"]
    assert clock.date.seconds == 1287587650
    # There all is reserved at once, so all of the wait must be within the patience, lest others find no moment free.
    with pytest.raises(BusyError):
        noid.write(lambda _: noid.mint(31))
    assert len(noid.write(lambda _: noid.mint(30))) == 30
    noid.close()


def test_what_a_failed_transaction_reserved_is_not_waited_for(tmp_path):
    clock = SettableClock(FIRST)
    noid = Noid.created(tmp_path, *IBI, clock=clock)

    def fail(_):
        noid.mint(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        noid.write(fail)
    assert clock.slept == 0 and noid.mint() == [NAME]
    noid.close()


def test_each_line_of_a_bulk_run_waits_for_its_own_label(timed):
    timed("dbcreate", *IBI)
    timed.clock.set_seconds(FIRST)
    lines = b"mint 1\nbind set sid.inpe.br/mtc-m18/2009/02.16.17.46 a b\nmint 2\nbind mint new a b\nmint 1\n"
    made = re.findall(r"^(?:id|Id): +(\S+/10\S+)$", timed("-", stdin=lines), re.M)
    assert made == [NAME, NAME[:-1] + "7", NAME[:-1] + "8", NAME[:-1] + "9", NAME[:-2] + "10"]
    assert timed.clock.seconds == "1287587650"


def test_the_lines_of_a_bulk_run_share_commits_where_the_clock_allows(timed):
    timed("dbcreate", *PILIN)
    timed.clock.set_seconds(FIRST)
    made = re.findall(r"^id: (\S+)$", timed("-", stdin=b"mint 1\n" * 250), re.M)
    assert len(set(made)) == 250
    assert timed.clock.seconds == "1287587646.643"


def test_a_wrong_clock_file_is_reported(noid):
    noid("dbcreate", *IBI)
    clock = noid.folder / "clock"
    clock.write_text("noon")
    assert "file of the clock" in noid.refused("mint", "1", env={"NOIDTOOLS_CLOCK": str(clock)})
    clock.unlink()
    assert "file of the clock" in noid.refused("mint", "1", env={"NOIDTOOLS_CLOCK": str(clock)})


@pytest.mark.slow
def test_a_short_wait_for_a_clock_that_was_set_back_is_reported(noid):
    clock = noid.folder / "clock"
    clock.write_text("1700000000")
    settings = {"env": {"NOIDTOOLS_CLOCK": str(clock)}}
    noid("dbcreate", "--scheme", "ibi", "--computer", "a.b.org", "--patience", "7200", **settings)
    noid("mint", "1", **settings)
    clock.write_text("1699996400")
    done = noid.run("mint", "1", **settings)
    assert done.returncode == 0
    assert b"note: the clock was set back by 1 hour" in done.stderr


def test_the_last_date_is_kept_from_session_to_session(tmp_path):
    clock = SettableClock("1287588115.2")
    noid = Noid.created(tmp_path, *IBI, clock=clock)
    first = noid.mint(2)
    noid.close()
    again = Noid(tmp_path, clock=clock)
    clock.now += 60 * SECOND
    minute = "sid.inpe.br/mtc-m18/2010/10.20.15.2"
    assert first + again.mint(2) == [minute + end for end in ("1.55", "1.56", "2", "2.56")]
    again.close()


@pytest.mark.parametrize("words", [IBI, IBIP, PILIN], ids=["ibi", "ibip", "pilin"])
def test_labels_are_unique_and_in_order_whatever_the_clock_does(tmp_path, words):
    clock = SettableClock("1287588115.2")
    noid = Noid.created(tmp_path, *words, clock=clock)
    made: list[str] = []
    busy = 0
    for jump in (0, -1, 5, -3600, 3590, 30, -31536000, 31536001, -1, 1):
        clock.now += jump * SECOND
        try:
            made += noid.mint(3)
        except BusyError as error:
            busy += 1
            assert error.message.startswith("the clock was set back by "), error.message
    assert busy == 2
    assert len(made) == len(set(made)) == 24
    moments = [noid.text("decode", label).partition("time: ")[2].partition("\n")[0] for label in made]
    assert [moment.rstrip("Z") for moment in moments] == sorted(moment.rstrip("Z") for moment in moments)
    noid.close()


SCHEMES = pytest.mark.parametrize("words", [IBI, IBIP, PILIN], ids=["ibi", "ibip", "pilin"])
YEAR = 31536000


@SCHEMES
def test_after_a_clock_ran_ahead_minting_says_so_and_a_reset_lets_it_go_on_with_no_label_twice(timed, words):
    timed.at("1287588000")("dbcreate", *words)
    made = timed.at("1287588115").ids(2)
    future = timed.at(str(1287588115 + 20 * YEAR)).ids(2)
    timed.clock.set_seconds("1287588120")
    refused = timed.refused("mint", "1", status=1)
    assert f"the last identifier, {future[-1]}, lies after that" in refused and "'noid clock reset'" in refused
    assert "\nlast: 2030-10-15T15:21:5" in timed("clock") and timed("clock").startswith("clock: 2010-10-20T15:22:00Z")
    assert timed("clock", "reset").startswith("ok: labels go on from 2010-10-20T15:22:00Z")
    made += timed.ids(3)
    assert "what: clock reset\n" in timed("log")
    assert "nothing to reset" in timed.refused("clock", "reset", status=1)
    # Twenty years later the clock comes to the labels that were made ahead.
    made += timed.at(str(1287588115 + 20 * YEAR - 2)).ids(8)
    assert len({*made, *future}) == len(made) + len(future) == 15
    assert "nothing is wrong" in timed("check")


@SCHEMES
def test_a_label_of_another_day_is_not_waited_for_however_long_the_patience(timed, words):
    timed.at("1287588000")("dbcreate", *words, "--patience", "900000000")
    timed.at(str(1287588115 + 90_000)).ids(1)
    timed.clock.set_seconds("1287588115")
    for option in ((), ("--patience", "900000000")):
        assert "longer than the patience of 1 day" in timed.refused("mint", *option, "1", status=1)
    assert timed.clock.seconds == "1287588115"


def test_a_clock_is_not_reset_to_a_time_before_the_minter(timed):
    timed.at("1287588000")("dbcreate", *IBI)
    timed.ids(1)
    timed.clock.set_seconds("1287500000")
    assert "before this minter was created: set it right" in timed.refused("clock", "reset", status=1)


def test_patience_and_granularity_without_a_number_show_the_value(timed):
    timed("dbcreate", "--scheme", "ibi", "--computer", "a.example", "--patience", "7")
    assert (timed("patience"), timed("granularity")) == ("patience: 7\n\n", "granularity: 1\n\n")
    timed("granularity", "0.1")
    assert timed("granularity") == "granularity: 0.1\n\n"


def test_a_minter_of_a_template_has_neither_patience_nor_granularity(noid):
    noid("dbcreate", ".sd")
    for words in (["patience"], ["granularity"], ["clock"], ["clock", "reset"]):
        assert "not made from the time" in noid.refused(*words, status=1)
