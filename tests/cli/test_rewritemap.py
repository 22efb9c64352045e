"""noidr: one reply line for each request line, whatever happens."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from resolver_support import LONG, Live

from noidtools.cli.noidr import LONGEST_LINE, Answering, MinterResolver, ReplyProtocol, dbdir_beside
from noidtools.errors import StoreError
from noidtools.store.lmdb import Glance

NOIDR = [sys.executable, str(ROOT / "cgi-bin" / "noidr")]


# -- the protocol ------------------------------------------------------------------------------------------------


class Echo(Answering):
    """Answers with what it was asked for, and misbehaves on demand."""

    def __init__(self) -> None:
        self.steady = True
        self.broken = False
        self.asked = 0

    def unchanged(self) -> bool:
        return self.steady

    def refreshed(self) -> bool:
        if self.broken:
            raise ValueError("on demand")
        return False

    def answer(self, name: bytes, element: bytes | None) -> bytes | None:
        self.asked += 1
        if b"raise" in name:
            raise RuntimeError("on demand")
        if b"none" in name:
            return None
        return name + b"/" + (element or b"-")


LINES = st.lists(st.one_of(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from([b"", b"raise", b"none", b"get a b", b"get", b"get ", b"get  x", b"NULL", b"\r", b"\0", b'"']),
), max_size=20)


@given(LINES, st.lists(st.integers(1, 30), max_size=40))
@settings(deadline=None, max_examples=300)
def test_any_input_in_any_pieces_gets_one_line_for_each_line(lines, cuts):
    data = b"".join(line + b"\n" for line in lines)
    whole = ReplyProtocol(Echo())
    expected = [whole.reply(line) for line in lines]
    assert all(reply.endswith(b"\n") and reply.count(b"\n") == 1 for reply in expected)
    replies, out = ReplyProtocol(Echo()), b""
    for cut in cuts:
        out += replies.feed(data[:cut]) if data[:cut] else b""
        data = data[cut:]
    out += replies.feed(data) if data else b""
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
def test_requests_with_an_element_and_without(line, expected):
    assert ReplyProtocol(Echo()).request(line) == expected


def test_with_the_element_as_an_option_every_line_is_a_name():
    replies = ReplyProtocol(Echo(), b"_t")
    assert replies.request(b"get secret element") == (b"get secret element", b"_t")


def test_a_last_line_without_line_break_is_answered_when_the_input_ends():
    replies = ReplyProtocol(Echo())
    assert replies.feed(b"a\nb") == b"a/-\n"
    assert replies.end() == b"b/-\n"
    assert replies.end() == b""


@pytest.mark.parametrize("value", [b"a\nb", b"a\r\nb", b"\n", b"\0", b"\x1b[2J", bytes(range(256))])
def test_a_value_can_never_become_two_lines(value):
    class Wild(Echo):
        def answer(self, name, element):
            return value

    reply = ReplyProtocol(Wild()).feed(b"x\n")
    assert reply.count(b"\n") == 1 and reply.endswith(b"\n")
    assert not any(octet < 0x20 or octet == 0x7F for octet in reply[:-1])


def test_a_line_longer_than_any_name_is_null_and_takes_no_room():
    replies = ReplyProtocol(Echo())
    for _ in range(40):
        assert replies.feed(b"x" * 100_000) == b""
    assert len(replies._rest) <= LONGEST_LINE
    assert replies.feed(b"x\nnext\n") == b"NULL\nnext/-\n"
    assert replies.feed(b"y" * (LONGEST_LINE + 10)) == b""
    assert replies.end() == b"NULL\n"


def test_replies_are_kept_until_something_changes():
    echo = Echo()
    replies = ReplyProtocol(echo)
    for _ in range(3):
        assert replies.feed(b"a\n") == b"a/-\n"
        assert replies.feed(b"a\na\n") == b"a/-\na/-\n"
    assert echo.asked == 1
    echo.steady = False
    assert replies.feed(b"a\n") == b"a/-\n" and echo.asked == 2
    echo.broken = True
    assert replies.feed(b"a\n") == b"a/-\n" and echo.asked == 3
    assert replies.feed(b"raise\n") == b"NULL\n"


def test_a_kept_reply_is_not_taken_for_the_end_of_a_longer_line():
    replies = ReplyProtocol(Echo())
    assert replies.feed(b"a\n") == b"a/-\n"
    assert replies.feed(b"b") == b""
    assert replies.feed(b"a\n") == b"ba/-\n"
    assert replies.feed(b"x" * (LONGEST_LINE + 1)) == b""
    assert replies.feed(b"a\n") == b"NULL\n"
    assert replies.feed(b"a\n") == b"a/-\n"


def test_kept_replies_are_bounded():
    replies = ReplyProtocol(Echo())
    for number in range(50_000):
        replies.reply(b"%d" % number)
    replies.reply(b"x" * 5000)
    assert len(replies._known) <= 20_000


# -- answers from a minter ---------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path / "kt5", *LONG)
    assert live.minted("https://a.example/x") == "13030/kt4x551"
    yield live
    live.close()


class Loop:
    """A noidr process, asked line by line."""

    def __init__(self, *options: str, program: list[str] | None = None, **settings) -> None:
        environment = {**os.environ}
        environment.pop("NOID", None)
        self.process = subprocess.Popen([*(program or NOIDR), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0, env=environment, **settings)

    def ask(self, line: bytes) -> bytes:
        self.process.stdin.write(line + b"\n")
        reply = b""
        while not reply.endswith(b"\n"):
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            assert piece, self.process.stderr.read()
            reply += piece
        assert reply.count(b"\n") == 1
        return reply[:-1]

    def end(self) -> int:
        self.process.stdin.close()
        status = self.process.wait(10)
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        self.process.stderr.close()
        return status


@pytest.fixture
def loop(live):
    loop = Loop("-f", str(live.folder))
    yield loop
    loop.end()


@pytest.mark.parametrize(("line", "expected"), [
    (b"get 13030/kt4x551 _t", b"https://a.example/x"),
    (b"get ark:/13030/kt4-x551/a-b.pdf?x=1 _t", b"https://a.example/x/a-b.pdf?x=1"),
    (b"ark:/13030/kt4x551", b"https://a.example/x"),
    (b"get 13030/kt4x551 other", b"NULL"),
    (b"get 13030/kt4x551 x _t", b"NULL"),
    (b"get 13030/nothing _t", b"NULL"),
    (b"", b"NULL"), (b" ", b"NULL"), (b"get", b"NULL"), (b"get ", b"NULL"), (b"get  _t", b"NULL"),
    (b"get \xff\xfe _t", b"NULL"), (b"\0", b"NULL"), (b'get "13030/kt4x551 _t', b"NULL"), (b"'", b"NULL"),
    (b"\\", b"NULL"), (b"get " + b"x" * 65536 + b" _t", b"NULL"), (b"x/" * 500_000, b"NULL"),
    (b"y" * 3_000_000, b"NULL"),
])
def test_what_noidr_replies(loop, line, expected):
    assert loop.ask(line) == expected
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"


def test_values_as_they_are_replied(live, loop):
    name = "13030/kt4x551"
    for value, reply in [
        ("https://a.example/ä b?x=%41%", b"https://a.example/%C3%A4%20b?x=%41%25"),
        ("https://a.example/1\nhttps://b.example/", b"https://a.example/1"),
        ("303 https://a.example/|https://b.example/", b"https://a.example/"),
        ("/docs/my file.pdf", b"/docs/my file.pdf"),
        ("a sentence, with ä", "a sentence, with ä".encode()),
        ("tab\tand\x1bescape", b"tab%09and%1Bescape"),
        (" \n", b"NULL"),
        ("NULL", b"NULL"),
        ("https://a.example/" + "x" * 100_000, b"https://a.example/" + b"x" * 100_000),
    ]:
        live.target(name, value)
        assert loop.ask(b"get 13030/kt4x551 _t") == reply


def test_codes_are_told_on_demand(live):
    name = "13030/kt4x551"
    loop = Loop("-f", str(live.folder), "--codes", "--element=_t")
    live.target(name, "303 https://a.example/")
    assert loop.ask(name.encode()) == b"303 https://a.example/"
    live.target(name, "https://a.example/")
    assert loop.ask(name.encode()) == b"https://a.example/"
    live.withdraw(name)
    assert loop.ask(name.encode()) == b"410"
    assert loop.end() == 0


def test_on_demand_the_reply_repeats_the_question(live):
    loop = Loop("-f", str(live.folder), "--echo")
    assert loop.ask(b"get ark:/13030/kt4x551/a b _t") == b"ark:/13030/kt4x551/a b https://a.example/x/a%20b"
    assert loop.ask(b"get nothing _t") == b"nothing NULL"
    assert loop.end() == 0


def test_bindings_of_others_are_seen_at_once(live, loop):
    for number in range(300):
        live.target("13030/kt4x551", f"https://a.example/{number}")
        assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/%d" % number


def test_settings_and_rules_are_seen_at_once(live, loop):
    live("bind", "set", ":idmap/^13030/zz", "_t", "https://r.example/")
    assert loop.ask(b"ark:/13030/zz1") == b"https://r.example/1"
    live("bind", "purge", ":idmap/^13030/zz", "_t")
    assert loop.ask(b"ark:/13030/zz1") == b"NULL"
    live("resolver", "fallback", "https://n2t.net/")
    assert loop.ask(b"ark:/13030/zz1") == b"https://n2t.net/ark:/13030/zz1"
    live.target("13030/kt4x551", "https://b.example/", "other")
    live("resolver", "element", "other")
    assert loop.ask(b"ark:/13030/kt4x551") == b"https://b.example/"


def test_whatever_the_line_says_nothing_is_written(live, loop):
    def digest() -> str:
        return hashlib.sha256((live.folder / "NOID" / "data.mdb").read_bytes()).hexdigest()

    before = digest()
    for line in (b"mint 1", b"bind set 13030/kt4x551 _t https://evil.example/", b"note a b", b"dbcreate", b"-",
                 b"hold release 13030/kt4x551", b"queue now 13030/kt4x551", b"bind set 13030/kt4x551 :",
                 b"get 13030/kt4x551 _t; mint 1", b"policy write anyone",
                 b"resolver fallback https://evil.example/", b"resolve ark:/13030/kt4x551"):
        assert loop.ask(line) == b"NULL"
    assert digest() == before
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"


def test_the_command_language_is_not_even_loaded():
    script = ("import sys; import noidtools.cli.noidr\n"
              "print([name for name in sys.modules if 'noidtools.commands' in name])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- the database comes and goes ---------------------------------------------------------------------------------


def eventually(loop: Loop, line: bytes, expected: bytes) -> None:
    deadline = time.monotonic() + 5
    while (reply := loop.ask(line)) != expected:
        assert time.monotonic() < deadline, reply
        time.sleep(0.005)


def test_a_minter_that_comes_later_is_served(tmp_path):
    (tmp_path / "kt5").mkdir()
    loop = Loop("-f", str(tmp_path / "kt5"))
    assert loop.ask(b"get 13030/kt4x551 _t") == b"NULL"
    live = Live(tmp_path / "kt5", *LONG)
    live.minted("https://a.example/x")
    eventually(loop, b"get 13030/kt4x551 _t", b"https://a.example/x")
    live.close()
    loop.process.stdin.close()
    assert loop.process.wait(10) == 0
    said = loop.process.stderr.read().decode()
    assert said.count("\n") == 1 and "NOID" in said
    loop.process.stdout.close()
    loop.process.stderr.close()


def test_a_database_that_is_moved_away_goes_on_answering_and_its_successor_takes_over(live, loop, tmp_path):
    line = b"get 13030/kt4x551 _t"
    assert loop.ask(line) == b"https://a.example/x"
    other = Live(tmp_path / "other", *LONG)
    other.minted("https://restored.example/")
    other.close()
    live.close()
    os.rename(live.folder / "NOID", tmp_path / "away")
    time.sleep(0.05)
    assert loop.ask(line) == b"https://a.example/x"
    os.rename(tmp_path / "other" / "NOID", live.folder / "NOID")
    eventually(loop, line, b"https://restored.example/")


def test_a_database_file_that_is_replaced_is_noticed_with_its_settings(live, loop, tmp_path):
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
    other = Live(tmp_path / "other", "kt.reeded", "long", "13030", "x", "y", "--label", "xyz:")
    other.minted("https://restored.example/")
    other.close()
    live.close()
    os.replace(tmp_path / "other" / "NOID" / "data.mdb", live.folder / "NOID" / "data.mdb")
    eventually(loop, b"get 13030/kt4x551 _t", b"https://restored.example/")
    assert loop.ask(b"get xyz:13030/kt4x551 _t") == b"https://restored.example/"


def test_a_database_that_becomes_garbage_gives_null_and_comes_back(live, loop, tmp_path):
    line = b"get 13030/kt4x551 _t"
    assert loop.ask(line) == b"https://a.example/x"
    live.close()
    data = live.folder / "NOID" / "data.mdb"
    good = data.read_bytes()
    (tmp_path / "garbage").write_bytes(os.urandom(len(good)))
    os.replace(tmp_path / "garbage", data)
    eventually(loop, line, b"NULL")
    (tmp_path / "good").write_bytes(good)
    os.replace(tmp_path / "good", data)
    eventually(loop, line, b"https://a.example/x")


def test_a_database_that_grows_under_it_is_read_on(live, loop):
    line = b"get 13030/kt4x551 _t"
    for number in range(6):
        live("bind", "set", "13030/kt4x551", f"big{number}", b"x" * 3_000_000)
        live.target("13030/kt4x551", f"https://a.example/{number}")
        assert loop.ask(line) == b"https://a.example/%d" % number


def test_a_writer_in_the_middle_of_a_transaction_does_not_hold_it_up(live, loop):
    def work(writer) -> None:
        writer.put(b"e", b"x", b"y")
        started = time.monotonic()
        assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
        assert time.monotonic() - started < 2

    live.minter.write(work)


# -- its life ----------------------------------------------------------------------------------------------------


def test_it_ends_when_its_input_ends(live):
    assert Loop("-f", str(live.folder)).end() == 0


def test_it_ends_when_nobody_reads_its_replies(live):
    loop = Loop("-f", str(live.folder))
    loop.process.stdout.close()
    loop.process.stdin.write(b"x\n")
    assert loop.process.wait(10) == 0
    assert loop.process.stderr.read() == b""
    loop.process.stdin.close()
    loop.process.stderr.close()


def test_it_dies_with_its_server(live):
    server = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys, time\n"
         "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
         "print(p.pid, flush=True)\ntime.sleep(60)", *NOIDR, "-f", str(live.folder)], stdout=subprocess.PIPE)
    pid = int(server.stdout.readline())
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_wrong_options_are_refused_in_one_sentence(live):
    for options in (["--colour"], ["-f"], ["--element"], ["x"]):
        done = subprocess.run([*NOIDR, *options], input=b"", capture_output=True, check=False)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1


def test_the_name_of_the_link_tells_the_minter_beside_it(live, tmp_path):
    link = tmp_path / "noidr_kt5"
    link.symlink_to(ROOT / "cgi-bin" / "noidr")
    loop = Loop(program=[sys.executable, str(link)], cwd="/")
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
    assert loop.end() == 0
    assert dbdir_beside(str(tmp_path / "noidr_kt6")) == str(tmp_path / "kt6")
    assert dbdir_beside("noidr") == "."


def test_the_same_loop_is_a_command_of_noid(live, noid):
    done = noid.run("-f", str(live.folder), "resolve-loop", stdin=b"get 13030/kt4x551 _t\n\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"https://a.example/x\nNULL\n", b"")
    assert noid.run("-f", str(live.folder), "resolve-loop", "--colour").returncode == 2


# -- the pipe never slips ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A minter with a thousand names, each with a target of its own."""
    live = Live(tmp_path_factory.mktemp("thousand"), "kt.reeded", "long", "13030", "x", "y")
    names = live("mint", "1000").split()[1::2]

    def work(writer) -> None:
        for name in names:
            live("bind", "set", name, "_t", f"https://target.example/{name}")
            live("bind", "set", name, "lines", f"{name}\nsecond\nthird")

    live.minter.write(work)
    yield str(live.folder), [name.encode() for name in names]
    live.close()


