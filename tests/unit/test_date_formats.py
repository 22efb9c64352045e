"""Every format in which a date is written."""

from __future__ import annotations

import datetime
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.dates import utc_datetime
from noidtools.errors import UsageError
from noidtools.times import (
    SECOND,
    display_datetime,
    display_day,
    iso_datetime,
    posix,
    timestamp,
    timestamp_after,
)
from support.project import ROOT

SECONDS = posix(2026, 11, 16, 0, 28, 25)


def test_one_moment_in_every_format():
    stamp = timestamp(SECONDS * SECOND + 999_999_999)
    assert stamp == b"20261116002825"
    assert display_datetime(stamp) == "2026-11-16 00:28:25 UTC"
    assert display_day(stamp) == "2026-11-16"
    assert iso_datetime(SECONDS) == b"2026-11-16T00:28:25Z"
    assert utc_datetime(stamp).isoformat() == "2026-11-16T00:28:25+00:00"
    assert iso_datetime(SECONDS, b"05") == b"2026-11-16T00:28:25.05Z"


def test_iso_8601_goes_on_after_the_year_9999_and_before_1970():
    assert iso_datetime(posix(12345, 6, 7, 8, 9, 10)) == b"12345-06-07T08:09:10Z"
    assert iso_datetime(-12_219_292_800) == b"1582-10-15T00:00:00Z"


@given(st.datetimes(min_value=datetime.datetime(1000, 1, 1)))
def test_formats_agree_with_the_standard_library(moment):
    seconds = posix(*moment.timetuple()[:6])
    stamp = timestamp(seconds * SECOND)
    assert iso_datetime(seconds).decode() == f"{moment.replace(microsecond=0).isoformat()}Z"
    assert display_datetime(stamp) == f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    assert utc_datetime(stamp) == moment.replace(microsecond=0, tzinfo=datetime.timezone.utc)


def test_a_delay_ends_with_the_year_9999():
    now = SECONDS * SECOND
    most = posix(9999, 12, 31, 23, 59, 59) - SECONDS
    assert timestamp_after(now, most) == b"99991231235959"
    with pytest.raises(UsageError, match="after the year 9999"):
        timestamp_after(now, most + 1)


def test_the_clock_and_the_schemes_load_no_modules_that_a_mint_does_not_need():
    code = ("import sys, noidtools.times, noidtools.schemes.noid, noidtools.schemes.ibi, noidtools.schemes.ibip\n"
            "print(sorted({'datetime', 'calendar', 'ipaddress', 'typing', 'idna', 're'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(ROOT)})
    assert done.stdout == "[]\n"
