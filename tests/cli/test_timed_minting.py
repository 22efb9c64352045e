"""Labels made from the time, asked for by several processes, and waited for at a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest

from noidtools.schemes.ibi import parse
from support.minter import timed_noid
from support.process import NOID
from support.templates import IBI


@pytest.mark.slow
def test_many_processes_get_different_labels_in_the_order_of_asking(tmp_path, noid):
    noid("dbcreate", *IBI, "--granularity", "0.1")
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


def test_a_later_mint_never_gets_an_earlier_date(tmp_path, noid):
    noid("dbcreate", *IBI, "--granularity", "0.01")
    found = [parse(noid.ids(1)[0].encode())[2] for _ in range(8)]
    assert found == sorted(found) and len(set(found)) == 8


def test_the_label_of_a_process_killed_while_it_waits_is_never_given(tmp_path, noid):
    ahead = timed_noid(tmp_path)
    soon = int(time.time()) + 100
    ahead("dbcreate", *IBI)
    ahead.at(str(soon)).ids(1)
    with subprocess.Popen([*NOID, "mint", "--patience", "200", "1"], cwd=tmp_path) as waiter:
        while "Drawn: 2\n" not in noid("dbinfo"):
            time.sleep(0.05)
        assert "clock was set back by 1 minute" in noid.refused("mint", "1"), "while one waits another may ask"
        waiter.kill()
    assert "Drawn: 2\n" in noid("dbinfo")
    (label,) = ahead.at(str(soon + 1)).ids(1)
    assert parse(label.encode())[2].seconds == soon + 2


@pytest.mark.slow
def test_a_wait_is_shown_on_a_terminal(tmp_path, noid):
    noid("dbcreate", *IBI, "--granularity", "1")
    terminal, other_end = os.openpty()
    seen = b""
    with subprocess.Popen([*NOID, "mint", "3"], cwd=tmp_path, stdout=other_end, stderr=other_end) as process:
        os.close(other_end)
        try:
            while piece := os.read(terminal, 4096):
                seen += piece
        except OSError:
            pass  # the other end is closed
    os.close(terminal)
    assert process.returncode == 0
    assert re.search(rb"[0-2] of 3 made, the next in [01]\.\d s", seen) and seen.count(b"id: ") == 3
    assert seen.rstrip().rpartition(b"\x1b[K")[2].startswith(b"id: "), "the line is gone before the answer comes"
