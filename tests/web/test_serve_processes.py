"""The processes of noid serve: replaced, stopped, reloaded, and in bounded memory."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from support import gateway
from support.http import ids_in
from support.minter import run_in_child
from support.process import NOID, process_is_alive
from support.served import Served

pytestmark = pytest.mark.slow


def started(pid: int) -> float:
    """When a process was started, in seconds since the machine was."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


def test_a_worker_that_dies_is_replaced_after_a_pause(fcgi: Served) -> None:
    """Without it, workers that cannot start would occupy all processors."""
    fcgi.until(lambda: len(fcgi.workers) == 2)
    first = fcgi.workers
    killed = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.kill(first[0], signal.SIGKILL)
    assert fcgi.fastcgi("mint+1")[0] == 200
    fcgi.until(lambda: len(fcgi.workers) == 2 and first[0] not in fcgi.workers)
    assert first[1] in fcgi.workers
    assert max(map(started, fcgi.workers)) - killed > 0.9


def test_a_worker_that_ended_just_before_the_server_is_stopped_is_not_replaced(fcgi: Served) -> None:
    os.kill(fcgi.workers[0], signal.SIGKILL)
    time.sleep(0.5)
    assert fcgi.stop() == 0
    assert "another one is started" not in fcgi.log.read_text()


def test_identifiers_are_unique_and_kept_when_fastcgi_workers_are_killed(fcgi: Served, tmp_path: Path) -> None:
    received: list[str] = []
    stopping = threading.Event()

    def client() -> None:
        while not stopping.is_set():
            with contextlib.suppress(OSError, EOFError):
                status, _, body = fcgi.fastcgi("mint+5")
                assert status in (200, 503), body  # 503: on a busy machine another one wrote for too long
                received.extend(ids_in(body))

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1, 4):
            # Each time after more were minted, by a worker that has its work.
            fcgi.until(lambda wanted=100 * number: len(received) >= wanted and len(fcgi.workers) == 2)
            killed = fcgi.workers[0]
            os.kill(killed, signal.SIGKILL)
            fcgi.until(lambda pid=killed: pid not in fcgi.workers)
        fcgi.until(lambda: len(received) >= 400)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert len(set(received)) == len(received)
    stored = run_in_child(tmp_path / "kt5", "hold", "set", *sorted(received))
    assert stored == [{"ok": b"%d holds placed" % len(received)}]
    assert not {*received} & {*ids_in(fcgi.fastcgi("mint+50")[2])}


def test_workers_end_when_their_parent_is_killed(fcgi: Served) -> None:
    fcgi.until(lambda: len(fcgi.workers) == 2)
    workers = fcgi.workers
    fcgi.process.kill()
    fcgi.process.wait()
    fcgi.until(lambda: not any(process_is_alive(pid) for pid in workers))


def test_stopping_removes_the_socket_and_starting_replaces_a_stale_one(serve, tmp_path: Path) -> None:
    place = tmp_path / "noid.sock"
    first = serve("--fcgi", str(place))
    refused = subprocess.run([*NOID, "serve", "--minters", tmp_path, "--fcgi", place], capture_output=True, check=False)
    assert refused.returncode == 2 and b"another server is listening" in refused.stderr
    assert first.stop() == 0 and not place.exists()
    second = serve("--fcgi", str(place))
    workers = second.workers
    second.process.kill()
    second.process.wait()
    second.until(lambda: not any(process_is_alive(pid) for pid in workers))
    assert place.exists()
    assert serve("--fcgi", str(place)).fastcgi("mint+1")[0] == 200


def test_serve_by_fastcgi_finishes_its_requests_before_it_stops(fcgi: Served) -> None:
    body = b"bind set kt639k9 x y\n" * 3000
    variables = gateway.environ("-", path="/noidu_kt5", user="alice", method="POST", body=body)
    with gateway.connect(fcgi.address) as peer:
        peer.sendall(gateway.request_bytes(variables, body))
        peer.recv(1, socket.MSG_PEEK)
        fcgi.process.send_signal(signal.SIGTERM)
        status, _, text = gateway.answer(peer)
    assert status == 200 and text.endswith(b"bulk: 3000 commands, 3000 done, 0 refused\n")
    assert fcgi.process.wait(60) == 0


def test_a_worker_that_was_late_for_a_connection_stops_when_it_is_told_to(tmp_path: Path) -> None:
    """Another worker has taken the connection that select announced."""
    late = ("import select\nselect.select = lambda ready, *_: (ready, [], [])\nprint('late', flush=True)\n"
            "from noidtools.server.fastcgi import serve_socket\nserve_socket(None, [])")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "noid.sock"))
        listener.listen()
        worker = subprocess.Popen([sys.executable, "-c", late], stdin=listener, stdout=subprocess.PIPE)
        with worker:
            assert worker.stdout is not None and worker.stdout.readline() == b"late\n"
            time.sleep(1)  # until it has begun to accept
            worker.terminate()
            try:
                assert worker.wait(20) in (0, -signal.SIGTERM)
            finally:
                worker.kill()


