"""The protocol of a RewriteMap program: one reply line for each request line, whatever happens."""

from __future__ import annotations

import re
import shutil
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.cli.noidr import MinterResolver
from noidtools.cli.reply_protocol import LONGEST_LINE, ReplyProtocol, ReplySource
from noidtools.errors import StoreError
from noidtools.store.lmdb.store import LmdbStore
from support.minter import Noid
from support.noidr import take
from support.project import CONF
from support.templates import LONG_TERM


class Echo(ReplySource):
    """Answers with what it was asked for, and misbehaves on demand."""

    def __init__(self) -> None:
        self.steady = True
        self.broken = False
        self.asked = 0
        self.changes = 0

    def version(self, max_age: float) -> int:
        if self.broken:
            raise ValueError("on demand")
        self.changes += not self.steady
        return self.changes

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, int]:
        self.asked += 1
        if b"raise" in name:
            raise RuntimeError("on demand")
        if b"none" in name:
            return None, self.changes
        return name + b"/" + (element or b"-"), self.changes


LINES = st.lists(st.one_of(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from([b"", b"raise", b"none", b"get a b", b"get", b"get ", b"get  x", b"NULL", b"\r", b"\0", b'"']),
), max_size=20)


@given(LINES, st.lists(st.integers(1, 30), max_size=40))
@settings(deadline=None)
def test_any_input_in_any_pieces_gets_one_line_for_each_line(lines, cuts):
    data = b"".join(line + b"\n" for line in lines)
    whole = ReplyProtocol(Echo())
    expected = [whole.reply(line, line + b"\n") for line in lines]
    assert all(reply.endswith(b"\n") and reply.count(b"\n") == 1 for reply in expected)
    replies, out = ReplyProtocol(Echo()), b""
    for cut in cuts:
        out += take(replies, data[:cut]) if data[:cut] else b""
        data = data[cut:]
    out += take(replies, data) if data else b""
    assert out + replies.end() == b"".join(expected)


@pytest.mark.parametrize(("line", "expected"), [
    (b"get 13030/x myGoto", (b"13030/x", b"myGoto")),
    (b"get a b c d", (b"a b c", b"d")),
    (b'get "a b" c', (b'"a b"', b"c")),
    (b"get 13030/x  myGoto ", (b"13030/x ", b"myGoto")),
    (b"get  myGoto", (b"", b"myGoto")),
    (b"get myGoto", (b"get myGoto", None)),
    (b"getx y", (b"getx y", None)),
    (b"GET x y", (b"GET x y", None)),
    (b"bind set a b c", (b"bind set a b c", None)),
    (b"13030/x", (b"13030/x", None)),
    (b"", (b"", None)),
])
def test_a_request_line_may_name_an_element(line, expected):
    name, element = expected
    assert ReplyProtocol(Echo()).feed(line + b"\n") == name + b"/" + (element or b"-") + b"\n"


