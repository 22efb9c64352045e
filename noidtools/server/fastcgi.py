"""FastCGI by flup, in several processes that share a listening socket.

Each process is given the socket as file 0, as spawn-fcgi and mod_fcgid hand it over, and answers one request after the
other.  `noid serve --fcgi` starts the processes itself: it runs its own command again, with the socket as file 0.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import time
from ipaddress import IPv4Address

from flup.server.fcgi_single import WSGIServer

from ..console import exit_reason, log_line
from ..errors import NoidError, UsageError
from ..minter.folder import MinterFolder
from ..web.commands import CommandApplication
from .cgi import largest_body_from, trust_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Application = Callable[..., Any]

# FCGI_LISTENSOCK_FILENO of the FastCGI specification; and the variable, also of the specification, that lists the
# addresses of the web servers, separated by commas, for a socket on TCP.
_LISTENING_DESCRIPTOR = 0
_WEB_SERVERS = "FCGI_WEB_SERVER_ADDRS"

# Seconds between two looks at the processes; before others are started for those that have ended; and which they have
# for the requests at hand when they are told to stop.
_INTERVAL = 0.2
_PAUSE = 1.0
_STOP_SECONDS = 30.0

_STOPPING = {signal.SIGTERM, signal.SIGINT}


def main() -> int:
    """`noid.fcgi`, started by a FastCGI process manager.  Serves until a signal; the request at hand is finished."""
    try:
        folder = os.environ.get("NOID_MINTERS") or os.path.dirname(os.path.abspath(sys.argv[0]))
        application = CommandApplication(
            MinterFolder(folder), trust=trust_from(os.environ), largest_body=largest_body_from(os.environ))
        if not has_listener():
            raise NoidError(
                "noid.fcgi is started by a FastCGI process manager; by hand, start noid serve --fcgi ADDRESS")
        serve_socket(application, web_servers([]))
    except NoidError as error:
        log_line("noid", str(error))
        return 2
    return 0


def has_listener() -> bool:
    """Whether file 0 is a listening socket, which whoever started this process has handed over."""
    try:
        with socket.socket(fileno=os.dup(_LISTENING_DESCRIPTOR)) as listener:
            return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    except OSError:
        return False


def serve_socket(application: Application, allowed: list[str]) -> None:
    """Answer the requests at the socket that is file 0, one after the other, until a signal.

    `allowed` are the IPv4 addresses of the web servers, for a socket on TCP.
    """
    with socket.socket(fileno=os.dup(_LISTENING_DESCRIPTOR)) as listener:
        on_tcp = listener.family != socket.AF_UNIX
    # Of several processes that see a connection, all but one would wait for the next, and a signal would not end them.
    os.set_blocking(_LISTENING_DESCRIPTOR, False)
    os.environ.pop(_WEB_SERVERS, None)
    if on_tcp:
        ensure_allowed(allowed)
        os.environ[_WEB_SERVERS] = ",".join(allowed)
    # mod_fcgid ends processes with SIGTERM, others with SIGUSR1.
    signal.signal(signal.SIGUSR1, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    while True:
        try:
            WSGIServer(application).run()
            return
        except Exception as error:  # noqa: BLE001 - flup ends its loop when a web server closes a connection too early
            log_line("noid", f"a connection by FastCGI failed: {type(error).__name__}: {error}")
        gc.collect()  # closes that connection, whose objects refer to each other


def web_servers(listed: list[str]) -> list[str]:
    """The addresses of the web servers: those listed, else those in the variable of the FastCGI specification.

    Raises UsageError for what is no IPv4 address.
    """
    found = listed or [text.strip() for text in os.environ.get(_WEB_SERVERS, "").split(",") if text.strip()]
    for text in found:
        try:
            IPv4Address(text)
        except ValueError:
            raise UsageError(f"{text!r} is not the IPv4 address of a web server: write it as 192.0.2.7") from None
    return found


def ensure_allowed(allowed: list[str]) -> None:
    """Refuse to serve on TCP if no web server is listed: a connection says who its user is."""
    if not allowed:
        raise UsageError(
            "FastCGI on TCP believes any client, which can then be any user: use a Unix socket, or list the IPv4 "
            f"addresses of the web servers with --allow or in {_WEB_SERVERS} (an address of this machine admits all "
            "its accounts)")


class Processes:
    """Keeps processes running that run the command of this one again, with the listening socket as file 0."""

    def __init__(self, listener: socket.socket, count: int) -> None:
        self._listener = listener
        self._command = [sys.executable, *sys.orig_argv[1:]]
        self._received: set[int] = set()
        for number in (*_STOPPING, signal.SIGHUP):
            signal.signal(number, lambda number, frame: self._received.add(number))
        self._running = [self._start() for _ in range(count)]

    def run(self) -> None:
        """Replace processes that end, until SIGTERM or SIGINT.  SIGHUP replaces all by new ones."""
        while not self._received & _STOPPING:
            time.sleep(_INTERVAL)
            if signal.SIGHUP in self._received:
                self._received.discard(signal.SIGHUP)
                former, self._running = self._running, [self._start() for _ in self._running]
                _stop(former)
            self._replace_ended()
        _stop(self._running)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdin=self._listener.fileno())

    def _replace_ended(self) -> None:
        ended = [process for process in self._running if process.poll() is not None]
        if ended:
            time.sleep(_PAUSE)  # processes that cannot start leave time for others
        if ended and not self._received & _STOPPING:  # the group of all processes may be told to stop
            for process in ended:
                log_line("noid", f"the worker {process.pid} {exit_reason(process.returncode)}: another one is started")
            self._running = [self._start() if process in ended else process for process in self._running]


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log_line("noid", f"the worker {process.pid} has not stopped within {_STOP_SECONDS:g} seconds: it is killed")
            process.kill()
            process.wait()