def is_written(minter: Path) -> bool:
    """Whether some process writes to the minter now."""
    with open(minter / "NOID" / "writer.lock", "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.only("lmdb")
def test_serve_by_http_finishes_its_requests_before_it_stops(http_server: Served, tmp_path: Path) -> None:
    body = b"bind set kt639k9 x y\n" * 3000
    replies = []
    thread = threading.Thread(target=lambda: replies.append(http_server.http("POST", "/noidu_kt5?-", body)))
    thread.start()
    http_server.until(lambda: is_written(tmp_path / "kt5") or bool(replies))
    http_server.process.send_signal(signal.SIGINT)
    thread.join()
    assert replies[0][0] == 200 and replies[0][1].endswith(b"bulk: 3000 commands, 3000 done, 0 refused\n")
    assert http_server.process.wait(60) == 0


@pytest.mark.parametrize("way", ["--fcgi", "--http"])
def test_reloading_refuses_no_request(serve, tmp_path: Path, way: str) -> None:
    served = serve(way, str(tmp_path / "noid.sock"), "--workers", "2",
                   *(("--user-header", "NoidUser") if way == "--http" else ()))
    served.until(lambda: len(served.workers) == 2)
    before = served.workers
    refused: list[object] = []
    stopping = threading.Event()

    def client() -> None:
        while not stopping.is_set():
            try:
                if way == "--fcgi":
                    status = served.fastcgi("mint+1")[0]
                else:
                    reply = served.raw(b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nNoidUser: alice\r\n\r\n", finish=False)
                    if not reply:
                        continue  # granian closes a connection on which nothing has come yet when its worker stops
                    status = int(reply.split(b" ")[1])
                if status != 200:
                    refused.append(status)
            except (OSError, EOFError, IndexError) as error:
                refused.append(error)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    served.process.send_signal(signal.SIGHUP)
    served.until(lambda: not {*before} & {*served.workers}, 40)
    time.sleep(0.3)
    stopping.set()
    for thread in threads:
        thread.join()
    assert refused == []


def test_a_kept_connection_does_not_delay_the_end_of_the_service(http_server: Served) -> None:
    kept = http.client.HTTPConnection(*http_server.address, timeout=30)
    kept.request("GET", "/noidu_kt5?hello")
    kept.getresponse().read()
    http_server.process.send_signal(signal.SIGTERM)
    assert http_server.process.wait(5) == 0
    kept.close()


@pytest.mark.parametrize(("way", "lines"), [("--fcgi", 20_000), ("--http", 10_000)])
def test_a_large_bulk_run_uses_bounded_memory(serve, way: str, lines: int) -> None:
    served = serve(way, "127.0.0.1:0", *(["--user", "alice"] if way == "--http" else ["--allow", "127.0.0.1"]),
                   "--workers", "1")
    value = b"x" * (24_000_000 // lines)
    body = b"".join(b"bind set kt639k9 e%d '%b'\n" % (number % 50, value) for number in range(lines))
    served.until(lambda: len(served.workers) == 1)
    (worker,) = served.workers
    if way == "--http":
        status, text = served.http("POST", "/noidu_kt5?-", body)
    else:
        status, _, text = gateway.fastcgi(served.address, "-", body, path="/noidu_kt5", user="alice", method="POST")
    assert status == 200 and text.endswith(b"bulk: %d commands, %d done, 0 refused\n" % (lines, lines))
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker}/status").read_text())[1])
    assert len(body) + len(text) > 24 << 20 and peak < 96 << 10, peak


def test_idle_connections_do_not_prevent_other_requests(http_server: Served) -> None:
    with contextlib.ExitStack() as idle:
        for _ in range(90):
            peer = idle.enter_context(socket.create_connection(http_server.address, timeout=10))
            peer.sendall(b"GET /noidu_kt5?hello HTTP/1.1\r\nHost: x\r\n")
        assert http_server.http("GET", "/noidu_kt5?hello", Host="127.0.0.1")[0] == 200


def test_clients_that_do_not_read_delay_no_other_request(http_server: Served) -> None:
    body = b"help\n" * 5000
    request = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    with contextlib.ExitStack() as deaf:
        for _ in range(4):
            peer = deaf.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(http_server.address)
            peer.sendall(request + body)
        assert http_server.http("GET", "/noidu_kt5?hello", Host="127.0.0.1")[0] == 200
