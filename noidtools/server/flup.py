"""The adapter to flup, which implements FastCGI and SCGI: records, streams and the WSGI gateway.

This is the only module that imports flup.  It replaces flup's accept loop and its threads by GatewayWorker, for
which it needs internal members of flup; NEEDED lists them.
"""

from __future__ import annotations

import logging
import struct
from socket import SO_RCVTIMEO, SOL_SOCKET

from flup.server import fcgi_base as fcgi
from flup.server import scgi_base as scgi

from .compatibility import ensure_members
from .gateway import REQUEST_TIMEOUT, Connection, GatewayWorker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

    from ..web.batch import Application
    from ..web.request import Environ

# The releases that were tested; the same as in setup.cfg.
BOUNDS = ">= 1.0.3, < 1.1"
_FCGI, _SCGI = "flup.server.fcgi_base", "flup.server.scgi_base"
NEEDED = {
    _FCGI: (
        "BaseFCGIServer", "Connection", "Record", "FCGI_ABORT_REQUEST", "FCGI_BEGIN_REQUEST", "FCGI_DATA",
        "FCGI_GET_VALUES", "FCGI_PARAMS", "FCGI_STDIN"),
    f"{_FCGI}:BaseFCGIServer": ("_sanitizeEnv", "error", "handler", "maxwrite"),
    f"{_FCGI}:BaseFCGIServer.__init__": ("application", "multithreaded", "multiprocess"),
    f"{_FCGI}:Connection": (
        "_cleanupSocket", "_do_abort_request", "_do_begin_request", "_do_data", "_do_get_values", "_do_params",
        "_do_stdin", "_do_unknown_type", "_keepGoing", "_requests", "_sock", "_start_request", "process_input",
        "server"),
    f"{_FCGI}:Connection.__init__": ("sock", "addr", "server", "timeout"),
    f"{_FCGI}:InputStream": ("_eof",),
    f"{_FCGI}:Record": ("contentData", "contentLength", "read", "requestId", "type"),
    f"{_FCGI}:Request": ("params", "run", "stderr", "stdin", "stdout"),
    _SCGI: ("BaseSCGIServer", "Connection"),
    f"{_SCGI}:BaseSCGIServer": ("error", "handler"),
    f"{_SCGI}:BaseSCGIServer.__init__": ("application", "multithreaded", "multiprocess", "loggingLevel"),
    f"{_SCGI}:Connection": ("run",),
    f"{_SCGI}:Connection.__init__": ("sock", "addr", "server", "timeout"),
}
ensure_members("flup", BOUNDS, NEEDED)

_ERROR_RESPONSE = (
    b"Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\nerror: something went wrong here\n")

# A limit far above what web servers send.
_MAX_PARAMETERS = 4 << 20
_LARGEST_RECORD = 65528
_BUFFER_SIZE = 1 << 16
_DEFAULTS = {
    "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
    "SERVER_PROTOCOL": "HTTP/1.0",
}

# What flup raises when the web server closed the connection, or does not speak FastCGI.
_CONNECTION_ERRORS = (OSError, EOFError, struct.error, IndexError, ValueError)


# -- FastCGI ---------------------------------------------------------------------------------------------------------


def serve_fastcgi(listener: socket, shutdown: tuple[int, ...], application: Application) -> None:
    """Serve FastCGI requests in a worker process until a descriptor in `shutdown` becomes readable."""
    gateway = _FastCgiGateway(application)
    GatewayWorker(listener, lambda peer: _FastCgiConnection(peer, gateway), application.prepare).run(shutdown)


class _FastCgiGateway(fcgi.BaseFCGIServer):  # type: ignore[misc]
    """Runs the application for a request; one request at a time in each process."""

    maxwrite = _LARGEST_RECORD

    def __init__(self, application: Application) -> None:
        super().__init__(application, multithreaded=False, multiprocess=True)

    def _sanitizeEnv(self, environ: Environ) -> None:  # noqa: N802 - flup's name
        """Add the variables that WSGI requires.  flup's own method logs warnings for common configurations."""
        path, _, query = environ.get("REQUEST_URI", "").partition("?")
        if not environ.get("SCRIPT_NAME") and not environ.get("PATH_INFO"):
            environ["PATH_INFO"] = path
        for name, value in {**_DEFAULTS, "QUERY_STRING": query}.items():
            environ.setdefault(name, value)

    def error(self, request: Any) -> None:
        request.stdout.write(_ERROR_RESPONSE)


