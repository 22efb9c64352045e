"""The HTTP client: requests for the head of a response, to servers that may be slow, broken or hostile.

A host name may resolve to any address, also to one inside our own machine or
network.  So a name is resolved once for a request, the addresses are checked,
and the connection is made to one of the checked addresses, not to the name.

Only the status and the Location of a response are needed, so that no more than
its head is read: at most 64 kB, within a deadline.  A request contains no
cookies, no credentials and no Referer.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urljoin, urlsplit

from ..errors import InvalidError, UsageError
from ..names import targets
from ..version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    Sockaddr = tuple[Any, ...]

# Networks whose IPv6 addresses contain an IPv4 address, and the position of its lowest bit: NAT64 (RFC 6052, the
# well-known prefix) and 6to4 (RFC 3056).  A translator in our network would deliver to the IPv4 address.
_EMBEDDING = ((ipaddress.IPv6Network("64:ff9b::/96"), 0), (ipaddress.IPv6Network("2002::/16"), 80))

# Not global, but is_global of older releases of Python is true for them.
_LOCAL = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv4Network("192.0.0.0/24"))

# The IPv6 addresses that are allocated to the public, and a part of them that is for examples only.
_UNICAST, _DOCUMENTATION = ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("3fff::/20")

# How many addresses of a host are tried.
_MAX_ADDRESSES = 4


class UnreachableError(Exception):
    """There was no usable response.

    silent  nothing was received from the host: further requests to it will probably fail too
    final   a request with another method would fail in the same way
    """

    def __init__(self, reason: str, *, silent: bool = False, final: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.silent = silent
        self.final = final


class Deadline:
    """A time limit for several steps together; `left` raises UnreachableError when it has passed."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise UnreachableError("no answer in time", silent=True)
        return seconds


def is_public(address: str) -> bool:
    """Whether the address is global: it means the same host everywhere on the Internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped
        for network, shift in _EMBEDDING:
            if found in network:
                inner = ipaddress.IPv4Address(int(found) >> shift & 0xFFFFFFFF)
        if inner is None and (found not in _UNICAST or found in _DOCUMENTATION):
            return False
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast and not any(found in network for network in _LOCAL)


def connect(host: str, port: int, deadline: Deadline, *, allow_private: bool) -> socket.socket:
    """Connect to one of the host's addresses, to a public one unless others are allowed; raises UnreachableError."""
    found = _look_up(host, port, deadline)
    usable = [item for item in found if allow_private or is_public(item[1][0])]
    if not usable:
        # Readers see the finding, so it does not name the address, which is in the server's own network.
        has = "is" if host == found[0][1][0] else "has"
        raise UnreachableError(f"{host} {has} an address that the public cannot reach, and was not asked")
    reason = ""
    for family, sockaddr in usable[:_MAX_ADDRESSES]:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.left())
            connection.connect(sockaddr)
        except UnreachableError:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            why = "no answer" if isinstance(error, TimeoutError) else _os_error_text(error)
            reason = f"no connection to {host}: {why}"
        else:
            return connection
    raise UnreachableError(reason, silent=True)


def _look_up(host: str, port: int, deadline: Deadline) -> list[tuple[int, Sockaddr]]:
    """The addresses of a host.  getaddrinfo takes no timeout, so that a thread runs it."""
    found: list[tuple[int, Sockaddr]] = []
    reasons = [f"no answer to the question where {host} is"]

    def resolve() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reasons.append(f"there is no host {host}: {_os_error_text(error)}")
        else:
            found.extend((answer[0], answer[4]) for answer in answers)

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(deadline.left())
    if not found:
        raise UnreachableError(reasons[-1], silent=True)
    return found


