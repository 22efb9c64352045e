"""The loop of a worker process: accepts connections from web servers and answers their requests."""

from __future__ import annotations

import selectors
import socket
import time
from abc import ABC, abstractmethod
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# How many seconds a web server may take to send the next part of a request.
REQUEST_TIMEOUT = 60

# How many requests are prepared together, and connections accepted at once: few, so that none waits long.
_MAX_BATCH = 32

# How many seconds the rest of the input is read after an answer, before the connection is closed.
_LINGER_SECONDS = 2.0

# How many seconds a worker waits at shutdown for requests from connections that were accepted before.
_SHUTDOWN_SECONDS = 2.0


class Connection(ABC):
    """A connection with a web server.  `environ` is that of the request that was received."""

    environ: dict[str, Any]

    @abstractmethod
    def receive(self) -> bool | None:
        """Read a request except its body.  Returns None if it is not complete, False if the connection ended."""

    @abstractmethod
    def answer(self) -> bool:
        """Answer the request; returns False if the connection is to be closed."""

    def is_fully_read(self) -> bool:
        """Whether no more input of the request can arrive."""
        return False


class GatewayWorker:
    """Serves requests until it is told to stop, and then those of connections that were made before.

    All requests that have arrived are prepared together, and then answered one by one, those with a body last,
    because they may take long.  Connections that a web server keeps open wait in the selector between requests,
    so that none of them occupies the worker.
    """

    def __init__(self, listener: socket.socket, connect: Callable[[socket.socket], Connection],
                 prepare: Callable[[list[dict[str, Any]]], None]) -> None:
        self._listener = listener
        self._connect = connect
        self._prepare = prepare
        self._selector = selectors.DefaultSelector()
        # Connections that have not sent a request yet.
        self._new: set[socket.socket] = set()
        # Connections that were answered and whose input is discarded, with the time when they are closed at the latest.
        self._closing: dict[socket.socket, float] = {}

    def run(self, shutdown: tuple[int, ...]) -> None:
        """Serve until one of the descriptors becomes readable."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._listener)
        for descriptor in shutdown:
            self._selector.register(descriptor, selectors.EVENT_READ, None)
        while self._serve_arrivals():
            pass
        for descriptor in shutdown:
            self._selector.unregister(descriptor)
        self._drain()

    def _drain(self) -> None:
        """Stop listening, and serve the connections that were made before."""
        self._accept()
        self._selector.unregister(self._listener)
        self._listener.close()
        deadline = time.monotonic() + _SHUTDOWN_SECONDS
        while (self._new or self._closing) and time.monotonic() < deadline:
            self._serve_arrivals(_SHUTDOWN_SECONDS)

    def _serve_arrivals(self, seconds: float | None = None) -> bool:
        """Wait for input and serve it; returns False if a shutdown descriptor was readable."""
        stopping = False
        arrived: list[tuple[Any, Connection]] = []
        for key, _ in self._selector.select(_LINGER_SECONDS if self._closing else seconds):
            if key.data is None:
                stopping = True
            elif key.data is self._listener:
                self._accept()
            elif key.fileobj in self._closing:
                self._discard_input(key.fileobj)
            elif len(arrived) < _MAX_BATCH:
                arrived.append((key.fileobj, key.data))
        self._serve(arrived)
        self._close_overdue()
        return not stopping

    def _accept(self) -> None:
        for _ in range(_MAX_BATCH):
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return  # no connection waits, or another worker took it, or the web server closed it
            peer.settimeout(REQUEST_TIMEOUT)
            if peer.family != socket.AF_UNIX:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._new.add(peer)
            self._selector.register(peer, selectors.EVENT_READ, self._connect(peer))

    def _serve(self, arrived: list[tuple[Any, Connection]]) -> None:
        received = []
        for peer, connection in arrived:
            state = connection.receive()
            if state:
                received.append((peer, connection))
            elif state is False:
                self._close(peer, connection)
        if len(received) > 1:
            self._prepare([connection.environ for _, connection in received])
            received.sort(key=lambda item: item[1].environ.get("REQUEST_METHOD") == "POST")
        for peer, connection in received:
            self._new.discard(peer)
            if not connection.answer():
                self._close(peer, connection)

    # -- closing ---------------------------------------------------------------------------------------

    def _close(self, peer: socket.socket, connection: Connection) -> None:
        """Close a connection, but only after its input was read: else the system discards our answer with it."""
        self._new.discard(peer)
        if connection.is_fully_read():
            self._selector.unregister(peer)
            peer.close()
            return
        with suppress(OSError):  # the web server may have closed it already
            peer.shutdown(socket.SHUT_WR)
        peer.setblocking(False)
        self._closing[peer] = time.monotonic() + _LINGER_SECONDS
        self._discard_input(peer)

    def _discard_input(self, peer: Any) -> None:
        """Read what has arrived; close the connection if the web server has closed its side."""
        try:
            while peer.recv(65536):
                pass
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close_now(peer)

    def _close_now(self, peer: socket.socket) -> None:
        del self._closing[peer]
        self._selector.unregister(peer)
        peer.close()

    def _close_overdue(self) -> None:
        if self._closing:
            now = time.monotonic()
            for peer in [peer for peer, deadline in self._closing.items() if deadline < now]:
                self._close_now(peer)
