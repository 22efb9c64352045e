"""Finding names by words, elements, targets, state and date; and the index by which they are found."""

from __future__ import annotations

import json
import sqlite3

import pytest

import noidtools
from noidtools import search
from noidtools.errors import UsageError
from noidtools.minter.policies import EVERYTHING, PUBLISHED
from support.minter import Noid


@pytest.fixture
def minter(tmp_path):
    """Three names with a title and a target each."""
    minter = Noid.created(tmp_path / "m", "x.sdd")
    for title, url in (("Lettres à Uppsala", "https://a.example/1"), ("Letters to Uppsala", "https://A.example/2"),
                       ("A map of Uppsala", "https://b.example/letters")):
        (name,) = minter.mint()
        minter.records("bind", "set", name, "title", title)
        minter.records("bind", "set", name, "_t", url)
    yield minter
    minter.close()


def found(minter: Noid, *words: str) -> list[str]:
    return [record["id"] for record in minter.records("find", *words)]


def test_all_words_must_be_found_without_case_and_accents(minter):
    assert found(minter, "uppsala") == ["x00", "x01", "x02"]
    assert found(minter, "LETTRES", "a") == ["x00"]
    assert found(minter, "Uppsala", "map") == ["x02"]
    assert found(minter, "letters") == ["x01", "x02"]
    assert found(minter, "nothing") == []


def test_quotes_keep_words_together_and_a_star_is_the_end_of_a_beginning(minter):
    assert found(minter, '"to Uppsala"') == ["x01"]
    assert found(minter, "let*") == ["x00", "x01", "x02"]
    assert found(minter, "lettr*") == ["x00"]
    assert found(minter, "x01") == ["x01"]
    with pytest.raises(UsageError, match="quote"):
        found(minter, '"to')


@pytest.mark.parametrize("words", ["AND", "NOT x", "a:b", "(", "*", "-", "'; DROP TABLE names", "NEAR(a b)", "\u0000"])
def test_no_word_is_taken_for_the_language_of_the_index(minter, words):
    assert found(minter, words) in ([], ["x00"], ["x02"])
    assert found(minter, "uppsala") == ["x00", "x01", "x02"]


def test_the_words_of_one_element_are_looked_for_there_alone(minter):
    assert found(minter, "--element", "title=letters") == ["x01"]
    assert found(minter, "--element", "title=lettres", "--element", "_t=a.example") == ["x00"]
    with pytest.raises(UsageError, match="NAME=WORDS"):
        found(minter, "--element", "title")


def test_names_are_found_by_their_target_its_beginning_and_its_host(minter):
    assert found(minter, "--target", "https://a.example/1") == ["x00"]
    assert found(minter, "--target", "https://a.example/*") == ["x00", "x01"]
    assert found(minter, "--target", "A.Example") == ["x00", "x01"]
    assert found(minter, "--target", "example") == []
    minter.records("bind", "set", "x02", "_t", "https://c.example/[x]*?|https://a.example/3")
    assert found(minter, "--target", "a.example") == ["x00", "x01", "x02"]
    assert found(minter, "--target", "https://c.example/[x]*") == ["x02"]


def test_each_change_is_found_by_the_next_search(minter):
    assert found(minter, "atlas") == []
    minter.records("bind", "set", "x00", "title", "Atlas")
    assert found(minter, "atlas") == ["x00"] and found(minter, "lettres") == []
    minter.records("bind", "purge", "x00", "title")
    assert found(minter, "atlas") == []
    minter.records("mint", "1", "title", "Atlas")
    minter.records("mint", "5", "title", "Atlas minor")
    assert found(minter, "atlas") == ["x03", "x04", "x05", "x06", "x07", "x08"]
    minter.records("mint", "3")
    minter.records("retarget", "--from", "https://a.example/", "--to", "https://new.example/")
    assert found(minter, "--target", "new.example") == ["x00"]
    minter.records("undo", str(minter.event_count()))
    assert found(minter, "--target", "new.example") == []


def test_reserved_names_are_found_by_those_alone_who_may_see_them(minter):
    minter.records("reserve", "x01")
    query = search.Query(words="uppsala")
    with noidtools.open(minter.folder) as opened:
        core = opened._open
        assert [name.identifier for name in search.find(core, EVERYTHING, query).names] == ["x00", "x01", "x02"]
        assert [name.identifier for name in search.find(core, PUBLISHED, query).names] == ["x00", "x02"]
    assert found(minter, "uppsala", "--state", "reserved") == ["x01"]


def test_of_a_withdrawn_name_nothing_is_found_but_the_name(minter):
    minter.records("withdraw", "x02")
    assert found(minter, "map") == [] and found(minter, "x02") == ["x02"]
    (record,) = minter.records("list", "--state", "withdrawn")
    assert record["id"] == "x02" and "title" not in record


