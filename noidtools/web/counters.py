"""Counters that several processes share: each adds to its own part of a shared memory, and any can sum all parts.

A part belongs to one process at a time.  When that has died, its successor goes on with the same part, so that nothing
is ever counted backwards.  A part is a row of entries, each a key and some numbers:

    length of the key, how many numbers   4 bytes each
    the key                               padded to a multiple of 8 bytes
    the numbers                           8 bytes each

The first 8 bytes of a part are the length of its entries; an entry is complete before they count it.
"""

from __future__ import annotations

import mmap
import struct
from _thread import allocate_lock
from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Key = tuple[str, ...]

# Variables of a request's environment, by which the application tells how it was answered: when it was received; how a
# name was resolved; how many commands of a bulk request were done and refused, by command and outcome.
STARTED, RESOLVED_BY, BULK = "noidtools.started", "noidtools.resolved_by", "noidtools.bulk"

# Upper bounds of the buckets in which durations are counted, in seconds.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0)

# The size of a part: enough for a thousand entries.  Pages that are not used take no memory.
_PART = 1 << 18
_HEAD = struct.Struct("=II")
_START = 8


class SharedCounters:
    """Counters for a parent process, which has the part 0, and so many workers."""

    def __init__(self, workers: int) -> None:
        self._memory = mmap.mmap(-1, (workers + 1) * _PART)
        self._numbers = memoryview(self._memory).cast("Q")
        self._parts = workers + 1
        self._lock = allocate_lock()
        self.attach(0)

    def attach(self, part: int) -> None:
        """Add to this part from now on.  To be called in the process that it belongs to."""
        self._part = part * _PART
        # Where the numbers of each key are, as an index of the whole memory.
        self._places = {key: place for key, place, _ in self._entries(part)}

    def add(self, key: Key, amounts: Sequence[int]) -> None:
        """Add amounts to the numbers of a key, which are made if there are none."""
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._append(key, len(amounts))
                if place is None:
                    return
            numbers = self._numbers
            for amount in amounts:
                numbers[place] += amount
                place += 1

    def add_duration(self, key: Key, seconds: float) -> None:
        """Count something that took so long: the numbers of its key are how many there were, the sum of their
        durations in microseconds, and how many were in each bucket, the last of which has no upper bound."""
        place = self._places.get(key)
        if place is None:
            self.add(key, [0] * (len(BUCKETS) + 3))
            place = self._places.get(key)
            if place is None:
                return
        numbers, bucket = self._numbers, place + 2 + bisect_left(BUCKETS, seconds)
        with self._lock:
            numbers[place] += 1
            numbers[place + 1] += int(seconds * 1e6)
            numbers[bucket] += 1

    def totals(self) -> dict[Key, list[int]]:
        """The numbers of all keys, summed over all processes."""
        found: dict[Key, list[int]] = {}
        for part in range(self._parts):
            for key, place, count in self._entries(part):
                numbers = self._numbers[place : place + count].tolist()
                known = found.get(key)
                found[key] = numbers if known is None else [a + b for a, b in zip(known, numbers, strict=True)]
        return found

    def _append(self, key: Key, count: int) -> int | None:
        """Make an entry; returns the place of its numbers, None if the part is full."""
        name = "\0".join(key).encode("utf-8", "surrogateescape")
        padded = name.ljust(-(-len(name) // 8) * 8, b"\0")
        used = self._numbers[self._part // 8]
        start = self._part + _START + used
        size = _HEAD.size + len(padded) + 8 * count
        if _START + used + size > _PART:
            return None
        self._memory[start : start + _HEAD.size] = _HEAD.pack(len(name), count)
        self._memory[start + _HEAD.size : start + _HEAD.size + len(padded)] = padded
        self._numbers[self._part // 8] = used + size
        self._places[key] = place = (start + _HEAD.size + len(padded)) // 8
        return place

    def _entries(self, part: int) -> Iterator[tuple[Key, int, int]]:
        """The keys of a part, with the place and the number of their numbers."""
        place = part * _PART + _START
        end = place + self._numbers[part * _PART // 8]
        while place < end:
            length, count = _HEAD.unpack_from(self._memory, place)
            name = self._memory[place + _HEAD.size : place + _HEAD.size + length]
            place += _HEAD.size + -(-length // 8) * 8
            yield tuple(name.decode("utf-8", "surrogateescape").split("\0")), place // 8, count
            place += 8 * count
