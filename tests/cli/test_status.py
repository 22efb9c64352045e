"""noid status: labelled lines for programs, bars and colours for a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess

import pytest

from noidtools.cli.status import screen
from noidtools.commands.status import MinterStatus, size_text
from noidtools.version import __version__
from support.process import NOID, wait_until
from support.served import Served

FULL = {"drawn": 95, "left": 5, "total": 100, "held": 95, "queued": 0, "events": 3, "size_bytes": 40_960,
        "free_bytes": 5e11, "readers": 2, "oldest_reader_seconds": 90, "canaries_wrong": 1, "last_backup": 1000.0}


@pytest.mark.only("lmdb")
def test_the_status_of_a_minter_is_labelled_lines(noid):
    noid("dbcreate", "kt.sdd", "long", "13030", "x", "y")
    noid("mint", "25")
    noid("hold", "set", "13030/kt50")
    lines = dict(line.split(": ", 1) for line in noid("status").strip().splitlines())
    assert (lines["minted"], lines["left"], lines["held"], lines["queued"]) == ("25", "75 of 100 (75.0 %)", "26", "0")
    assert lines["backup"] == "none is known" and " left on its disk" in lines["database"] and lines["readers"] == "1"
    noid("backup", "copy")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 0\.0 hours ago",
                        dict(line.split(": ", 1) for line in noid("status").strip().splitlines())["backup"])


@pytest.mark.only("lmdb")
def test_a_wrong_canary_and_an_unreadable_minter_end_it_with_status_1(noid, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        noid("-f", name, "dbcreate", f"{name}.sdd", "long", "13030", "x", "y")
    assert noid.run("status", "--minters", str(tmp_path)).returncode == 0
    noid("-f", "a", "mint", "1")
    noid("-f", "a", "resolver", "canary", "13030/a00", "https://e.org/")
    (tmp_path / "b" / "NOID" / "data.mdb").rename(tmp_path / "data")
    done = noid.run("status", "--minters", str(tmp_path))
    assert done.returncode == 1 and done.stdout.count(b"error: ") == 2
    assert b"1 canaries lead elsewhere" in done.stdout and b"restore a backup" in done.stdout


def test_at_a_terminal_there_are_bars_and_colours():
    text = screen([MinterStatus("kt5", FULL), MinterStatus("xx", {}, "it is gone")], 1000 + 3600 * 30, coloured=True)
    assert "\x1b[1mkt5\x1b[0m\n" in text
    assert "left      \x1b[31m[############################..]\x1b[0m \x1b[31m5 of 100 (5.0 %)\x1b[0m" in text
    assert "backup    \x1b[33m1970-01-01T00:16:40Z, 30.0 hours ago\x1b[0m" in text
    assert "readers   2, the oldest for 90 s" in text and "database  41.0 kB, 500 GB left on its disk" in text
    assert "error     \x1b[31m1 canaries" in text and "error     \x1b[31mit is gone" in text
    plain = screen([MinterStatus("kt5", FULL)], 2000, coloured=False)
    assert "\x1b" not in plain and "[############################..] 5 of 100" in plain
    assert screen([], 0, coloured=True) == "there is no minter\n"


def test_it_tells_of_the_requests_that_a_service_answered(noid, tmp_path):
    (tmp_path / "a").mkdir()
    noid("-f", "a", "dbcreate", "a.sdd", "long", "13030", "x", "y")
    noid("-f", "a", "mint", "1")
    noid("-f", "a", "bind", "set", "13030/a00", "_t", "https://e.org/")
    noid("-f", "a", "bind", "set", ":idmap/^13030/a9", "_t", "https://r.org/")
    served = Served.start(tmp_path / "log", "serve", "--minters", tmp_path, "--http", "127.0.0.1:0", "--workers", "2",
                          "--user", "alice")
    try:
        asked = ("/ark:/13030/a00",) * 3 + ("/ark:/13030/a97", "/ark:/13030/a11", "/noidu_a?mint+1", "/noidu_a?mintt+1")
        statuses = [served.get(path).status for path in asked]
        assert statuses[:4] == [302] * 4 and statuses[5] == 200
        (worker, _) = served.workers
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: len(served.workers) == 2 and worker not in served.workers)
        url = "http://{}:{}/".format(*served.address)
        printed = noid("status", "--minters", str(tmp_path), "--url", url)
    finally:
        served.stop()
    lines = dict(line.split(": ", 1) for line in printed[printed.index("service: "):].strip().splitlines())
    assert lines["service"] == url and lines["release"] == __version__
    assert lines["requests"] == "7 (5 names, 2 commands)" and lines["deaths"] == "1 of worker processes"
    assert lines["outcomes"].startswith("4 302, ") and "1 200" in lines["outcomes"]
    assert lines["names"].startswith("3 stored, ") and "1 rule" in lines["names"]
    assert " ms on average, 95 % within " in lines["duration"]
    done = noid.run("status", "--minters", str(tmp_path), "--url", url)
    assert done.returncode == 1
    assert b"error: the figures of the service cannot be read: it does not answer" in done.stdout
    assert "wants the address of a resolver" in noid.refused("status", "--minters", str(tmp_path), "--url", "x")


def test_it_is_shown_again_until_it_is_interrupted(noid):
    noid("dbcreate", "kt.sdd")
    parent, child = pty.openpty()
    process = subprocess.Popen([*NOID, "-f", str(noid.folder), "status", "--watch"], stdin=child, stdout=child,
                               stderr=child, env={**os.environ, "TERM": "xterm"}, start_new_session=True)
    os.close(child)
    out = b""
    while out.count(b"\x1b[H\x1b[J") < 2:
        out += os.read(parent, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) in (1, -signal.SIGINT)
    os.close(parent)
    assert b"noid status, 20" in out and b"100 of 100 (100.0 %)" in out and b"Traceback" not in out


def test_sizes_are_written_for_people():
    assert [size_text(size) for size in (0, 999, 1000, 12_345, 123_456, 1e9, 2.5e15)] == [
        "0 bytes", "999 bytes", "1.0 kB", "12.3 kB", "123 kB", "1.0 GB", "2500 TB"]
