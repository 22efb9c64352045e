"""SCGI, spoken by flup: one request for each connection."""

from __future__ import annotations

import logging
import struct
from socket import SO_RCVTIMEO, SOL_SOCKET

from flup.server import scgi_base as scgi

from .connections import PATIENCE_SECONDS, Connection, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

    from .url import Application

_FAULT = b"Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\nerror: something went wrong here\n"


def work(listener: socket, farewells: tuple[int, ...], application: Application) -> None:
    """What a worker process does: serve requests that arrive at a socket, until a farewell."""
    gateway = _Gateway(application)
    Worker(listener, lambda peer: _Connection(peer, gateway), lambda environs: None).run(farewells)


class _Gateway(scgi.BaseSCGIServer):  # type: ignore[misc]
    def __init__(self, application: Application) -> None:
        # flup would log paths as they were sent, line breaks and all.
        super().__init__(application, multithreaded=False, multiprocess=True, loggingLevel=logging.CRITICAL)

    def error(self, request: Any) -> None:
        request.stdout.write(_FAULT)


class _Connection(scgi.Connection, Connection):  # type: ignore[misc]
    """flup reads and answers in one go, so there is nothing to prepare."""

    def __init__(self, peer: socket, gateway: _Gateway) -> None:
        # flup closes what it is given; the loop closes the other, and reads what is left first.
        own = peer.dup()
        # flup takes away the time limit of the kind that Python keeps, so this is one that the system keeps.
        own.setsockopt(SOL_SOCKET, SO_RCVTIMEO, struct.pack("ll", PATIENCE_SECONDS, 0))
        super().__init__(own, (), gateway, None)
        self.environ = {}

    def receive(self) -> bool:
        return True

    def answer(self) -> bool:
        self.run()
        return False
