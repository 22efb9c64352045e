"""Databases that release 0.1.0 made: this release reads them, and goes on with them as that one would have.

tests/fixtures/release-0.1.0 holds two of them, compacted: `ark`, with all kinds of records, and `ibi`, whose labels are
made from the time.  In answers.json stand, for each, the commands by which it was made (`made`), what the old release
answered to questions about it (`answers`), and what it answered when it went on with a copy (`after`).  The clock was a
second later for each command.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from noidtools.errors import NoidError
from noidtools.times import SECOND
from support.clock import SettableClock
from support.minter import Noid
from support.recorded import as_answered_now, comparable

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "release-0.1.0"
RECORDED = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))


@pytest.fixture(params=sorted(RECORDED))
def name(request) -> str:
    return request.param


@pytest.fixture
def minter(name, tmp_path):
    shutil.copytree(FOLDER / name, tmp_path / name)
    opened = Noid(tmp_path / name, clock=SettableClock("0"))
    opened.clock.now = RECORDED[name]["now"]
    yield opened
    opened.close()


def answer(minter: Noid, words: list[str]) -> str:
    try:
        return minter.text(*words)
    except NoidError as error:
        return f"error: {error.message}\n"


def assert_same_answer(minter: Noid, words: list[str], recorded: str) -> None:
    expected = as_answered_now(words, recorded)
    assert comparable(words, answer(minter, words)) == comparable(words, expected), words


def test_the_fixture_has_all_kinds_of_records(name):
    made = {command["words"][0] for command in RECORDED["ark"]["made"]}
    assert made >= {"mint", "peppermint", "bind", "hold", "queue", "alias", "synonym", "prefer", "reserve", "withdraw",
                    "custodian", "note", "policy", "resolver", "context", "verify"}
    assert all((FOLDER / name / "NOID" / "data.mdb").stat().st_size < 64 << 10 for name in RECORDED)
    assert not any(command["answer"].startswith("error") for command in RECORDED[name]["made"])


def test_what_the_old_release_answered_is_what_this_one_answers(name, minter):
    for command in RECORDED[name]["answers"]:
        assert_same_answer(minter, command["words"], command["answer"])


def test_this_release_goes_on_as_the_old_one_did(name, minter):
    for command in RECORDED[name]["after"]:
        minter.clock.now += SECOND
        assert_same_answer(minter, command["words"], command["answer"])


def test_every_record_can_be_read(name, minter):
    tables = {record.partition("/")[0] for entry in minter.records("dbinfo", "dump") for record in entry}
    expected = {"meta", "ids", "events"}
    if name == "ark":
        expected |= {"aliases", "config", "custody", "elements", "history", "notes", "queue", "queued", "relations",
                     "rules", "tombstones", "verified"}
    assert tables >= expected
    assert minter.records("verify")
