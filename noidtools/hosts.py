"""Internet addresses of hosts, and which of them the public can reach.

A host's name may lead anywhere, also into the machine or the network that
asks.  So a name is looked up once, the addresses found are judged, and the
connection is made to one of those, not to the name.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Sockaddr = tuple[Any, ...]

# Networks in which an IPv4 address is carried inside an IPv6 address, and where it stands: NAT64 (RFC 6052, its
# well-known prefix) and 6to4 (RFC 3056).  A translator in our network would deliver to the inner one.
_CARRIERS = ((ipaddress.IPv6Network("64:ff9b::/96"), 0), (ipaddress.IPv6Network("2002::/16"), 80))
# Not for the public, but older releases of Python do not know that.
_LOCAL = (ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv4Network("192.0.0.0/24"))
# All IPv6 addresses that were ever given to the public begin alike; some of those are for examples only.
_UNICAST, _DOCUMENTATION = ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("3fff::/20")
# More addresses than this are not tried.
_MOST_TRIED = 4


class Unreachable(Exception):  # noqa: N818 - a finding about somebody's server, not an error of ours
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
            raise Unreachable("no answer in time", silent=True)
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
        raise Unreachable(f"{where} an address that the public cannot reach, and was not asked")
    reason = ""
    for family, sockaddr in usable[:_MOST_TRIED]:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.left())
            connection.connect(sockaddr)
        except Unreachable:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            reason = f"no connection to {host}: {'no answer' if isinstance(error, TimeoutError) else _words(error)}"
        else:
            return connection
    raise Unreachable(reason, silent=True)


def _look_up(host: str, port: int, deadline: Deadline) -> list[tuple[int, Sockaddr]]:
    """The host's addresses.  The system's lookup cannot be given a time limit, so a thread of its own does it."""
    found: list[tuple[int, Sockaddr]] = []
    reasons = [f"no answer to the question where {host} is"]

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            reasons.append(f"there is no host {host}: {_words(error)}")
        else:
            found.extend((answer[0], answer[4]) for answer in answers)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(deadline.left())
    if not found:
        raise Unreachable(reasons[-1], silent=True)
    return found


def _words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
