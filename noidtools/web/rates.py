"""How many requests a second a client may make: one with a token for each token, others for each address.

The worker processes share a table of clients.  They use it without locks, so that a request may go uncounted when two
of them change the same place at once; and a client whose place is taken by another begins anew.  So a client may now
and then make a few more requests than the limit, and never fewer.
"""

from __future__ import annotations

import mmap
import struct
import time

from .authentication import KNOWN_TOKEN, bearer_secret
from .response import Response, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .request import Request

_PLACES = 1 << 16

# Of each client: a hash of it, how many requests it may make at once, and when that was so.
_CLIENT = struct.Struct("=Qdd")
_BURST_SECONDS = 3.0


class RateLimit:
    """At most `rate` requests a second for each client, and some seconds' worth of them at once."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._burst = max(1.0, rate * _BURST_SECONDS)
        self._table = mmap.mmap(-1, _PLACES * _CLIENT.size)

    def refusal(self, request: Request) -> Callable[[Any], Iterable[bytes]] | None:
        """What answers a request beyond the limit; None for a request within it, which is then counted.

        Requests with a token are not counted for their address, unless nothing says that it is right: see `count`.
        """
        secret, address = bearer_secret(request), request.address
        allowed = self._take(secret.hex() or address) and (not secret or self._left(address) >= 1)
        return None if allowed else lambda start_response: _refuse(request.method, start_response)

    def count(self, request: Request) -> None:
        """Count a request that was answered for its address, if it has a token that was not found to be one.

        So inventing tokens does not get around the limit: neither wrong ones, nor any where none is looked for, as
        where a name is redirected.
        """
        if bearer_secret(request) and KNOWN_TOKEN not in request.environ:
            self._take(request.address)

    def _take(self, client: str) -> bool:
        left = self._left(client)
        if left < 1:
            return False
        number = hash(client) & 0xFFFF_FFFF_FFFF_FFFF
        _CLIENT.pack_into(self._table, number % _PLACES * _CLIENT.size, number, left - 1, time.monotonic())
        return True

    def _left(self, client: str) -> float:
        """How many requests a client may make now."""
        number = hash(client) & 0xFFFF_FFFF_FFFF_FFFF
        known, left, since = _CLIENT.unpack_from(self._table, number % _PLACES * _CLIENT.size)
        if known != number:
            return self._burst
        return float(min(self._burst, left + (time.monotonic() - since) * self._rate))


def _refuse(method: str, start_response: Any) -> Iterable[bytes]:
    text = b"error: these are more requests than one client may make here: wait a moment\n"
    response = Response(429, "text/plain; charset=utf-8", text, [("Retry-After", "1")])
    return send(response, method, start_response)
