"""FastCGI, spoken by flup: its records, streams and WSGI gateway.  The processes are ours."""

from __future__ import annotations

import logging
import struct
from socket import SO_RCVTIMEO, SOL_SOCKET

from flup.server import fcgi_base as fcgi
from flup.server import scgi_base as scgi

from .gateway import PATIENCE_SECONDS, Connection, GatewayWorker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

    from ..web.commands import CommandApplication
    from ..web.request import Environ

_FAULT = b"Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\nerror: something went wrong here\n"

# More than any web server sends of them.
_LONGEST_PARAMETERS = 4 << 20
_LARGEST_RECORD = 65528
_SENT_TOGETHER = 1 << 16
_DEFAULTS = {
    "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
    "SERVER_PROTOCOL": "HTTP/1.0",
}

# What flup raises when the web server went away, or does not speak FastCGI.
_BROKEN = (OSError, EOFError, struct.error, IndexError, ValueError)


def serve_fastcgi(listener: socket, farewells: tuple[int, ...], application: CommandApplication) -> None:
    """What a worker process does: serve requests that arrive at a socket, until a farewell."""
    gateway = _FastCgiGateway(application)
    GatewayWorker(listener, lambda peer: _FastCgiConnection(peer, gateway), application.prepare).run(farewells)


class _FastCgiGateway(fcgi.BaseFCGIServer):  # type: ignore[misc]
    """Runs the application for a request; one at a time in each process."""

    maxwrite = _LARGEST_RECORD

    def __init__(self, application: CommandApplication) -> None:
        super().__init__(application, multithreaded=False, multiprocess=True)

    def _sanitizeEnv(self, environ: Environ) -> None:  # noqa: N802 - flup's name
        """Put in what WSGI demands.  flup's own would fill the log with warnings about usual configurations."""
        path, _, query = environ.get("REQUEST_URI", "").partition("?")
        if not environ.get("SCRIPT_NAME") and not environ.get("PATH_INFO"):
            environ["PATH_INFO"] = path
        for name, value in {**_DEFAULTS, "QUERY_STRING": query}.items():
            environ.setdefault(name, value)

    def error(self, request: Any) -> None:
        request.stdout.write(_FAULT)


class _FastCgiConnection(fcgi.Connection, Connection):  # type: ignore[misc]
    def __init__(self, peer: socket, gateway: _FastCgiGateway) -> None:
        super().__init__(_BufferedSocket(peer), None, gateway, None)
        self._keepGoing = True
        self._parameters = bytearray()
        self._begun: Any = None
        self._last: Any = None

    def receive(self) -> bool | None:
        try:
            while self._begun is None:
                self.process_input()
                if not self._requests and not self._sock.arrived:
                    return None
            self.environ = self._begun.params
            if self.environ.get("CONTENT_LENGTH", "") in ("", "0"):
                # There is no body, but the end of it has mostly arrived, and then nothing is left to come.
                while self._sock.arrived and not self._begun.stdin._eof:
                    self.process_input()
            self.environ["wsgi.errors"] = self._begun.stderr
            self.server._sanitizeEnv(self.environ)
        except _BROKEN:
            return False
        return True

    def answer(self) -> bool:
        try:
            request, self._begun = self._begun, None
            request.run()
            self._last = request
            self._sock.flush()
            # The end of a body that nobody wanted, or a web server that does not wait for us.
            while self._keepGoing and self._sock.arrived:
                more = self.receive()
                if more is not None:
                    return more and self.answer()
        except _BROKEN:
            return False
        return bool(self._keepGoing)

    def all_read(self) -> bool:
        return self._last is not None and self._last.stdin._eof and not self._sock.arrived

    def _start_request(self, request: Any) -> None:
        """Called by flup when it knows all about a request but its body."""
        self._begun = request

    def process_input(self) -> None:
        """As flup's, without asking the system first whether something has arrived."""
        record = fcgi.Record()
        record.read(self._sock)
        handle = _HANDLERS.get(record.type, fcgi.Connection._do_unknown_type)
        handle(self, record)

    def _do_abort_request(self, record: Any) -> None:
        """The client has gone: what is read of its body ends here."""
        super()._do_abort_request(record)
        raise EOFError("the request was aborted")

    def _do_params(self, record: Any) -> None:
        """Joins the pieces of the parameters first: one of them may begin in one record and end in the next."""
        if record.contentLength:
            self._parameters += record.contentData
            if len(self._parameters) > _LONGEST_PARAMETERS:
                raise ValueError("too many parameters")
            return
        whole = fcgi.Record(fcgi.FCGI_PARAMS, record.requestId)
        whole.contentData, whole.contentLength = bytes(self._parameters), len(self._parameters)
        self._parameters.clear()
        super()._do_params(whole)
        super()._do_params(record)

    def _cleanupSocket(self) -> None:  # noqa: N802 - flup's name
        """Called by flup at the end of the last request; the loop closes."""
