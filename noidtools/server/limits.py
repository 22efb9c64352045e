"""How many connections there may be, and how slowly they may send and read."""

from __future__ import annotations

import errno
import resource

# Default time limit for a request to arrive and for an answer to be read, plus one second for each BYTES_PER_SECOND
# bytes of it.  A pause in between may last TRANSFER_SECONDS, too.
TRANSFER_SECONDS = 30
BYTES_PER_SECOND = 10_000

# Connections in one process at most, and from one address unless it is a proxy's.
MAX_CONNECTIONS = 1000
MAX_PER_ADDRESS = 100

# Descriptors that are asked for, and those that are kept for minters, temporary files and the log.
_WANTED_DESCRIPTORS = 65_536
_RESERVED_DESCRIPTORS = 320

# What accepting a connection fails with when the process or the system has no descriptors or memory left.
NO_RESOURCES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))

# How many seconds nothing is accepted after that.
PAUSE_SECONDS = 1.0


def raise_descriptor_limit() -> None:
    """Allow this process and its children as many open files as the system lets them have, up to a bound."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def max_connections(descriptors_each: int) -> int:
    """How many connections this process may have, if each takes at most so many descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    free = soft - min(_RESERVED_DESCRIPTORS, soft // 2)
    return max(4, min(MAX_CONNECTIONS, free // descriptors_each))


class TransferDeadline:
    """Until when something must have arrived, or been read, that is transferred since `started`."""

    __slots__ = ("_started", "_moved", "_seconds", "_bytes")

    def __init__(self, started: float, seconds: float) -> None:
        self._started = self._moved = started
        self._seconds = seconds
        self._bytes = 0

    def count(self, size: int, now: float) -> None:
        """Add bytes that were transferred."""
        if size:
            self._bytes += size
            self._moved = now

    def seconds_left(self, now: float) -> float:
        """Seconds until the deadline; 0 or less if it is overdue."""
        whole = self._started + self._seconds + self._bytes / BYTES_PER_SECOND
        return min(whole, self._moved + self._seconds) - now
