"""noid serve and what hostile web servers and clients send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import gateway
from support.minter import Noid
from support.served import Served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("minters")


@pytest.fixture(scope="module")
def http_server(folder: Path) -> Iterator[Served]:
    yield from started(folder, "--http", "127.0.0.1:0", "--user", "alice")


@pytest.fixture(scope="module")
def fcgi(folder: Path) -> Iterator[Served]:
    yield from started(folder, "--fcgi", str(folder / "noid.sock"), "--workers", "2")


def started(folder: Path, *words: str) -> Iterator[Served]:
    served = Served.start(folder / f"{words[0][2:]}.log", "serve", "--minters", folder, *words)
    if "--workers" in words:
        served.until(lambda: len(served.workers) == 2)
    yield served
    assert served.stop() == 0
    assert "Traceback" not in served.log.read_text()


@pytest.fixture(autouse=True)
def new_minter(folder: Path, tmp_path: Path) -> None:
    """Puts a new minter in the place of the one that the last test used; the servers go on."""
    if (folder / "kt5").exists():
        (folder / "kt5").rename(tmp_path / "kt5")
    Noid.created(folder / "kt5", "kt.reeded").close()


@pytest.mark.only("lmdb")
@pytest.mark.parametrize(("sent", "status"), [
    (b"GET /noidu_kt5?mint+%zz HTTP/1.0\r\n\r\n", 400),
    (b"GET /noidu_kt5?get+" + b"x" * 100_000 + b" HTTP/1.0\r\n\r\n", 414),
    (b"GET /noidu_kt5?get+%00%0A HTTP/1.0\r\n\r\n", 404),
    (b"BREW /noidu_kt5?mint+1 HTTP/1.0\r\n\r\n", 405),
    (b"PUT /noidu_kt5?mint+1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 405),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nContent-Length: x\r\n\r\nmint 1\n", 400),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nContent-Length: -1\r\n\r\nmint 1\n", 400),
    (b"POST /noidu_kt5?- HTTP/1.0\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nmint 1\n", 413),
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
    reply = http_server.raw(sent, finish=False)
    assert reply.split(b" ")[1:2] == [b"%d" % status], reply[:300]
    assert http_server.http("GET", "/noidu_kt5?mint+1") == (200, b"id: kt4x551\n\n")


def test_slow_and_truncated_bodies_delay_no_other_request(http_server: Served) -> None:
    head = b"POST /noidu_kt5?- HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n"
    slow = [gateway.connect(http_server.address) for _ in range(8)]
    for peer in slow:
        peer.sendall(head + b"danc 1\n")
    # The slow ones are still being sent when this one is answered.
    assert http_server.http("GET", "/noidu_kt5?hello")[0] == 200
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
def test_after_malformed_fastcgi_the_next_request_is_served(fcgi: Served, garbage: bytes) -> None:
    for _ in range(3):
        fcgi.raw(garbage)
    assert fcgi.fastcgi("mint+1")[2] == b"id: kt4x551\n\n"


def test_a_truncated_or_aborted_body_is_refused_whole(fcgi: Served) -> None:
    body = b"mint 1\n" * 10
    variables = gateway.environ("-", path="/noidu_kt5", user="alice", method="POST", body=body)
    head = gateway.begin() + gateway.stream(gateway.PARAMS, gateway.parameters(variables))
    for ending in (gateway.record(gateway.STDIN), gateway.record(gateway.ABORT), b""):
        with gateway.connect(fcgi.address) as peer:
            peer.sendall(head + gateway.record(gateway.STDIN, body[:30]) + ending)
            peer.shutdown(socket.SHUT_WR)
            status, _, text = gateway.answer(peer)
            assert status == 400 and b"not all of its 70 bytes" in text
    assert fcgi.fastcgi("mint+1")[2] == b"id: kt4x551\n\n"
