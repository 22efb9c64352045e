"""The protocol of a RewriteMap program: one reply line for each request line, whatever happens."""

from __future__ import annotations

import re
import shutil
import time
from io import BytesIO
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.cli import noidr
from noidtools.cli.noidr import Replies
from noidtools.cli.supervisor import LONGEST_LINE, SharedInput
from noidtools.errors import StoreError
from noidtools.store.lmdb.store import LmdbStore
from support.minter import Noid
from support.project import CONF
from support.templates import LONG_TERM

NAME = b"13030/kt4x551"

# -- lines -----------------------------------------------------------------------------------------------------------


def lines_read(shared: SharedInput, pieces: list[bytes]) -> list[bytes]:
    """The lines that a worker answers when its input comes in these pieces, and then ends."""
    found, pending = [], iter(pieces)
    more = True
    while more:
        more = shared.read(lambda buffer: BytesIO(next(pending, b"")).readinto(buffer)) or shared.end_line()
        while (line := shared.first_line()) is not None:
            found.append(line)
            shared.remove(line)
    return found


@given(st.binary(max_size=200), st.lists(st.integers(1, 30), max_size=20))
def test_any_input_in_any_pieces_is_read_line_by_line(data, cuts):
    pieces, rest = [], data
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    shared = SharedInput()
    expected = data.split(b"\n")
    assert lines_read(shared, [piece for piece in (*pieces, rest) if piece]) == (
        expected if expected[-1] else expected[:-1])
    assert shared.is_empty() and not shared.writing


def test_a_line_longer_than_any_name_is_cut_and_those_after_it_are_whole():
    shared = SharedInput()
    data = b"x" * 3_000_000 + b"\nnext\n"
    first, *others = lines_read(shared, [data[start : start + 4096] for start in range(0, len(data), 4096)])
    assert len(first) >= LONGEST_LINE and first[:-6].strip(b"x") == b"" and others == [b"next"]


def test_a_second_worker_goes_on_where_the_first_one_died():
    shared = SharedInput()
    shared.read(BytesIO(b"first\nsecond\nthi").readinto)
    shared.find_end()  # as the parent does, and the next worker
    assert shared.first_line() == b"first"
    shared.remove(b"first")
    shared.find_end()
    assert lines_read(shared, [b"rd\n"]) == [b"second", b"third"]


@pytest.mark.parametrize(("line", "name"), [
    (b"get 13030/x myGoto", b"13030/x"), (b"get a b c d", b"a b c"), (b'get "a b" c', b'"a b"'),
    (b"get 13030/x  myGoto ", b"13030/x "), (b"get  myGoto", b""), (b"get myGoto", b"get myGoto"),
    (b"getx y", b"getx y"), (b"GET x y", b"GET x y"), (b"bind set a b c", b"bind set a b c"), (b"", b""),
    (b"a\0b\x1b", b"a%00b%1B"),
])
def test_a_request_line_may_name_an_element(tmp_path, line, name):
    replies = Replies(str(tmp_path), echo=True, log=lambda message: None)
    assert replies.reply(line) == b"\x02" + name + b" NULL\n"
    if b"\0" not in line:
        replies = Replies(str(tmp_path), b"_t", echo=True, codes=True, log=lambda message: None)
        assert replies.reply(line) == b"\x02" + line + b" 503\n"


# -- replies ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def minter(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == NAME.decode()
    yield minter
    minter.close()


@pytest.fixture
def replies(minter):
    made = Replies(str(minter.folder), log=lambda message: None)
    yield made
    made.close()


@pytest.mark.parametrize("value", [b"a\nb", b"a\r\nb", b"\0", b"\x1b[2J", bytes(range(1, 256)), b"\x02a b"])
def test_a_value_can_never_become_two_lines(minter, replies, value):
    minter.set_target(NAME, value)
    reply = replies.reply(NAME)
    assert reply.count(b"\n") == 1 and reply.endswith(b"\n")
    assert not any(octet < 0x20 or octet == 0x7F for octet in reply[:-1])


