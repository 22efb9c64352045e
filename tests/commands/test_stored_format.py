"""A database of format 1, made before the store was rewritten: this code reads it, and mints on from it.

tests/fixtures/format-1/data.mdb.xz is the compacted data file of a minter with the template kt.reeddk and the NAAN
13030, with eight identifiers minted, bindings (one with an element of 600 bytes), a rule, holds, an entry in the queue,
an alias, a relation, a withdrawn name, a note and a fallback.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from support.minter import Noid

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "format-1" / "data.mdb.xz"
FIRST, SECOND, THIRD, QUEUED, WITHDRAWN = (
    "13030/kt4z01p", "13030/kt15576", "13030/ktwg97k", "13030/ktrq53k", "13030/ktmz09b")

pytestmark = pytest.mark.only("lmdb")


@pytest.fixture
def minter(tmp_path):
    (tmp_path / "NOID").mkdir()
    (tmp_path / "NOID" / "data.mdb").write_bytes(lzma.decompress(FIXTURE.read_bytes()))
    opened = Noid(tmp_path)
    yield opened
    opened.close()


def test_what_was_stored_is_read(minter):
    assert minter("resolve", FIRST).strip() == minter("resolve", "other-name").strip() == "https://target.example/one"
    assert "title: A title" in minter("fetch", FIRST)
    assert minter("get", SECOND, "k" * 600).strip() == "long"
    assert "relation: synonym\nname: 13030/kt15576\nauthority: The library\n" in minter("relations", FIRST)
    assert minter("log").count("what: ") == 13
    assert "what: withdraw" in minter("history", WITHDRAWN)
    assert "hold" in minter("fetch", THIRD) and "nothing is wrong" in minter("check")


def test_it_mints_what_comes_next(minter):
    assert minter.mint(3) == [QUEUED, "13030/kt3z214", "13030/kt0577n"]
    minter("bind", "set", "13030/kt3z214", "_t", "https://new.example/")
    assert minter("resolve", "13030/kt3z214").strip() == "https://new.example/"
    assert "nothing is wrong" in minter("check")
