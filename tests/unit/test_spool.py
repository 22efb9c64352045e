"""Rows that are set aside in a temporary file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from noidtools.errors import StoreError
from noidtools.spool import Spool
from support.project import ROOT


def test_rows_come_back_in_their_order_and_several_times():
    spool = Spool(2)
    rows = [(b"%d" % number, number) for number in range(1500)]
    for row in rows:
        spool.add(*row)
    assert len(spool) == 1500 and list(spool) == rows == list(spool)
    spool.fill(rows[:3])
    assert list(spool) == rows[:3] and len(spool) == 3


def test_rows_can_be_added_while_others_are_read():
    spool = Spool(1)
    spool.fill([(b"a",), (b"b",)])
    for place, _ in enumerate(spool):
        spool.add(b"c%d" % place)
    assert len(spool) == 4


def test_a_full_disk_is_a_refusal_with_the_remedy(monkeypatch):
    code = ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
            "from noidtools.spool import Spool\nspool = Spool(1)\n"
            "for _ in range(40_000): spool.add(bytes(1000))\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith(f"{StoreError.__module__}.StoreError: no temporary file could be written")
    assert "TMPDIR" in last


@pytest.mark.parametrize("width", [1, 5])
def test_values_may_hold_any_byte(width):
    spool = Spool(width)
    row = (bytes(range(256)),) * width
    spool.add(*row)
    assert list(spool) == [row]