def test_names_are_listed_in_order_and_by_prefix_state_and_date(minter):
    assert [record["id"] for record in minter.records("list")] == ["x00", "x01", "x02"]
    assert [record["id"] for record in minter.records("list", "--limit", "2")] == ["x00", "x01"]
    assert [record["id"] for record in minter.records("list", "--prefix", "x02")] == ["x02"]
    assert minter.records("list", "--changed-since", "2999") == []
    with pytest.raises(UsageError, match="a state is one of"):
        minter.records("list", "--state", "new")


def test_names_are_found_by_the_time_of_their_last_change(tmp_path):
    minter = Noid.with_clock(tmp_path / "m", "x.sdd")
    minter.mint()
    minter.clock.set("20261117120000")
    minter.records("bind", "set", minter.mint()[0], "title", "Letters")
    for dates, expected in ((("2026", "2026"), ["x00", "x01"]), (("2026-11-16", "2026-11-16"), ["x00"]),
                            (("2026-11-17", "2026-11-17T12:00:00"), ["x01"]),
                            (("2026-11-16", "2026-11-17T11:59:59"), ["x00"]), (("2026", "2025"), [])):
        selection = ("--changed-since", dates[0], "--changed-until", dates[1])
        assert [record["id"] for record in minter.records("list", *selection)] == expected, dates
        assert found(minter, "letters", *selection) == [name for name in expected if name == "x01"]
    # What was changed again is no longer among the earlier ones.
    minter.records("bind", "set", "x00", "title", "Map")
    assert minter.records("list", "--changed-until", "2026-11-16") == []
    minter.close()


def test_json_has_all_elements(minter):
    line = minter.text("find", "lettres", "--json")
    assert json.loads(line) == {"id": "x00", "state": "published",
                                "elements": {"_t": "https://a.example/1", "title": "Lettres à Uppsala"}}


def test_pages_follow_each_other_by_their_cursors(minter):
    with noidtools.open(minter.folder) as opened:
        core = opened._open
        for query in (search.Query(words="uppsala"), search.Query()):
            names, cursor = [], ""
            while True:
                page = search.find(core, EVERYTHING, query, 1, cursor)
                names += [name.identifier for name in page.names]
                cursor = page.cursor
                if not cursor:
                    break
            assert names == ["x00", "x01", "x02"]
            with pytest.raises(UsageError, match="cursor"):
                search.find(core, EVERYTHING, query, 1, "zz")


def test_an_index_that_is_damaged_or_missing_is_made_anew(minter):
    assert found(minter, "map") == ["x02"]
    index = minter.folder / "NOID" / "search.sqlite"
    index.unlink()
    assert found(minter, "map") == ["x02"]
    with sqlite3.connect(index) as database:
        database.execute("PRAGMA user_version = 99")
    assert found(minter, "map") == ["x02"]
    index.write_bytes(b"no database" * 1000)
    assert found(minter, "map") == ["x02"]


def test_a_restored_minter_is_searched_as_it_is(minter, tmp_path):
    minter.records("backup", str(tmp_path / "copy"))
    minter.records("bind", "set", "x02", "title", "Atlas")
    assert found(minter, "atlas") == ["x02"]
    minter.records("restore", str(tmp_path / "copy"))
    assert found(minter, "atlas") == [] and found(minter, "map") == ["x02"]


def test_python_finds_names(minter):
    with noidtools.open(minter.folder) as opened:
        names = list(opened.find("uppsala", elements={"title": "map"}))
        assert [(name.identifier, name.target) for name in names] == [("x02", "https://b.example/letters")]
        assert [name.identifier for name in opened.find(host="a.example")] == ["x00", "x01"]
        assert [name.identifier for name in opened.find(prefix="x0", limit=2)] == ["x00", "x01"]


def test_what_a_command_of_the_same_name_changes_again_is_found(minter):
    retarget = ("retarget", "--from", "https://a.example/", "--to", "https://c.example/", "--name", "move")
    minter.records(*retarget)
    assert found(minter, "--target", "c.example") == ["x00"]
    minter.records("bind", "set", "x02", "_t", "https://a.example/3")
    minter.records("bind", "set", "x00", "_t", "https://a.example/1")
    assert found(minter, "--target", "a.example") == ["x00", "x01", "x02"]
    minter.records(*retarget)
    assert found(minter, "--target", "a.example") == ["x01"]
    assert found(minter, "--target", "c.example") == ["x00", "x02"]


def test_targets_are_those_of_the_element_that_holds_them_now(minter):
    minter.records("bind", "set", "x00", "url", "https://c.example/1")
    assert found(minter, "--target", "c.example") == []
    minter.records("resolver", "element", "url")
    assert found(minter, "--target", "c.example") == ["x00"]
    assert found(minter, "--target", "b.example") == []


def test_bytes_that_are_not_utf8_neither_stop_the_index_nor_a_search(minter):
    minter.records("bind", "set", "x00", "_t", b"https://a.example/\xff")
    minter.records("bind", "set", "x00", "title", b"M\xe4rz")
    assert found(minter, "--target", "a.example") == ["x00", "x01"]
    assert found(minter, b"M\xe4rz") == ["x00"]
