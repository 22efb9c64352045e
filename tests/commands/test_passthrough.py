"""Passthrough: what follows a bound name goes along to its target."""

from __future__ import annotations

import time

import pytest

from noidtools.names.targets import Target
from noidtools.resolution import NOT_FOUND, resolve
from support.minter import Noid
from support.templates import LONG_TERM

A, B = "https://a.example/", "https://b.example/"


@pytest.fixture
def minter(tmp_path):
    """A long-term minter with one bound name, 13030/kt4x551."""
    minter = Noid.created(tmp_path, *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


@pytest.fixture
def free(tmp_path):
    """A minter that binds anything."""
    minter = Noid.created(tmp_path)
    yield minter
    minter.close()


def led(minter: Noid, name: str | bytes, **options) -> str | None:
    """Where a name leads."""
    given = name if isinstance(name, bytes) else name.encode()
    found = resolve(minter.opened, given, **options).targets
    return found[0].url.decode() if found else None


@pytest.mark.parametrize(("name", "expected"), [
    ("ark:/13030/kt4x551/page", "https://a.example/x/page"),
    ("ark:/13030/kt4x551/a/b.pdf", "https://a.example/x/a/b.pdf"),
    ("ark:/13030/kt4x551.pdf", "https://a.example/x.pdf"),
    ("ark:/13030/kt4x551?x=1&y=a-b", "https://a.example/x?x=1&y=a-b"),
    ("ark:/13030/kt4-x551/my-file.pdf?x-y", "https://a.example/x/my-file.pdf?x-y"),
    ("ark:/13030/kt4x551/a%20b", "https://a.example/x/a%20b"),
    ("ark:/13030/kt4x551/a?b/c.d", "https://a.example/x/a?b/c.d"),
    ("ark:/13030/kt4x551#frag", "https://a.example/x#frag"),
    ("ark:/13030/kt4x551/../../etc", "https://a.example/x/../../etc"),
    ("ark:/13030/kt4x551x", None),
    ("ark:/13030/kt4x55", None),
    ("ark:/13030/kt4x551=1", None),
    ("ark:/13030/other/kt4x551", None),
    ("ark:/13030/", None),
    ("ark:/13030?x", None),
])
def test_extensions_of_a_bound_name(minter, name, expected):
    assert led(minter, name) == expected


def test_the_longest_bound_name_is_the_one(free):
    free.set_target("13030/kt1", A + "short")
    free.set_target("13030/kt1/chapter", A + "chapter")
    free.set_target("13030/kt1/chapter.v2", A + "v2")
    free.set_target("13030/kt11", A + "other")
    assert led(free, "ark:/13030/kt1/x") == A + "short/x"
    assert led(free, "ark:/13030/kt1/chapters") == A + "short/chapters"
    assert led(free, "ark:/13030/kt1/chapter/7") == A + "chapter/7"
    assert led(free, "ark:/13030/kt1/chapter.v2.pdf") == A + "v2.pdf"
    assert led(free, "ark:/13030/kt1/chapter.v1") == A + "chapter.v1"
    assert led(free, "ark:/13030/kt11/x") == A + "other/x"
    assert led(free, "ark:/13030/kt111/x") is None


def test_a_query_that_was_bound_is_part_of_a_name(free):
    free.set_target("13030/kt1", A)
    free.set_target("13030/kt1?v=2", B)
    assert led(free, "13030/kt1?v=2") == B
    assert led(free, "ark:/13030/kt1?v=2") == B
    assert led(free, "ark:/13030/kt1?v=3") == A + "?v=3"


def test_a_target_may_say_where_the_rest_goes(minter):
    minter.set_target("13030/kt4x551", "https://a.example/view?path=${suffix}&lang=en")
    assert led(minter, "ark:/13030/kt4x551/p1") == "https://a.example/view?path=/p1&lang=en"
    assert led(minter, "ark:/13030/kt4x551") == "https://a.example/view?path=&lang=en"


def test_all_targets_of_a_name_get_the_rest(minter):
    minter.set_target("13030/kt4x551", "https://a.example/x|303 https://b.example/y")
    found = resolve(minter.opened, b"ark:/13030/kt4x551/p").targets
    assert found == [Target(b"https://a.example/x/p"), Target(b"https://b.example/y/p", 303)]


def test_passthrough_can_be_turned_off_for_a_minter(minter):
    minter.text("resolver", "passthrough", "off")
    assert led(minter, "ark:/13030/kt4x551/page") is None
    assert led(minter, "ark:/13030/kt4x551?x=1") is None
    assert led(minter, "ark:/13030/kt4x551") == "https://a.example/x"
    minter.text("resolver", "passthrough", "on")
    assert led(minter, "ark:/13030/kt4x551/page") == "https://a.example/x/page"


def test_passthrough_can_be_turned_off_for_a_name(minter):
    other = minter.mint_with_target(B + "y")
    minter.text("resolver", "passthrough", "off", "13030/kt4x551")
    assert led(minter, "ark:/13030/kt4x551/page") is None
    assert led(minter, "ark:/13030/kt4x551") == "https://a.example/x"
    assert led(minter, f"ark:/{other}/page") == B + "y/page"
    minter.text("resolver", "passthrough", "on", "13030/kt4x551")
    assert led(minter, "ark:/13030/kt4x551/page") == "https://a.example/x/page"


@pytest.mark.parametrize("name", [
    b"ark:/13030/" + b"a/" * 30000, b"/" * 65536, b"." * 60000, b"%41" * 20000, b"ark:/13030/" + b"-" * 60000,
    b"\xff" * 60000, b"a" * 70000, b"?" * 60000, b"ark:" * 16000, b"https://" * 8000, b"x/ark:/1" * 8000,
    b"http://a/" + b"ark:" * 15000,
])
def test_a_long_hostile_name_costs_little(minter, name):
    started = time.thread_time()
    assert resolve(minter.opened, name).kind == NOT_FOUND
    assert time.thread_time() - started < 1
