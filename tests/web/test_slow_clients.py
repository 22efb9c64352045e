"""Clients of the HTTP server that read nothing, send slowly, or are very many."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noidtools.server import waitress
from support import gateway
from support.process import processor_seconds
from support.served import Served

MEGABYTE = 1 << 20


def used_by(served: Served) -> int:
    """Bytes of the deleted temporary files that the workers have open."""
    total = 0
    for worker in served.workers:
        folder = f"/proc/{worker}/fd"
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                place = os.readlink(f"{folder}/{name}")
                if place.endswith("(deleted)"):
                    total += os.stat(f"{folder}/{name}").st_size
    return total


def test_an_unread_answer_does_not_fill_the_disk_and_its_client_is_dropped(serve: Callable[..., Served]) -> None:
    served = serve("--http", "127.0.0.1:0", "--user", "alice", "--workers", "1", "--threads", "2", "--timeout", "60")
    assert served.http("POST", "/noidu_kt5?bind+set+kt4x551+:-", b"e: " + b"x" * MEGABYTE)[0] == 200
    body = b"get kt4x551 e\n" * 250
    peers = [_sent(served, body) for _ in range(4)]
    served.until(lambda: used_by(served) > 2 * MEGABYTE)
    # All threads are held by clients that do not read: the service is back when those were dropped, long before their
    # time is over.
    status = [0]
    started = time.monotonic()
    other = threading.Thread(target=lambda: status.__setitem__(0, served.http("GET", "/noidu_kt5?hello")[0]))
    other.start()
    most = 0
    while other.is_alive() or used_by(served) > 2 * 12 * MEGABYTE:
        most = max(most, used_by(served))
        time.sleep(0.05)
        assert time.monotonic() - started < 40
    assert status == [200] and MEGABYTE < most < 2 * 12 * MEGABYTE
    for peer in peers:
        peer.close()
    served.until(lambda: used_by(served) == 0, 30)
    # Who does read gets all of it.
    assert len(served.http("POST", "/noidu_kt5?-", body)[1]) > 250 * MEGABYTE


def _sent(served: Served, body: bytes) -> socket.socket:
    """A connection over which commands in bulk were sent, and whose answer is not read."""
    peer = gateway.connect(served.address)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.sendall(b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return peer


def test_readers_of_whom_none_reads_hold_no_thread(serve: Callable[..., Served]) -> None:
    served = serve("--http", "127.0.0.1:0", "--workers", "1", "--threads", "2", "--timeout", "60")
    peers = [_sent(served, b"help\n" * 9000) for _ in range(8)]
    started = time.monotonic()
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    # The eight answers are made, and nothing is waited for.
    assert time.monotonic() - started < 20
    for peer in peers:
        assert not _dropped(peer)
        peer.close()


def _dropped(peer: socket.socket) -> bool:
    """Whether the other side has closed a connection, found out without reading what it sent."""
    poll = select.poll()
    poll.register(peer, select.POLLHUP | select.POLLERR | select.POLLRDHUP)
    return bool(poll.poll(0))


def test_a_request_that_trickles_is_dropped_when_its_time_is_over(serve: Callable[..., Served]) -> None:
    served = serve("--http", "127.0.0.1:0", "--timeout", "3")
    for begin in (b"GET /noidu_kt5?hello HTTP/1.1\r\nX: ",
                  b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"):
        with gateway.connect(served.address) as peer:
            peer.sendall(begin)
            started = time.monotonic()
            peer.settimeout(0.3)
            while not _closed(peer):
                assert time.monotonic() - started < 30
                with contextlib.suppress(ConnectionError):
                    peer.sendall(b"x")
            assert time.monotonic() - started > 2
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200


def _closed(peer: socket.socket) -> bool:
    try:
        return peer.recv(1000) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_one_address_has_a_bounded_number_of_connections(serve: Callable[..., Served]) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    served = serve("--http", "127.0.0.1:0", "--workers", "1")
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    peers = [gateway.connect(served.address) for _ in range(1000)]
    for peer in peers:
        with contextlib.suppress(ConnectionError):
            peer.sendall(head)
    # Another address of this computer.
    assert _get_from("127.0.0.2", served) == 200
    served.until(lambda: sum(map(_dropped, peers)) == 900)
    for peer in peers:
        peer.close()
    assert served.log.read_text().count("100 connections") == 1
    trusted = serve("--http", "127.0.0.1:0", "--max-per-address", "20", "--proxy", "127.0.0.1")
    peers = [gateway.connect(trusted.address) for _ in range(40)]
    assert trusted.http("GET", "/noidu_kt5?hello")[0] == 200
    for peer in peers:
        peer.close()


def test_bodies_that_do_not_end_take_a_bounded_part_of_the_disk(serve: Callable[..., Served]) -> None:
    largest = 3 * MEGABYTE
    served = serve("--http", "127.0.0.1:0", "--user", "alice", "--workers", "1", "--max-body", str(largest))
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % largest
    peers = []
    for number in range(16):
        peers.append(_connected_from(f"127.0.0.{1 + number // 4}", served))
        with contextlib.suppress(ConnectionError):
            peers[-1].sendall(head + b"#" * (largest - 10))
    served.until(lambda: _open_bodies(peers) <= 4)
    # Two of the first address, two of the next; beyond them less than a step of each.
    assert _open_bodies(peers) >= 3 and used_by(served) <= 5 * largest
    assert served.log.read_text().count("more than they may on disk") == 1
    assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    for peer in peers:
        peer.close()
    served.until(lambda: used_by(served) == 0)
    whole = b"#" * (largest - 7) + b"\nhello\n"
    assert served.http("POST", "/noidu_kt5?-", whole)[0] == 200


class _Sender:
    """A connection that sends a body, or of which the request has arrived."""

    def __init__(self, host: str, size: int, *, arrived: bool = False) -> None:
        self.addr = (host, 1)
        self.body_size = size
        self.request = None if arrived else object()
        self.closed = False

    def handle_close(self) -> None:
        self.closed = True


def test_bodies_that_grew_at_the_same_time_are_too_large_together() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = waitress.HttpServer(listener, lambda *_: [], threads=1, largest_body=3 * MEGABYTE, timeout=60,
                                     per_address=100, proxies=("10.0.0.9",))
        senders = [_Sender(host, size * MEGABYTE) for host, size in
                   (("10.0.0.1", 3), ("10.0.0.1", 2), ("10.0.0.1", 2), ("10.0.0.1", 0), ("10.0.0.2", 3))]
        senders += [_Sender("10.0.0.1", MEGABYTE, arrived=True), _Sender("10.0.0.9", MEGABYTE),
                    _Sender("10.0.0.9", 3 * MEGABYTE)]
        server._server.active_channels.update(enumerate(senders))
        server._close_large_bodies()
        # One of the first address is too much, and the last is too much for all.
        assert [sender.closed for sender in senders] == [False, False, True, False, False, False, False, True]
        server._server.active_channels.clear()
        server.close()


def _open_bodies(peers: list[socket.socket]) -> int:
    return sum(not _dropped(peer) for peer in peers)


def _connected_from(address: str, served: Served) -> socket.socket:
    peer = socket.socket()
    peer.settimeout(20)
    peer.bind((address, 0))
    peer.connect(served.address)
    return peer


def _get_from(address: str, served: Served) -> int:
    with _connected_from(address, served) as peer:
        peer.sendall(b"GET /noidu_kt5?hello HTTP/1.0\r\n\r\n")
        return int(peer.recv(1000).split()[1])


def _few_files(number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


@pytest.mark.parametrize("way", ["--http", "--fcgi", "--scgi"])
def test_without_descriptors_the_server_waits_quietly_and_recovers(
    serve: Callable[..., Served], tmp_path: Path, way: str
) -> None:
    address = "127.0.0.1:0" if way == "--http" else str(tmp_path / "noid.sock")
    served = serve(way, address, "--workers", "1", *(["--max-per-address", "9999"] if way == "--http" else []),
                   preexec_fn=_few_files(48))
    served.until(lambda: len(served.workers) == 1)
    peers: list[Any] = [gateway.connect(served.address) for _ in range(200)]
    time.sleep(1)
    before = processor_seconds(served.workers[0])
    time.sleep(4)
    assert processor_seconds(served.workers[0]) - before < 2
    assert served.log.read_text().count("\n") < 8, served.log.read_text()
    for peer in peers:
        peer.close()
    _assert_answers(served, way)


def _assert_answers(served: Served, way: str) -> None:
    if way == "--http":
        assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    else:
        carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
        assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200


def _request(way: str, query: str) -> bytes:
    """A whole request, as bytes."""
    variables = gateway.environ(query, path="/noidu_kt5")
    if way == "--http":
        return f"GET /noidu_kt5?{query} HTTP/1.0\r\n\r\n".encode()
    if way == "--fcgi":
        return gateway.request_bytes(variables)
    return gateway.scgi_bytes(variables)


def _begun(served: Served, way: str, count: int) -> list[socket.socket]:
    """Connections over which requests have begun to arrive."""
    peers = [gateway.connect(served.address) for _ in range(count)]
    for peer in peers:
        peer.sendall(_request(way, "dbinfo")[:5])
    return peers


@pytest.mark.parametrize("way", ["--http", "--fcgi", "--scgi"])
def test_connections_leave_descriptors_for_the_minters(
    serve: Callable[..., Served], tmp_path: Path, way: str
) -> None:
    address = "127.0.0.1:0" if way == "--http" else str(tmp_path / "noid.sock")
    served = serve(way, address, "--workers", "1", preexec_fn=_few_files(48))
    served.until(lambda: len(served.workers) == 1)
    peers = _begun(served, way, 60)
    peers[0].sendall(_request(way, "dbinfo")[5:])
    assert b"Template: " in _all_of(peers[0])
    for peer in peers:
        peer.close()


def _all_of(peer: socket.socket) -> bytes:
    out = b""
    with contextlib.suppress(ConnectionError):
        while b"Template: " not in out and (piece := peer.recv(65536)):
            out += piece
    return out


@pytest.mark.parametrize("way", ["--http", "--fcgi", "--scgi"])
def test_accepting_pauses_when_descriptors_run_out_though_there_are_few_connections(
    serve: Callable[..., Served], tmp_path: Path, way: str
) -> None:
    address = "127.0.0.1:0" if way == "--http" else str(tmp_path / "noid.sock")
    served = serve(way, address, "--workers", "1")
    # A worker that answers has all the files open that it needs.
    _assert_answers(served, way)
    (worker,) = served.workers
    peers = _begun(served, way, 2)
    before = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir(f"/proc/{worker}/fd"))
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (used + 4, before[1]))
    peers += _begun(served, way, 20)
    served.until(lambda: "no file descriptor is left" in served.log.read_text())
    started = processor_seconds(worker)
    time.sleep(2)
    assert processor_seconds(worker) - started < 0.7
    assert served.log.read_text().count("no file descriptor is left") == 1
    resource.prlimit(worker, resource.RLIMIT_NOFILE, before)
    peers[-1].sendall(_request(way, "dbinfo")[5:])
    assert b"Template: " in _all_of(peers[-1])
    for peer in peers:
        peer.close()


class _WithoutDescriptors:
    """A listening socket of which no connection can be accepted."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.attempts = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.attempts += 1
        raise OSError(errno.EMFILE, "Too many open files")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)


