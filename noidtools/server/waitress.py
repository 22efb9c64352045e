"""The adapter to waitress, the embedded HTTP server.

This is the only module that imports waitress.  Its server is run step by step, so that a worker can finish the
requests at hand before it ends; for that internal members of waitress are needed, which NEEDED lists.
"""

from __future__ import annotations

import logging
import time

from waitress import create_server, wasyncore  # type: ignore[import-untyped]
from waitress.channel import HTTPChannel  # type: ignore[import-untyped]
from waitress.task import WSGITask  # type: ignore[import-untyped]

from ..console import OccasionalLog
from .compatibility import ensure_members
from .limits import NO_RESOURCES, PAUSE_SECONDS, TransferDeadline, max_connections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from socket import socket
    from typing import Any

# The releases that were tested; the same as in setup.cfg.
BOUNDS = ">= 3.0.1, < 3.1"
NEEDED = {
    "waitress:create_server": ("application", "map"),
    "waitress.adjustments:Adjustments": (
        "channel_timeout", "cleanup_interval", "clear_untrusted_proxy_headers", "connection_limit", "ident",
        "max_request_body_size", "outbuf_high_watermark", "sockets", "threads"),
    "waitress.channel:HTTPChannel": (
        "addr", "handle_close", "last_activity", "received", "request", "requests", "send", "service", "task_class",
        "total_outbufs_len", "write_soon"),
    "waitress.channel:HTTPChannel.__init__": ("server", "sock", "addr", "adj", "map"),
    "waitress.parser:HTTPRequestParser": ("body_bytes_received",),
    "waitress.server:BaseWSGIServer": (
        "_map", "accepting", "active_channels", "adj", "close", "fix_addr", "handle_accept", "set_socket_options",
        "socket", "task_dispatcher"),
    "waitress.task:ThreadedTaskDispatcher": ("queue", "shutdown"),
    "waitress.task:WSGITask": ("channel", "write", "wrote_header"),
    "waitress.wasyncore:loop": ("timeout", "use_poll", "map", "count"),
    # What the loop calls of an object in its map, such as _Watcher.
    "waitress.wasyncore:dispatcher": (
        "handle_close", "handle_error", "handle_expt_event", "handle_read_event", "handle_write_event", "readable",
        "writable"),
}
ensure_members("waitress", BOUNDS, NEEDED)

# When so many bytes of an answer wait to be read, the command that makes it waits too.
_MOST_UNREAD = 4 << 20

# For so many seconds a client that does not read may keep a thread that others wait for.
_SECONDS_TO_HOLD_A_THREAD = 2

# A connection takes a socket, and at times a temporary file for its body and one for its answer.
_DESCRIPTORS_EACH = 3

# Bodies that are being received lie in the temporary folder: those of one address, and all in this process, may take so
# many times the size of the largest one.  They are added up whenever one has grown by so many bytes.
_LARGEST_FOR_ADDRESS, _LARGEST_FOR_ALL = 2, 4
_BODY_STEP = 1 << 20

# The server's own entries in the map of the loop: listener, trigger, and descriptors that are watched.
_OWN_ENTRIES = 8
_SECONDS_BETWEEN_CHECKS = 1.0


