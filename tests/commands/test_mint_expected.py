"""mint --expect: a new minter that is given the same objects again mints the same identifiers, and no others."""

from __future__ import annotations

import pytest

from noidtools.minter import minting
from support.minter import Noid


@pytest.fixture
def old(tmp_path):
    """What a minter has minted, in a file."""
    minter = Noid.created(tmp_path / "old", "kt.reedk", "medium", "13030")
    (tmp_path / "minted").write_text(minter("mint", "40"))
    minter.close()
    return tmp_path / "minted"


@pytest.fixture
def new(tmp_path):
    minter = Noid.created(tmp_path / "new", "kt.reedk", "medium", "13030")
    yield minter
    minter.close()


def test_the_same_objects_in_the_same_order_get_the_same_identifiers(old, new):
    assert new("mint", "--expect", str(old), "40") == old.read_text()


@pytest.mark.parametrize("chunk", [10_000, 16])
def test_minting_stops_before_the_first_identifier_that_differs(old, new, monkeypatch, chunk):
    monkeypatch.setattr(minting, "CHUNK", chunk)
    lines = old.read_text().splitlines()
    other = [*lines[:20], "id: 13030/kt999x", *lines[20:]]
    old.write_text("\n".join(other))
    done = new.run("mint", "--expect", str(old), "40")
    assert done.returncode == 1 and done.stdout.decode().splitlines()[:20] == lines[:20]
    assert done.stdout.count(b"id: ") == 20
    assert f"the next identifier would be {lines[20][4:]}, and {old} expects 13030/kt999x as number 21" \
        in done.stderr.decode()
    assert "20 before it were" in done.stderr.decode()
    assert new("mint", "1") == f"{lines[20]}\n\n", "it was not minted"


def test_when_the_first_differs_nothing_is_minted(old, new):
    old.write_text("13030/other\n")
    before = new.event_count()
    assert "as number 1: it was not minted, and 0 before it were" in new.refused("mint", "--expect", str(old), "1")
    assert new.event_count() == before


def test_plain_lines_and_other_spellings_are_read_and_peppers_left_out(old, new):
    old.write_text(old.read_text().replace("id: 13030", "\n  ark:/13030"))
    assert new("peppermint", "--expect", str(old), "3").count("!") == 3
    assert "as number 1" in new.refused("mint", "--expect", str(old), "1"), "the file begins anew"


def test_a_file_that_is_too_short_or_missing_mints_nothing(old, new, tmp_path):
    before = new.event_count()
    assert "has 40 of the 41 identifiers to be minted" in new.refused("mint", "--expect", str(old), "41")
    for path in (tmp_path / "none", tmp_path, "x\0y"):
        assert "cannot be read" in new.refused("mint", "--expect", str(path), "1")
    assert new.event_count() == before
    assert new("mint", "--expect", str(old), "0") == "\n"


def test_elements_are_bound_as_without_it(old, new):
    assert new("mint", "--expect", str(old), "2", "title", "Kant").count("id:") == 2
    assert new("get", old.read_text().splitlines()[0][4:], "title") == "Kant\n"
