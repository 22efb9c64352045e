"""The command dbcreate, and where a minter's folder is."""

from __future__ import annotations

import shutil

import pytest


@pytest.mark.parametrize(("words", "sentence"), [
    (["--at-last", "wrap", "a.sd", "long", "1", "b", "c"], "never gives an identifier twice"),
    (["--at-last", "add", ".sd"], "stop, wrap or addN"),
    (["--at-last", "add9", ".sdd"], "1 to 2"),
    (["--at-last", "add0", ".sdd"], "1 to 2"),
    (["--at-last", "stop", ".zd"], "never ends"),
    (["--at-last"], "needs a value"),
    (["--seed", "x", ".rd"], "the seed is a number"),
    (["--seed", "9" * 50, ".rd"], "the seed is a number"),
    (["--label", "a b", ".rd"], "label"),
    (["--nonsense", "1"], "no option --nonsense"),
    (["a.sd", "forever"], "long, medium or short"),
    (["a.sd", "long"], "needs a NAAN"),
    (["-", "long", "1", "b", "c"], "needs a template"),
    (["a.sd", "long", "13 30", "b", "c"], "NAAN"),
    (["a.sd", "long", "1", "b", "c", "d"], "too many words"),
    ([b"\xff.sd"], "not valid UTF-8"),
    (["é.sd"], "visible ASCII"),
    (["a b.sd"], "visible ASCII"),
    ([f".s{'d' * 500}"], "too long"),
])
def test_dbcreate_with_wrong_words_is_refused_and_creates_nothing(noid, words, sentence):
    assert sentence in noid.refused("dbcreate", *words)
    assert list(noid.folder.iterdir()) == []


def test_a_second_dbcreate_is_refused_and_changes_nothing(noid):
    noid("dbcreate", ".sd")
    noid("mint", "3")
    assert "exists already" in noid.refused("dbcreate", ".rd", status=1)
    assert noid("mint", "1") == "id: 3\n\n"


def test_dbcreate_makes_its_folder_and_leaves_none_if_it_is_refused(noid):
    assert "First: 0" in noid("-f", "new", "dbcreate", ".sd")
    assert noid("-f", "new", "mint", "1") == "id: 0\n\n"
    assert "database server" in noid.refused("-f", "other", "dbcreate", ".sd", "--store", "x:y")
    assert not (noid.folder / "other").exists()


def test_dbcreate_leaves_a_report_beside_the_database(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    report = (noid.folder / "NOID" / "README").read_text()
    for text in ("f5.reedeedk", "70728100", "GRANITE", "cdlib.org", "oac/cmp", "13030/f54x54g11"):
        assert text in report


def test_all_files_of_a_minter_are_in_one_folder(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp")
    noid("mint", "1")
    assert [path.name for path in noid.folder.iterdir()] == ["NOID"]


def test_the_report_on_a_new_minter_is_printed_and_stored(noid):
    printed = noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac/cmp").splitlines()
    report = [line.split() for line in (noid.folder / "NOID" / "README").read_text().splitlines()]
    folder, *lines, blank = printed
    assert folder.startswith("Folder: ") and len(lines) > 10 and blank == ""
    assert all(line.split() in report for line in lines)


def test_another_minter_is_created_where_the_old_one_was_moved_away(noid):
    noid("dbcreate", "f5.sd")
    assert noid.ids(1) == ["f50"]
    (noid.folder / "f57").mkdir()
    (noid.folder / "NOID").rename(noid.folder / "f57" / "NOID")
    noid("dbcreate", "kt.sd")
    assert noid.ids(1) == ["kt0"] and noid("-f", "f57", "mint", "1") == "id: f51\n\n"


def test_a_minter_moved_to_another_folder_continues_its_sequence(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "a", "b")
    noid("mint", "1")
    (noid.folder / "f57").mkdir()
    shutil.move(noid.folder / "NOID", noid.folder / "f57")
    assert noid("-f", "f57", "mint", "1") == "id: 13030/f5154dn7k\n\n"
