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


def serve_http(listener: socket, shutdown: tuple[int, ...], application: Callable[..., Any], *, threads: int,
               largest_body: int, timeout: int, per_address: int, proxies: Collection[str]) -> None:
    """Serve HTTP requests in a worker process until a descriptor in `shutdown` becomes readable."""
    server = HttpServer(listener, application, threads=threads, largest_body=largest_body, timeout=timeout,
                        per_address=per_address, proxies=proxies)
    for descriptor in shutdown:
        server.watch(descriptor)
    while not select.select(shutdown, [], [], 0)[0]:
        server.poll(1.0)
    for descriptor in shutdown:
        server.unwatch(descriptor)
    _drain(server)


def _drain(server: HttpServer) -> None:
    """Answer the requests that were made before the shutdown."""
    server.stop_accepting()
    deadline = time.monotonic() + _SHUTDOWN_SECONDS
    while server.is_busy() and time.monotonic() < deadline:
        server.poll(0.1)
    server.close()
