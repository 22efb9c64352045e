"""Ctrl-C and SIGTERM: a command that makes a file or a minter removes what it has begun, and says so."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.killed import COMMITS, RENAMES, run_killed
from support.minter import Noid
from support.perl_dump import RECORDED
from support.process import NoidProcess, wait_until

pytestmark = [pytest.mark.only("lmdb"), pytest.mark.slow]
SIGNALS = [signal.SIGINT, signal.SIGTERM]
NOTHING = "error: interrupted: no minter was made\n"
NO_COPY = ("error: interrupted: there is no copy, unless it was complete just now; the same command finishes a move "
           "that was begun\n")
MADE = "error: interrupted: the minter is there, and complete\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A folder with a minter in the subfolder a, a complete export of it, and a dump of a minter of the original."""
    noid = Noid(tmp_path_factory.mktemp("template"))
    (noid.folder / "a").mkdir()
    noid("-f", "a", "dbcreate", ".sd")
    noid("-f", "a", "mint", "3")
    noid("-f", "a", "export", "jsonl", "all.jsonl", "--history")
    shutil.copy(RECORDED, noid.folder / "dump")
    return noid.folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "f")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("kind", "step", "words", "sentence"), [
    (COMMITS, 1, ("import", "perl", "dump"), NOTHING),
    (COMMITS, 4, ("import", "perl", "dump"), NOTHING),
    (RENAMES, 1, ("import", "perl", "dump"), NOTHING),
    (COMMITS, 1, ("import", "jsonl", "all.jsonl"), NOTHING),
    (COMMITS, 1, ("copy", "a", "b"), NO_COPY),
    (RENAMES, 2, ("copy", "a", "b"), NO_COPY),
    (RENAMES, 2, ("copy", "a", "a"), NO_COPY),
    (COMMITS, 30, ("copy", "a", "b"), NO_COPY),
    (RENAMES, 1, ("-f", "a", "export", "jsonl", "out"),
     "error: interrupted: the file is as it was, unless the export was complete just now\n"),
    (RENAMES, 1, ("-f", "a", "export", "--map", "txt", "out"),
     "error: interrupted: the file is as it was, unless the export was complete just now\n"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else None)
def test_an_interrupted_command_leaves_nothing_and_says_so(folder, number, kind, step, words, sentence):
    before = sorted(os.listdir(folder)), sorted(os.listdir(folder / "a"))
    assert run_killed(folder, kind, step, *words, with_signal=number) == 1
    assert (folder / "errors").read_text() == sentence
    (folder / "errors").unlink()
    assert (sorted(os.listdir(folder)), sorted(os.listdir(folder / "a"))) == before
    Noid(folder)(*words)


@pytest.mark.parametrize("words", [("import", "perl", "dump"), ("import", "jsonl", "all.jsonl")], ids=" ".join)
def test_one_that_is_interrupted_when_the_minter_is_there_says_that(folder, words):
    assert run_killed(folder, RENAMES, 2, *words, with_signal=signal.SIGINT) == 1
    assert (folder / "errors").read_text() == MADE
    assert "nothing is wrong" in Noid(folder)("check")


@pytest.mark.parametrize("number", SIGNALS)
def test_an_import_that_waits_for_its_input_is_interrupted(tmp_path, number):
    process = NoidProcess(tmp_path).start("import", "perl", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(RECORDED.read_bytes()[:2000])
    process.stdin.flush()
    wait_until(lambda: bool(os.listdir(tmp_path)))
    time.sleep(0.3)
    process.send_signal(number)
    # Its input must not end before it has.
    assert process.wait(60) == 1
    _, complaint = process.communicate()
    assert complaint.decode() == NOTHING and os.listdir(tmp_path) == []


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_ends_the_process(first, second):
    script = f"""
import signal, time
from noidtools.cli.noid import _run_until_interrupted
def work():
    try:
        signal.raise_signal({first:d})
        time.sleep(5)
    except KeyboardInterrupt:
        signal.raise_signal({second:d})
        time.sleep(60)
_run_until_interrupted(work, "x")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30, check=False)
    assert done.returncode in (-first, -second) and done.stderr == b""


def test_one_that_waits_for_another_writer_is_interrupted_soon(tmp_path):
    noid = Noid.created(tmp_path, ".sd")
    noid.close()
    lock = tmp_path / "NOID" / "writer.lock"
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = NoidProcess(tmp_path).start("import", "csv", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"id,_t\n1,https://a.example/\n")
        process.stdin.close()
        wait_until(lambda: str(lock) in map(os.path.realpath, Path(f"/proc/{process.pid}/fd").iterdir()))
        time.sleep(0.2)
        process.terminate()
        started = time.monotonic()
        process.wait(20)
        assert time.monotonic() - started < 10
    assert b"interrupted" in process.stderr.read()
    process.stderr.close()
