"""noidr: what it replies, when its database changes, and when it ends."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noidtools.store import ADDRESS_VARIABLE
from support.minter import Noid
from support.noidr import NoidrProcess
from support.process import NOIDR
from support.project import ROOT
from support.templates import LONG_TERM

pytestmark = pytest.mark.slow


def ensure_reply(loop: NoidrProcess, line: bytes, expected: bytes) -> None:
    """What was changed before is seen at once in files; in a database server it may take up to a second."""
    deadline = time.monotonic() + (10 if os.environ.get(ADDRESS_VARIABLE) else 0)
    while (reply := loop.ask(line)) != expected:
        assert time.monotonic() < deadline, (line, reply)


# -- answers from a minter ---------------------------------------------------------------------------------------


@pytest.fixture
def minter(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


@pytest.fixture
def loop(minter):
    loop = NoidrProcess("-f", str(minter.folder))
    yield loop
    loop.end()


@pytest.fixture(scope="module")
def shared_loop(tmp_path_factory):
    """One process for many lines, of a minter that does not change."""
    minter = Noid.created(tmp_path_factory.mktemp("shared"), *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    minter.close()
    loop = NoidrProcess("-f", str(minter.folder))
    yield loop
    assert loop.end() == 0


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
def test_noidr_replies_to_each_request_line(shared_loop, line, expected):
    assert shared_loop.ask(line) == expected
    assert shared_loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"


def test_a_reply_is_the_first_target_escaped_where_necessary(minter, loop):
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
        minter.set_target(name, value)
        ensure_reply(loop, b"get 13030/kt4x551 _t", reply)


def test_the_option_codes_adds_redirect_codes_to_replies(minter):
    name = "13030/kt4x551"
    loop = NoidrProcess("-f", str(minter.folder), "--codes", "--element=_t")
    minter.set_target(name, "303 https://a.example/")
    ensure_reply(loop, name.encode(), b"303 https://a.example/")
    minter.set_target(name, "https://a.example/")
    ensure_reply(loop, name.encode(), b"https://a.example/")
    minter.text("withdraw", name)
    ensure_reply(loop, name.encode(), b"410")
    assert loop.end() == 0


def test_the_option_echo_repeats_the_request_in_the_reply(minter):
    loop = NoidrProcess("-f", str(minter.folder), "--echo")
    assert loop.ask(b"get ark:/13030/kt4x551/a b _t") == b"\x02ark:/13030/kt4x551/a b https://a.example/x/a%20b"
    assert loop.ask(b"get nothing _t") == b"\x02nothing NULL"
    assert loop.end() == 0


def test_bindings_of_others_are_seen_at_once(minter, loop):
    for number in range(20):
        minter.set_target("13030/kt4x551", f"https://a.example/{number}")
        ensure_reply(loop, b"get 13030/kt4x551 _t", b"https://a.example/%d" % number)


def test_settings_and_rules_are_seen_at_once(minter, loop):
    minter.text("bind", "set", ":idmap/^13030/zz", "_t", "https://r.example/")
    ensure_reply(loop, b"ark:/13030/zz1", b"https://r.example/1")
    minter.text("bind", "purge", ":idmap/^13030/zz", "_t")
    ensure_reply(loop, b"ark:/13030/zz1", b"NULL")
    minter.text("resolver", "fallback", "https://n2t.net/")
    ensure_reply(loop, b"ark:/13031/zz1", b"https://n2t.net/ark:/13031/zz1")
    minter.set_target("13030/kt4x551", "https://b.example/", "other")
    minter.text("resolver", "element", "other")
    ensure_reply(loop, b"ark:/13030/kt4x551", b"https://b.example/")


@pytest.mark.only("lmdb")
def test_no_request_line_writes_anything(minter, loop):
    def digest() -> str:
        return hashlib.sha256((minter.folder / "NOID" / "data.mdb").read_bytes()).hexdigest()

    before = digest()
    for line in (b"mint 1", b"bind set 13030/kt4x551 _t https://evil.example/", b"note a b", b"dbcreate", b"-",
                 b"hold release 13030/kt4x551", b"queue now 13030/kt4x551", b"bind set 13030/kt4x551 :",
                 b"get 13030/kt4x551 _t; mint 1", b"policy write anyone",
                 b"resolver fallback https://evil.example/", b"resolve ark:/13030/kt4x551"):
        assert loop.ask(line) == b"NULL"
    assert digest() == before
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"


# -- the database comes and goes ---------------------------------------------------------------------------------


def eventually(loop: NoidrProcess, line: bytes, expected: bytes) -> None:
    deadline = time.monotonic() + 5
    while (reply := loop.ask(line)) != expected:
        assert time.monotonic() < deadline, reply
        time.sleep(0.005)


def test_a_minter_created_after_noidr_started_is_served(tmp_path):
    (tmp_path / "kt5").mkdir()
    loop = NoidrProcess("-f", str(tmp_path / "kt5"))
    assert loop.ask(b"get 13030/kt4x551 _t") == b"NULL"
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    minter.mint_with_target("https://a.example/x")
    eventually(loop, b"get 13030/kt4x551 _t", b"https://a.example/x")
    minter.close()
    loop.process.stdin.close()
    assert loop.process.wait(10) == 0
    log = loop.process.stderr.read().decode()
    assert log.count("\n") == 1 and "NOID" in log
    loop.process.stdout.close()
    loop.process.stderr.close()


def test_a_database_that_is_moved_away_gives_null_until_another_takes_its_place(minter, loop, tmp_path):
    line = b"get 13030/kt4x551 _t"
    assert loop.ask(line) == b"https://a.example/x"
    other = Noid.created(tmp_path / "other", *LONG_TERM)
    other.mint_with_target("https://restored.example/")
    other.close()
    minter.close()
    os.rename(minter.folder / "NOID", tmp_path / "away")
    assert loop.ask(line) == b"NULL"
    os.rename(tmp_path / "other" / "NOID", minter.folder / "NOID")
    eventually(loop, line, b"https://restored.example/")


def test_a_database_that_is_restored_is_noticed_with_its_settings(minter, loop, tmp_path):
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
    other = Noid.created(tmp_path / "other", "kt.reeded", "long", "13030", "x", "y", "--label", "xyz:")
    other.mint_with_target("https://restored.example/")
    other.close()
    minter.close()
    other("backup", str(tmp_path / "kept"))
    minter("restore", str(tmp_path / "kept"))
    eventually(loop, b"get 13030/kt4x551 _t", b"https://restored.example/")
    assert loop.ask(b"get xyz:13030/kt4x551 _t") == b"https://restored.example/"


@pytest.mark.only("lmdb")
def test_a_damaged_database_gives_null_until_it_is_restored(minter, loop, tmp_path):
    line = b"get 13030/kt4x551 _t"
    assert loop.ask(line) == b"https://a.example/x"
    minter.close()
    data = minter.folder / "NOID" / "data.mdb"
    good = data.read_bytes()
    (tmp_path / "garbage").write_bytes(os.urandom(len(good)))
    os.replace(tmp_path / "garbage", data)
    eventually(loop, line, b"NULL")
    (tmp_path / "good").write_bytes(good)
    minter("restore", str(tmp_path / "good"))
    eventually(loop, line, b"https://a.example/x")


def test_a_database_that_another_process_lets_grow_is_read_on(minter, loop):
    line = b"get 13030/kt4x551 _t"
    for number in range(6):
        minter.text("bind", "set", "13030/kt4x551", f"big{number}", b"x" * 3_000_000)
        minter.set_target("13030/kt4x551", f"https://a.example/{number}")
        ensure_reply(loop, line, b"https://a.example/%d" % number)


def test_noidr_replies_while_a_write_transaction_is_open(minter, loop):
    def work(_: object) -> None:
        minter.set_target("13030/kt4x551", "https://not-committed.example/")
        started = time.monotonic()
        assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
        assert time.monotonic() - started < 20

    assert loop.ask(b"13030/kt4x551") == b"https://a.example/x"  # it has started
    minter.write(work)


# -- its life ----------------------------------------------------------------------------------------------------


def test_noidr_ends_when_its_input_ends(minter):
    assert NoidrProcess("-f", str(minter.folder)).end() == 0


def test_noidr_ends_when_its_output_is_closed(minter):
    loop = NoidrProcess("-f", str(minter.folder))
    loop.process.stdout.close()
    loop.process.stdin.write(b"x\n")
    assert loop.process.wait(10) == 0
    assert loop.process.stderr.read() == b""
    loop.process.stdin.close()
    loop.process.stderr.close()


def test_noidr_ends_when_its_server_is_killed(minter):
    server = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys, time\n"
         "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
         "print(p.pid, flush=True)\ntime.sleep(60)", *NOIDR, "-f", str(minter.folder)], stdout=subprocess.PIPE)
    pid = int(server.stdout.readline())
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_wrong_options_are_refused_in_one_sentence(minter):
    for options in (["--colour"], ["-f"], ["--element"], ["x"]):
        done = subprocess.run([*NOIDR, *options], input=b"", capture_output=True, check=False)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1


def test_the_name_of_the_link_to_noidr_names_the_minter_beside_it(minter, tmp_path):
    link = tmp_path / "noidr_kt5"
    link.symlink_to(ROOT / "cgi-bin" / "noidr")
    loop = NoidrProcess(program=[sys.executable, str(link)], cwd="/")
    assert loop.ask(b"get 13030/kt4x551 _t") == b"https://a.example/x"
    assert loop.end() == 0


def test_the_same_loop_is_a_command_of_noid(minter, noid_process):
    done = noid_process.run("-f", str(minter.folder), "resolve-loop", stdin=b"get 13030/kt4x551 _t\n\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"https://a.example/x\nNULL\n", b"")
    assert noid_process.run("-f", str(minter.folder), "resolve-loop", "--colour").returncode == 2


# -- the pipe never slips ----------------------------------------------------------------------------------------


def test_a_redirect_code_before_a_local_path_is_left_out(minter):
    minter.set_target("13030/kt4x551", "303 /docs/a.pdf")
    loop = NoidrProcess("-f", str(minter.folder), "--codes", "--element=_t")
    assert loop.ask(b"13030/kt4x551") == b"/docs/a.pdf"
    assert loop.end() == 0


@pytest.mark.parametrize("target", [
    "/nd/noidu_kt5?policy+admin+mallory", "/nd/%6eoidu_kt5?mint+1", "https://id.example.org/nd/noidu_kt5?mint+1",
    "303 /nd/x/../noidu_kt5?mint+1",
])
def test_no_reply_leads_to_the_commands_of_a_minter(minter, loop, target):
    for bound, reply in ((target, b"NULL"), (f"{target}|https://mirror.example/", b"https://mirror.example/")):
        minter.set_target("13030/kt4x551", bound)
        for line in (b"13030/kt4x551", b"ark:/13030/kt4x551", b"get ark:/13030/kt4x551 _t", b"get 13030/kt4x551 _t"):
            ensure_reply(loop, line, reply)
