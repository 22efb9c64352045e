"""The loop of a worker process: accepts connections from web servers and answers their requests."""

from __future__ import annotations

import selectors
import socket
import time
from abc import ABC, abstractmethod
from contextlib import suppress

from ..console import OccasionalLog
from .limits import NO_RESOURCES, PAUSE_SECONDS, max_connections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .allowed import AllowedAddresses

# A connection takes a socket, and at times a temporary file for its body.
_DESCRIPTORS_EACH = 2

# How often, in seconds, connections are checked for being overdue.
_CHECK_SECONDS = 1.0

# How long a connection must have been idle to be closed in favour of a new one.
_IDLE_SECONDS = 1.0

# How many bytes of input are discarded at once.
_MOST_DISCARDED = 64

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
        """Read what has arrived, without waiting.  Returns None if the request is not complete, False if the
        connection ended.  Of a large body only the beginning must have arrived."""

    @abstractmethod
    def answer(self) -> bool:
        """Answer the request; returns False if the connection is to be closed."""

    def is_fully_read(self) -> bool:
        """Whether no more input of the request can arrive."""
        return False

    @abstractmethod
    def is_idle(self) -> bool:
        """Whether no part of a request has arrived."""

    @abstractmethod
    def is_overdue(self, now: float) -> bool:
        """Whether a request has begun to arrive and takes too long."""


class GatewayWorker:
    """Serves requests until it is told to stop, and then those of connections that were made before.

    All requests that have arrived are prepared together, and then answered one by one, those with a body last,
    because they may take long.  Connections that a web server keeps open, and those whose request is not complete, wait
    in the selector, so that none of them occupies the worker.  `allowed` are the addresses from which connections are
    accepted, None for a Unix socket.
    """

    def __init__(self, listener: socket.socket, connect: Callable[[socket.socket], Connection],
                 prepare: Callable[[list[dict[str, Any]]], None], allowed: AllowedAddresses | None = None) -> None:
        self._listener = listener
        self._connect = connect
        self._prepare = prepare
        self._allowed = allowed
        self._most = max_connections(_DESCRIPTORS_EACH)
        self._log = OccasionalLog()
        # When accepting goes on after a pause, 0 if there is none; and when connections are checked again.
        self._resume_at = self._check_at = 0.0
        # All connections that are served, and when each was made or answered last.
        self._connections: dict[socket.socket, Connection] = {}
        self._last_used: dict[socket.socket, float] = {}
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
        if not self._resume_at:
            self._accept()
        if not self._resume_at:
            self._selector.unregister(self._listener)
        self._resume_at = 0.0
        self._listener.close()
        deadline = time.monotonic() + _SHUTDOWN_SECONDS
        while (self._new or self._closing) and time.monotonic() < deadline:
            self._serve_arrivals(_SHUTDOWN_SECONDS)

    def _serve_arrivals(self, seconds: float | None = None) -> bool:
        """Wait for input and serve it; returns False if a shutdown descriptor was readable."""
        stopping = connecting = False
        arrived: list[tuple[Any, Connection]] = []
        if self._connections or self._closing or self._resume_at:
            seconds = _CHECK_SECONDS
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                stopping = True
            elif key.data is self._listener:
                connecting = True
            elif key.fileobj in self._closing:
                self._discard_input(key.fileobj)
            elif len(arrived) < _MAX_BATCH:
                arrived.append((key.fileobj, key.data))
        self._serve(arrived)
        if connecting:
            # After what has arrived, because accepting may close an idle connection.
            self._accept()
        self._close_overdue()
        return not stopping

    def _accept(self) -> None:
        for _ in range(_MAX_BATCH):
            if len(self._connections) >= self._most and not self._close_idle():
                self._pause(f"there are {self._most} connections: new ones wait until others have ended")
                return
            try:
                peer, address = self._listener.accept()
            except OSError as error:
                if error.errno in NO_RESOURCES and not self._close_idle():
                    self._pause("no file descriptor is left for a new connection: those that wait are accepted when "
                                "others have ended; raise the limit of open files (LimitNOFILE=)")
                return  # no connection waits, another worker took it, or the web server closed it
            if self._allowed is not None and address[0] not in self._allowed:
                peer.close()
                self._log.write(f"a connection from {address[0]} was closed: this address is not allowed (--allow)")
                continue
            self._add(peer)

    def _add(self, peer: socket.socket) -> None:
        peer.setblocking(False)
        if peer.family != socket.AF_UNIX:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self._connect(peer)
        self._new.add(peer)
        self._connections[peer] = connection
        self._last_used[peer] = time.monotonic()
        self._selector.register(peer, selectors.EVENT_READ, connection)

    def _pause(self, reason: str) -> None:
        """Stop accepting for a moment, because the listening socket stays readable as long as connections wait."""
        self._log.write(reason)
        self._selector.unregister(self._listener)
        self._resume_at = time.monotonic() + PAUSE_SECONDS

    def _close_idle(self) -> bool:
        """Close the connection that was idle for longest; returns False if none was for long enough."""
        latest = time.monotonic() - _IDLE_SECONDS
        idle = [peer for peer, used in self._last_used.items() if used < latest and self._connections[peer].is_idle()]
        for peer in sorted(idle, key=self._last_used.__getitem__):
            if not _has_input(peer):
                self._forget(peer)
                return True
        return False

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
            if connection.answer():
                self._last_used[peer] = time.monotonic()
            else:
                self._close(peer, connection)

    # -- closing ---------------------------------------------------------------------------------------

    def _close(self, peer: socket.socket, connection: Connection) -> None:
        """Close a connection, but only after its input was read: else the system discards our answer with it."""
        if connection.is_fully_read():
            self._forget(peer)
            return
        self._new.discard(peer)
        del self._connections[peer], self._last_used[peer]
        with suppress(OSError):  # the web server may have closed it already
            peer.shutdown(socket.SHUT_WR)
        self._closing[peer] = time.monotonic() + _LINGER_SECONDS
        self._discard_input(peer)

    def _forget(self, peer: socket.socket) -> None:
        """Close a connection at once."""
        self._new.discard(peer)
        del self._connections[peer], self._last_used[peer]
        self._selector.unregister(peer)
        peer.close()

    def _discard_input(self, peer: Any) -> None:
        """Read what has arrived; close the connection if the web server has closed its side."""
        try:
            for _ in range(_MOST_DISCARDED):
                if not peer.recv(65536):
                    break
            else:
                return
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
        now = time.monotonic()
        if self._resume_at and now >= self._resume_at:
            self._resume_at = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ, self._listener)
        if now < self._check_at:
            return
        self._check_at = now + _CHECK_SECONDS
        for peer in [peer for peer, deadline in self._closing.items() if deadline < now]:
            self._close_now(peer)
        for peer in [peer for peer, connection in self._connections.items() if connection.is_overdue(now)]:
            self._forget(peer)


def _has_input(peer: socket.socket) -> bool:
    """Whether a request has arrived that was not read yet."""
    try:
        return bool(peer.recv(1, socket.MSG_PEEK))
    except OSError:
        return False  # nothing has arrived, or the web server has closed it
