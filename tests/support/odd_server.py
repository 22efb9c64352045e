"""A web server on 127.0.0.1 that sends malformed or hostile responses, chosen by path."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time

ENOUGH = 1 << 28


class OddServer:
    """Listens on 127.0.0.1, and on the same port of `others`.  Keeps what it was asked and when, and what it sent."""

    def __init__(self, *others: str, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, bytes]] = []  # address asked, and the request
        self.times: list[tuple[float, float]] = []  # from when to when it was at work
        self.sent = 0
        self._lock = threading.Lock()
        self._tls = tls
        self._open = True
        self._listeners: list[socket.socket] = []
        self.port = 0
        for address in ("127.0.0.1", *others):
            listener = socket.create_server((address, self.port), backlog=64)
            self.port = listener.getsockname()[1]
            self._listeners.append(listener)
            threading.Thread(target=self._accept, args=(listener, address), daemon=True).start()

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> bytes:
        return f"{scheme}://{host}:{self.port}{path}".encode("latin-1")

    def url_to(self, location: str) -> bytes:
        """The address of a redirect to there."""
        return self.url(f"/to/{location.encode('latin-1').hex()}")

    @property
    def asked(self) -> list[str]:
        """Methods and paths."""
        return [b" ".join(request.split(b" ")[:2]).decode() for _, request in self.requests]

    def __enter__(self) -> OddServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        for listener in self._listeners:
            # Closing it alone would leave a thread waiting for a connection.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, listener: socket.socket, address: str) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()

    def _serve(self, connection: socket.socket, address: str) -> None:
        began = time.monotonic()
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:
                return
        with contextlib.suppress(OSError), connection:
            request = b""
            while b"\r\n\r\n" not in request:
                piece = connection.recv(65536)
                if not piece:
                    return
                request += piece
                if not request[:1].isalpha():
                    self._send(connection, _head(400))
                    return
            with self._lock:
                self.requests.append((address, request))
            method, path = request.split(b" ")[:2]
            self._answer(connection, method.decode(), path.decode())
            with self._lock:
                self.times.append((began, time.monotonic()))
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(1)
            connection.recv(1)

    def _send(self, connection: socket.socket, data: bytes) -> None:
        connection.sendall(data)
        self.sent += len(data)

    def _answer(self, connection: socket.socket, method: str, path: str) -> None:
        word, _, rest = path.partition("?")[0].lstrip("/").partition("/")
        if word.isdigit():
            self._send(connection, _head(int(word)))
        elif word == "get-only":
            self._send(connection, _head(405 if method == "HEAD" else 200))
        elif word == "hop":
            left = int(rest)
            self._send(connection, _head(301, f"Location: /hop/{left - 1}" if left else "Location: /200"))
        elif word == "to":
            self._send(connection, _head(302, "Location: " + bytes.fromhex(rest).decode("latin-1")))
        elif word == "slow":
            time.sleep(float(rest))
            self._send(connection, _head(200))
        else:
            getattr(self, f"_answer_{word}")(connection, method)

    def _answer_circle(self, connection: socket.socket, method: str) -> None:
        self._send(connection, _head(302, "Location: /circle2"))

    def _answer_circle2(self, connection: socket.socket, method: str) -> None:
        self._send(connection, _head(302, "Location: circle"))

    def _answer_nowhere(self, connection: socket.socket, method: str) -> None:
        self._send(connection, _head(301))

    def _answer_cookie(self, connection: socket.socket, method: str) -> None:
        self._send(connection, _head(302, "Set-Cookie: a=b", "Location: /200"))

    def _answer_interim(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + _head(204))

    def _answer_interims(self, connection: socket.socket, method: str) -> None:
        while self.sent < ENOUGH:
            self._send(connection, b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer_never(self, connection: socket.socket, method: str) -> None:
        while self._open:
            time.sleep(0.05)

    def _answer_closed(self, connection: socket.socket, method: str) -> None:
        """Close the connection without an answer."""

    def _answer_half(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.1 200 OK\r\nContent-")

    def _answer_garbage(self, connection: socket.socket, method: str) -> None:
        self._send(connection, bytes(range(256)) * 100)

    def _answer_nonsense(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.1 2000000 Fine\r\n\r\n")

    def _answer_bare(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.0 200\n\n")

    def _answer_endless(self, connection: socket.socket, method: str) -> None:
        if method == "HEAD":
            self._send(connection, _head(501))
            return
        self._send(connection, b"HTTP/1.1 200 OK\r\n\r\n")
        while self.sent < ENOUGH:
            self._send(connection, b"x" * 65536)

    def _answer_huge(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.1 200 OK\r\n")
        while self.sent < ENOUGH:
            self._send(connection, b"X-Header: " + b"x" * 60000 + b"\r\n")

    def _answer_line(self, connection: socket.socket, method: str) -> None:
        self._send(connection, b"HTTP/1.1 200 OK\r\nX: ")
        while self.sent < ENOUGH:
            self._send(connection, b"x" * 65536)

    def _answer_drip(self, connection: socket.socket, method: str) -> None:
        for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100000:
            if not self._open:
                break
            self._send(connection, bytes((byte,)))
            time.sleep(0.02)


def _head(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Word", *headers, "Content-Length: 0", "", ""]).encode("latin-1")