@pytest.mark.only("lmdb")
def test_replies_are_cached_until_the_database_changes(minter, replies, monkeypatch):
    looked_up = []
    follow = noidr.follow_aliases
    monkeypatch.setattr(noidr, "follow_aliases", lambda find, name: looked_up.append(name) or follow(find, name))
    monkeypatch.setattr(noidr, "_MOST_CACHED", 2)
    for _ in range(3):
        assert replies.reply(NAME) == b"https://a.example/x\n" and replies.reply(b"x") == b"NULL\n"
    assert looked_up == [NAME, b"x"]
    minter.set_target(NAME, "https://b.example/")
    for _ in range(3):
        assert replies.reply(NAME) == b"https://b.example/\n"
    assert looked_up == [NAME, b"x", NAME]
    # When it is full, it is cleared.
    for line in (b"x", b"y", b"y", NAME):
        replies.reply(line)
    assert looked_up[3:] == [b"x", b"y", NAME]


@pytest.mark.only("lmdb")
def test_without_a_named_element_the_minters_choice_is_read(minter, replies):
    minter.records("bind", "set", NAME, "where", "https://b.example/y")
    assert replies.reply(NAME) == b"https://a.example/x\n"
    minter.records("resolver", "element", "where")
    assert replies.reply(NAME) == b"https://b.example/y\n"
    assert replies.reply(b"get %b _t" % NAME) == b"https://a.example/x\n"
    minter.records("resolver", "element", "-")
    assert replies.reply(NAME) == b"https://a.example/x\n"


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("failure", [MemoryError(), StoreError("on demand")])
def test_a_failed_lookup_gives_null_and_is_not_cached(minter, monkeypatch, failure):
    log: list[str] = []
    replies = Replies(str(minter.folder), log=log.append)
    assert replies.reply(NAME) == b"https://a.example/x\n"

    def broken(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(LmdbStore, "read", broken)
    for _ in range(3):
        assert replies.reply(b"%b/1" % NAME) == b"NULL\n"
    assert len(log) == 1
    monkeypatch.undo()
    time.sleep(0.3)
    assert replies.reply(b"%b/1" % NAME) == b"https://a.example/x/1\n"
    replies.close()


@pytest.mark.only("lmdb")
def test_what_was_cached_from_a_minter_is_not_used_for_another_in_its_place(minter, replies):
    for _ in range(3):
        assert replies.reply(NAME) == b"https://a.example/x\n"
    minter.close()
    shutil.rmtree(minter.folder)
    time.sleep(0.02)
    replies.reply(b"unknown")
    other = Noid.created(minter.folder, *LONG_TERM)
    other.mint_with_target("https://b.example/y")
    other.close()
    time.sleep(0.3)
    assert replies.reply(b"unknown") == b"NULL\n"
    assert replies.reply(NAME) == b"https://b.example/y\n"


# -- the shipped rules -----------------------------------------------------------------------------------------------


def shipped_condition() -> re.Pattern[str]:
    """The pattern by which the shipped rules recognise the answer to their question."""
    lines = (CONF / "apache" / "resolver.conf.j2").read_text().splitlines()
    (condition,) = {line.split('"')[3] for line in lines if line.startswith('RewriteCond "%1 ${noid:%1}"')}
    return re.compile(condition)


def test_the_shipped_rules_take_the_answer_to_another_question_or_a_part_of_one_for_none():
    """As a killed process of Apache leaves it, or a killed worker."""
    condition = shipped_condition()
    names = ["ark:/13030/kx", "hdl:ark:/13030/kx", "urn:hdl:ark:/13030/kx", "13030/kx", "303", "a", "https://a.example/"]
    answers = {name: f"\x02{name} 303 https://a.example/ 303 {name} https://b.example/" for name in names}
    for asked, (name, answer) in product(names, answers.items()):
        assert bool(condition.search(f"{asked} {answer}")) == (asked == name)
        assert not condition.search(f"{asked} \x02 503")
        for cut in range(1, len(answer) + 1):
            assert not condition.search(f"{asked} {answer[cut:]}"), (asked, answer[cut:])
            assert not condition.search(f"{asked} {answer[:cut]}\x02 503"), (asked, answer[:cut])
