"""`noid serve` for real: processes, sockets, signals."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gateway_support as gateway
import pytest
from conftest import NOID, ROOT
from url_support import command, create

from noidtools.errors import UsageError
from noidtools.server.process import Address
from noidtools.server.serve import Options


class Served:
    """A server that was started, and where it listens."""

    def __init__(self, process: subprocess.Popen, log: Path) -> None:
        self.process = process
        self.log = log
        found = self._wait_for(r"serving .* by (\w+) at (?:http://)?([^/\s]+:\d+|\S+)")
        self.place: str | tuple[str, int] = found[2]
        if ":" in found[2] and "/" not in found[2]:
            host, _, port = found[2].rpartition(":")
            self.place = (host, int(port))

    def _wait_for(self, pattern: str) -> re.Match:
        for _ in range(400):
            if found := re.search(pattern, self.log.read_text()):
                return found
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    @property
    def workers(self) -> list[int]:
        found = subprocess.run(["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def until(self, condition: Callable[[], bool], seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def http(self, method: str, target: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self.place, timeout=30)
        try:
            connection.request(method, target, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def raw(self, *pieces: bytes, finish: bool = True, pause: float = 0.0) -> bytes:
        """What comes back for bytes sent as they are."""
        out = b""
        with gateway.connect(self.place) as peer, contextlib.suppress(ConnectionError):
            for piece in pieces:
                peer.sendall(piece)
                time.sleep(pause)
            if finish:
                peer.shutdown(socket.SHUT_WR)
            while piece := peer.recv(65536):
                out += piece
        return out

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    create(tmp_path / "kt5", "kt.reeded")
    started: list[Served] = []

    def start(*words: str, **options) -> Served:
        log = tmp_path / f"log{len(started)}"
        with open(log, "wb") as stream:
            process = subprocess.Popen([*NOID, "serve", "--minters", str(tmp_path), *words], stdin=subprocess.DEVNULL,
                                       stdout=stream, stderr=stream, cwd=tmp_path, **options)
        started.append(Served(process, log))
        return started[-1]

    yield start
    for served in started:
        served.stop()
        assert "Traceback" not in served.log.read_text()


@pytest.fixture
def http_server(serve: Serve) -> Served:
    return serve("--http", "127.0.0.1:0", "--user", "alice")


@pytest.fixture
def fcgi(serve: Serve, tmp_path: Path) -> Served:
    return serve("--fcgi", str(tmp_path / "noid.sock"), "--workers", "2")


def ask(served: Served, query: str, body: bytes = b"", **said: str) -> tuple[int, dict[str, str], bytes]:
    return gateway.fastcgi(served.place, query, body, **{"path": "/nd/noidu_kt5", "user": "alice", **said})


def ids(body: bytes) -> list[str]:
    return [line.removeprefix("id: ") for line in body.decode().splitlines() if line.startswith("id: ")]


# -- every way in ------------------------------------------------------------------------------------------------


def test_http(http_server: Served) -> None:
    status, body = http_server.http("GET", "/nd/noidu_kt5?mint+2")
    assert status == 200 and len(ids(body)) == 2
    assert http_server.http("GET", "/nd/noidu_none?mint+2")[0] == 404
    status, body = http_server.http("POST", "/noidu_kt5?-", b"mint 1\nhello\n")
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")


def test_http_without_a_user_cannot_log_in_and_says_so(serve: Serve) -> None:
    served = serve("--http", "127.0.0.1:0")
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    status, body = served.http("GET", "/noidu_kt5?mint+1")
    assert status == 403 and b"does not offer" in body


def test_http_behind_a_proxy_believes_its_headers(serve: Serve, tmp_path: Path) -> None:
    served = serve("--http", "127.0.0.1:0", "--proxy", "127.0.0.1", "--user-header", "X-Remote-User")
    assert served.http("GET", "/noidu_kt5?mint+1")[0] == 401
    headers = {"X-Remote-User": "bob", "X-Forwarded-For": "203.0.113.9"}
    status, body = served.http("GET", "/noidu_kt5?bind+mint+new+x+y", **headers)
    assert status == 200
    identifier = body.decode().split()[1]
    (record,) = command(tmp_path / "kt5", "fetch", identifier)
    assert b"bob@203.0.113.9" in record["circ"]


def test_http_through_a_unix_socket(serve: Serve, tmp_path: Path) -> None:
    believed = ("--proxy", "unix", "--user-header", "X-U")
    served = serve("--http", str(tmp_path / "h.sock"), "--socket-mode", "600", *believed)
    assert os.stat(tmp_path / "h.sock").st_mode & 0o777 == 0o600
    reply = served.raw(b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nX-U: bob\r\n\r\n")
    assert reply.startswith(b"HTTP/1.0 200 OK") and b"id: kt" in reply


def test_fastcgi(fcgi: Served, tmp_path: Path) -> None:
    status, headers, body = ask(fcgi, "mint+1")
    assert status == 200 and len(ids(body)) == 1 and headers["Cache-Control"] == "no-store"
    assert ask(fcgi, "mint+1", user="")[0] == 401
    assert ask(fcgi, "hello", path="/noidu_none")[0] == 404
    status, _, body = ask(fcgi, "-", b"mint 1\nhello\n", method="POST")
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")
    assert os.stat(tmp_path / "noid.sock").st_mode & 0o777 == 0o660


def test_fastcgi_by_tcp_and_for_one_minter(serve: Serve, tmp_path: Path) -> None:
    served = serve("--fcgi", "127.0.0.1:0")
    assert ask(served, "mint+1")[0] == 200
    log = tmp_path / "one"
    with open(log, "wb") as stream:
        words = ["-f", str(tmp_path / "kt5"), "serve", "--fcgi", "127.0.0.1:0"]
        process = subprocess.Popen([*NOID, *words], stderr=stream)
    one = Served(process, log)
    assert ask(one, "mint+1", path="/noidu")[0] == ask(one, "mint+1", path="/x/noidu_kt5")[0] == 200
    assert ask(one, "mint+1", path="/noidu_other")[0] == 404
    assert one.stop() == 0


def test_scgi(serve: Serve) -> None:
    served = serve("--scgi", "127.0.0.1:0")
    said = {"path": "/nd/noidu_kt5", "user": "alice"}
    status, _, body = gateway.scgi(served.place, "mint+1", **said)
    assert status == 200 and len(ids(body)) == 1
    status, _, body = gateway.scgi(served.place, "-", b"mint 1\nhello\n", method="POST", **said)
    assert status == 200 and body.endswith(b"bulk: 2 commands, 2 done, 0 refused\n")
    for garbage in [b"", b"x", b"5:abc", b"3:abc,", b"99999:", b"-1:,", b"2:a\0,", b"13:CONTENT_LENGTH,"]:
        served.raw(garbage)
    assert gateway.scgi(served.place, "hello", **said)[0] == 200
    # What is logged of a request must be ours: a path may hold a line break.
    gateway.scgi(served.place, "hello", path="/a\nforged: line")
    assert "forged" not in served.log.read_text()


def test_a_process_manager_hands_over_its_socket(tmp_path: Path) -> None:
    create(tmp_path / "kt5", "kt.reeded")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        process = subprocess.Popen([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=listener,
                                   env={**os.environ, "NOID_MINTERS": str(tmp_path)})
    status, _, body = gateway.fastcgi(str(tmp_path / "s"), "mint+1", path="/nd/noid.fcgi/noidu_kt5", user="alice")
    assert status == 200 and len(ids(body)) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_noid_fcgi_by_hand_says_what_to_start_instead() -> None:
    done = subprocess.run([sys.executable, ROOT / "cgi-bin" / "noid.fcgi"], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    assert done.returncode == 2 and b"noid serve --fcgi" in done.stderr and b"Traceback" not in done.stderr


def test_systemd_hands_over_its_socket(tmp_path: Path) -> None:
    create(tmp_path / "kt5", "kt.reeded")
    log = tmp_path / "log"
    with socket.socket(socket.AF_UNIX) as listener, open(log, "wb") as stream:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        # A shell knows its own process number before it becomes the server.
        script = 'exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        words = ["serve", "--minters", tmp_path, "--fcgi", "systemd"]
        process = subprocess.Popen(["sh", "-c", script, "sh", *NOID, *words], stdin=listener, stderr=stream)
    served = Served(process, log)
    served.place = str(tmp_path / "s")
    assert ask(served, "mint+1")[0] == 200
    process.send_signal(signal.SIGHUP)
    served.until(lambda: log.read_text().count("serving") == 2)
    assert ask(served, "mint+1")[0] == 200
    assert served.stop() == 0
    # The socket is systemd's, and stays.
    assert (tmp_path / "s").exists()


# -- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    ["--http", "8080"], ["--http", "127.0.0.1:99999"], ["--http", ":80"], ["--http", "a:b"], ["--workers", "0"],
    ["--workers", "x"], ["--socket-mode", "888"], ["--socket-mode", "7777"], ["--max-body", "-1"], ["extra"],
    ["--http", "127.0.0.1:0", "--fcgi", "127.0.0.1:0"], ["--user", "a", "--http", "0.0.0.0:0"], ["--odd", "1"],
    ["--user", "a", "--fcgi", "127.0.0.1:0"], ["--user-header", "X-User"], ["--fcgi", "systemd"], ["--threads", "0"],
])
def test_options_that_make_no_sense_are_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LISTEN_FDS", raising=False)
    with pytest.raises(UsageError):
        Options([word.encode() for word in words])


@pytest.mark.parametrize(("text", "loopback"), [
    ("127.0.0.1:80", True), ("localhost:80", True), ("[::1]:80", True), ("0.0.0.0:80", False),
    ("example.org:80", False), ("/run/noid.sock", False), ("unix:/run/noid.sock", False),
])
def test_addresses_know_whether_only_this_machine_reaches_them(text: str, loopback: bool) -> None:
    assert Address(text).is_loopback == loopback


def test_serve_explains_itself(noid) -> None:
    assert "--socket-mode" in noid("serve", "--help")


def test_what_cannot_be_served_is_refused(noid, tmp_path: Path) -> None:
    assert "no minter" in noid.refused("serve")
    assert "no folder" in noid.refused("serve", "--minters", "nowhere")
    assert "on its own" in noid.run("-", stdin=b"serve\n").stdout.decode()
    (tmp_path / "file").write_text("mine")
    assert "not a socket" in noid.refused("serve", "--minters", ".", "--fcgi", "./file")
    assert (tmp_path / "file").read_text() == "mine"
    assert "cannot listen" in noid.refused("serve", "--minters", ".", "--fcgi", "/nonexistent/s")


# -- hostile web servers and clients -----------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "status"), [
    (b"GET /noidu_kt5?mint+%zz HTTP/1.0\r\n\r\n", 400),
    (b"GET /noidu_kt5?get+" + b"x" * 100_000 + b" HTTP/1.0\r\n\r\n", 400),
    (b"GET /noidu_kt5?get+%00%0A HTTP/1.0\r\n\r\n", 404),
    (b"BREW /noidu_kt5?mint+1 HTTP/1.0\r\n\r\n", 405),
    (b"PUT /noidu_kt5?mint+1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 405),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nContent-Length: x\r\n\r\nmint 1\n", 400),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nContent-Length: -1\r\n\r\nmint 1\n", 400),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\nmint 1\n", 413),
    (b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
    (b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n", 403),
    (b"GET /noidu_kt5?mint+1 HTTP/1.0\r\nHost: rebound.example\r\n\r\n", 403),
    (b"HEAD /noidu_kt5?mint+1 HTTP/1.0\r\n\r\n", 405),
    (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", 404),
    (b"GET /noidu_..%2F..%2Fetc HTTP/1.0\r\n\r\n", 404),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", 400),
    (b"GET /noidu_kt5?hello HTTP/1.0\r\nX: a\r\n: b\r\n\r\n", 400),
], ids=lambda value: str(value)[:60])
def test_each_hostile_request_gets_its_status_and_the_next_is_served(
    http_server: Served, sent: bytes, status: int
) -> None:
    reply = http_server.raw(sent)
    assert reply.split(b" ")[1:2] == [b"%d" % status], reply[:300]
    assert http_server.http("GET", "/noidu_kt5?mint+1") == (200, b"id: kt4x551\n\n")


def test_a_slow_body_and_one_that_is_cut_off_keep_nobody_waiting(http_server: Served) -> None:
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n"
    slow = [gateway.connect(http_server.place) for _ in range(8)]
    for peer in slow:
        peer.sendall(head + b"mint 1\n")
    begun = time.monotonic()
    assert http_server.http("GET", "/noidu_kt5?hello")[0] == 200
    assert time.monotonic() - begun < 2
    for peer in slow[:4]:
        peer.close()
    for peer in slow[4:]:
        peer.sendall(b"hello!!")
        assert peer.recv(65536).startswith(b"HTTP/1.1 400")
        peer.close()
    assert http_server.http("GET", "/noidu_kt5?mint+1") == (200, b"id: kt4x551\n\n")


GARBAGE = [
    b"", b"\0", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 100, gateway.record(gateway.BEGIN),
    gateway.record(gateway.BEGIN, b"x"), gateway.begin(), gateway.begin() + gateway.record(gateway.PARAMS, b"\x80"),
    gateway.begin() + b"\1\4\0\1\xff\xff\0\0abc", gateway.begin() + gateway.stream(gateway.PARAMS, b"\x05\x05ab"),
    gateway.record(99, b"abc", request=0), gateway.record(gateway.STDIN, b"abc"),
    gateway.begin() + gateway.record(gateway.ABORT), gateway.record(9, b"\x80\xff", request=0),
    gateway.record(9, b"\x0e\0FCGI_MAX_CONNS", request=0), gateway.begin() + gateway.begin(),
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda value: repr(value)[:40])
def test_whatever_comes_instead_of_fastcgi_the_next_request_is_served(fcgi: Served, garbage: bytes) -> None:
    before = fcgi.workers
    for _ in range(3):
        fcgi.raw(garbage)
    assert ask(fcgi, "mint+1")[2] == b"id: kt4x551\n\n"
    assert fcgi.workers == before


def test_a_parameter_may_begin_in_one_record_and_end_in_another(fcgi: Served) -> None:
    value = "v" * 200_000
    said = gateway.environ(f"bind+set+kt639k9+x+{value}", path="/noidu_kt5", user="alice")
    for piece in (1000, 65535):
        with gateway.connect(fcgi.place) as peer:
            peer.sendall(gateway.request_bytes(said, piece=piece))
            assert gateway.answer(peer)[0] == 200
    assert ask(fcgi, "get+kt639k9+x")[2] == value.encode() + b"\n"


def test_a_connection_may_be_kept_for_more_requests_and_more_of_them_than_there_are_workers(fcgi: Served) -> None:
    data = gateway.request_bytes(gateway.environ("mint+1", path="/noidu_kt5", user="alice"), keep=True)
    peers = [gateway.connect(fcgi.place) for _ in range(10)]
    minted = []
    for _ in range(3):
        for peer in peers:
            peer.sendall(data)
        for peer in peers:
            status, _, body = gateway.answer(peer)
            assert status == 200
            minted += ids(body)
    assert len(set(minted)) == 30
    assert ask(fcgi, "hello")[0] == 200
    # Two at a time, too, though no web server does that.
    peers[0].sendall(data + data)
    assert gateway.answer(peers[0])[0] == gateway.answer(peers[0])[0] == 200
    for peer in peers:
        peer.close()


def test_of_a_body_that_is_cut_off_or_aborted_nothing_is_run(fcgi: Served) -> None:
    body = b"mint 1\n" * 10
    said = gateway.environ("-", path="/noidu_kt5", user="alice", method="POST", body=body)
    head = gateway.begin(keep=True) + gateway.stream(gateway.PARAMS, gateway.parameters(said))
    for ending in (gateway.record(gateway.STDIN), gateway.record(gateway.ABORT), b""):
        with gateway.connect(fcgi.place) as peer:
            peer.sendall(head + gateway.record(gateway.STDIN, body[:30]) + ending)
            peer.shutdown(socket.SHUT_WR)
            status, _, text = gateway.answer(peer)
            assert status == 400 and b"not all of its 70 bytes" in text
    assert ask(fcgi, "mint+1")[2] == b"id: kt4x551\n\n"


def test_a_body_that_nobody_wants_does_not_spoil_the_connection(fcgi: Served) -> None:
    body = b"x" * 300_000
    said = gateway.environ("hello", path="/noidu_kt5", method="POST", body=body)
    with gateway.connect(fcgi.place) as peer:
        for _ in range(2):
            peer.sendall(gateway.request_bytes(said, body, keep=True))
            assert gateway.answer(peer)[2] == b"Hello.\n\n"


# -- processes ---------------------------------------------------------------------------------------------------


def test_a_worker_that_dies_is_replaced(fcgi: Served) -> None:
    fcgi.until(lambda: len(fcgi.workers) == 2)
    first = fcgi.workers
    time.sleep(1.1)
    os.kill(first[0], signal.SIGKILL)
    assert ask(fcgi, "mint+1")[0] == 200
    fcgi.until(lambda: len(fcgi.workers) == 2 and first[0] not in fcgi.workers)
    assert first[1] in fcgi.workers


def test_workers_killed_in_the_middle_of_minting_harm_nobody(fcgi: Served, tmp_path: Path) -> None:
    received: list[str] = []
    stopping = threading.Event()

    def client() -> None:
        while not stopping.is_set():
            with contextlib.suppress(OSError, EOFError):
                status, _, body = ask(fcgi, "mint+5")
                assert status == 200
                received.extend(ids(body))

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    killed = 0
    for _ in range(3):
        time.sleep(0.6)
        for pid in fcgi.workers[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    time.sleep(0.4)
    stopping.set()
    for thread in threads:
        thread.join()
    assert killed == 3 and len(received) > 100
    assert len(set(received)) == len(received)
    stored = command(tmp_path / "kt5", "hold", "set", *sorted(received))
    assert stored == [{"ok": b"%d holds placed" % len(received)}]
    assert not {*received} & {*ids(ask(fcgi, "mint+50")[2])}


def test_the_workers_go_when_their_parent_is_killed(fcgi: Served) -> None:
    fcgi.until(lambda: len(fcgi.workers) == 2)
    workers = fcgi.workers
    fcgi.process.kill()
    fcgi.process.wait()
    fcgi.until(lambda: not any(alive(pid) for pid in workers))


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_stopping_takes_the_socket_away_and_a_stale_one_is_no_hindrance(serve: Serve, tmp_path: Path) -> None:
    place = tmp_path / "noid.sock"
    first = serve("--fcgi", str(place))
    refused = subprocess.run([*NOID, "serve", "--minters", tmp_path, "--fcgi", place], capture_output=True, check=False)
    assert refused.returncode == 2 and b"another server is listening" in refused.stderr
    assert first.stop() == 0 and not place.exists()
    second = serve("--fcgi", str(place))
    workers = second.workers
    second.process.kill()
    second.process.wait()
    second.until(lambda: not any(alive(pid) for pid in workers))
    assert place.exists()
    assert ask(serve("--fcgi", str(place)), "mint+1")[0] == 200


def test_stopping_waits_for_the_requests_at_hand(fcgi: Served) -> None:
    body = b"bind set kt639k9 x y\n" * 3000
    said = gateway.environ("-", path="/noidu_kt5", user="alice", method="POST", body=body)
    with gateway.connect(fcgi.place) as peer:
        peer.sendall(gateway.request_bytes(said, body))
        peer.recv(1, socket.MSG_PEEK)
        fcgi.process.send_signal(signal.SIGTERM)
        status, _, text = gateway.answer(peer)
    assert status == 200 and text.endswith(b"bulk: 3000 commands, 3000 done, 0 refused\n")
    assert fcgi.process.wait(20) == 0


def test_http_stops_when_its_requests_are_answered(http_server: Served) -> None:
    body = b"bind set kt639k9 x y\n" * 3000
    replies = []
    thread = threading.Thread(target=lambda: replies.append(http_server.http("POST", "/noidu_kt5?-", body)))
    thread.start()
    time.sleep(0.3)
    http_server.process.send_signal(signal.SIGINT)
    thread.join()
    assert replies[0][0] == 200 and replies[0][1].endswith(b"bulk: 3000 commands, 3000 done, 0 refused\n")
    assert http_server.process.wait(20) == 0


@pytest.mark.parametrize("way", ["--fcgi", "--http"])
def test_reloading_refuses_nobody(serve: Serve, way: str) -> None:
    served = serve(way, "127.0.0.1:0", *(["--user", "alice"] if way == "--http" else []), "--workers", "2")
    served.until(lambda: len(served.workers) == 2)
    before = served.workers
    refused: list[object] = []
    stopping = threading.Event()

    def client() -> None:
        while not stopping.is_set():
            try:
                status = ask(served, "mint+1")[0] if way == "--fcgi" else served.http("GET", "/noidu_kt5?mint+1")[0]
                if status != 200:
                    refused.append(status)
            except (OSError, EOFError, http.client.HTTPException) as error:
                refused.append(error)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(2):
        served.process.send_signal(signal.SIGHUP)
        served.until(lambda: served.log.read_text().count("serving") == turn + 2)  # noqa: B023
        time.sleep(0.3)
    stopping.set()
    for thread in threads:
        thread.join()
    served.until(lambda: not {*before} & {*served.workers})
    assert refused == []


@pytest.mark.parametrize(("way", "lines"), [("--fcgi", 100_000), ("--http", 10_000), ("--scgi", 10_000)])
def test_a_large_bulk_run_fills_no_memory(serve: Serve, way: str, lines: int) -> None:
    served = serve(way, "127.0.0.1:0", *(["--user", "alice"] if way == "--http" else []), "--workers", "1")
    value = b"x" * (24_000_000 // lines)
    body = b"".join(b"bind set kt639k9 e%d '%b'\n" % (number % 50, value) for number in range(lines))
    served.until(lambda: len(served.workers) == 1)
    (worker,) = served.workers
    if way == "--http":
        status, text = served.http("POST", "/noidu_kt5?-", body)
    else:
        carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
        status, _, text = carry(served.place, "-", body, path="/noidu_kt5", user="alice", method="POST")
    assert status == 200 and text.endswith(b"bulk: %d commands, %d done, 0 refused\n" % (lines, lines))
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{worker}/status").read_text())[1])
    assert len(body) + len(text) > 24 << 20 and peak < 64 << 10, peak


def test_those_who_connect_and_say_nothing_keep_nobody_out(http_server: Served) -> None:
    with contextlib.ExitStack() as idle:
        for _ in range(150):
            peer = idle.enter_context(socket.create_connection(http_server.place, timeout=10))
            peer.sendall(b"GET /noidu_kt5?hello HTTP/1.1\r\nHost: x\r\n")
        assert http_server.http("GET", "/noidu_kt5?hello", Host="127.0.0.1")[0] == 200


def test_those_who_do_not_listen_keep_nobody_waiting(http_server: Served) -> None:
    body = b"help\n" * 5000
    request = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    with contextlib.ExitStack() as deaf:
        for _ in range(4):
            peer = deaf.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect(http_server.place)
            peer.sendall(request + body)
        assert http_server.http("GET", "/noidu_kt5?hello", Host="127.0.0.1")[0] == 200
