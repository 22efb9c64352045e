"""Passthrough: what follows a bound name goes along to its target."""

from __future__ import annotations

import time

import pytest

from noidtools.names.targets import Target
from noidtools.resolution import NOT_FOUND

A, B = "https://a.example/", "https://b.example/"


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
def test_an_extension_of_a_bound_name_is_appended_to_its_target(minter, name, expected):
    assert minter.target_of(name) == expected


def test_the_longest_bound_name_is_extended(free):
    free.set_target("13030/kt1", A + "short")
    free.set_target("13030/kt1/chapter", A + "chapter")
    free.set_target("13030/kt1/chapter.v2", A + "v2")
    free.set_target("13030/kt11", A + "other")
    assert free.target_of("ark:/13030/kt1/x") == A + "short/x"
    assert free.target_of("ark:/13030/kt1/chapters") == A + "short/chapters"
    assert free.target_of("ark:/13030/kt1/chapter/7") == A + "chapter/7"
    assert free.target_of("ark:/13030/kt1/chapter.v2.pdf") == A + "v2.pdf"
    assert free.target_of("ark:/13030/kt1/chapter.v1") == A + "chapter.v1"
    assert free.target_of("ark:/13030/kt11/x") == A + "other/x"
    assert free.target_of("ark:/13030/kt111/x") is None


def test_a_query_that_was_bound_is_part_of_a_name(free):
    free.set_target("13030/kt1", A)
    free.set_target("13030/kt1?v=2", B)
    assert free.target_of("13030/kt1?v=2") == B
    assert free.target_of("ark:/13030/kt1?v=2") == B
    assert free.target_of("ark:/13030/kt1?v=3") == A + "?v=3"


@pytest.mark.parametrize(("target", "plain", "longer"), [
    ("ark:${content}", "ark:13030/kt4x551", "ark:13030/kt4x551/p-1?q"),
    ("${scheme}/${prefix}/${value}", "ark/13030/kt4x551", "ark/13030/kt4x551/p-1?q"),
    ("${pid}", "ark:13030/kt4-x551", "ark:13030/kt4-x551/p-1?q"),
    ("${identifier}", "ark:/13030/kt4x551", "ark:/13030/kt4x551/p-1?q"),
    ("?id=$id&x=$idea", "?id=13030/kt4x551&x=$idea", "?id=13030/kt4x551/p-1?q&x=$idea"),
    ("${value}${suffix}", "kt4x551", "kt4x551/p-1?q/p-1?q"),
    ("${other}", "${other}", "${other}/p-1?q"),
])
def test_a_target_is_a_template(minter, target, plain, longer):
    minter.set_target("13030/kt4x551", A + target)
    assert minter.target_of("ark:13030/kt4-x551") == A + plain
    assert minter.target_of("ark:13030/kt4-x551/p-1?q") == A + longer


def test_one_rule_hands_a_shoulder_on(minter):
    minter.text("bind", "set", ":idmap/^13030/zz.*", "_t", "303 https://partner.example/ark:$&")
    assert minter.outcome("ark:/13030/zz-1/x").targets == [Target(b"https://partner.example/ark:13030/zz1/x", 303)]
    assert minter.target_of("ark:/13030/zy1") is None


@pytest.mark.parametrize("target", ["https://${value}.example/", "https://a.example$id/", "/docs/${pid}"])
def test_no_variable_changes_the_site_of_a_target(minter, target):
    minter.set_target("13030/kt4x551", target)
    assert minter.target_of("http://x/../ark:/13030/kt4x551/../../etc") is None


def test_a_target_may_contain_a_place_for_the_extension(minter):
    minter.set_target("13030/kt4x551", "https://a.example/view?path=${suffix}&lang=en")
    assert minter.target_of("ark:/13030/kt4x551/p1") == "https://a.example/view?path=/p1&lang=en"
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/view?path=&lang=en"


def test_all_targets_of_a_name_get_the_extension(minter):
    minter.set_target("13030/kt4x551", "https://a.example/x|303 https://b.example/y")
    found = minter.outcome(b"ark:/13030/kt4x551/p").targets
    assert found == [Target(b"https://a.example/x/p"), Target(b"https://b.example/y/p", 303)]


def test_passthrough_can_be_turned_off_for_a_minter(minter):
    minter.text("resolver", "passthrough", "off")
    assert minter.target_of("ark:/13030/kt4x551/page") is None
    assert minter.target_of("ark:/13030/kt4x551?x=1") is None
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/x"
    minter.text("resolver", "passthrough", "on")
    assert minter.target_of("ark:/13030/kt4x551/page") == "https://a.example/x/page"


def test_passthrough_can_be_turned_off_for_a_name(minter):
    other = minter.mint_with_target(B + "y")
    minter.text("resolver", "passthrough", "off", "13030/kt4x551")
    assert minter.target_of("ark:/13030/kt4x551/page") is None
    assert minter.target_of("ark:/13030/kt4x551") == "https://a.example/x"
    assert minter.target_of(f"ark:/{other}/page") == B + "y/page"
    minter.text("resolver", "passthrough", "on", "13030/kt4x551")
    assert minter.target_of("ark:/13030/kt4x551/page") == "https://a.example/x/page"


@pytest.mark.parametrize("name", [
    b"ark:/13030/" + b"a/" * 30000, b"/" * 65536, b"." * 60000, b"%41" * 20000, b"ark:/13030/" + b"-" * 60000,
    b"\xff" * 60000, b"a" * 70000, b"?" * 60000, b"ark:" * 16000, b"https://" * 8000, b"x/ark:/1" * 8000,
    b"http://a/" + b"ark:" * 15000,
])
def test_a_long_hostile_name_is_refused_quickly(minter, name):
    started = time.thread_time()
    assert minter.outcome(name).kind == NOT_FOUND
    assert time.thread_time() - started < 1
