"""The quick way to a target finds what the steps of resolving would find, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.cli.noidr import MinterResolver
from noidtools.cli.reply_protocol import ReplyProtocol
from noidtools.minter import Minter
from noidtools.names import targets
from noidtools.resolution import FOUND, Lookup, follow_aliases, plain_targets
from support.minter import Noid
from support.noidr import take
from support.templates import LONG_TERM

NAME = "13030/kt4x551"
URLS = st.one_of(
    st.sampled_from([b"https://a.example/x", b"http://a.example", b"https://", b"http:///x", b"https://?x", b"/path",
                     b"303 https://a.example/", b"https://a.example/|https://b.example/", b"https://a.example/${suffix}",
                     b"https://a.example/\nx", b"HTTPS://a.example/", b"https:\\\\a.example", b"mailto:a@b.example",
                     b"https://a.example/%41", "https://münchen.example/ä".encode(), b" https://a.example/ ", b" "]),
    st.binary(max_size=12).map(lambda rest: b"https://" + rest),
    st.binary(max_size=12),
)


@given(URLS)
@settings(max_examples=500)
def test_a_plain_value_is_one_target_that_needs_no_change(value):
    if targets.is_plain(value):
        assert targets.parse(value) == [targets.Target(value)]
        assert targets.location(value) == value == targets.one_line(value) == targets.extended(value, b"")


@given(URLS)
@settings(max_examples=300)
def test_a_web_address_of_plain_characters_is_plain(value):
    (target, *others) = targets.parse(value) or [targets.Target(b"")]
    plain = not others and target == targets.Target(value) and targets.location(value) == value
    web = value.startswith((b"https://", b"http://")) and b"%" not in value and b"noidu" not in value.lower()
    assert targets.is_plain(value) == (plain and web)


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    made.mint(1)
    yield made
    made.close()


def found_in_all_steps(minter: Minter, name: bytes) -> list[bytes]:
    def work(reader):
        outcome = follow_aliases(Lookup(minter, reader, b"_t").find, name)
        urls = [target.url for target in outcome.targets]
        return urls if outcome.kind == FOUND else []

    return minter.read(work)


@given(URLS, st.sampled_from(["", "reserve", "withdraw", "alias"]),
       st.sampled_from([NAME, f"ark:/{NAME}", "13030/kt4-x551", f"{NAME}/page", "13030/other", ""]))
@settings(max_examples=60, deadline=None)
def test_the_quick_way_finds_what_all_steps_find(tmp_path_factory, value, state, asked):
    noid = Noid.created(tmp_path_factory.mktemp("quick") / "kt5", *LONG_TERM)
    _, other = noid.mint(2)
    noid.set_target(NAME, value)
    quick = plain_targets(noid.opened, max_age=60.0)
    # From the third time on it knows what holds for all names of this version.
    before = [quick.find(NAME.encode(), b"_t")[0] for _ in range(3)]
    assert before == 3 * [value if targets.is_plain(value) else None]
    if state == "alias":
        noid.records("alias", NAME, other)
        noid.set_target(other, "https://other.example/")
    elif state:
        noid.records(state, NAME)
    plain = not state and asked in (NAME, f"ark:/{NAME}") and targets.is_plain(value)
    for _ in range(3):
        found, version = quick.find(asked.encode(), b"_t")
        assert found == (value if plain else None)
        if plain:
            assert found_in_all_steps(noid.opened, asked.encode()) == [found]
            assert version == noid.opened.store.version()
    noid.close()


def test_the_quick_way_is_open_to_other_names_of_a_minter_with_aliases(minter):
    (other,) = minter.mint(1)
    minter.set_target(NAME, "https://a.example/x")
    minter.records("alias", other, NAME)
    minter.set_target(other, "https://hidden.example/")
    quick = plain_targets(minter.opened, max_age=60.0)
    for _ in range(4):
        assert quick.find(NAME.encode(), None)[0] == b"https://a.example/x"
        assert quick.find(other.encode(), None)[0] is None


def test_the_quick_way_notices_each_change(minter):
    quick = plain_targets(minter.opened, max_age=60.0)
    for number in range(20):
        minter.set_target(NAME, f"https://a.example/{number}")
        for _ in range(number % 4 + 1):
            assert quick.find(NAME.encode(), None)[0] == b"https://a.example/%d" % number


def test_noidr_answers_alike_with_the_element_named_and_not(minter):
    minter.set_target(NAME, "https://a.example/x")
    resolver = MinterResolver(str(minter.folder))
    for name in (NAME.encode(), b"ark:/" + NAME.encode()):
        assert resolver.answer(name, None)[0] == resolver.answer(name, b"_t")[0] == b"https://a.example/x"


def test_noidr_without_a_named_element_follows_the_minters_choice(minter):
    minter.set_target(NAME, "https://a.example/x")
    minter.records("bind", "set", NAME, "where", "https://b.example/y")
    resolver = MinterResolver(str(minter.folder))
    assert resolver.answer(NAME.encode(), None)[0] == b"https://a.example/x"
    minter.records("resolver", "element", "where")
    for _ in range(3):
        assert resolver.answer(NAME.encode(), None)[0] == b"https://b.example/y"
        assert resolver.answer(NAME.encode(), b"_t")[0] == b"https://a.example/x"
    minter.records("resolver", "element", "-")
    assert resolver.answer(NAME.encode(), None)[0] == b"https://a.example/x"


@pytest.mark.parametrize("lookups", range(4))
def test_the_quick_way_follows_a_change_of_the_element_at_once(minter, lookups):
    """However often it looked before, and with it what it knows of all names."""
    minter.set_target(NAME, "https://a.example/x")
    minter.records("bind", "set", NAME, "where", "https://b.example/y")
    quick = plain_targets(minter.opened, max_age=60.0)
    replies = ReplyProtocol(MinterResolver(str(minter.folder)))
    for element, target in (("where", b"https://b.example/y"), ("_t", b"https://a.example/x")):
        minter.records("resolver", "element", element)
        for _ in range(lookups):
            assert quick.find(NAME.encode(), None)[0] in (target, None)
            assert take(replies, NAME.encode() + b"\n") == target + b"\n"
    minter.records("resolver", "element", "where")
    assert quick.find(NAME.encode(), None)[0] in (b"https://b.example/y", None)
    assert quick.find(NAME.encode(), b"_t")[0] == b"https://a.example/x"
    assert take(replies, NAME.encode() + b"\n") == b"https://b.example/y\n"
