"""The adapter to flup, which implements FastCGI and SCGI: records, streams and the WSGI gateway.

This is the only module that imports flup.  It replaces flup's accept loop and its threads by GatewayWorker, for
which it needs internal members of flup; NEEDED lists them.
"""

from __future__ import annotations

import io
import logging
import struct
from contextlib import suppress

from flup.server import fcgi_base as fcgi
from flup.server import scgi_base as scgi

from .buffered_socket import BufferedSocket, SocketInput, SocketOutput
from .compatibility import ensure_members
from .gateway import Connection, GatewayWorker
from .limits import TRANSFER_SECONDS
from .wsgi import WsgiResponse, add_required, decode_parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

    from ..web.batch import Application
    from .allowed import AllowedAddresses

# The releases that were tested; the same as in setup.cfg.
BOUNDS = ">= 1.0.3, < 1.1"
_FCGI, _SCGI = "flup.server.fcgi_base", "flup.server.scgi_base"
NEEDED = {
    _FCGI: (
        "BaseFCGIServer", "Connection", "Record", "FCGI_ABORT_REQUEST", "FCGI_BEGIN_REQUEST", "FCGI_DATA",
        "FCGI_GET_VALUES", "FCGI_PARAMS", "FCGI_REQUEST_COMPLETE", "FCGI_STDIN", "FCGI_UNKNOWN_ROLE"),
    f"{_FCGI}:BaseFCGIServer": ("application", "error", "handler", "maxwrite", "roles"),
    f"{_FCGI}:BaseFCGIServer.__init__": ("application", "multithreaded", "multiprocess"),
    f"{_FCGI}:Connection": (
        "_cleanupSocket", "_do_abort_request", "_do_begin_request", "_do_data", "_do_get_values", "_do_params",
        "_do_stdin", "_do_unknown_type", "_keepGoing", "_requests", "_sock", "_start_request", "process_input",
        "role", "server", "writeRecord"),
    f"{_FCGI}:Connection.__init__": ("sock", "addr", "server", "timeout"),
    f"{_FCGI}:InputStream": ("_avail", "_eof"),
    f"{_FCGI}:Record": ("contentData", "contentLength", "read", "requestId", "type", "version"),
    f"{_FCGI}:OutputStream": ("write",),
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

# Version, type, number of the request, length of the content, length of the padding, and a byte that is not used.
_HEADER = struct.Struct(">BBHHBx")

# A limit far above what web servers send.
_MAX_PARAMETERS = 4 << 20
_LARGEST_RECORD = 65528

# A request is run when it has arrived, or so many bytes of it: more than those may send who may only read.
_MOST_BUFFERED = (1 << 20) + (1 << 16)

# What flup raises when the web server closed the connection, or does not speak FastCGI.
_CONNECTION_ERRORS = (OSError, EOFError, struct.error, IndexError, ValueError)


# -- FastCGI ---------------------------------------------------------------------------------------------------------


def serve_fastcgi(listener: socket, shutdown: tuple[int, ...], application: Application, *,
                  timeout: float = TRANSFER_SECONDS, allowed: AllowedAddresses | None = None) -> None:
    """Serve FastCGI requests in a worker process until a descriptor in `shutdown` becomes readable."""
    gateway = _FastCgiGateway(application)
    worker = GatewayWorker(listener, lambda peer: _FastCgiConnection(peer, gateway, timeout), application.prepare,
                           allowed)
    worker.run(shutdown)


class _FastCgiGateway(fcgi.BaseFCGIServer):  # type: ignore[misc]
    """Runs the application for a request; one request at a time in each process."""

    maxwrite = _LARGEST_RECORD

    def __init__(self, application: Application) -> None:
        super().__init__(application, multithreaded=False, multiprocess=True)

    def handler(self, request: Any) -> tuple[int, int]:
        """As flup's, which checks on each request that our application is a correct one, and writes the header as a
        record of its own."""
        if request.role not in self.roles:
            return fcgi.FCGI_UNKNOWN_ROLE, 0
        response = WsgiResponse(request.stdout.write)
        with suppress(BrokenPipeError):  # the web server does not wait for the answer
            body = self.application(request.params, response.start)
            try:
                for data in body:
                    if data:
                        response.write(data)
                if response.header:
                    response.write(b"")  # there is no body
            finally:
                if hasattr(body, "close"):
                    body.close()
        return fcgi.FCGI_REQUEST_COMPLETE, 0

    def error(self, request: Any) -> None:
        request.stdout.write(_ERROR_RESPONSE)


class _FastCgiConnection(fcgi.Connection, Connection):  # type: ignore[misc]
    def __init__(self, peer: socket, gateway: _FastCgiGateway, timeout: float) -> None:
        super().__init__(BufferedSocket(peer, timeout), None, gateway, None)
        self._keepGoing = True
        self._parameters = bytearray()
        # The request whose parameters are complete, and the one that was answered last.
        self._received: Any = None
        self._answered: Any = None
        # Whether the web server has aborted the request.
        self._aborted = False

    def receive(self) -> bool | None:
        try:
            is_open = self._sock.fill()
            while not self._is_complete() and (arrived := self._sock.take_record()) is not None:
                self._handle(*arrived)
            if not self._is_complete() and is_open:
                if not self._requests and not self._sock.buffered:
                    self._sock.end_request()  # the input was the rest of the request before
                return None
        except _CONNECTION_ERRORS:
            if not self._aborted:
                return False
        return self._received is not None and self._begin()

    def _is_complete(self) -> bool:
        """Whether the request has arrived, or of a large body enough of it."""
        if self._received is None:
            return False
        stdin = self._received.stdin
        if self._received.params.get("CONTENT_LENGTH", "") in ("", "0"):
            # There is no body.  The record that ends it has usually arrived; after that no more is expected.
            return bool(stdin._eof) or not self._sock.holds_record()
        return bool(stdin._eof) or stdin._avail >= _MOST_BUFFERED

    def _begin(self) -> bool:
        request = self._received
        self.environ = request.params
        add_required(self.environ, request.stdin, request.stderr)
        return True

    def answer(self) -> bool:
        try:
            request, self._received = self._received, None
            request.run()
            self._answered = request
            self._sock.flush()
            self._sock.end_request()
            # The rest of a body that the application did not read, or a request sent before the last was answered.
            while self._keepGoing and not self._aborted and self._sock.buffered:
                more = self.receive()
                if more is None:
                    break
                return more and self.answer()
        except _CONNECTION_ERRORS:
            return False
        return bool(self._keepGoing) and not self._aborted

    def is_idle(self) -> bool:
        return not self._requests and self._sock.is_idle()

    def is_overdue(self, now: float) -> bool:
        return bool(self._sock.is_overdue(now))

    def is_fully_read(self) -> bool:
        return self._answered is not None and self._answered.stdin._eof and not self._sock.buffered

    def _start_request(self, request: Any) -> None:
        """Called by flup when the parameters of a request are complete; flup's own method runs it at once."""
        self._received = request

    def process_input(self) -> None:
        """As flup's, without its call of select: the socket waits itself, until the request is overdue.

        Called by flup for more of a body.
        """
        if self._aborted:
            raise EOFError("the request was aborted")
        arrived = self._sock.take_record()
        if arrived is None:
            # flup reads in many small steps, which is for records that have not arrived yet.
            record = fcgi.Record()
            record.read(self._sock)
            arrived = record.type, record.requestId, record.contentData
        self._handle(*arrived)

    def _handle(self, kind: int, number: int, content: bytes) -> None:
        """Handle a record: its type, the number of its request, its content."""
        record = fcgi.Record(kind, number)
        record.contentData, record.contentLength = content, len(content)
        handle = _HANDLERS.get(kind, fcgi.Connection._do_unknown_type)
        handle(self, record)

    def writeRecord(self, record: Any) -> None:  # noqa: N802 - flup's name
        """As flup's, in one piece."""
        content, padding = record.contentData, -record.contentLength & 7
        header = _HEADER.pack(record.version, record.type, record.requestId, record.contentLength, padding)
        self._sock.send(header + content + bytes(padding))

    def _do_abort_request(self, record: Any) -> None:
        """The client closed its connection: reading the body ends here."""
        super()._do_abort_request(record)
        self._aborted = True
        raise EOFError("the request was aborted")

    def _do_params(self, record: Any) -> None:
        """Join the records of the parameters first, because a parameter may continue in the next record."""
        if record.contentLength:
            self._parameters += record.contentData
            if len(self._parameters) > _MAX_PARAMETERS:
                raise ValueError("too many parameters")
            return
        request = self._requests.get(record.requestId)
        if request is not None:
            request.params = decode_parameters(self._parameters)
        self._parameters.clear()
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


# -- SCGI: one request for each connection ---------------------------------------------------------------------------


def serve_scgi(listener: socket, shutdown: tuple[int, ...], application: Application, *,
               timeout: float = TRANSFER_SECONDS, allowed: AllowedAddresses | None = None) -> None:
    """Serve SCGI requests in a worker process until a descriptor in `shutdown` becomes readable."""
    gateway = _ScgiGateway(application)
    worker = GatewayWorker(listener, lambda peer: _ScgiConnection(peer, gateway, timeout), lambda environs: None,
                           allowed)
    worker.run(shutdown)


class _ScgiGateway(scgi.BaseSCGIServer):  # type: ignore[misc]
    def __init__(self, application: Application) -> None:
        # At lower levels flup logs paths as they were sent, with line breaks.
        super().__init__(application, multithreaded=False, multiprocess=True, loggingLevel=logging.CRITICAL)

    def error(self, request: Any) -> None:
        request.stdout.write(_ERROR_RESPONSE)


class _ScgiConnection(scgi.Connection, Connection):  # type: ignore[misc]
    """flup reads and answers a request in one call, so that requests cannot be prepared together."""

    def __init__(self, peer: socket, gateway: _ScgiGateway, timeout: float) -> None:
        self._input = BufferedSocket(peer, timeout)
        # The length of the request, once it is known.
        self._length: int | None = None
        super().__init__(_ScgiSocket(self._input), (), gateway, None)
        self.environ = {}

    def receive(self) -> bool | None:
        try:
            is_open = self._input.fill(_MOST_BUFFERED)
            if self._length is None:
                self._length = _scgi_length(self._input)
        except (OSError, ValueError):
            return False
        arrived = self._length is not None and self._input.buffered >= min(self._length, _MOST_BUFFERED)
        if arrived:
            return True
        # flup refuses what is cut off.
        return None if is_open else self._input.buffered > 0

    def answer(self) -> bool:
        self.run()
        return False

    def is_idle(self) -> bool:
        return self._input.is_idle()

    def is_overdue(self, now: float) -> bool:
        return self._input.is_overdue(now)


def _scgi_length(source: BufferedSocket) -> int | None:
    """The length of a request, its body included; None if that has not arrived.  Raises ValueError if malformed."""
    digits, colon, _ = source.peek(12).partition(b":")
    if digits.strip(b"0123456789") or (not digits and colon) or (not colon and len(digits) == 12):
        raise ValueError("this is not SCGI")
    if not colon:
        return None
    start, size = len(digits) + 1, int(digits)
    if size > _MAX_PARAMETERS:
        raise ValueError("too many parameters")
    # A comma follows the headers.
    if source.buffered < min(start + size + 1, _MOST_BUFFERED):
        return None
    fields = source.peek(start + size)[start:].split(b"\0")
    for name, value in zip(fields[::2], fields[1::2], strict=False):
        if name == b"CONTENT_LENGTH" and value.isdigit() and len(value) < 19:
            return start + size + 1 + int(value)
    return start + size + 1


class _ScgiSocket:
    """What flup uses of a socket, made of the buffered one.  GatewayWorker closes the true socket."""

    def __init__(self, source: BufferedSocket) -> None:
        self._source = source
        self.recv = source.recv

    def setblocking(self, flag: int) -> None:
        """The buffered socket waits by itself."""

    def makefile(self, mode: str) -> io.BufferedIOBase:
        if mode == "rb":
            return io.BufferedReader(SocketInput(self._source))
        return io.BufferedWriter(SocketOutput(self._source))

    def close(self) -> None:
        """Called by flup after the request."""
