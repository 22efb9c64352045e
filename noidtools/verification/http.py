"""Internet addresses of hosts, and which of them the public can reach.

A host's name may lead anywhere, also into the machine or the network that
asks.  So a name is looked up once, the addresses found are judged, and the
connection is made to one of those, not to the name.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from urllib.parse import quote, urlsplit

from ..errors import UsageError
from ..names import targets
from ..version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    Sockaddr = tuple[Any, ...]
    import socket


# Networks in which an IPv4 address is carried inside an IPv6 address, and where it stands: NAT64 (RFC 6052, its
# well-known prefix) and 6to4 (RFC 3056).  A translator in our network would deliver to the inner one.
_CARRIERS = ((ipaddress.IPv6Network("64:ff9b::/96"), 0), (ipaddress.IPv6Network("2002::/16"), 80))

# Not for the public, but older releases of Python do not know that.
_LOCAL = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv4Network("192.0.0.0/24"))

# All IPv6 addresses that were ever given to the public begin alike; some of those are for examples only.
_UNICAST, _DOCUMENTATION = ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("3fff::/20")

# More addresses than this are not tried.
_MOST_TRIED = 4


class UnreachableError(Exception):  # noqa: N818 - a finding about somebody's server, not an error of ours
    """A server gave no answer that can be used.

    silent  nothing was heard from the host, so that another question to it is hardly worth the time
    final   it would be the same with another method of asking
    """

    def __init__(self, reason: str, *, silent: bool = False, final: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.silent = silent
        self.final = final


class Deadline:
    """A time limit for several steps together."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise UnreachableError("no answer in time", silent=True)
        return seconds


def is_public(address: str) -> bool:
    """Whether everybody on the Internet means the same host by this address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped
        for network, shift in _CARRIERS:
            if found in network:
                inner = ipaddress.IPv4Address(int(found) >> shift & 0xFFFFFFFF)
        if inner is None and (found not in _UNICAST or found in _DOCUMENTATION):
            return False
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast and not any(found in network for network in _LOCAL)


def connect(host: str, port: int, deadline: Deadline, *, allow_private: bool) -> socket.socket:
    """A connection to one of the host's addresses; only to a public one unless others are allowed."""
    found = _look_up(host, port, deadline)
    usable = [item for item in found if allow_private or is_public(item[1][0])]
    if not usable:
        address = found[0][1][0]
        where = f"{host} is" if host == address else f"{host} is at {address},"
        raise UnreachableError(f"{where} an address that the public cannot reach, and was not asked")
    reason = ""
    for family, sockaddr in usable[:_MOST_TRIED]:
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
    """The host's addresses.  The system's lookup cannot be given a time limit, so a thread of its own does it."""
    found: list[tuple[int, Sockaddr]] = []
    reasons = [f"no answer to the question where {host} is"]

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reasons.append(f"there is no host {host}: {_os_error_text(error)}")
        else:
            found.extend((answer[0], answer[4]) for answer in answers)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(deadline.left())
    if not found:
        raise UnreachableError(reasons[-1], silent=True)
    return found


def _os_error_text(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]

# -- One HTTP request for the head of an answer, from a server that may be slow, broken or hostile -------------------
# Of the answer the status and the Location are wanted, so no more than its head
# is read: at most 64 kB, within a deadline, whatever the server sends.  Nothing
# is sent but the request: no cookies, no credentials, no word about where we
# found the address.

_PORTS = {"http": 80, "https": 443}
_LARGEST_HEAD = 1 << 16
_PIECE = 4096

# A server may send so many 1xx answers before the one that counts (RFC 9110, 15.2).
_MOST_INTERIM = 5
_LONGEST_HOST = 253


class WebAddress:
    """A web address taken apart: what is asked of which host."""

    __slots__ = ("host", "path", "port", "scheme", "url")

    def __init__(self, url: bytes) -> None:
        from urllib.parse import urlsplit

        sendable = targets.location(url)
        if sendable is None or sendable[:1] == b"/":
            raise UnreachableError("it is no web address")
        text = sendable.decode("ascii")
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise UnreachableError("its host or port is malformed") from None
        if parts.scheme not in _PORTS:
            raise UnreachableError("it is no web address")
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
        """Where a Location header leads from here."""
        from urllib.parse import urljoin

        try:
            return WebAddress(urljoin(self.url, location.decode("latin-1")).encode("latin-1"))
        except ValueError:
            raise UnreachableError("its host or port is malformed") from None


class HttpReply:
    __slots__ = ("location", "status")

    def __init__(self, status: int, location: bytes | None) -> None:
        self.status = status
        self.location = location


def secure_context() -> ssl.SSLContext:
    """What connections with https have in common; it takes a while to make."""
    return ssl.create_default_context()


def request_head(
    method: str, place: WebAddress, deadline: Deadline, context: ssl.SSLContext, *, allow_private: bool = False
) -> HttpReply:
    """Ask for a place; raises Unreachable if there is no answer that can be understood."""
    connection = _open_connection(place, deadline, context, allow_private)
    try:
        connection.settimeout(deadline.left())
        connection.sendall(_request_bytes(method, place))
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
    place: WebAddress, deadline: Deadline, context: ssl.SSLContext, allow_private: bool
) -> socket.socket:
    connection = connect(place.host, place.port, deadline, allow_private=allow_private)
    if place.scheme == "http":
        return connection
    try:
        connection.settimeout(deadline.left())
        return context.wrap_socket(connection, server_hostname=place.host)
    except ssl.SSLCertVerificationError as error:
        raise UnreachableError(f"its certificate is not valid: {error.verify_message}") from None
    except TimeoutError:
        raise UnreachableError("no answer in time", silent=True) from None
    except (OSError, ValueError) as error:
        raise UnreachableError(f"no secure connection: {_tls_error_text(error)}") from None
    finally:
        # The wrapped connection is another object, which took over the descriptor of this one.
        connection.close()


def _tls_error_text(error: Exception) -> str:
    text = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(text).lower().replace("_", " ")


def _request_bytes(method: str, place: WebAddress) -> bytes:
    lines = (
        f"{method} {place.path} HTTP/1.1", f"Host: {place.authority}", f"User-Agent: noidtools/{__version__} (verify)",
        "Accept: */*", "Connection: close", "", "",
    )
    return "\r\n".join(lines).encode("ascii")


def _read_reply(connection: socket.socket, deadline: Deadline) -> HttpReply:
    received = bytearray()
    for _ in range(_MOST_INTERIM + 1):
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

# -- Asking a resolver on the web where a name leads, as a reader's browser would, without going there ---------------

_CANARY_SECONDS = 10


def location_at(base: str, name: str) -> bytes:
    """The Location that the resolver at `base` answers with, or in its absence what it answers instead."""
    parts = urlsplit(base)
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if parts.scheme not in kinds or not parts.hostname:
        raise UsageError(f"--through wants the address of a resolver, such as https://example.org/, not {base!r}")
    path = f"{parts.path.rstrip('/')}/{quote(name, safe='/:?#[]@!$&()*+,;=%~')}"
    connection = kinds[parts.scheme](parts.netloc.rpartition("@")[2], timeout=_CANARY_SECONDS)
    try:
        connection.request("HEAD", path, headers={"User-Agent": "noid check"})
        answer = connection.getresponse()
        found = answer.getheader("Location")
        return found.encode("latin-1") if found else f"status {answer.status}".encode()
    except (OSError, http.client.HTTPException) as error:
        return f"no answer ({error or type(error).__name__})".encode()
    finally:
        connection.close()
