"""Lists in values: adding items, and taking them apart again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.minter.bindings import append_item, prepend_item, split_items
from support.minter import Noid


@pytest.fixture
def minter(noid: Noid) -> Noid:
    noid("dbcreate", "kt.reeded")
    noid("mint", "1")
    return noid


def bind(minter: Noid, how: str, value: str) -> str:
    printed = minter("bind", how, "kt4x551", "list", value)
    return printed.partition("Status:  ")[2].strip()


def test_items_are_added_at_either_end(minter):
    assert bind(minter, "add-item", "two") == "ok, 3 bytes written as item 1 of 1"
    assert bind(minter, "append-item", "three") == "ok, 5 bytes written as item 2 of 2"
    assert bind(minter, "prepend-item", "one") == "ok, 3 bytes written as item 1 of 3"
    assert bind(minter, "insert-item", "zero") == "ok, 4 bytes written as item 1 of 4"
    assert minter("get", "kt4x551", "list") == "zero|one|two|three\n"
    assert minter("get", "--items", "kt4x551", "list") == "zero\none\ntwo\nthree\n"
    assert minter.records("get", "--items", "kt4x551", "list") == [
        {"name": "list", "items": ["zero", "one", "two", "three"]}
    ]


def test_what_was_bound_before_is_the_first_item(minter):
    bind(minter, "set", "a value")
    bind(minter, "append-item", "another")
    assert minter("get", "--items", "kt4x551") == "a value\nanother\n"
    bind(minter, "append", " and more")
    assert minter("get", "--items", "kt4x551") == "a value\nanother and more\n"


def test_a_list_must_be_there_where_the_way_to_bind_says_so(minter):
    for how in ("append-item", "prepend-item"):
        assert f"bind {how}: nothing is bound to list" in minter.refused("bind", how, "kt4x551", "list", "x", status=1)
    assert "may not be empty" in minter.refused("bind", "add-item", "kt4x551", "list", "", status=1)
    assert "Value is missing" in minter.refused("bind", "add-item", "kt4x551", "list", status=2)


def test_items_of_several_lines_and_several_elements_can_be_told_apart(minter):
    for value in ("one\ntwo", "a|b"):
        bind(minter, "add-item", value)
    minter("bind", "set", "kt4x551", "other", "x|y")
    assert minter("get", "--items", "kt4x551", "list", "other") == "one\n two\na|b\n\nx\ny\n"


def test_items_with_a_bar_and_with_its_escape_are_read_as_they_were_given(minter):
    given_items = ["a|b", "a%7Cb", "a%257Cb", "100% |%25|7C", "caf%C3%A9", "%7c"]
    for item in given_items:
        bind(minter, "add-item", item)
    assert minter("get", "--items", "kt4x551", "list").splitlines() == given_items
    assert minter.records("get", "--items", "kt4x551", "list") == [{"name": "list", "items": given_items}]
    assert minter("get", "kt4x551", "list").startswith("a%7Cb|a%257Cb|")


def test_an_address_with_escapes_is_no_other_address_as_an_item(minter):
    addresses = ["https://a.example/%7Cx%20y", "303 https://a.example/%257C", "/docs/%7C"]
    for address in addresses:
        minter("bind", "add-item", "kt4x551", "_t", address)
    assert minter("get", "--items", "kt4x551", "_t").splitlines() == addresses
    assert [target.url.decode() for target in minter.outcome("kt4x551").targets] == [
        address.removeprefix("303 ") for address in addresses]


def test_an_item_of_the_targets_is_a_target(minter):
    minter("bind", "set", "kt4x551", "_t", "https://a.example/")
    minter("bind", "append-item", "kt4x551", "_t", "https://b.example/x|y")
    minter("bind", "prepend-item", "kt4x551", "_t", "https://first.example/")
    assert [target.url for target in minter.outcome("kt4x551").targets] == [
        b"https://first.example/", b"https://a.example/", b"https://b.example/x%7Cy"
    ]


def test_the_history_has_the_value_before_and_after(minter):
    bind(minter, "add-item", "a")
    bind(minter, "add-item", "b")
    change = minter.newest_event().changes[0]
    assert (change.before, change.after) == (b"a", b"a|b")


def test_python_has_the_same_lists(tmp_path):
    import noidtools

    with noidtools.create(tmp_path, "kt.reeded") as minter:
        (name,) = minter.mint()
        minter.bind(name, "list", "a", how="add-item")
        minter.bind(name, "list", "b", how="append-item")
        assert minter.items(name, "list") == ["a", "b"]


@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1) | st.text("a|%257C/:", min_size=1).map(str.encode))))
def test_items_come_apart_as_they_were_put_together(added):
    value, expected = b"", []
    for last, item in added:
        value = append_item(value, item) if last else prepend_item(value, item)
        is_address = re.match(rb"/|[A-Za-z][A-Za-z0-9+.-]*://", item)
        expected.insert(len(expected) if last else 0, item.replace(b"|", b"%7C") if is_address else item)
    assert split_items(value) == expected


def test_an_empty_item_is_refused():
    for add in (append_item, prepend_item):
        with pytest.raises(InvalidError):
            add(b"a", b"")
