"""The adapter to waitress, the embedded HTTP server.

This is the only module that imports waitress.  Its server is run step by step, so that a worker can finish the
requests at hand before it ends; for that internal members of waitress are needed, which NEEDED lists.
"""

from __future__ import annotations

import logging
import time

from waitress import create_server, wasyncore  # type: ignore[import-untyped]

from .compatibility import ensure_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
        "creation_time", "last_activity", "request", "requests", "total_outbufs_len"),
    "waitress.server:BaseWSGIServer": ("accepting", "active_channels", "close", "task_dispatcher"),
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


class HttpServer:
    """An HTTP server on a listening socket, run by calls of `poll`."""

    def __init__(self, listener: socket, application: Callable[..., Any], *, threads: int, largest_body: int) -> None:
        # waitress logs a warning whenever a request waits for a free thread, which is normal.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._channels: dict[int, Any] = {}
        self._server = create_server(
            application, map=self._channels, sockets=[listener], threads=threads, ident=None,
            clear_untrusted_proxy_headers=False,
            # waitress rejects a larger body itself, without our error format, so that this limit is above ours.
            max_request_body_size=largest_body + 1,
            # Clients that send nothing, or do not read the response, must not keep others out: idle connections
            # are closed soon, and output that is not read goes to disk without a limit.
            connection_limit=1000, channel_timeout=30, cleanup_interval=5, outbuf_high_watermark=1 << 40,
        )

    def watch(self, descriptor: int) -> None:
        """Make `poll` return when this descriptor becomes readable."""
        self._channels[descriptor] = _Watcher(descriptor)

    def unwatch(self, descriptor: int) -> None:
        del self._channels[descriptor]

    def poll(self, seconds: float) -> None:
        """Wait for input or output at most that long, and handle it."""
        wasyncore.loop(timeout=seconds, use_poll=True, map=self._channels, count=1)

    def stop_accepting(self) -> None:
        self._server.accepting = False

    def is_busy(self) -> bool:
        """Whether a request is read or answered, or a new connection may be about to send one."""
        return any(_is_busy(channel) for channel in self._server.active_channels.values())

    def close(self) -> None:
        self._server.task_dispatcher.shutdown()
        self._server.close()


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