_HANDLERS = {
    fcgi.FCGI_GET_VALUES: fcgi.Connection._do_get_values,
    fcgi.FCGI_BEGIN_REQUEST: fcgi.Connection._do_begin_request,
    fcgi.FCGI_ABORT_REQUEST: _FastCgiConnection._do_abort_request,
    fcgi.FCGI_PARAMS: _FastCgiConnection._do_params,
    fcgi.FCGI_STDIN: fcgi.Connection._do_stdin,
    fcgi.FCGI_DATA: fcgi.Connection._do_data,
}


class _BufferedSocket:
    """A socket that reads ahead and gathers what is written: flup reads and writes records by bits and pieces."""

    __slots__ = ("_peer", "arrived", "_leaving")

    def __init__(self, peer: socket) -> None:
        self._peer = peer
        self.arrived = b""
        self._leaving = bytearray()

    def fileno(self) -> int:
        return self._peer.fileno()

    def recv(self, most: int) -> bytes:
        if not self.arrived:
            # Whoever waits for more of a request may be waiting for our answer.
            self.flush()
            self.arrived = self._peer.recv(_SENT_TOGETHER)
        piece, self.arrived = self.arrived[:most], self.arrived[most:]
        return piece

    def send(self, data: bytes) -> int:
        self._leaving += data
        if len(self._leaving) >= _SENT_TOGETHER:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._leaving:
            self._peer.sendall(self._leaving)
            self._leaving.clear()

# -- SCGI, spoken by flup: one request for each connection -----------------------------------------------------------

_SCGI_FAULT = b"Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\nerror: something went wrong here\n"


def serve_scgi(listener: socket, farewells: tuple[int, ...], application: CommandApplication) -> None:
    """What a worker process does: serve requests that arrive at a socket, until a farewell."""
    gateway = _ScgiGateway(application)
    GatewayWorker(listener, lambda peer: _ScgiConnection(peer, gateway), lambda environs: None).run(farewells)


class _ScgiGateway(scgi.BaseSCGIServer):  # type: ignore[misc]
    def __init__(self, application: CommandApplication) -> None:
        # flup would log paths as they were sent, line breaks and all.
        super().__init__(application, multithreaded=False, multiprocess=True, loggingLevel=logging.CRITICAL)

    def error(self, request: Any) -> None:
        request.stdout.write(_SCGI_FAULT)


class _ScgiConnection(scgi.Connection, Connection):  # type: ignore[misc]
    """flup reads and answers in one go, so there is nothing to prepare."""

    def __init__(self, peer: socket, gateway: _ScgiGateway) -> None:
        # flup closes what it is given; the loop closes the other, and reads what is left first.
        own = peer.dup()
        # flup takes away the time limit of the kind that Python keeps, so this is one that the system keeps.
        own.setsockopt(SOL_SOCKET, SO_RCVTIMEO, struct.pack("ll", PATIENCE_SECONDS, 0))
        super().__init__(own, (), gateway, None)
        self.environ = {}

    def receive(self) -> bool:
        return True

    def answer(self) -> bool:
        self.run()
        return False