def _os_error_text(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


# -- requests --------------------------------------------------------------------------------------------------------

_PORTS = {"http": 80, "https": 443}
_LARGEST_HEAD = 1 << 16
_PIECE = 4096

# How many interim (1xx) responses a server may send before the final one (RFC 9110, 15.2).
_MAX_INTERIM = 5
_LONGEST_HOST = 253


class WebAddress:
    """A URL with http or https, parsed; raises UnreachableError if it is not one."""

    __slots__ = ("host", "path", "port", "scheme", "url")

    def __init__(self, url: bytes) -> None:
        if not targets.may_be_followed(url) or url[:1] == b"/":
            raise UnreachableError("it is not a web address")
        try:
            text = targets.to_uri(url).decode("ascii")
        except InvalidError as error:
            raise UnreachableError(error.message) from None
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise UnreachableError("its host or port is malformed") from None
        if parts.scheme not in _PORTS:
            raise UnreachableError("it is not a web address")
        self.scheme = parts.scheme
        self.host = (parts.hostname or "").rstrip(".")
        if not self.host or len(self.host) > _LONGEST_HOST or "%" in self.host:
            raise UnreachableError("its host is malformed")
        self.port = port or _PORTS[self.scheme]
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.url = text.partition("#")[0]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def joined(self, location: bytes) -> WebAddress:
        """The address in a Location header of the response from this address."""
        try:
            return WebAddress(urljoin(self.url, location.decode("latin-1")).encode("latin-1"))
        except ValueError:
            raise UnreachableError("its host or port is malformed") from None


@dataclass(slots=True)
class HttpReply:
    """The parts of a response that are used here."""

    status: int
    location: bytes | None


def secure_context() -> ssl.SSLContext:
    """The TLS settings for all connections of a run.  Loading the certificates takes a while, so callers do it only for
    the first secure connection."""
    return ssl.create_default_context()


def request_head(
    method: str, place: WebAddress, deadline: Deadline, context: Callable[[], ssl.SSLContext], *,
    allow_private: bool = False, purpose: str = "verify",
) -> HttpReply:
    """Send a request and read the head of the response; raises UnreachableError if there is no usable one.

    `purpose` is for the User-Agent header.
    """
    connection = _open_connection(place, deadline, context, allow_private)
    try:
        connection.settimeout(deadline.left())
        connection.sendall(_request_bytes(method, place, purpose))
        return _read_reply(connection, deadline)
    except UnreachableError as finding:
        finding.final = False
        raise
    except TimeoutError:
        raise UnreachableError("no answer in time", silent=True, final=False) from None
    except (OSError, ValueError) as error:
        raise UnreachableError(f"the connection broke off: {_tls_error_text(error)}", final=False) from None
    finally:
        connection.close()


def _open_connection(
    place: WebAddress, deadline: Deadline, context: Callable[[], ssl.SSLContext], allow_private: bool
) -> socket.socket:
    secure = None if place.scheme == "http" else context()
    connection = connect(place.host, place.port, deadline, allow_private=allow_private)
    if secure is None:
        return connection
    try:
        connection.settimeout(deadline.left())
        return secure.wrap_socket(connection, server_hostname=place.host)
    except ssl.SSLCertVerificationError as error:
        raise UnreachableError(f"its certificate is not valid: {error.verify_message}") from None
    except TimeoutError:
        raise UnreachableError("no answer in time", silent=True) from None
    except (OSError, ValueError) as error:
        raise UnreachableError(f"no secure connection: {_tls_error_text(error)}") from None
    finally:
        # The wrapped socket is another object, which has taken over the descriptor of this one.
        connection.close()


def _tls_error_text(error: Exception) -> str:
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(text).lower().replace("_", " ")


def _request_bytes(method: str, place: WebAddress, purpose: str) -> bytes:
    lines = (
        f"{method} {place.path} HTTP/1.1", f"Host: {place.authority}",
        f"User-Agent: noidtools/{__version__} ({purpose})", "Accept: */*", "Cache-Control: no-cache",
        "Connection: close", "", "",
    )
    return "\r\n".join(lines).encode("ascii")


def _read_reply(connection: socket.socket, deadline: Deadline) -> HttpReply:
    received = bytearray()
    for _ in range(_MAX_INTERIM + 1):
        end = _read_head(connection, deadline, received)
        reply = _parse_head(bytes(received[:end]))
        if reply.status >= 200:
            return reply
        del received[:end]
    raise UnreachableError("it gives interim answers only")


def _read_head(connection: socket.socket, deadline: Deadline, received: bytearray) -> int:
    """Receive until an empty line; returns where the head ends."""
    while True:
        if received[:5] != b"HTTP/"[: len(received)]:
            raise UnreachableError("it does not answer in HTTP")
        for mark in (b"\r\n\r\n", b"\n\n"):
            end = received.find(mark)
            if end >= 0:
                return end + len(mark)
        if len(received) > _LARGEST_HEAD:
            raise UnreachableError(f"the head of its answer is larger than {_LARGEST_HEAD} bytes")
        connection.settimeout(deadline.left())
        piece = connection.recv(_PIECE)
        if not piece:
            raise UnreachableError(
                "it broke off its answer" if received else "it closed the connection without an answer"
            )
        received += piece


def _parse_head(head: bytes) -> HttpReply:
    first, *lines = head.split(b"\n")
    version, _, rest = first.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/") or not (status.isdigit() and len(status) == 3) or rest[3:4].strip():
        raise UnreachableError("it does not answer in HTTP")
    location = None
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon and name.lower() == b"location" and location is None:
            location = value.strip()
    return HttpReply(int(status), location)


# -- canaries --------------------------------------------------------------------------------------------------------

_CANARY_SECONDS = 10
_LARGEST_TEXT = 16 << 20
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5


def location_at(base: str, name: str) -> bytes:
    """The Location with which the resolver at `base` answers for a name; else its status, or why it does not answer.

    Private addresses are allowed, because an administrator checks their own resolver.  Raises UsageError if `base`
    is not a web address.
    """
    try:
        reply = _head_at(base, name, "--through")
    except UnreachableError as error:
        return f"no answer ({error.reason})".encode("utf-8", "surrogateescape")
    return reply.location or b"status %d" % reply.status


def status_at(base: str, path: str) -> str:
    """The status with which the web server at `base` answers for a path below it, or why it does not answer.

    Private addresses are allowed, as in `location_at`, and the same is raised.
    """
    try:
        return str(_head_at(base, path, "--url").status)
    except UnreachableError as error:
        return f"nothing ({error.reason})"


def text_at(base: str, path: str) -> str:
    """The text with which the web server at `base` answers for a path below it; raises UnreachableError for any status
    but 200, and UsageError if `base` is not a web address."""
    status, _, body = _get(_place_below(base, path, "--url"), "status", _LARGEST_TEXT)
    if status != 200:
        raise UnreachableError(f"it answers {status}")
    return body.decode("utf-8", "replace")


def download(url: str, largest: int, purpose: str) -> bytes:
    """What is at an address that an administrator gave, redirects followed; one byte more than `largest` at most.

    Raises UnreachableError if it cannot be had.
    """
    place = WebAddress(url.encode("utf-8", "surrogateescape"))
    for _ in range(_MOST_REDIRECTS + 1):
        status, location, body = _get(place, purpose, largest + 1)
        if status == 200:
            return body
        if status not in _REDIRECTS or not location:
            raise UnreachableError(f"it answers {status}")
        place = place.joined(location.encode("latin-1", "replace"))
    raise UnreachableError("it redirects too often")


def _get(place: WebAddress, purpose: str, largest: int) -> tuple[int, str, bytes]:
    """Status, Location and body of the response to a GET; raises UnreachableError if there is none."""
    connection = HTTPConnection(place.host, place.port, timeout=_CANARY_SECONDS) if place.scheme == "http" else \
        HTTPSConnection(place.host, place.port, timeout=_CANARY_SECONDS, context=secure_context())
    try:
        connection.request("GET", place.path, headers={"User-Agent": f"noidtools/{__version__} ({purpose})"})
        reply = connection.getresponse()
        return reply.status, reply.getheader("Location") or "", reply.read(largest)
    except (OSError, HTTPException) as error:
        raise UnreachableError(f"it does not answer ({_tls_error_text(error)})") from None
    finally:
        connection.close()


def _head_at(base: str, name: str, option: str) -> HttpReply:
    return request_head("HEAD", _place_below(base, name, option), Deadline(_CANARY_SECONDS), secure_context,
                        allow_private=True, purpose="check")


def _place_below(base: str, name: str, option: str) -> WebAddress:
    """The address of a name or a path below that of a resolver."""
    try:
        root = WebAddress(base.encode("utf-8", "surrogateescape"))
    except UnreachableError:
        raise UsageError(
            f"{option} wants the address of a resolver, such as https://example.org/, not {base!r}"
        ) from None
    folder = root.path.partition("?")[0].rstrip("/")
    path = quote(name, safe="/:?[]@!$&()*+,;=%~", errors="surrogateescape")
    return WebAddress(f"{root.scheme}://{root.authority}{folder}/{path}".encode())