class _FastCgiConnection(fcgi.Connection, Connection):  # type: ignore[misc]
    def __init__(self, peer: socket, gateway: _FastCgiGateway) -> None:
        super().__init__(_BufferedSocket(peer), None, gateway, None)
        self._keepGoing = True
        self._parameters = bytearray()
        # The request whose parameters are complete, and the one that was answered last.
        self._received: Any = None
        self._answered: Any = None

    def receive(self) -> bool | None:
        try:
            while self._received is None:
                self.process_input()
                if not self._requests and not self._sock.buffered:
                    return None
            self.environ = self._received.params
            if self.environ.get("CONTENT_LENGTH", "") in ("", "0"):
                # There is no body.  The record that ends it has usually arrived; after that no more is expected.
                while self._sock.buffered and not self._received.stdin._eof:
                    self.process_input()
            self.environ["wsgi.errors"] = self._received.stderr
            self.server._sanitizeEnv(self.environ)
        except _CONNECTION_ERRORS:
            return False
        return True

    def answer(self) -> bool:
        try:
            request, self._received = self._received, None
            request.run()
            self._answered = request
            self._sock.flush()
            # The rest of a body that the application did not read, or a request sent before the last was answered.
            while self._keepGoing and self._sock.buffered:
                more = self.receive()
                if more is not None:
                    return more and self.answer()
        except _CONNECTION_ERRORS:
            return False
        return bool(self._keepGoing)

    def is_fully_read(self) -> bool:
        return self._answered is not None and self._answered.stdin._eof and not self._sock.buffered

    def _start_request(self, request: Any) -> None:
        """Called by flup when the parameters of a request are complete; flup's own method runs it at once."""
        self._received = request

    def process_input(self) -> None:
        """As flup's, without its call of select: GatewayWorker has waited already, and the socket has a timeout."""
        record = fcgi.Record()
        record.read(self._sock)
        handle = _HANDLERS.get(record.type, fcgi.Connection._do_unknown_type)
        handle(self, record)

    def _do_abort_request(self, record: Any) -> None:
        """The client closed its connection: reading the body ends here."""
        super()._do_abort_request(record)
        raise EOFError("the request was aborted")

    def _do_params(self, record: Any) -> None:
        """Join the records of the parameters first, because a parameter may continue in the next record."""
        if record.contentLength:
            self._parameters += record.contentData
            if len(self._parameters) > _MAX_PARAMETERS:
                raise ValueError("too many parameters")
            return
        whole = fcgi.Record(fcgi.FCGI_PARAMS, record.requestId)
        whole.contentData, whole.contentLength = bytes(self._parameters), len(self._parameters)
        self._parameters.clear()
        super()._do_params(whole)
        super()._do_params(record)

    def _cleanupSocket(self) -> None:  # noqa: N802 - flup's name
        """Called by flup after the last request; GatewayWorker closes the socket."""


_HANDLERS = {
    fcgi.FCGI_GET_VALUES: fcgi.Connection._do_get_values,
    fcgi.FCGI_BEGIN_REQUEST: fcgi.Connection._do_begin_request,
    fcgi.FCGI_ABORT_REQUEST: _FastCgiConnection._do_abort_request,
    fcgi.FCGI_PARAMS: _FastCgiConnection._do_params,
    fcgi.FCGI_STDIN: fcgi.Connection._do_stdin,
    fcgi.FCGI_DATA: fcgi.Connection._do_data,
}


class _BufferedSocket:
    """A socket with buffers for reading and writing, because flup reads and writes records in small pieces."""

    __slots__ = ("_output", "_peer", "buffered")

    def __init__(self, peer: socket) -> None:
        self._peer = peer
        self._output = bytearray()
        # Input that was received and not yet read.
        self.buffered = b""

    def fileno(self) -> int:
        return self._peer.fileno()

    def recv(self, most: int) -> bytes:
        if not self.buffered:
            # The web server may wait for our output before it sends more.
            self.flush()
            self.buffered = self._peer.recv(_BUFFER_SIZE)
        piece, self.buffered = self.buffered[:most], self.buffered[most:]
        return piece

    def send(self, data: bytes) -> int:
        self._output += data
        if len(self._output) >= _BUFFER_SIZE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self._output:
            self._peer.sendall(self._output)
            self._output.clear()


# -- SCGI: one request for each connection ---------------------------------------------------------------------------


def serve_scgi(listener: socket, shutdown: tuple[int, ...], application: Application) -> None:
    """Serve SCGI requests in a worker process until a descriptor in `shutdown` becomes readable."""
    gateway = _ScgiGateway(application)
    GatewayWorker(listener, lambda peer: _ScgiConnection(peer, gateway), lambda environs: None).run(shutdown)


class _ScgiGateway(scgi.BaseSCGIServer):  # type: ignore[misc]
    def __init__(self, application: Application) -> None:
        # At lower levels flup logs paths as they were sent, with line breaks.
        super().__init__(application, multithreaded=False, multiprocess=True, loggingLevel=logging.CRITICAL)

    def error(self, request: Any) -> None:
        request.stdout.write(_ERROR_RESPONSE)


class _ScgiConnection(scgi.Connection, Connection):  # type: ignore[misc]
    """flup reads and answers a request in one call, so that requests cannot be prepared together."""

    def __init__(self, peer: socket, gateway: _ScgiGateway) -> None:
        # flup closes the socket that it gets; GatewayWorker reads the rest of the input first and closes the other.
        own = peer.dup()
        # flup makes the socket blocking, which removes Python's timeout, so that this is the timeout of the system.
        own.setsockopt(SOL_SOCKET, SO_RCVTIMEO, struct.pack("ll", REQUEST_TIMEOUT, 0))
        super().__init__(own, (), gateway, None)
        self.environ = {}

    def receive(self) -> bool:
        return True

    def answer(self) -> bool:
        self.run()
        return False
