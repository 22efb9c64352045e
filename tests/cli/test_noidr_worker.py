"""noidr's worker dies, in every way and at every moment: no request gets the reply to another one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import resource
import select
import signal
import subprocess
import termios
import threading
import time
from array import array

import pytest

from support.minter import Noid
from support.noidr import NoidrProcess
from support.process import NOIDR, children, process_is_alive, signal_all, wait_until

pytestmark = pytest.mark.slow
DEADLY = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT)


@pytest.fixture(scope="module")
def minter(tmp_path_factory):
    """A minter with 200 names, each with a target of its own, and one with a long value."""
    made = Noid.created(tmp_path_factory.mktemp("worker"), "kt.reeded", "long", "13030", "x", "y")
    made.names = made.text("mint", "200").split()[1::2]

    def work(_) -> None:
        for name in made.names:
            made.text("bind", "set", name, "_t", f"https://target.example/{name}")
        made.text("bind", "set", made.names[0], "long", "x" * 1_000_000)

    made.opened.write(work)
    yield made
    made.close()


@pytest.fixture
def noidr(minter):
    asked = NoidrProcess("-f", str(minter.folder))
    yield asked
    asked.close()


@pytest.fixture
def echo(minter):
    asked = NoidrProcess("-f", str(minter.folder), "--element", "_t", "--codes", "--echo")
    yield asked
    asked.close()


def log_of(noidr: NoidrProcess) -> str:
    """What it has written to its log so far."""
    os.set_blocking(noidr.stderr.fileno(), False)
    return (noidr.stderr.read() or b"").decode()


def target(name: str) -> bytes:
    return f"https://target.example/{name}".encode()


def all_right(noidr: NoidrProcess, minter) -> bool:
    return all(noidr.ask(name.encode()) == target(name) for name in minter.names)


class Killer(threading.Thread):
    """Kills the worker that often, each time after a random part of some milliseconds; reads the log meanwhile."""

    def __init__(self, noidr: NoidrProcess, kills: int, seed: int = 1) -> None:
        super().__init__()
        self._noidr = noidr
        self._left = kills
        self._dice = random.Random(seed)
        self.killed = 0
        self.log = ""

    def run(self) -> None:
        while self._left and self._noidr.process.poll() is None:
            workers = children(self._noidr.process.pid)
            time.sleep(self._dice.uniform(0, 0.008))
            for worker in workers:
                signal_all([worker], signal.SIGKILL)
                wait_until(lambda worker=worker: not process_is_alive(worker))
                self.killed += 1
                self._left -= 1
            self.log += log_of(self._noidr)


# -- with --echo -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_with_echo_there_are_as_many_replies_as_requests_and_none_is_of_another_one(minter, echo, kills):
    """As a web server does it, the client asks again after a reply that is not its own."""
    dice, requests, again, quiet = random.Random(kills), 0, 0, 0
    killer = Killer(echo, kills)
    killer.start()
    while quiet < 500:  # then they have come in step again
        quiet += not killer.is_alive()
        # Each request is for a name of its own, so that its reply cannot be that of another one.
        name = f"{dice.choice(minter.names)}/{requests}"
        requests += 1
        reply, more = echo.ask_until_own(name.encode())
        assert reply == target(name)
        again += more
    killer.join()
    assert killer.killed >= kills and killer.log.count("was killed by SIGKILL") >= kills - 1
    # It asked for one line at each line that it sent, and none is left.
    assert echo.end() == 0
    print(f"{killer.killed} kills, {requests} requests, {again} asked again, "
          f"{killer.log.count('was not read')} replies too many")


def unread_bytes(file) -> int:
    count = array("i", [0])
    fcntl.ioctl(file, termios.FIONREAD, count)
    return count[0]


def send(noidr: NoidrProcess, line: bytes) -> None:
    """Send a request, and wait until it was looked at."""
    noidr.stdin.write(line + b"\n")
    wait_until(lambda: not unread_bytes(noidr.stdin))
    time.sleep(0.1)


def test_after_a_reply_that_nobody_reads_a_request_gets_none_so_that_all_others_get_their_own(minter, echo):
    first, second = (name.encode() for name in minter.names[:2])
    left_over, expected = (b"\x02" + name.encode() + b" " + target(name) for name in minter.names[:2])
    assert echo.ask(first) == left_over
    for deaths in range(1, 5):
        send(echo, first)
        # A process of the web server has died, when it had read a part of the reply.
        assert os.read(echo.stdout.fileno(), 3) == left_over[:3]
        send(echo, second)
        assert echo.read_line() == left_over[3:]
        assert echo.ask(second) == expected
        assert log_of(echo).count("was not read") == 1, deaths


def test_a_reply_of_which_a_dead_worker_has_written_a_part_is_no_reply_to_anything(minter):
    echo = NoidrProcess("-f", str(minter.folder), "--echo")
    name = minter.names[0].encode()
    echo.stdin.write(b"get %b long\n" % name)
    # The pipe is full: the worker waits in the middle of its reply.
    wait_until(lambda: bool(select.select([echo.stdout], [], [], 0)[0]))
    time.sleep(0.1)
    echo.kill_worker()
    reply = echo.read_line()
    assert reply.startswith(b"\x02" + name + b" xxx") and reply.endswith(b"x\x02 NULL")
    assert echo.ask(name) == b"\x02" + name + b" " + target(minter.names[0])
    assert echo.end() == 0


# -- without ---------------------------------------------------------------------------------------------------------


def test_without_echo_no_reply_is_of_another_request_and_noidr_ends_where_it_cannot_know(minter):
    dice, ends = random.Random(5), 0
    for seed in range(6):
        noidr = NoidrProcess("-f", str(minter.folder))
        killer = Killer(noidr, 40, seed)
        killer.start()
        for number in range(100_000):
            name = f"{dice.choice(minter.names)}/{number}"
            try:
                noidr.stdin.write(name.encode() + b"\n")
            except BrokenPipeError:
                break
            reply = noidr.stdout.readline()
            if not reply:
                break
            assert reply in (b"NULL\n", target(name) + b"\n")
            if not killer.is_alive():
                break
        killer.join()
        noidr.stdin.close()
        status = noidr.process.wait(10)
        ends += status
        assert ("noidr ends" in killer.log + log_of(noidr)) == bool(status)
        noidr.close()
    print(f"{ends} of 6 ended")


@pytest.mark.parametrize("seed", range(3))
def test_lines_sent_in_advance_each_have_their_reply_in_order(minter, seed):
    dice = random.Random(seed)
    names = dice.choices(minter.names, k=20_000)
    noidr = NoidrProcess("-f", str(minter.folder))
    assert noidr.ask(names[0].encode()) == target(names[0])
    lines = "".join(f"{name}\n" for name in names).encode()

    def send_all() -> None:
        with contextlib.suppress(BrokenPipeError):  # noidr has ended
            noidr.stdin.write(lines)
        noidr.stdin.close()

    killer, sender = Killer(noidr, 3, seed), threading.Thread(target=send_all)
    killer.start()
    sender.start()
    replies = noidr.stdout.read().splitlines()
    status = noidr.process.wait(10)
    for thread in (killer, sender):
        thread.join()
    assert len(replies) == len(names) if status == 0 else "noidr ends" in killer.log + log_of(noidr)
    assert all(reply in (b"NULL", target(name)) for name, reply in zip(names, replies, strict=False))
    assert replies.count(b"NULL") <= killer.killed
    noidr.close()


@pytest.mark.parametrize("number", DEADLY, ids=lambda number: number.name)
def test_a_dead_worker_is_replaced_and_logged_whatever_it_died_of(minter, noidr, number):
    assert all_right(noidr, minter)
    for _ in range(3):
        time.sleep(0.05)  # it waits for a request
        noidr.kill_worker(number)
        assert noidr.ask(minter.names[0].encode()) == target(minter.names[0])
    assert all_right(noidr, minter)
    assert log_of(noidr).count(f"was killed by {number.name}") == 3


def test_a_line_of_which_a_dead_worker_had_read_a_part_is_answered(minter, noidr):
    name = minter.names[3].encode()
    noidr.ask(name)
    noidr.stdin.write(name[:4])
    wait_until(lambda: not unread_bytes(noidr.stdin))
    time.sleep(0.1)
    noidr.kill_worker()
    assert noidr.ask(name[4:]) == target(minter.names[3])
    assert all_right(noidr, minter)


def test_a_worker_without_memory_is_replaced_or_answers_that_it_cannot(minter, noidr):
    noidr.ask(minter.names[0].encode())
    worker = noidr.worker
    # Less than it has: whatever it needs more is refused.
    resource.prlimit(worker, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    assert noidr.ask(b"get " + b"y" * 900_000 + b" _t") == b"NULL"
    assert "MemoryError" in log_of(noidr) or not process_is_alive(worker)
    signal_all([worker], signal.SIGKILL)
    wait_until(lambda: not process_is_alive(worker))
    assert all_right(noidr, minter)


def test_workers_that_die_at_once_do_not_stop_the_pipe(minter, echo):
    stop = threading.Event()

    def kill_all() -> None:
        while not stop.is_set():
            signal_all(children(echo.process.pid), signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    time.sleep(1)
    stop.set()
    killer.join()
    name = minter.names[0].encode()
    wait_until(lambda: echo.ask(name) == b"\x02" + name + b" " + target(minter.names[0]))
    assert log_of(echo).count("\n") < 200
    assert echo.end() == 0


def test_both_processes_end_with_the_input_and_with_sigterm(minter):
    for end in (lambda asked: asked.stdin.close(), lambda asked: asked.process.terminate()):
        asked = NoidrProcess("-f", str(minter.folder))
        asked.ask(b"x")
        worker = asked.worker
        end(asked)
        assert asked.process.wait(10) == 0
        wait_until(lambda worker=worker: not process_is_alive(worker))
        asked.close()


def test_the_worker_goes_on_without_its_parent(minter):
    asked = NoidrProcess("-f", str(minter.folder))
    asked.ask(b"x")
    worker = asked.worker
    asked.process.kill()
    asked.process.wait()
    assert all_right(asked, minter)
    asked.stdin.close()
    wait_until(lambda: not process_is_alive(worker))
    asked.close()


@pytest.mark.parametrize("closed", [0, 1])
def test_without_standard_files_it_says_so(minter, closed):
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}{"<>"[closed]}&-', "sh", *NOIDR, "-f", str(minter.folder)],
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert done.stderr == b"noidr: requests cannot be read, or replies cannot be written: Bad file descriptor\n"
