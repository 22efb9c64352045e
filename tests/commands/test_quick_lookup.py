"""The quick way to a target finds what the steps of resolving would find, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.cli.noidr import MinterResolver
from noidtools.minter import Minter
from noidtools.names import targets
from noidtools.resolution import FOUND, Lookup, follow_aliases, plain_target
from support.minter import Noid
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
    web = value.startswith((b"https://", b"http://")) and b"%" not in value
    assert targets.is_plain(value) == (plain and web)


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    made.mint(1)
    yield made
    made.close()


def answers(minter: Minter, name: bytes) -> tuple[bytes | None, list[bytes]]:
    """By the quick way, and by all steps."""
    def work(reader):
        outcome = follow_aliases(Lookup(minter, reader, b"_t").find, name)
        urls = [target.url for target in outcome.targets]
        return plain_target(minter, reader, name, b"_t"), urls if outcome.kind == FOUND else []

    return minter.read(work)


@given(URLS, st.sampled_from(["", "reserve", "withdraw", "alias"]),
       st.sampled_from([NAME, f"ark:/{NAME}", "13030/kt4-x551", f"{NAME}/page", "13030/other", ""]))
@settings(max_examples=60, deadline=None)
def test_the_quick_way_finds_what_all_steps_find(tmp_path_factory, value, state, asked):
    noid = Noid.created(tmp_path_factory.mktemp("quick") / "kt5", *LONG_TERM)
    _, other = noid.mint(2)
    noid.set_target(NAME, value)
    if state == "alias":
        noid.records("alias", NAME, other)
        noid.set_target(other, "https://other.example/")
    elif state:
        noid.records(state, NAME)
    quick, found = answers(noid.opened, asked.encode())
    assert quick is None or [quick] == found
    if state or asked not in (NAME, f"ark:/{NAME}") or not targets.is_plain(value):
        assert quick is None
    else:
        assert quick == value
    noid.close()


def test_noidr_answers_alike_with_the_element_named_and_not(minter):
    minter.set_target(NAME, "https://a.example/x")
    resolver = MinterResolver(str(minter.folder))
    for name in (NAME.encode(), b"ark:/" + NAME.encode()):
        assert resolver.answer(name, None)[0] == resolver.answer(name, b"_t")[0] == b"https://a.example/x"
