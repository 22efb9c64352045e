"""The command identify: an item has one identifier, whoever asks, however often, and whatever happens meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noidtools
from support.killed import COMMITS, every_kill
from support.minter import Noid
from support.process import NoidProcess

pytestmark = pytest.mark.only("lmdb")


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path / "m", "kt.seed", "medium", "13030")
    yield made
    made.close()


def identified(minter: Noid, item: str | bytes, *words: str) -> str:
    return minter("identify", item, *words).removeprefix("id: ").strip()


def test_an_item_gets_an_identifier_and_keeps_it(minter):
    first, second = identified(minter, "a"), identified(minter, "b")
    assert (first, second) == ("13030/kt000", "13030/kt001")
    assert minter("get", first, "item") == "a\n"
    before = minter.event_count()
    assert [identified(minter, "a"), identified(minter, "b")] == [first, second]
    assert minter.event_count() == before, "nothing is recorded when it is asked again"
    minter("bind", "set", first, "item", "something else")
    minter("withdraw", first)
    assert identified(minter, "a") == first, "whatever was done to it"
    assert minter("mint", "1") == "id: 13030/kt002\n\n"
    assert "ok" in NoidProcess(minter.folder)("check")


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=15))
@settings(max_examples=20, deadline=None)
def test_it_is_an_injective_function(tmp_path_factory, items):
    made = Noid.created(tmp_path_factory.mktemp("items"), "kt.seed")
    try:
        labels = [made.records("identify", b"x" + item)[0]["id"] for item in items]
        assert len(set(labels)) == len(set(items))
        assert dict(zip(items, labels, strict=True)) == dict(zip(reversed(items), reversed(labels), strict=True))
    finally:
        made.close()


def test_many_who_ask_at_the_same_time_get_the_same(tmp_path):
    Noid.created(tmp_path, "kt.seed").close()
    with noidtools.open(tmp_path) as minter, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(minter.identify, ["a", "b"] * 40))
        assert set(found[::2]) == {"kt000"} or set(found[::2]) == {"kt001"}
        assert len(set(found)) == 2 and minter.info().drawn == 2


def test_a_process_that_is_killed_leaves_an_item_with_one_identifier_or_none(tmp_path):
    numbers = count()

    def made():
        folder = tmp_path / str(next(numbers))
        Noid.created(folder, "kt.seed").close()
        return folder

    for folder in every_kill(made, COMMITS, "identify", "a"):
        with noidtools.open(folder) as minter:
            drawn = minter.info().drawn
            assert minter.identify("a") == "kt000" and minter.info().drawn == 1 and drawn in (0, 1)
            assert minter.identify("b") == "kt001"


def test_an_identifier_that_was_given_to_somebody_else_is_not_that_of_the_item(minter):
    first = identified(minter, "a")
    minter("queue", "now", first)
    assert minter("mint", "1") == f"id: {first}\n\n"
    assert identified(minter, "a") == "13030/kt001"
    assert identified(minter, "a") == "13030/kt001"


def test_when_no_identifier_is_left_the_known_ones_are_still_given(tmp_path):
    minter = Noid.created(tmp_path, "x.sd")
    labels = [identified(minter, str(number)) for number in range(10)]
    assert "no identifier" in minter.refused("identify", "10") or "used up" in minter.refused("identify", "10")
    assert [identified(minter, str(number)) for number in range(10)] == labels
    minter.close()


@pytest.mark.parametrize("item", ["", "x" * 10_001])
def test_what_cannot_name_an_item_is_refused(minter, item):
    assert "1 to 10000 bytes" in minter.refused("identify", item)
    assert identified(minter, b"\xff\n \x01'\"") == "13030/kt000"
    assert identified(minter, b"\xff\n \x01'\"") == "13030/kt000"


# -- routes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def routed(tmp_path):
    """A folder of two minters and routes to them."""
    for name in ("maps", "books"):
        Noid.created(tmp_path / name, f"{name[0]}.sd").close()
    (tmp_path / "routes").write_text("match ^map/ maps\nshare books\n")
    return Noid(tmp_path)


def test_the_routes_choose_the_minter(routed, tmp_path):
    assert [identified(routed, item) for item in ("map/1", "x", "map/2", "map/1")] == ["m0", "b0", "m1", "m0"]
    (tmp_path / "other").write_text("share maps\n")
    assert identified(routed, "y", "--routes", str(tmp_path / "other")) == "m2"


def test_an_item_keeps_its_identifier_when_the_routes_are_changed(routed, tmp_path):
    assert identified(routed, "map/1") == "m0"
    (tmp_path / "routes").write_text("share books\nmatch never maps\n")
    assert [identified(routed, "map/1"), identified(routed, "map/2")] == ["m0", "b0"]
    (tmp_path / "routes").write_text("match ^web http://x.example/noidu\nmatch never gone\nshare books\n")
    assert identified(routed, "new") == "b1", "a minter that is not there, or elsewhere, is passed over"
    assert "another server: identify the item there" in routed.refused("identify", "web/1")


def test_routes_that_lead_nowhere_are_refused(routed, tmp_path):
    (tmp_path / "routes").write_text("match ^a nowhere\n")
    assert "minter" in routed.refused("identify", "a")
    assert "no line" in routed.refused("identify", "b")
    assert "cannot be read" in routed.refused("identify", "b", "--routes", "none")