def hostile_lines(count: int, names: list[bytes], seed: int) -> tuple[list[bytes], list[bytes | None]]:
    """Random lines of all bytes but the line break, mixed with known ones; and what must come back to those."""
    dice = random.Random(seed)
    noise = bytes(octet for octet in range(256) if octet != 0x0A)
    lines: list[bytes] = []
    expected: list[bytes | None] = []
    for _ in range(count):
        kind = dice.random()
        name = dice.choice(names)
        if kind < 0.35:
            lines.append(b"get " + name + b" _t")
            expected.append(b"https://target.example/" + name)
        elif kind < 0.45:
            rest = b"/" + b"%x" % dice.getrandbits(60)
            lines.append(b"get ark:/" + name + rest + b" _t")
            expected.append(b"https://target.example/" + name + rest)
        elif kind < 0.5:
            lines.append(b"get " + name + b" lines")
            expected.append(name)
        elif kind < 0.55:
            lines.append(b"get " + name + b" and more _t")
            expected.append(b"NULL")
        else:
            size = dice.choice((0, 1, 3, 8, 20, 60)) if kind < 0.9999 else 65_536
            text = bytes(dice.choices(noise, k=size))
            lines.append((b"", b"get ", b"bind set ", b"get " + name + b"\r", b"\0")[dice.randrange(5)] + text)
            expected.append(None)
    return lines, expected


