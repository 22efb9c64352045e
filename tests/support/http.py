"""Requests over a socket, and what comes back."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time

# Ports for servers that cannot choose one themselves.  Processes that run tests begin at different ones.
_FIRST_PORT, _PORTS = 20_000, 12_000
_turns = itertools.count(os.getpid() * 97 % _PORTS)


class Reply:
    """A response as it came over the wire; header names in lower case."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    @property
    def ids(self) -> list[str]:
        return ids_in(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.headers} {self.body[:500]!r}>"


def ids_in(body: bytes) -> list[str]:
    """The identifiers in an answer."""
    return [line[4:].decode() for line in body.splitlines() if line.startswith(b"id: ")]


def parsed(response: bytes) -> Reply:
    """The last response in what a server sent: interim ones (100 Continue) come before it."""
    while True:
        head, gap, body = response.partition(b"\r\n\r\n")
        assert gap and head.startswith(b"HTTP/1."), f"this is no response: {response[:300]!r}"
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        if status >= 200:
            fields = (line.partition(":") for line in lines)
            return Reply(status, {name.strip().lower(): value.strip() for name, _, value in fields}, body)
        response = body


def free_port() -> int:
    """A port of 127.0.0.1 at which nobody listens, another one each time.

    It is none of those that the system gives to connections: one of those could be taken before a server listens.
    """
    while True:
        port = _FIRST_PORT + next(_turns) % _PORTS
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def raw(port: int, *pieces: bytes, pause: float = 0, seconds: float = 15, finish: bool = False) -> bytes:
    """What a server sends for bytes sent as they are, in pieces if need be, until it closes or nothing more comes."""
    response = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            if finish:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError, TimeoutError):
            while piece := connection.recv(65536):
                response += piece
    return response
