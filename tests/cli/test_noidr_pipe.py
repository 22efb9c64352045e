"""noidr under load: each line gets its own reply, pipelined, in lock step and while others write."""

from __future__ import annotations

import os
import random
import subprocess
import threading

import pytest

from support.minter import Noid
from support.noidr import NoidrProcess
from support.process import NOIDR
from support.templates import LONG_TERM


@pytest.fixture
def minter(tmp_path):
    minter = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert minter.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield minter
    minter.close()


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A minter with a thousand names, each with a target of its own."""
    minter = Noid.created(tmp_path_factory.mktemp("thousand"), "kt.reeded", "long", "13030", "x", "y")
    names = minter.text("mint", "1000").split()[1::2]

    def work(writer) -> None:
        for name in names:
            minter.text("bind", "set", name, "_t", f"https://target.example/{name}")
            minter.text("bind", "set", name, "lines", f"{name}\nsecond\nthird")

    minter.write(work)
    yield str(minter.folder), [name.encode() for name in names]
    minter.close()


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


@pytest.mark.slow
@pytest.mark.parametrize("count", [6_000, pytest.param(400_000, marks=pytest.mark.long)])
def test_pipelined_every_known_line_gets_its_own_reply(thousand, count):
    folder, names = thousand
    lines, expected = hostile_lines(count, names, 1)
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


@pytest.mark.slow
def test_in_lock_step_every_known_line_gets_its_own_reply(thousand):
    folder, names = thousand
    lines, expected = hostile_lines(6_000, names, 3)
    loop = NoidrProcess("-f", folder)
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


def test_in_lock_step_each_line_gets_its_own_reply_while_another_process_writes(minter):
    """Known lines get their own, and the current, answer while the minter changes under the loop."""
    stop = threading.Event()

    def change() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            minter.text("bind", "set", "13030/kt4x551", "noise", str(number))

    loop = NoidrProcess("-f", str(minter.folder))
    writer = threading.Thread(target=change)
    writer.start()
    try:
        for number in range(3000):
            assert loop.ask(b"get 13030/kt4x551/%d _t" % number) == b"https://a.example/x/%d" % number
    finally:
        stop.set()
        writer.join()
    assert loop.end() == 0
