"""The goals of the PILIN policy for identifiers."""

from __future__ import annotations

import re
import time

from noidtools.schemes import pilin
from noidtools.schemes.timed import Date
from support.clock import SettableClock
from support.minter import Noid
from support.templates import PILIN

FIRST = "1287587646.394023"


def test_pilin_handles_are_succinct_and_opaque(tmp_path):
    noid = Noid.created(tmp_path, *PILIN, clock=SettableClock(FIRST))
    suffixes = [name.rpartition("/")[2] for name in noid.mint(1000)]
    assert all(len(suffix) == 9 for suffix in suffixes)
    assert not re.search("[AEIOU]", "".join(suffixes)), "no words appear by accident"
    assert all(one[0] != other[0] for one, other in zip(suffixes, suffixes[1:], strict=False))
    noid.close()


def test_more_than_a_thousand_million_pilin_suffixes_are_left():
    assert pilin.TOTAL - pilin.from_unix_ms(int(time.time() * 1000)) > 10**9


def test_pilin_makes_one_a_millisecond(tmp_path):
    clock = SettableClock("1287587646")
    noid = Noid.created(tmp_path, *PILIN, clock=clock)
    handles = noid.mint(2500)
    assert len(set(handles)) == 2500
    assert clock.date == Date(1287587648499, 3)
    times = [int(noid.text("decode", handle).rpartition("milliseconds: ")[2]) for handle in handles[::100]]
    assert times == list(range(times[0], times[0] + 2500, 100))
    noid.close()


def test_pilin_ends_where_nine_characters_end(tmp_path):
    end = Date(pilin.to_unix_ms(pilin.TOTAL), 3)
    clock = SettableClock(bytes(Date(end.floor(3) - 3, 3)).decode())
    noid = Noid.created(tmp_path, *PILIN, clock=clock)
    assert noid.mint(3)[-1] == "102.100.272/ZZZZZZZZZ"
    for moment in (clock.date, Date(end.floor(3) + 10**9, 3)):
        noid.clock.set_seconds(bytes(moment).decode())
        assert "nine characters end at 2420-08-16T03:29:20.670Z" in noid.refused("mint", "1", status=1)
    noid.close()


def test_the_last_pilin_suffixes_are_printed_before_the_refusal(timed):
    timed("dbcreate", *PILIN)
    timed.clock.set_seconds(bytes(Date(pilin.to_unix_ms(pilin.TOTAL - 2), 3)).decode())
    done = timed.run("mint", "5")
    assert done.returncode == 1 and done.stdout.count(b"id: ") == 2 and b"no identifier is left" in done.stderr
