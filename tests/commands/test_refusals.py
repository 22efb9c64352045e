"""Minters that are missing, damaged or of another release, and wrong words: one sentence, nothing changed."""

from __future__ import annotations

import lmdb
import pytest


@pytest.fixture
def minter(noid):
    noid("dbcreate", ".sdd")
    noid("mint", "3")
    return noid


def test_a_missing_minter_is_reported(noid):
    assert "no minter in" in noid.refused("mint", "1", status=1)
    assert "no minter in" in noid.refused("-f", "/nonexistent", "get", "x", status=1)
    assert list(noid.folder.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_a_foreign_file_in_place_of_the_database_is_refused_and_left_alone(noid, content):
    (noid.folder / "NOID").mkdir()
    (noid.folder / "NOID" / "data.mdb").write_bytes(content)
    assert noid.refused("mint", "1", status=1)
    assert (noid.folder / "NOID" / "data.mdb").read_bytes() == content


def test_a_database_that_is_not_a_minters_is_refused(noid):
    (noid.folder / "NOID").mkdir()
    lmdb.open(str(noid.folder / "NOID")).close()
    assert "not a minter's" in noid.refused("mint", "1", status=1)


@pytest.mark.parametrize("words", [
    ["mint", "-1"], ["mint", ""], ["mint", "1e9"], ["mint", "9" * 5000], ["mint", "１"], ["mint", "1", "a", "b", "c"],
    ["queue", "99999999999999d", "01"], ["queue", "-5", "01"], ["queue", "", "01"], ["queue", "1.5d", "01"],
    ["hold", "", "01"], ["fetch"], ["validate", "-"], ["validate", "bad", "x"], ["path"], ["note", "x"], ["", "x"],
    ["dbinfo", "brief", "full"], ["-x"], ["-f"], ["hello", "you"], [b"\xff\xff"],
])
def test_wrong_words_are_refused_in_one_sentence(minter, words):
    minter.refused(*words)
    assert minter.ids(1) == ["03"]


def test_an_identifier_of_a_megabyte_is_refused(noid):
    noid("dbcreate")
    long = b"i" * (1 << 20)
    done = noid.run("-", stdin=b"bind set " + long + b" e v\nbind set i " + long + b" v\nhello\n")
    assert done.stdout.count(b"error: ") == 2 and done.stdout.endswith(b"Hello.\n\n")


def test_a_file_in_place_of_the_folder_is_refused(noid):
    (noid.folder / "file").write_text("x")
    assert "no minter in" in noid.refused("-f", "file", "mint", "1", status=1)
