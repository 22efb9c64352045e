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
    before = _processor_seconds(served.workers[0])
    time.sleep(4)
    assert _processor_seconds(served.workers[0]) - before < 2
    assert served.log.read_text().count("\n") < 8, served.log.read_text()
    for peer in peers:
        peer.close()
    if way == "--http":
        assert served.http("GET", "/noidu_kt5?hello")[0] == 200
    else:
        carry = gateway.fastcgi if way == "--fcgi" else gateway.scgi
        assert carry(served.address, "hello", path="/noidu_kt5")[0] == 200


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_limit_of_open_files_is_raised_at_the_start(serve: Callable[..., Served]) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 4096)
    served = serve("--http", "127.0.0.1:0",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, wanted)))
    served.until(lambda: bool(served.workers))
    limits = Path(f"/proc/{served.workers[0]}/limits").read_text()
    assert f"Max open files            {wanted}" in limits