@pytest.mark.parametrize(("line", "value", "asked", "expected"), [
    (b"/x", b"https://a.example/x?y", b"ark:/13030/kx", b"\x02x/a.example/x?y\n"),
    (b"ark:/13030/kx", b"https://a.example/", b"ark:/13030/kx", b"\x02ark:/13030/kx https://a.example/\n"),
    (b"/x", b"http://a.example/", b"ark:/13030/kx", b"\x02/x http://a.example/\n"),
    (b"/x", b"303 https://a.example/", b"ark:/13030/kx", b"\x02/x 303 https://a.example/\n"),
    (b"/x", b"/local", b"ark:/13030/kx", b"\x02/x /local\n"), (b"/x", b"410", b"ark:/13030/kx", b"\x02/x 410\n"),
    (b"/x", b"//evil.example/", b"ark:/13030/kx", b"\x02/x //evil.example/\n"),
    (b"/x", None, b"ark:/13030/kx", b"\x02/x NULL\n"), (b"x", b"https:", b"x", b"\x02x https:\n"),
    # Where the name ends and the target begins could not be told.
    (b"/x/y", b"https://a.example/", b"ark:/13030/kx/y", b"\x02/x/y https://a.example/\n"),
    (b"/x.y", b"https://a.example/", b"ark:/13030/kx.y", b"\x02/x.y https://a.example/\n"),
    (b"/x", b"https://a.example/ y", b"ark:/13030/kx", b"\x02/x https://a.example/ y\n"),
    (b"/", b"", b"ark:/13030/k", b"\x02/ NULL\n"), (b"/", b"https://", b"ark:/13030/k", b"\x02/ https://\n"),
    # The end of the target is the name.
    (b"/x", b"https://a.example/13030/kx", b"ark:/13030/kx", b"\x02a.example/|x\n"),
    (b"/x", b"https://a.example/ark:/13030/kx", b"ark:/13030/kx", b"\x02a.example/ark:/|x\n"),
    (b"/x", b"https://a.example/|/13030/kx", b"ark:/13030/kx", b"\x02/x https://a.example/|/13030/kx\n"),
    (b"/x", b"https://a.example/|x", b"ark:/13030/kx", b"\x02/x https://a.example/|x\n"),
    (b"/x", b"https://13030/kx", b"ark:/13030/kx", b"\x02x/13030/kx\n"),
    (b"/x", b"https://a.example/ark:13030/kx", b"ark:/13030/kx", b"\x02x/a.example/ark:13030/kx\n"),
    (b"/x", b"https://a.example/kx", b"ark:/13030/kx", b"\x02x/a.example/kx\n"),
    (b"/x", b"https://a.example/x13030/kx", b"ark:/13030/kx", b"\x02x/a.example/x13030/kx\n"),
    (b"/x", b"https://a.example/13030/kyx", b"ark:/13030/kx", b"\x02x/a.example/13030/kyx\n"),
    (b"/x", b"https://a.example/?id=/13030/kx", b"ark:/13030/kx", b"\x02x/a.example/?id=/13030/kx\n"),
])
def test_compact_requests_and_replies_leave_out_what_is_known(line, value, asked, expected):
    class Fixed(Echo):
        def answer(self, name, element):
            assert name == asked
            return value, None

    replies = ReplyProtocol(Fixed(), b"_t", echo=True, compact=b"ark:/13030/k")
    assert replies.reply_to_line(line + b"\n") == replies.feed(line + b"\n") == expected


# Pairs of these end or begin with each other.
RESTS = ["1", "11", "x", "x1", "1x", "x1x", "11x", "k", "kx", "kkx", "13030", "a13030", "K", "X1"]
TARGETS = ["https://a.example/13030/k{}", "https://a.example/ark:/13030/k{}", "https://a.example/{}", "https://{}/",
           "https://a.example/13030/k{}/13030/k{}", "https://a.example/?q=13030/k{}", "https://a.example/x?13030/k{}",
           "http://a.example/13030/k{}", "https://a.example/k{}", "https://13030/k{}", "https://{}/13030/k{}",
           "https://x/13030/k{}", "https://1/13030/k{}?{}", "https://a.example/|{}", "https://x/|{}"]


def shipped_condition() -> re.Pattern[str]:
    """The pattern by which the shipped rules recognise the answer to a plain ARK, with NOID_OWN 13030/k."""
    line = next(line for line in (CONF / "apache" / "resolver.conf").read_text().splitlines()
                if line.startswith('RewriteCond "${NOID_OWN}$1?%{QUERY_STRING} '))
    return re.compile(line.split('"')[3].replace(r"\Q${NOID_OWN}\E", re.escape("13030/k")))


def shipped_target(found: re.Match[str]) -> str:
    """Where the shipped rule redirects to."""
    lines = (CONF / "apache" / "resolver.conf").read_text().splitlines()
    rule = next(line for line in lines if line.startswith('RewriteRule "^/+(?i:ark)')).split('"')[3]
    target = re.sub("%(.)", lambda place: found[int(place[1])] or "", rule)
    return target.removesuffix("?")  # as Apache does where the query is empty


