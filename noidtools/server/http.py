"""The embedded HTTP server, which is waitress: for trying things out, for small sites, and behind a proxy."""

from __future__ import annotations

import logging
import select
import time

from waitress import create_server, wasyncore  # type: ignore[import-untyped]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket
    from typing import Any

_GRACE_SECONDS = 25.0

# Who was let in just before the farewell may be about to speak.
_SILENCE_SECONDS = 1.0


def serve_http(listener: socket, farewells: tuple[int, ...], application: Callable[..., Any], *, threads: int,
         largest_body: int) -> None:
    """What a worker process does: serve requests that arrive at a socket, until a farewell."""
    # That a request waits until a thread is free is no news.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    channels: dict[int, Any] = {}
    server = create_server(
        application, map=channels, sockets=[listener], threads=threads, ident=None, clear_untrusted_proxy_headers=False,
        # Its own refusal has no words of ours, so it comes only where ours would come too late.
        max_request_body_size=largest_body + 1,
        # Those who connect and say nothing, or ask and do not listen, must not keep others out: what is not read
        # waits on disk, and whoever is silent is soon forgotten.
        connection_limit=1000, channel_timeout=30, cleanup_interval=5, asyncore_use_poll=True,
        outbuf_high_watermark=1 << 40,
    )
    for descriptor in farewells:
        channels[descriptor] = _ShutdownWatcher(descriptor)
    while not _is_shutdown_signalled(farewells):
        wasyncore.loop(timeout=1.0, map=channels, count=1)
    for descriptor in farewells:
        del channels[descriptor]
    _drain(server, channels)


def _is_shutdown_signalled(farewells: tuple[int, ...]) -> bool:
    return bool(select.select(farewells, [], [], 0)[0])


def _drain(server: Any, channels: dict[int, Any]) -> None:
    """Answer what was asked before the farewell."""
    server.accepting = False
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline:
        if not any(_is_busy(channel) for channel in server.active_channels.values()):
            break
        wasyncore.loop(timeout=0.1, map=channels, count=1)
    server.task_dispatcher.shutdown()
    server.close()


def _is_busy(channel: Any) -> bool:
    if channel.last_activity == channel.creation_time:  # nothing has arrived yet
        return bool(time.time() - channel.creation_time < _SILENCE_SECONDS)
    return bool(channel.requests or channel.total_outbufs_len or channel.request is not None)


class _ShutdownWatcher:
    """A descriptor that wakes the loop; the loop's maker asks it nothing else."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def handle_read_event(self) -> None:
        pass
