"""verify for all identifiers, and what is kept of its findings."""

from __future__ import annotations

import time

import pytest

from noidtools import verification as verifying
from noidtools.codec import pack
from noidtools.minter.circulation import value_of
from noidtools.minter.events import Actor
from noidtools.minter.qualities import (
    FAILS,
    HOLDS,
    QUALITIES,
    UNKNOWN,
    Finding,
    last_findings,
    save_findings,
)
from noidtools.minter.schema import EVENTS, IDS, VERIFIED
from noidtools.verification import Verification
from support.verification import create_sound_minter, verified


@pytest.fixture
def f5(noid):
    """A minter of which everything can be verified, and an identifier of which everything holds."""
    create_sound_minter(noid)
    return noid


def test_all_identifiers_are_found_minted_bound_or_alias(noid):
    noid("dbcreate")
    noid("mint", "3", "_t", "https://example.org/")
    for name in ("only bound", "zz"):
        noid("bind", "set", name, "_t", "https://example.org/")
        noid("bind", "set", name, "second", "x")
    noid("-", stdin=b"bind set \"zero \0 byte\" _t https://example.org/\n")
    noid("alias", "only alias", "0")
    assert verified(noid)[2]["verified"] == "7, 0 failing, 7 not confirmed"


def test_many_elements_of_one_identifier_across_pages_count_once(noid, monkeypatch):
    monkeypatch.setattr(verifying, "_PAGE", 3)
    noid("dbcreate")
    for name in ("a", "b", "c"):
        for number in range(7):
            noid("bind", "set", name, f"e{number}", "x")
    noid("mint", "5")
    run = Verification(noid.opened, Actor(b"me", b"test"))
    found = [result.identifier for results in run.run() for result in results]
    assert sorted(found) == [b"0", b"1", b"2", b"3", b"4", b"a", b"b", b"c"]


def test_findings_are_stored_with_their_date(f5):
    f5("mint", "1")
    verified(f5)
    assert f5.read(lambda reader: list(reader.scan(VERIFIED))) == [], "nobody asked to store it"
    verified(f5, "--record")
    found = f5.read(lambda reader: last_findings(reader, b"13030/f5154dn7k"))
    assert [(finding.quality.name, finding.verdict) for finding in found] == [
        ("registered", HOLDS), ("well-formed", HOLDS), ("check-sound", HOLDS), ("unique", HOLDS), ("bound", FAILS),
        ("resolvable", FAILS), ("accountable", HOLDS), ("persistent", HOLDS),
    ]
    assert found[4].detail == "nothing is bound to it"
    assert abs(int(found[0].date) - int(time.strftime("%Y%m%d%H%M%S", time.gmtime()))) < 1000
    assert f5.read(lambda reader: last_findings(reader, b"13030/f5never")) == []


def test_stored_findings_are_read_back(f5):
    findings = [Finding(quality, verdict, detail) for quality, verdict, detail in zip(
        [quality for quality in QUALITIES if quality.name != "retrievable"], [HOLDS, FAILS, UNKNOWN] * 3,
        ["", "a reason, with \udcff", "", "", "another", "", "", "x"], strict=False)]
    codes = b"".join(finding.code for finding in findings)
    link = Finding(QUALITIES[6], FAILS, "answers 404")
    f5.write(lambda writer: save_findings(writer, b"20260101000000", [(b"x", codes, findings, link)]))
    f5.write(lambda writer: save_findings(writer, b"20270101000000", [(b"x", codes, findings, None)]))
    found = {finding.quality.name: finding for finding in f5.read(lambda reader: last_findings(reader, b"x"))}
    for finding in findings:
        same = found[finding.quality.name]
        expected = "" if finding.verdict == UNKNOWN else finding.detail
        assert (same.verdict, same.detail, same.date) == (finding.verdict, expected, b"20270101000000")
    assert (found["retrievable"].detail, found["retrievable"].date) == ("answers 404", b"20260101000000")


def test_a_stored_quality_of_a_later_release_is_ignored(f5):
    f5.write(lambda writer: writer.put(VERIFIED, b"x", pack([pack([b"20260101000000Z+r+"]), b""])))
    found = f5.read(lambda reader: last_findings(reader, b"x"))
    assert [finding.quality.name for finding in found] == ["registered"]


def test_verifying_is_one_event_and_part_of_the_history_of_those_named(f5):
    f5("mint", "2000", "_t", "https://example.org/")

    def events() -> int:
        return f5.read(lambda reader: sum(1 for _ in reader.scan(EVENTS)))

    before = events()
    verified(f5)
    verified(f5, "13030/f54x54g11")
    assert events() == before, "verifying changes nothing"
    verified(f5, "--record")
    assert events() == before + 1
    verified(f5, "--record", "13030/f54x54g11")
    assert events() == before + 2
    history = f5("history", "13030/f54x54g11")
    assert history.count("what: verify") == 1 and "1 identifier, 0 failing" in history
    assert "2001 identifiers, 0 failing" in f5("log")


def test_verifying_changes_nothing_else(f5):
    name = b"13030/f54x54g11"

    def state() -> tuple:
        return f5.read(lambda reader: (value_of(reader, name, b"_t"), reader.get(IDS, name)))

    before = state()
    verified(f5)
    assert state() == before
