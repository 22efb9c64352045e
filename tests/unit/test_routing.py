"""The same item always gets the same minter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.commands.items import Routes
from noidtools.errors import InvalidError, NotFoundError

items = st.binary(min_size=1, max_size=40)
names = st.lists(st.from_regex(rb"[a-z0-9./:]{1,12}", fullmatch=True), min_size=2, max_size=12, unique=True)


def share(minters: list[bytes]) -> Routes:
    return Routes(b"share " + b" ".join(minters))


def test_sharing_is_the_same_on_every_computer_and_in_every_release():
    routes = share([b"one", b"two", b"three"])
    found = [routes.minter_for(b"item %d" % number).decode() for number in range(8)]
    assert found == ["two", "two", "one", "three", "two", "three", "one", "three"]


@given(names, items)
def test_an_item_moves_only_to_a_minter_that_joined_or_from_one_that_left(minters, item):
    *old, new = minters
    before, after = share(old).minter_for(item), share(minters).minter_for(item)
    assert after in (before, new)
    assert share(minters[::-1]).minter_for(item) == after, "their order does not matter"


def test_items_are_shared_evenly_and_few_move_when_a_minter_joins():
    ten = [b"minter-%d" % number for number in range(10)]
    many = [b"item %d" % number for number in range(5000)]
    before, after = share(ten), share([*ten, b"another"])
    found = [before.minter_for(item) for item in many]
    assert all(400 < found.count(minter) < 600 for minter in ten)
    moved = sum(after.minter_for(item) != minter for item, minter in zip(many, found, strict=True))
    assert 5000 / 11 * 0.8 < moved < 5000 / 11 * 1.2


@pytest.mark.parametrize(("text", "fault"), [
    (b"match ^a", "line 1 of the routes: a route is"), (b"# fine\nshare", "line 2"), (b"hash a b", "a route is"),
    (b"match ( x", "does not compile"), (b"share a b a", "named twice"), (b"match 'a b", "not closed"),
])
def test_a_wrong_line_is_named(text, fault):
    with pytest.raises(InvalidError) as refusal:
        Routes(text)
    assert fault in refusal.value.message


def test_an_item_that_no_line_takes_is_refused_with_the_remedy():
    with pytest.raises(NotFoundError) as refusal:
        Routes(b"match ^a b").minter_for(b"c")
    assert "share" in refusal.value.message
    for item in (b"", b"x" * 10_001):
        with pytest.raises(InvalidError):
            Routes(b"share a").minter_for(item)