class Bound(Echo):
    """Every name has the target of a template, in which {} stands for the rest of the name."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self._template = template

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes, None]:
        return self._template.replace("{}", name.removeprefix(b"ark:/13030/k").decode()).encode(), None


def compact_answers(template: str, lines: dict[str, str]) -> dict[str, str]:
    """What noidr answers to lines, as Apache reads it."""
    replies = ReplyProtocol(Bound(template), b"_t", echo=True, compact=b"ark:/13030/k")
    return {name: replies.feed(f"{line}\n".encode()).decode().rstrip("\n") for name, line in lines.items()}


def test_the_shipped_rules_take_the_answer_to_another_question_for_none():
    """As a killed process of Apache leaves one."""
    condition = shipped_condition()
    for template in TARGETS:
        answers = compact_answers(template, {rest: f"/{rest}" for rest in RESTS})
        for asked, (rest, answer) in product(RESTS, answers.items()):
            found = condition.search(f"13030/k{asked}? {answer}")
            compact = template.startswith("https:") and "|" not in template
            assert bool(found) == (asked == rest and compact), (asked, answer)
            if found:
                assert shipped_target(found) == template.replace("{}", rest)
            # A query belongs to the name, whatever it is.
            for query in ("q", "1", asked, f"{asked}? {answer}"):
                assert not condition.search(f"13030/k{asked}?{query} {answer}")


def test_the_shipped_rules_take_what_is_left_of_an_answer_for_none():
    """As a process of Apache leaves it that was killed after it had read the beginning."""
    condition = shipped_condition()
    for template in TARGETS:
        answers = compact_answers(template, {rest: f"/{rest}" for rest in RESTS})
        for asked, answer in product(RESTS, answers.values()):
            for start in range(1, len(answer) + 1):
                assert not condition.search(f"13030/k{asked}? {answer[start:]}"), (asked, answer[start:])


def test_the_shipped_rules_for_all_names_take_what_is_left_of_an_answer_for_none():
    lines = (CONF / "apache" / "resolver.conf").read_text().splitlines()
    (condition,) = {re.compile(line.split('"')[3]) for line in lines if line.startswith('RewriteCond "%1 ${noid:%1}"')}
    names = ["ark:/13030/kx", "hdl:ark:/13030/kx", "urn:hdl:ark:/13030/kx", "13030/kx", "303", "a", "https://a.example/"]
    answers = compact_answers("303 https://a.example/ 303 {} https://b.example/", {name: name for name in names})
    for asked, (name, answer) in product(names, answers.items()):
        assert bool(condition.search(f"{asked} {answer}")) == (asked == name)
        for start in range(1, len(answer) + 1):
            assert not condition.search(f"{asked} {answer[start:]}"), (asked, answer[start:])


def test_with_the_element_as_an_option_every_line_is_a_name():
    replies = ReplyProtocol(Echo(), b"_t")
    assert replies.feed(b"get secret element\n") == b"get secret element/_t\n"


def test_a_last_line_without_line_break_is_answered_when_the_input_ends():
    replies = ReplyProtocol(Echo())
    assert replies.feed(b"a\nb") == b"a/-\n"
    assert replies.end() == b"b/-\n"
    assert replies.end() == b""


@pytest.mark.parametrize("value", [b"a\nb", b"a\r\nb", b"\n", b"\0", b"\x1b[2J", bytes(range(256))])
def test_a_value_can_never_become_two_lines(value):
    class Fixed(Echo):
        def answer(self, name, element):
            return value, None

    reply = ReplyProtocol(Fixed()).feed(b"x\n")
    assert reply.count(b"\n") == 1 and reply.endswith(b"\n")
    assert not any(octet < 0x20 or octet == 0x7F for octet in reply[:-1])


def test_a_line_longer_than_any_name_gives_null_and_is_not_buffered():
    replies = ReplyProtocol(Echo())
    for _ in range(40):
        assert replies.feed(b"x" * 100_000) == b""
    assert len(replies._rest) <= LONGEST_LINE
    assert replies.feed(b"x\nnext\n") == b"NULL\nnext/-\n"
    assert replies.feed(b"y" * (LONGEST_LINE + 10)) == b""
    assert replies.end() == b"NULL\n"


def test_replies_are_cached_until_the_database_changes():
    echo = Echo()
    replies = ReplyProtocol(echo)
    for _ in range(3):
        assert take(replies, b"a\n") == b"a/-\n"
        assert take(replies, b"a\na\n") == b"a/-\na/-\n"
    assert echo.asked == 1
    echo.steady = False
    assert take(replies, b"a\n") == b"a/-\n" and echo.asked == 2
    echo.broken = True
    assert take(replies, b"a\n") == b"a/-\n" and echo.asked == 3
    assert take(replies, b"raise\n") == b"NULL\n"


def test_a_cached_reply_is_not_used_for_a_longer_line():
    replies = ReplyProtocol(Echo())
    assert take(replies, b"a\n") == b"a/-\n"
    assert take(replies, b"b") == b""
    assert take(replies, b"a\n") == b"ba/-\n"
    assert take(replies, b"x" * (LONGEST_LINE + 1)) == b""
    assert take(replies, b"a\n") == b"NULL\n"
    assert take(replies, b"a\n") == b"a/-\n"


@pytest.mark.parametrize("bits", [0, 1])
@pytest.mark.parametrize("lines", [1, 2])
def test_the_cache_of_replies_is_bounded(bits, lines, monkeypatch):
    monkeypatch.setattr("noidtools.cli.reply_protocol._NOT_CACHED", bits)
    replies = ReplyProtocol(Echo())
    most = 0
    for number in range(60_000):
        take(replies, b"%d\n" % number * lines)
        most = max(most, len(replies._cache))
    assert 19_000 < most <= 20_000
    take(replies, (b"x" * 5000 + b"\n") * lines)
    assert max(map(len, [*replies._cache, *replies._cache.values()])) < 1000


def test_a_reply_that_a_pipe_does_not_take_at_once_is_for_feed():
    replies = ReplyProtocol(Echo())
    assert replies.reply_to_line(b"x" * 4093 + b"\n") == b"x" * 4093 + b"/-\n"
    assert replies.reply_to_line(b"x" * 4094 + b"\n") is None
    assert replies.feed(b"x" * 4094 + b"\n") == b"x" * 4094 + b"/-\n"


def test_names_that_are_often_asked_for_are_cached_in_the_end_and_others_leave_them_the_cache():
    echo = Echo()
    replies = ReplyProtocol(echo)
    often = [b"often %d\n" % number for number in range(5000)]
    for line in often * 100:
        take(replies, line)
    for number in range(15_000):
        take(replies, b"once %d\n" % number)
    before = echo.asked
    for line in often:
        assert take(replies, line) == line[:-1] + b"/-\n"
    assert echo.asked - before < 25


def test_no_period_of_requests_keeps_a_name_out_of_the_cache():
    echo = Echo()
    replies = ReplyProtocol(echo)
    for number in range(1000):
        take(replies, b"first %d\n" % number)
    for number in range(15 * 500):
        if not number % 15:
            take(replies, b"often\n")
        take(replies, b"once %d\n" % number)
    before = echo.asked
    take(replies, b"often\n")
    assert echo.asked == before


def test_lines_that_come_together_are_cached():
    echo = Echo()
    replies = ReplyProtocol(echo)
    for _ in range(3):
        assert take(replies, b"a\nb\n") == b"a/-\nb/-\n"
    assert echo.asked == 2


class Replaced(Echo):
    """Another store took the place of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.store = self

    def version(self, max_age: float) -> tuple[int]:
        return (super().version(max_age),)

    def answer(self, name: bytes, element: bytes | None) -> tuple[bytes | None, tuple[int]]:
        return super().answer(name, element)[0], self.version(0.0)

    def store_functions(self):
        return self.store.version, self.store.find_plain