class HttpServer:
    """An HTTP server on a listening socket, run by calls of `poll`.

    `timeout` is the number of seconds for which a connection may be idle, and in which a request must arrive.
    `per_address` is the number of connections that one address may have, except those in `proxies`.
    """

    def __init__(self, listener: socket, application: Callable[..., Any], *, threads: int, largest_body: int,
                 timeout: int, per_address: int, proxies: Collection[str] = ()) -> None:
        # waitress logs a warning whenever a request waits for a free thread, which is normal, and whenever it stops
        # accepting connections, which is logged here.
        logging.getLogger("waitress").setLevel(logging.ERROR)
        self._channels: dict[int, Any] = {}
        self._most = max_connections(_DESCRIPTORS_EACH)
        self._per_address = per_address
        self._largest_body = largest_body
        self._proxies = frozenset(proxies)
        self._log = OccasionalLog()
        self._resume_at = self._check_at = 0.0
        self._stopped = False
        # Whether a watched descriptor became readable.
        self._signalled = False
        self._server = create_server(
            application, map=self._channels, sockets=[listener], threads=threads, ident=None,
            clear_untrusted_proxy_headers=False,
            # waitress rejects a larger body itself, without our error format, so that this limit is above ours.
            max_request_body_size=largest_body + 1,
            # Idle connections are closed soon, so that they do not keep others out.
            connection_limit=self._most + _OWN_ENTRIES, channel_timeout=timeout, cleanup_interval=min(5, timeout),
            outbuf_high_watermark=_MOST_UNREAD,
        )
        # waitress's own method logs a traceback for each connection that cannot be accepted, and tries again at once.
        self._server.handle_accept = self._accept

    def watch(self, descriptor: int) -> None:
        """Make `poll` return when this descriptor becomes readable, or its other end is closed."""
        self._channels[descriptor] = _Watcher(descriptor, self._signal)

    def unwatch(self, descriptor: int) -> None:
        del self._channels[descriptor]

    def _signal(self) -> None:
        self._signalled = True

    def poll(self, seconds: float) -> bool:
        """Wait for input or output at most that long, and handle it; returns whether a watched descriptor became
        readable."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self._channels, count=1)
        now = time.monotonic()
        if now >= self._check_at:
            self._check_at = now + _SECONDS_BETWEEN_CHECKS
            self._close_overdue(now)
            self._close_large_bodies()
        if self._resume_at and now >= self._resume_at:
            self._resume_at = 0.0
            self._server.accepting = not self._stopped
        return self._signalled

    def stop_accepting(self) -> None:
        """Accept no more connections; on those that are open the next answer is the last."""
        self._stopped = True
        self._server.accepting = False
        for channel in self._server.active_channels.values():
            channel.is_last_request = True

    def _accept(self) -> None:
        server = self._server
        try:
            peer, address = server.socket.accept()
            server.set_socket_options(peer)
        except OSError as error:
            if error.errno in NO_RESOURCES:
                self._log.write("no file descriptor is left for a new connection: those that wait are accepted when "
                                "others have ended; raise the limit of open files (LimitNOFILE=)")
                server.accepting = False
                self._resume_at = time.monotonic() + PAUSE_SECONDS
            return  # the client has closed it, or another worker took it
        host = address[0] if isinstance(address, tuple) else ""
        if host and host not in self._proxies and self._connections_from(host) >= self._per_address:
            peer.close()
            self._log.write(f"an address has {self._per_address} connections: more of them are closed at once")
            return
        _Channel(server, peer, server.fix_addr(address), server.adj, map=server._map).has_room = self._has_room
        if len(server.active_channels) >= self._most:
            self._log.write(f"there are {self._most} connections: new ones wait until others have ended")

    def _connections_from(self, host: str) -> int:
        return sum(channel.addr[0] == host for channel in self._server.active_channels.values())

    def _has_room(self, channel: _Channel) -> bool:
        """Whether the body that a connection sends may grow."""
        bodies = _BodySizes(self._largest_body, self._proxies)
        for other in self._server.active_channels.values():
            bodies.count(other, other.body_size)
        if bodies.are_too_large(channel):
            self._log_large_bodies()
            return False
        return True

    def _close_large_bodies(self) -> None:
        """Close the latest of the connections that send bodies, until what is left keeps the limits.

        `_has_room` is asked when a body has grown by a step: several that grow at the same time can each have room, and
        be too large together.
        """
        bodies = _BodySizes(self._largest_body, self._proxies)
        # Those whose request has arrived are first: they are being answered, and are not closed.
        for channel in sorted(self._server.active_channels.values(), key=lambda channel: channel.request is not None):
            size = channel.body_size
            bodies.count(channel, size)
            if size and channel.request is not None and bodies.are_too_large(channel):
                bodies.count(channel, -size)
                self._log_large_bodies()
                channel.handle_close()

    def _log_large_bodies(self) -> None:
        self._log.write("bodies that are being received take more than they may on disk, those of one address "
                        f"{_LARGEST_FOR_ADDRESS} and all {_LARGEST_FOR_ALL} times --max-body: connections are closed")

    def _close_overdue(self, now: float) -> None:
        """Close connections that send a request, or read an answer, too slowly or not at all.

        They are closed here and not by waitress's flag `will_close`, which does nothing to a client that reads nothing.
        """
        requests_wait = bool(self._server.task_dispatcher.queue)
        for channel in list(self._server.active_channels.values()):
            if channel.is_overdue(now, requests_wait):
                channel.handle_close()

    def is_busy(self, idle_seconds: float) -> bool:
        """Whether a request is read or answered, or a connection that was used in these seconds may send another."""
        used_since = time.time() - idle_seconds
        return any(channel.requests or channel.total_outbufs_len or channel.request is not None
                   or channel.last_activity > used_since for channel in self._server.active_channels.values())

    def close(self) -> None:
        self._server.task_dispatcher.shutdown()
        self._server.close()


class _Task(WSGITask):  # type: ignore[misc]
    """The answer to a request, whose header is sent in one piece with the first part of the body."""

    wrote_header: bool

    def write(self, data: bytes) -> None:
        if self.wrote_header:
            super().write(data)
            return
        channel = self.channel
        channel.parts = []
        try:
            super().write(data)
            piece = b"".join(channel.parts)
        except BaseException:
            self.wrote_header = False  # nothing was sent: waitress can still answer 500
            raise
        finally:
            channel.parts = None
        channel.write_soon(piece)


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, with the times until when its request must have arrived and its answer must have been read."""

    task_class = _Task
    # Parts of an answer that will be sent in one piece, while they are collected.
    parts: list[bytes] | None = None
    _arriving: TransferDeadline | None = None
    _leaving: TransferDeadline | None = None
    # Whether the answer has the header Connection: close.
    is_last_request = False
    # Whether its body may grow, and the size of the body when that was asked last.
    has_room: Callable[[_Channel], bool]
    _asked_at = 0

    @property
    def body_size(self) -> int:
        """Bytes of the bodies that were received, of which the request is not answered."""
        return sum(request.body_bytes_received for request in (*self.requests, self.request) if request is not None)

    def service(self) -> None:
        """Answer a request, in a thread of waitress."""
        if self.is_last_request:
            for request in self.requests:
                request.headers["CONNECTION"] = "close"
        super().service()

    def write_soon(self, data: bytes) -> Any:
        if self.parts is None:
            return super().write_soon(data)
        self.parts.append(data)
        return len(data)

    def received(self, data: bytes) -> Any:
        now = time.monotonic()
        if self._arriving is None:
            self._arriving = TransferDeadline(now, self.adj.channel_timeout)
        self._arriving.count(len(data), now)
        result = super().received(data)
        if self.request is None:
            self._arriving, self._asked_at = None, 0
        elif self.body_size >= self._asked_at + _BODY_STEP:
            self._asked_at = self.body_size
            if not self.has_room(self):
                self.handle_close()
        return result

    def send(self, data: bytes, do_close: bool = True) -> Any:
        sent = super().send(data, do_close=do_close)
        if self._leaving is not None:
            self._leaving.count(sent, time.monotonic())
        return sent

    def is_overdue(self, now: float, requests_wait: bool) -> bool:
        """Whether the client has sent or read nothing for too long; called about once a second.

        `requests_wait` says that no thread is free for the requests of others.
        """
        if not self.total_outbufs_len:
            self._leaving = None
        elif self._leaving is None:
            self._leaving = TransferDeadline(now, self.adj.channel_timeout)
        if self._leaving is not None:
            holds_thread = self.requests and self.total_outbufs_len > _MOST_UNREAD
            hurry = self.adj.channel_timeout - _SECONDS_TO_HOLD_A_THREAD if holds_thread and requests_wait else 0
            return self._leaving.seconds_left(now) <= max(0, hurry)
        # While a request is answered, input of the next one waits.
        arriving = None if self.requests else self._arriving
        return arriving is not None and arriving.seconds_left(now) <= 0


class _BodySizes:
    """The bodies that are being received, added up for each address and for all."""

    def __init__(self, largest_body: int, proxies: Collection[str]) -> None:
        self._largest = max(largest_body, _BODY_STEP)
        self._proxies = proxies
        self._of_host: dict[str, int] = {}
        self._of_all = 0

    def count(self, channel: _Channel, size: int) -> None:
        host = channel.addr[0]
        self._of_all += size
        self._of_host[host] = self._of_host.get(host, 0) + size

    def are_too_large(self, channel: _Channel) -> bool:
        """Whether all bodies, or those of the address of this connection, take more than they may."""
        host = channel.addr[0]
        is_limited = bool(host) and host not in self._proxies
        return self._of_all > _LARGEST_FOR_ALL * self._largest or (
            is_limited and self._of_host[host] > _LARGEST_FOR_ADDRESS * self._largest)


class _Watcher:
    """An entry in the map of the loop that makes it call `signal` when the descriptor is readable."""

    accepting = False

    def __init__(self, descriptor: int, signal: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self.handle_read_event = self.handle_write_event = self.handle_expt_event = signal
        self.handle_close = self.handle_error = signal

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False
