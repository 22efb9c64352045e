"""A worker's loop: takes connections from web servers and serves their requests."""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# How long a web server may keep us waiting in the middle of a request.
PATIENCE_SECONDS = 60

# So many are served together at most, that none waits long for the others.
_MOST_TOGETHER = 32
_LINGER_SECONDS = 2.0

# How long those who have connected are waited for when it is time to go.
_GOODBYE_SECONDS = 2.0


class Connection:
    """A connection with a web server.  `environ` is that of the request that was received."""

    environ: dict[str, Any]

    def receive(self) -> bool | None:
        """Read a request, all but its body.  None if there is none yet, False if the connection ended."""
        raise AssertionError("a connection receives")

    def answer(self) -> bool:
        """Answer the request; False if the connection is then to be closed."""
        raise AssertionError("a connection answers")

    def all_read(self) -> bool:
        """Whether nothing more of the request can come."""
        return False


class GatewayWorker:
    """Serves until it is told not to, and then what still waits at the door.

    All requests that have arrived are prepared together, and then answered one by one, those with a body last,
    because they may take long.  Connections that a web server keeps open rest here between requests, so that
    none of them occupies the worker.
    """

    def __init__(self, listener: socket.socket, connect: Callable[[socket.socket], Connection],
                 prepare: Callable[[list[dict[str, Any]]], None]) -> None:
        self._listener = listener
        self._connect = connect
        self._prepare = prepare
        self._waiting = selectors.DefaultSelector()
        # Connections that have not sent a request yet, and those that are closed as soon as the other side agrees.
        self._unserved: set[socket.socket] = set()
        self._leaving: dict[socket.socket, float] = {}

    def run(self, farewells: tuple[int, ...]) -> None:
        self._listener.setblocking(False)
        self._waiting.register(self._listener, selectors.EVENT_READ, self._listener)
        for descriptor in farewells:
            self._waiting.register(descriptor, selectors.EVENT_READ, None)
        while self._serve_what_arrives():
            pass
        for descriptor in farewells:
            self._waiting.unregister(descriptor)
        self._say_goodbye()

    def _say_goodbye(self) -> None:
        """Serve those who stand at the door, or were let in and have not spoken yet."""
        self._welcome()
        self._waiting.unregister(self._listener)
        self._listener.close()
        deadline = time.monotonic() + _GOODBYE_SECONDS
        while (self._unserved or self._leaving) and time.monotonic() < deadline:
            self._serve_what_arrives(_GOODBYE_SECONDS)

    def _serve_what_arrives(self, seconds: float | None = None) -> bool:
        """Wait for something to arrive, and serve it; False if it was a farewell."""
        told = False
        arrived: list[tuple[Any, Connection]] = []
        for key, _ in self._waiting.select(_LINGER_SECONDS if self._leaving else seconds):
            if key.data is None:
                told = True
            elif key.data is self._listener:
                self._welcome()
            elif key.fileobj in self._leaving:
                self._see_off(key.fileobj)
            elif len(arrived) < _MOST_TOGETHER:
                arrived.append((key.fileobj, key.data))
        self._serve(arrived)
        self._dismiss_late()
        return not told

    def _welcome(self) -> None:
        """Let in who waits at the door."""
        for _ in range(_MOST_TOGETHER):
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return  # nobody, or another worker was quicker, or the web server thought better of it
            peer.settimeout(PATIENCE_SECONDS)
            if peer.family != socket.AF_UNIX:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._unserved.add(peer)
            self._waiting.register(peer, selectors.EVENT_READ, self._connect(peer))

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
            self._unserved.discard(peer)
            if not connection.answer():
                self._close(peer, connection)

    # -- closing ---------------------------------------------------------------------------------------

    def _close(self, peer: socket.socket, connection: Connection) -> None:
        """Close, but not while something may be left unread: the system would then destroy our answer on its way."""
        self._unserved.discard(peer)
        if connection.all_read():
            self._waiting.unregister(peer)
            peer.close()
            return
        with suppress(OSError):  # the other side may have been quicker
            peer.shutdown(socket.SHUT_WR)
        peer.setblocking(False)
        self._leaving[peer] = time.monotonic() + _LINGER_SECONDS
        self._see_off(peer)

    def _see_off(self, peer: Any) -> None:
        try:
            while peer.recv(65536):
                pass
        except BlockingIOError:
            return
        except OSError:
            pass
        self._dismiss(peer)

    def _dismiss(self, peer: socket.socket) -> None:
        del self._leaving[peer]
        self._waiting.unregister(peer)
        peer.close()

    def _dismiss_late(self) -> None:
        if self._leaving:
            now = time.monotonic()
            for peer in [peer for peer, deadline in self._leaving.items() if deadline < now]:
                self._dismiss(peer)