def test_an_http_server_without_descriptors_tries_again_only_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waitress, "PAUSE_SECONDS", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        server = waitress.HttpServer(listener, lambda *_: [], threads=1, largest_body=1, timeout=1, per_address=1)
        server._server.socket = failing = _WithoutDescriptors(listener)
        for _ in range(20):
            server.poll(0.01)
        assert failing.attempts == 1
        server._resume_at = time.monotonic()
        for _ in range(2):
            server.poll(0.01)
        assert failing.attempts == 2
        server.close()


def test_the_limit_of_open_files_is_raised_at_the_start(serve: Callable[..., Served]) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 4096)
    served = serve("--http", "127.0.0.1:0",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, wanted)))
    served.until(lambda: bool(served.workers))
    limits = Path(f"/proc/{served.workers[0]}/limits").read_text()
    assert f"Max open files            {wanted}" in limits


def _head(way: str, body: bytes) -> bytes:
    """A request for a bulk run, up to its body."""
    variables = gateway.environ("-", path="/noidu_kt5", user="alice", method="POST", body=body)
    if way == "--fcgi":
        return gateway.begin() + gateway.stream(gateway.PARAMS, gateway.parameters(variables))
    return gateway.scgi_bytes(variables, body)


@pytest.mark.parametrize("way", ["--fcgi", "--scgi"])
def test_a_web_server_that_trickles_occupies_no_worker_and_is_dropped(
    serve: Callable[..., Served], tmp_path: Path, way: str
) -> None:
    served = serve(way, str(tmp_path / "noid.sock"), "--workers", "1", "--timeout", "4")
    body = b"hello\n" * 100
    request = _head(way, body)
    carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
    peers = [gateway.connect(served.address) for _ in range(3)]
    started = time.monotonic()
    for peer, part in zip(peers, (request[:5], request[:60], request), strict=True):
        peer.settimeout(0.3)
        peer.sendall(part)
    assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200
    assert time.monotonic() - started < 4
    for peer in peers:
        while not _closed(peer):
            assert time.monotonic() - started < 40
            with contextlib.suppress(ConnectionError):
                peer.sendall(b"")
        peer.close()
    assert time.monotonic() - started > 3
    # A body in two parts, with a pause that is short enough.
    with gateway.connect(served.address) as peer:
        whole = request + (gateway.stream(gateway.STDIN, body) if way == "--fcgi" else body)
        peer.sendall(whole[:-50])
        time.sleep(1)
        peer.sendall(whole[-50:])
        out = b""
        with contextlib.suppress(ConnectionError):
            while piece := peer.recv(65536):
                out += piece
    assert b"bulk: 100 commands, 100 done" in out


@pytest.mark.parametrize("way", ["--fcgi", "--scgi"])
def test_an_answer_that_a_web_server_does_not_read_is_given_up(
    serve: Callable[..., Served], tmp_path: Path, way: str
) -> None:
    served = serve(way, str(tmp_path / "noid.sock"), "--workers", "1", "--timeout", "2")
    carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
    value = b"e: " + b"x" * MEGABYTE
    assert carry(served.address, "bind+set+kt4x551+:-", value, path="/noidu_kt5", user="alice", method="POST")[0] == 200
    with gateway.connect(served.address) as peer:
        peer.sendall(_request(way, "get+kt4x551+e"))
        time.sleep(0.5)
        assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200


def test_connections_that_are_kept_idle_make_room_for_others(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve("--fcgi", str(tmp_path / "noid.sock"), "--workers", "1", preexec_fn=_few_files(48))
    peers = [gateway.connect(served.address) for _ in range(60)]
    time.sleep(1.5)
    assert served.fastcgi("mint+1")[0] == 200
    for peer in peers:
        peer.close()
