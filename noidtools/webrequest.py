"""One HTTP request for the head of an answer, from a server that may be slow, broken or hostile.

Of the answer the status and the Location are wanted, so no more than its head
is read: at most 64 kB, within a deadline, whatever the server sends.  Nothing
is sent but the request: no cookies, no credentials, no word about where we
found the address.
"""

from __future__ import annotations

import ssl

from . import __version__, targets
from .hosts import Deadline, Unreachable, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

_PORTS = {"http": 80, "https": 443}
_LARGEST_HEAD = 1 << 16
_PIECE = 4096
# A server may send so many 1xx answers before the one that counts (RFC 9110, 15.2).
_MOST_INTERIM = 5
_LONGEST_HOST = 253


class Place:
    """A web address taken apart: what is asked of which host."""

    __slots__ = ("host", "path", "port", "scheme", "url")

    def __init__(self, url: bytes) -> None:
        from urllib.parse import urlsplit

        sendable = targets.location(url)
        if sendable is None or sendable[:1] == b"/":
            raise Unreachable("it is no web address")
        text = sendable.decode("ascii")
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise Unreachable("its host or port is malformed") from None
        if parts.scheme not in _PORTS:
            raise Unreachable("it is no web address")
        self.scheme = parts.scheme
        self.host = (parts.hostname or "").rstrip(".")
        if not self.host or len(self.host) > _LONGEST_HOST or "%" in self.host:
            raise Unreachable("its host is malformed")
        self.port = port or _PORTS[self.scheme]
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.url = text.partition("#")[0]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def joined(self, location: bytes) -> Place:
        """Where a Location header leads from here."""
        from urllib.parse import urljoin

        try:
            return Place(urljoin(self.url, location.decode("latin-1")).encode("latin-1"))
        except ValueError:
            raise Unreachable("its host or port is malformed") from None


class Reply:
    __slots__ = ("location", "status")

    def __init__(self, status: int, location: bytes | None) -> None:
        self.status = status
        self.location = location


def secure_context() -> ssl.SSLContext:
    """What connections with https have in common; it takes a while to make."""
    return ssl.create_default_context()


def request(
    method: str, place: Place, deadline: Deadline, context: ssl.SSLContext, *, allow_private: bool = False
) -> Reply:
    """Ask for a place; raises Unreachable if there is no answer that can be understood."""
    connection = _opened(place, deadline, context, allow_private)
    try:
        connection.settimeout(deadline.left())
        connection.sendall(_question(method, place))
        return _answer(connection, deadline)
    except Unreachable as finding:
        finding.final = False
        raise
    except TimeoutError:
        raise Unreachable("no answer in time", silent=True, final=False) from None
    except (OSError, ValueError) as error:
        raise Unreachable(f"the connection broke off: {_words(error)}", final=False) from None
    finally:
        connection.close()


def _opened(place: Place, deadline: Deadline, context: ssl.SSLContext, allow_private: bool) -> socket.socket:
    connection = connect(place.host, place.port, deadline, allow_private=allow_private)
    if place.scheme == "http":
        return connection
    try:
        connection.settimeout(deadline.left())
        return context.wrap_socket(connection, server_hostname=place.host)
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(f"its certificate is not valid: {error.verify_message}") from None
    except TimeoutError:
        raise Unreachable("no answer in time", silent=True) from None
    except (OSError, ValueError) as error:
        raise Unreachable(f"no secure connection: {_words(error)}") from None
    finally:
        # The wrapped connection is another object, which took over the descriptor of this one.
        connection.close()


def _words(error: Exception) -> str:
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(text).lower().replace("_", " ")


def _question(method: str, place: Place) -> bytes:
    lines = (
        f"{method} {place.path} HTTP/1.1", f"Host: {place.authority}", f"User-Agent: noidtools/{__version__} (verify)",
        "Accept: */*", "Connection: close", "", "",
    )
    return "\r\n".join(lines).encode("ascii")


def _answer(connection: socket.socket, deadline: Deadline) -> Reply:
    received = bytearray()
    for _ in range(_MOST_INTERIM + 1):
        end = _read_head(connection, deadline, received)
        reply = _parsed(bytes(received[:end]))
        if reply.status >= 200:
            return reply
        del received[:end]
    raise Unreachable("it gives interim answers only")


def _read_head(connection: socket.socket, deadline: Deadline, received: bytearray) -> int:
    """Receive until an empty line; returns where the head ends."""
    while True:
        if received[:5] != b"HTTP/"[: len(received)]:
            raise Unreachable("it does not answer in HTTP")
        for mark in (b"\r\n\r\n", b"\n\n"):
            end = received.find(mark)
            if end >= 0:
                return end + len(mark)
        if len(received) > _LARGEST_HEAD:
            raise Unreachable(f"the head of its answer is larger than {_LARGEST_HEAD} bytes")
        connection.settimeout(deadline.left())
        piece = connection.recv(_PIECE)
        if not piece:
            raise Unreachable("it broke off its answer" if received else "it closed the connection without an answer")
        received += piece


def _parsed(head: bytes) -> Reply:
    first, *lines = head.split(b"\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/") or not (status.isdigit() and len(status) == 3) or rest[3:4].strip():
        raise Unreachable("it does not answer in HTTP")
    location = None
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon and name.lower() == b"location" and location is None:
            location = value.strip()
    return Reply(int(status), location)
