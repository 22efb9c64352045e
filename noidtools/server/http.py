"""HTTP without another web server: for trying things out, for small sites, and behind a proxy."""

from __future__ import annotations

import select
import time

from .waitress import HttpServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from socket import socket
    from typing import Any

# How many seconds requests may take that are at hand when the worker is told to stop.
_SHUTDOWN_SECONDS = 25.0

# How many seconds a connection may be idle that is kept after the worker was told to stop.  At a reload, a proxy must
# be the first to close it: what it sends on a connection that is just being closed here would be lost.  So this is
# more than keepalive_timeout in conf/nginx/noid-common.conf.  When the service ends, nothing can be lost by closing.
_IDLE_SECONDS_AT_RELOAD = 6.0
_IDLE_SECONDS_AT_STOP = 1.0


def serve_http(listener: socket, shutdown: tuple[int, ...], application: Callable[..., Any], *, threads: int,
               largest_body: int, timeout: int, per_address: int, proxies: Collection[str]) -> None:
    """Serve HTTP requests in a worker process until a descriptor in `shutdown` becomes readable.

    The last descriptor of `shutdown` is readable if the service ends; otherwise other workers take the place of this.
    """
    server = HttpServer(listener, application, threads=threads, largest_body=largest_body, timeout=timeout,
                        per_address=per_address, proxies=proxies)
    for descriptor in shutdown:
        server.watch(descriptor)
    while not server.poll(1.0):
        pass
    for descriptor in shutdown:
        server.unwatch(descriptor)
    _drain(server, shutdown[-1])


def _drain(server: HttpServer, service_ends: int) -> None:
    """Answer the requests that were made before the shutdown."""
    server.stop_accepting()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    idle_seconds = _IDLE_SECONDS_AT_RELOAD
    while server.is_busy(idle_seconds) and time.monotonic() < deadline:
        server.poll(0.1)
        if select.select([service_ends], [], [], 0)[0]:
            idle_seconds = _IDLE_SECONDS_AT_STOP
    server.close()
