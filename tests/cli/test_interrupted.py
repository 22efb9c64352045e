"""Ctrl-C and SIGTERM: a command that makes a file or a minter removes what it has begun, and says so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support.killed import COMMITS, RENAMES, run_killed
from support.minter import Noid
from support.perl_dump import RECORDED
from support.process import NoidProcess, wait_until

pytestmark = pytest.mark.only("lmdb")
SIGNALS = [signal.SIGINT, signal.SIGTERM]
NOTHING = "error: interrupted: no minter was made\n"
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
    (COMMITS, 1, ("copy", "a", "b"), "error: interrupted: there is no copy, unless it was complete just now\n"),
    (COMMITS, 30, ("copy", "a", "b"), "error: interrupted: there is no copy, unless it was complete just now\n"),
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
    process.send_signal(number)
    _, complaint = process.communicate(timeout=60)
    assert (process.returncode, complaint.decode()) == (1, NOTHING) and os.listdir(tmp_path) == []