def test_what_was_cached_from_another_store_is_not_used_though_its_version_is_equal():
    echo = Replaced()
    replies = ReplyProtocol(echo)
    for _ in range(2):
        assert (take(replies, b"a\n"), take(replies, b"b\n"), echo.asked) == (b"a/-\n", b"b/-\n", 2)
    echo.store = Replaced()
    assert (take(replies, b"c\n"), echo.asked) == (b"c/-\n", 3)
    assert (take(replies, b"a\n"), echo.asked) == (b"a/-\n", 4)


@pytest.fixture
def minter(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


@pytest.mark.only("lmdb")
def test_a_failed_lookup_gives_null_and_is_not_cached(minter, monkeypatch):
    resolver = MinterResolver(str(minter.folder))
    replies = ReplyProtocol(resolver)
    assert take(replies, b"get 13030/kt4x551 _t\n") == b"https://a.example/x\n"
    for number, failure in enumerate((MemoryError(), StoreError("on demand"))):
        def broken(*_: object, failure=failure, **__: object) -> None:
            raise failure

        monkeypatch.setattr(LmdbStore, "read", broken)
        assert replies.feed(b"get 13030/kt4x551/%d _t\nget other _t\n" % number) == b"NULL\nNULL\n"
        monkeypatch.undo()
        assert take(replies, b"get 13030/kt4x551/%d _t\n" % number) == b"https://a.example/x/%d\n" % number


@pytest.mark.only("lmdb")
def test_what_was_cached_from_a_minter_is_not_used_for_another_in_its_place(tmp_path):
    folder = tmp_path / "kt5"

    def create(target: str) -> None:
        minter = Noid.created(folder, *LONG_TERM)
        assert minter.mint_with_target(target) == "13030/kt4x551"
        minter.close()

    create("https://a.example/x")
    replies = ReplyProtocol(MinterResolver(str(folder)), log=lambda message: None)
    for _ in range(3):
        assert take(replies, b"13030/kt4x551\n") == b"https://a.example/x\n"
    shutil.rmtree(folder)
    time.sleep(0.02)
    assert take(replies, b"unknown\n") == b"NULL\n"
    create("https://b.example/y")
    time.sleep(0.3)
    assert take(replies, b"unknown\n") == b"NULL\n"
    assert take(replies, b"13030/kt4x551\n") == b"https://b.example/y\n"
