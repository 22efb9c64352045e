"""Clients of the HTTP server that read nothing, send slowly, or are very many."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    served = serve("--http", "127.0.0.1:0", "--user", "alice", "--timeout", "4")
    assert served.http("POST", "/noidu_kt5?bind+set+kt4x551+:-", b"e: " + b"x" * MEGABYTE)[0] == 200
    body = b"get kt4x551 e\n" * 250
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    peers = [gateway.connect(served.address) for _ in range(6)]
    for peer in peers:
        peer.sendall(head + body)
    most = 0
    started = time.monotonic()
    # More clients than threads: the service is back when those that do not read were dropped.
    status = [0]
    other = threading.Thread(target=lambda: status.__setitem__(0, served.http("GET", "/noidu_kt5?hello")[0]))
    other.start()
    while other.is_alive() and time.monotonic() - started < 60:
        most = max(most, used_by(served))
        time.sleep(0.05)
    other.join(60)
    assert status == [200]
    assert most < len(peers) * 12 * MEGABYTE
    served.until(lambda: used_by(served) == 0, 30)
    for peer in peers:
        peer.close()
    # Who does read gets all of it.
    assert len(served.http("POST", "/noidu_kt5?-", body)[1]) > 250 * MEGABYTE


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
    served = serve("--http", "127.0.0.1:0", "--max-per-address", "20")
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    peers = [gateway.connect(served.address) for _ in range(40)]
    for peer in peers:
        with contextlib.suppress(ConnectionError):
            peer.sendall(head)
    # Another address of this computer.
    assert _get_from("127.0.0.2", served) == 200
    for peer in peers:
        peer.settimeout(0.2)
    assert sum(_closed(peer) for peer in peers) == 20
    for peer in peers:
        peer.close()
    assert served.log.read_text().count("20 connections") == 1
    trusted = serve("--http", "127.0.0.1:0", "--max-per-address", "20", "--proxy", "127.0.0.1")
    peers = [gateway.connect(trusted.address) for _ in range(40)]
    assert trusted.http("GET", "/noidu_kt5?hello")[0] == 200
    for peer in peers:
        peer.close()


def _get_from(address: str, served: Served) -> int:
    with socket.socket() as peer:
        peer.settimeout(20)
        peer.bind((address, 0))
        peer.connect(served.address)
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
    if way == "--http":
        assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    else:
        carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
        assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200


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
    fields = {"CONTENT_LENGTH": str(len(body)), "SCGI": "1"} | variables
    packed = "".join(f"{name}\0{value}\0" for name, value in fields.items()).encode("latin-1")
    return b"%d:%b," % (len(packed), packed)


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
        variables = gateway.environ("get+kt4x551+e", path="/noidu_kt5")
        if way == "--fcgi":
            peer.sendall(gateway.request_bytes(variables))
        else:
            packed = "".join(f"{name}\0{text}\0" for name, text in {**variables, "CONTENT_LENGTH": "0"}.items())
            peer.sendall(b"%d:%b," % (len(packed), packed.encode()))
        time.sleep(0.5)
        assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200


def test_connections_that_are_kept_idle_make_room_for_others(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve("--fcgi", str(tmp_path / "noid.sock"), "--workers", "1", preexec_fn=_few_files(48))
    peers = [gateway.connect(served.address) for _ in range(60)]
    time.sleep(1.5)
    assert served.fastcgi("mint+1")[0] == 200
    for peer in peers:
        peer.close()
