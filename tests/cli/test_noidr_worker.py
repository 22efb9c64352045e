"""noidr's worker dies, in every way and at every moment: each request line still has exactly one reply line."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from array import array
from pathlib import Path

import pytest

from noidtools.cli import pipe_worker, worker_state
from noidtools.cli.pipe_worker import NULL, Supervisor
from noidtools.cli.worker_state import INCOMPLETE, Counters, SharedState
from support.minter import Noid
from support.noidr import NoidrProcess
from support.process import NOIDR, children, descendants, process_is_alive, signal_all, wait_until
from support.servers.system import program
from support.templates import LONG_TERM

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


def log_of(noidr: NoidrProcess) -> str:
    """What it has written to its log so far."""
    os.set_blocking(noidr.stderr.fileno(), False)
    return (noidr.stderr.read() or b"").decode()


def all_right(noidr: NoidrProcess, minter) -> bool:
    return all(noidr.ask(name.encode()) == f"https://target.example/{name}".encode() for name in minter.names)


@pytest.mark.parametrize("number", DEADLY, ids=lambda number: number.name)
def test_a_dead_worker_costs_one_reply_at_most_and_is_replaced_and_logged(minter, noidr, number):
    dice = random.Random(number)
    nulls = kills = 0
    for _ in range(4):
        worker = noidr.worker
        timer = threading.Timer(dice.uniform(0.0, 0.02), os.kill, (worker, number))
        timer.start()
        kills += 1
        while process_is_alive(worker):
            name = dice.choice(minter.names)
            reply = noidr.ask(name.encode())
            nulls += reply == b"NULL"
            assert reply in (b"NULL", f"https://target.example/{name}".encode())
        started = time.monotonic()
        assert noidr.ask(minter.names[0].encode()) in (b"NULL", f"https://target.example/{minter.names[0]}".encode())
        assert time.monotonic() - started < 1
    assert nulls <= kills
    assert all_right(noidr, minter)
    log = log_of(noidr)
    assert log.count(f"was killed by {number.name}") == kills and log.count("\n") == kills
    assert noidr.process.poll() is None


@pytest.mark.parametrize("seed", range(4))
def test_lines_sent_in_advance_each_have_their_reply_in_order(minter, seed):
    dice = random.Random(seed)
    names = dice.choices(minter.names, k=20_000)
    asked = NoidrProcess("-f", str(minter.folder))
    asked.ask(names[0].encode())

    def send() -> None:
        rest = "".join(f"{name}\n" for name in names).encode()
        while rest:
            size = dice.randrange(1, 20_000)
            asked.stdin.write(rest[:size])
            rest = rest[size:]
        asked.stdin.close()

    def kill() -> None:
        for _ in range(4):
            time.sleep(dice.uniform(0.005, 0.03))
            signal_all(children(asked.process.pid), dice.choice(DEADLY))

    threads = [threading.Thread(target=work) for work in (send, kill)]
    for thread in threads:
        thread.start()
    replies = asked.stdout.read().decode().split("\n")
    for thread in threads:
        thread.join()
    assert asked.process.wait(10) == 0
    assert len(replies) == len(names) + 1 and replies[-1] == ""
    wrong = [(name, reply) for name, reply in zip(names, replies, strict=False)
             if reply not in ("NULL", f"https://target.example/{name}")]
    assert not wrong, wrong[:3]
    # What was read together is lost together, which is not much.
    assert replies.count("NULL") < 1000
    asked.close()


def test_a_line_of_which_a_dead_worker_had_read_a_part_is_answered_null(minter, noidr):
    name = minter.names[3].encode()
    noidr.ask(name)
    noidr.stdin.write(name[:4])
    worker = noidr.worker
    time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not process_is_alive(worker))
    # The rest of it alone would be another name.
    assert noidr.ask(b"/" + minter.names[5].encode()) == b"NULL"
    assert all_right(noidr, minter)


def test_a_long_reply_that_a_dead_worker_had_begun_is_completed(minter, noidr):
    noidr.stdin.write(b"get %b long\n" % minter.names[0].encode())
    # The pipe is full: the worker waits in the middle of its reply.
    wait_until(lambda: bool(select.select([noidr.stdout], [], [], 0)[0]))
    time.sleep(0.1)
    os.kill(noidr.worker, signal.SIGKILL)
    reply = b""
    while not reply.endswith(b"\n"):
        reply += os.read(noidr.stdout.fileno(), 1 << 20)
    assert reply == b"x" * 1_000_000 + b"\n"
    assert all_right(noidr, minter)


def test_a_worker_without_memory_is_replaced_or_answers_that_it_cannot(minter, noidr):
    noidr.ask(minter.names[0].encode())
    worker = noidr.worker
    # Less than it has: whatever it needs more is refused.
    resource.prlimit(worker, resource.RLIMIT_AS, (1 << 20, 1 << 20))
    reply = noidr.ask(b"get " + b"y" * 900_000 + b" _t")
    assert reply == b"NULL"
    assert "MemoryError" in log_of(noidr) or not process_is_alive(worker)
    killed = noidr.worker
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed != noidr.worker)
    assert all_right(noidr, minter)


def test_workers_that_die_at_once_do_not_stop_the_pipe(minter):
    asked = NoidrProcess("-f", str(minter.folder), "--echo", "--codes")
    stop = threading.Event()

    def kill_all() -> None:
        while not stop.is_set():
            signal_all(children(asked.process.pid), signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    name = minter.names[0]
    replies: list[str] = []
    try:
        # After more deaths than five in a second, requests are answered without a worker.
        wait_until(lambda: bool(replies.append(asked.ask(name.encode()).decode()) or replies[-1] == f"{name} 503"), 60)
    finally:
        stop.set()
        killer.join()
    assert set(replies) <= {"NULL", f"{name} 503", f"{name} https://target.example/{name}"}
    wait_until(lambda: asked.ask(name.encode()).decode() == f"{name} https://target.example/{name}")
    assert asked.end() == 0


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


# -- where the system does not count what is written -----------------------------------------------------------------


class Pipes:
    def __init__(self) -> None:
        self.source, self.client_out = os.pipe()
        self.client_in, self.sink = os.pipe()


def made_up(piece: bytes, written: int | None, *, next_request: bool = False) -> tuple[int | None, bytes, bool]:
    """How many lines are answered NULL after a death, what is written for that, and whether a line is incomplete."""
    pipes = Pipes()
    supervisor = Supervisor(None, None)  # type: ignore[arg-type] - no worker is started
    state: SharedState = supervisor._state
    state.memory[: len(piece)] = piece
    if next_request:
        os.write(pipes.client_out, b"x\n")
    lost = supervisor._write_missing_replies(written, pipes.source, pipes.sink)
    os.close(pipes.sink)
    out = os.read(pipes.client_in, 1000)
    for descriptor in (pipes.source, pipes.client_out, pipes.client_in):
        os.close(descriptor)
    return lost, out, bool(state.numbers[INCOMPLETE])


def test_what_is_not_known_to_be_written_is_settled_by_the_next_request_or_ends_the_loop(monkeypatch):
    monkeypatch.setattr(pipe_worker, "_NEXT_REQUEST_SECONDS", 0.01)
    assert made_up(b"a\n", None, next_request=True) == (0, b"", False)
    assert made_up(b"a\n", None)[:2] == (None, b"")
    assert made_up(b"a\n", 0) == (1, NULL, False)
    assert made_up(b"a\nb\nc", 0) == (2, NULL * 2, True)
    assert made_up(b"a\n", 30) == (0, b"", False)
    assert made_up(b"", None) == (0, b"", False)


def test_bytes_written_are_counted_by_the_system_where_it_can():
    with Counters("self") as counters:
        before = counters.bytes_written()
        if before is None:
            assert not Path("/proc/self/io").exists()
            return
        readable, writable = os.pipe()
        os.write(writable, b"x" * 100)
        assert counters.bytes_written() == before + 100
    with Counters("no such process") as counters:
        assert counters.bytes_written() is None
    os.close(readable)
    os.close(writable)


def test_the_death_of_the_parent_is_logged_by_the_worker_which_goes_on(minter, noidr):
    worker = noidr.worker
    assert noidr.ask(minter.names[0].encode()) == f"https://target.example/{minter.names[0]}".encode()
    noidr.process.kill()
    noidr.process.wait()
    try:
        assert all_right(noidr, minter)
        log: list[str] = []
        wait_until(lambda: bool(log.append(log_of(noidr)) or "".join(log).endswith("\n")))
        assert "".join(log).count("\n") == 1 and "the parent process has died: the worker goes on" in "".join(log)
        # What follows is not logged a second time.
        assert all_right(noidr, minter) and log_of(noidr) == ""
    finally:
        noidr.stdin.close()
        wait_until(lambda: not process_is_alive(worker))


@pytest.mark.only("lmdb")
def test_a_worker_that_takes_the_place_of_a_dead_one_imports_nothing(minter, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    asked = NoidrProcess("-f", str(minter.folder))
    name = minter.names[0].encode()
    target = b"https://target.example/" + name
    try:
        assert asked.ask(name) == target
        assert "lmdb" in log_of(asked)
        worker = asked.worker
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not process_is_alive(worker))
        assert asked.ask(name) == target and asked.ask(b"ark:/13030/unknown/x") == b"NULL"
        assert "import time:" not in log_of(asked)
    finally:
        asked.close()


def unread_bytes(file) -> int:
    count = array("i", [0])
    fcntl.ioctl(file, termios.FIONREAD, count)
    return count[0]


def test_what_a_worker_writes_when_it_opens_a_copied_folder_counts_as_no_reply(tmp_path):
    """It notes which files belong together.  Each line has its reply, though the worker is killed in a write."""
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    name = made.mint_with_target("https://a.example/")
    made.close()
    shutil.copytree(tmp_path / "kt5", tmp_path / "copy")
    noidr = NoidrProcess("-f", str(tmp_path / "kt5"))
    assert noidr.ask(name.encode()) == b"https://a.example/"
    (tmp_path / "kt5").rename(tmp_path / "away")
    (tmp_path / "copy").rename(tmp_path / "kt5")
    time.sleep(0.05)
    assert noidr.ask(name.encode()) == b"https://a.example/"
    assert_one_reply_each_though_killed_in_a_write(noidr, name, b"https://a.example", signal.SIGKILL)


def assert_one_reply_each_though_killed_in_a_write(
    noidr: NoidrProcess, name: str, target: bytes, number: signal.Signals, *, depth: int = 1
) -> None:
    """It is closed afterwards.  The worker is that many processes below the one that was started."""
    # As many replies as the pipe takes, and one more, for which the worker waits.
    fcntl.fcntl(noidr.stdout, fcntl.F_SETPIPE_SZ, 4096)
    sent = [name.encode() + b"/" + b"x" * 300 + b"/%d" % count for count in range(13)]
    expected = [target + line.removeprefix(name.encode()) for line in sent]
    for last, line in enumerate(sent):
        noidr.stdin.write(line + b"\n")
        written = sum(len(reply) + 1 for reply in expected[: last + 1])
        if written > 4096:
            break
        wait_until(lambda written=written: unread_bytes(noidr.stdout) == written)
    wait_until(lambda: unread_bytes(noidr.stdin) == 0)
    time.sleep(0.2)
    (*_, worker) = descendants(noidr.process.pid)[:depth]
    os.kill(worker, number)
    wait_until(lambda: not process_is_alive(worker))
    noidr.stdin.close()
    assert noidr.stdout.read().splitlines() == [*expected[:last], b"NULL"]
    noidr.close()


@pytest.mark.parametrize("number", DEADLY, ids=lambda number: number.name)
def test_a_core_dump_counts_as_no_reply(minter, tmp_path, number):
    """Where the system may write core dumps it does so before the process has ended, and counts the bytes as its."""
    noidr = NoidrProcess("-f", str(minter.folder), cwd=tmp_path, preexec_fn=allow_core_dumps)
    assert_one_reply_each_though_killed_in_a_write(
        noidr, minter.names[0], f"https://target.example/{minter.names[0]}".encode(), number)
    assert not list(tmp_path.iterdir())


def allow_core_dumps() -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert hard == resource.RLIM_INFINITY or hard > 1 << 30, "the hard limit of core dumps allows none here"
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def test_the_limit_of_core_dumps_is_the_one_for_which_the_system_asks_no_program_that_takes_them(noidr):
    assert resource.prlimit(noidr.worker, resource.RLIMIT_CORE)[0] == 1


@pytest.mark.parametrize(("at_end", "counted", "expected"), [
    (0, 0, 0), (0, 30, 30), (64, 64, 0), (64, 94, 30), (None, 64, None), (64, 0, 0), (64, 30, None),
])
def test_what_the_system_writes_at_the_end_of_any_process_counts_as_no_reply(monkeypatch, at_end, counted, expected):
    """Process accounting writes a record of 64 bytes, and counts them as written by the process that ends."""
    monkeypatch.setattr(worker_state, "bytes_written_at_end", lambda: at_end)
    state = SharedState()
    state.begin()
    with Counters("self") as counters:
        readable, writable = os.pipe()
        os.write(writable, b"x" * counted)
        assert state.bytes_written(counters) == expected
        assert state.bytes_written(counters, dumped=True) is None
    os.close(readable)
    os.close(writable)


def test_the_end_of_a_process_without_accounting_counts_no_bytes():
    # Where the system accounts for processes, this is the length of a record.
    assert worker_state.bytes_written_at_end() in (0, 64)


ACCOUNTED = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.acct(os.fsencode(sys.argv[1])) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.servers
def test_a_record_of_process_accounting_counts_as_no_reply(minter, tmp_path):
    """In a namespace of processes, in which accounting is by itself; that needs root."""
    records = tmp_path / "records"
    records.touch()
    noidr = NoidrProcess("-f", str(minter.folder), program=[
        program("unshare"), "--pid", "--fork", "--mount-proc", sys.executable, "-c", ACCOUNTED, str(records), *NOIDR])
    name = minter.names[0]
    assert noidr.ask(name.encode()) == f"https://target.example/{name}".encode()
    assert_one_reply_each_though_killed_in_a_write(
        noidr, name, f"https://target.example/{name}".encode(), signal.SIGKILL, depth=2)
    assert records.stat().st_size


def test_a_probe_that_was_killed_tells_nothing(monkeypatch):
    fork = os.fork

    def killed() -> int:
        process = fork()
        if process:
            os.kill(process, signal.SIGKILL)
        return process

    monkeypatch.setattr(os, "fork", killed)
    assert worker_state.bytes_written_at_end() is None


def test_without_descriptors_what_the_system_writes_is_unknown(monkeypatch):
    def without_descriptors() -> tuple[int, int]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", without_descriptors)
    assert worker_state.bytes_written_at_end() is None


# -- replies that a killed process of the web server did not read ----------------------------------------------------


def compact(minter, number: int) -> tuple[bytes, bytes]:
    """A request for one of the names, and the reply."""
    rest = minter.names[number].removeprefix("13030/kt").encode()
    return b"/" + rest, b"\x02target.example/|" + rest


@pytest.fixture
def in_step(minter):
    asked = NoidrProcess("-f", str(minter.folder), "--element", "_t", "--codes", "--echo", "--compact", "ark:/13030/kt")
    yield asked
    asked.close()


def send(noidr: NoidrProcess, line: bytes) -> None:
    """Send a request, and wait until it was looked at."""
    noidr.stdin.write(line + b"\n")
    wait_until(lambda: not unread_bytes(noidr.stdin))
    time.sleep(0.1)


def read_line(noidr: NoidrProcess) -> bytes:
    """A reply, read byte by byte, as Apache does: whatever comes after it stays in the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(noidr.stdout.fileno(), 1)
    return line[:-1]


def test_after_a_reply_that_nobody_reads_a_request_gets_none_so_that_all_others_get_their_own(minter, in_step):
    (first, left_over), (second, expected) = compact(minter, 1), compact(minter, 2)
    assert in_step.ask(first) == left_over
    for _ in range(4):
        send(in_step, first)
        # A process of the web server has died, when it had read a part of the reply.
        assert os.read(in_step.stdout.fileno(), 3) == left_over[:3]
        replies = []
        while unread_bytes(in_step.stdout):
            send(in_step, second)
            replies.append(read_line(in_step))
        assert replies == [left_over[3:], *([expected] * (len(replies) - 1))] and len(replies) <= 8
        for number, name in enumerate(minter.names):
            request, reply = compact(minter, number)
            assert in_step.ask(request) == reply
            assert in_step.ask(f"ark:/{name}".encode()).endswith(f" https://target.example/{name}".encode())
    assert log_of(in_step).count("was not read") == 4