def check_replies(replies: list[bytes], expected: list[bytes | None]) -> None:
    assert len(replies) == len(expected)
    wrong = [place for place, (got, want) in enumerate(zip(replies, expected, strict=True)) if want not in (None, got)]
    assert not wrong, (wrong[:5], [replies[place] for place in wrong[:5]])


def test_pipelined_every_known_line_gets_its_own_reply(thousand):
    folder, names = thousand
    lines, expected = hostile_lines(300_000, names, 1)
    process = subprocess.Popen([*NOIDR, "-f", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    data = b"\n".join(lines) + b"\n"

    def send() -> None:
        dice = random.Random(2)
        place = 0
        while place < len(data):
            size = dice.choice((1, 7, 100, 5000, 60_000, 200_000))
            process.stdin.write(data[place : place + size])
            process.stdin.flush()
            place += size
        process.stdin.close()

    sender = threading.Thread(target=send)
    sender.start()
    got = process.stdout.read()
    sender.join()
    process.stdout.close()
    assert process.wait(10) == 0
    assert got.endswith(b"\n")
    check_replies(got[:-1].split(b"\n"), expected)


def test_in_lock_step_every_known_line_gets_its_own_reply(thousand):
    folder, names = thousand
    lines, expected = hostile_lines(40_000, names, 3)
    loop = Loop("-f", folder)
    write, read = loop.process.stdin.fileno(), loop.process.stdout.fileno()
    replies = []
    for line in lines:
        data = line + b"\n"
        while data:
            data = data[os.write(write, data) :]
        reply = os.read(read, 1 << 20)
        while not reply.endswith(b"\n"):
            reply += os.read(read, 1 << 20)
        replies.append(reply[:-1])
    assert loop.end() == 0
    assert all(b"\n" not in reply for reply in replies)
    check_replies(replies, expected)


def test_lock_step_while_another_process_writes(live):
    """Known lines get their own, and the current, answer while the minter changes under the loop."""
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            live("bind", "set", "13030/kt4x551", "noise", str(number))

    loop = Loop("-f", str(live.folder))
    writer = threading.Thread(target=change)
    writer.start()
    try:
        for number in range(3000):
            assert loop.ask(b"get 13030/kt4x551/%d _t" % number) == b"https://a.example/x/%d" % number
    finally:
        stop.set()
        writer.join()
    assert loop.end() == 0


def test_a_lookup_that_fails_costs_its_own_reply_and_is_not_kept(live, monkeypatch):
    resolver = MinterResolver(str(live.folder))
    replies = ReplyProtocol(resolver)
    # The environment of this process is the test's own: it is shared, not opened twice.
    resolver._minter, resolver._file = live.minter, _identity(live.folder)
    resolver._glance = Glance(live.minter.store, 10)
    resolver.unchanged = resolver._glance.unchanged
    assert replies.feed(b"get 13030/kt4x551 _t\n") == b"https://a.example/x\n"
    for number, failure in enumerate((MemoryError(), StoreError("on demand"))):
        def broken(*_: object, failure=failure) -> None:
            raise failure

        monkeypatch.setattr(Glance, "look", broken)
        assert replies.feed(b"get 13030/kt4x551/%d _t\nget other _t\n" % number) == b"NULL\nNULL\n"
        monkeypatch.undo()
        assert replies.feed(b"get 13030/kt4x551/%d _t\n" % number) == b"https://a.example/x/%d\n" % number


def _identity(folder: Path) -> tuple[int, int]:
    status = os.stat(folder / "NOID" / "data.mdb")
    return status.st_dev, status.st_ino


def test_a_code_before_a_path_of_the_server_is_left_out(live):
    live.target("13030/kt4x551", "303 /docs/a.pdf")
    loop = Loop("-f", str(live.folder), "--codes", "--element=_t")
    assert loop.ask(b"13030/kt4x551") == b"/docs/a.pdf"
    assert loop.end() == 0
