"""The adapter to waitress, the embedded HTTP server.

This is the only module that imports waitress.  Its server is run step by step, so that a worker can finish the
requests at hand before it ends; for that internal members of waitress are needed, which NEEDED lists.
"""

from __future__ import annotations

import logging
import time

from waitress import create_server, wasyncore  # type: ignore[import-untyped]
from waitress.channel import HTTPChannel  # type: ignore[import-untyped]

from .compatibility import ensure_members
from .limits import NO_RESOURCES, PAUSE_SECONDS, OccasionalLog, TransferDeadline, max_connections

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
        "addr", "creation_time", "handle_close", "last_activity", "received", "request", "requests", "send",
        "total_outbufs_len"),
    "waitress.channel:HTTPChannel.__init__": ("server", "sock", "addr", "adj", "map"),
    "waitress.server:BaseWSGIServer": (
        "_map", "accepting", "active_channels", "adj", "close", "fix_addr", "handle_accept", "set_socket_options",
        "socket", "task_dispatcher"),
    "waitress.task:ThreadedTaskDispatcher": ("shutdown",),
    "waitress.wasyncore:loop": ("timeout", "use_poll", "map", "count"),
    # What the loop calls of an object in its map, such as _Watcher.
    "waitress.wasyncore:dispatcher": (
        "handle_close", "handle_error", "handle_expt_event", "handle_read_event", "handle_write_event", "readable",
        "writable"),
}
ensure_members("waitress", BOUNDS, NEEDED)

# A connection that was made just before the shutdown gets so many seconds to send its request.
_NEW_CONNECTION_SECONDS = 1.0

# When so many bytes of an answer wait to be read, the command that makes it waits too.
_MOST_UNREAD = 4 << 20

# A connection takes a socket, and at times a temporary file for its body and one for its answer.
_DESCRIPTORS_EACH = 3

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
        self._proxies = frozenset(proxies)
        self._log = OccasionalLog()
        self._resume_at = self._check_at = 0.0
        self._stopped = False
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
        """Make `poll` return when this descriptor becomes readable."""
        self._channels[descriptor] = _Watcher(descriptor)

    def unwatch(self, descriptor: int) -> None:
        del self._channels[descriptor]

    def poll(self, seconds: float) -> None:
        """Wait for input or output at most that long, and handle it."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self._channels, count=1)
        now = time.monotonic()
        if now >= self._check_at:
            self._check_at = now + _SECONDS_BETWEEN_CHECKS
            self._close_overdue(now)
        if self._resume_at and now >= self._resume_at:
            self._resume_at = 0.0
            self._server.accepting = not self._stopped

    def stop_accepting(self) -> None:
        self._stopped = True
        self._server.accepting = False

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
            return  # else the client has closed it, or another worker took it
        host = address[0] if isinstance(address, tuple) else ""
        if host and host not in self._proxies and self._connections_from(host) >= self._per_address:
            peer.close()
            self._log.write(f"an address has {self._per_address} connections: more of them are closed at once")
            return
        _Channel(server, peer, server.fix_addr(address), server.adj, map=server._map)
        if len(server.active_channels) >= self._most:
            self._log.write(f"there are {self._most} connections: new ones wait until others have ended")

    def _connections_from(self, host: str) -> int:
        return sum(channel.addr[0] == host for channel in self._server.active_channels.values())

    def _close_overdue(self, now: float) -> None:
        """Close connections that send a request, or read an answer, too slowly or not at all.

        They are closed here and not by waitress's flag `will_close`, which does nothing to a client that reads nothing.
        """
        for channel in list(self._server.active_channels.values()):
            if channel.is_overdue(now):
                channel.handle_close()

    def is_busy(self) -> bool:
        """Whether a request is read or answered, or a new connection may be about to send one."""
        return any(_is_busy(channel) for channel in self._server.active_channels.values())

    def close(self) -> None:
        self._server.task_dispatcher.shutdown()
        self._server.close()


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, with the times until when its request must have arrived and its answer must have been read."""

    _arriving: TransferDeadline | None = None
    _leaving: TransferDeadline | None = None

    def received(self, data: bytes) -> Any:
        now = time.monotonic()
        if self._arriving is None:
            self._arriving = TransferDeadline(now, self.adj.channel_timeout)
        self._arriving.count(len(data), now)
        result = super().received(data)
        if self.request is None:
            self._arriving = None
        return result

    def send(self, data: bytes, do_close: bool = True) -> Any:
        sent = super().send(data, do_close=do_close)
        if self._leaving is not None:
            self._leaving.count(sent, time.monotonic())
        return sent

    def is_overdue(self, now: float) -> bool:
        """Called every second or so."""
        if not self.total_outbufs_len:
            self._leaving = None
        elif self._leaving is None:
            self._leaving = TransferDeadline(now, self.adj.channel_timeout)
        if self._leaving is not None:
            return self._leaving.seconds_left(now) <= 0
        # While a request is answered, input of the next one waits.
        arriving = None if self.requests else self._arriving
        return arriving is not None and arriving.seconds_left(now) <= 0


def _is_busy(channel: Any) -> bool:
    if channel.last_activity == channel.creation_time:  # nothing has arrived yet
        return bool(time.time() - channel.creation_time < _NEW_CONNECTION_SECONDS)
    return bool(channel.requests or channel.total_outbufs_len or channel.request is not None)


class _Watcher:
    """An entry in the map of the loop that makes it return when the descriptor is readable."""

    accepting = False

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def _ignore(self) -> None:
        """The caller of `poll` looks at the descriptor itself."""

    handle_read_event = handle_write_event = handle_expt_event = handle_close = handle_error = _ignore
