"""Rows that are set aside on disk, so that work on many of them needs little memory.

The files have no name: nothing is left of them when the process ends, however it ends.
"""

from __future__ import annotations

import heapq
import mmap
import pickle
from itertools import groupby
from tempfile import TemporaryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Rows that are written and read at once.
_PAGE = 1000


class Spool:
    """Rows in the order in which they were added, tuples of bytes and numbers; `folder` is where its file lies."""

    __slots__ = ("_file", "_page", "_length")

    def __init__(self, folder: str) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - `close` closes it
        self._page: list[Any] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, row: Any) -> None:
        self._page.append(row)
        self._length += 1
        if len(self._page) == _PAGE:
            self._flush()

    def _flush(self) -> None:
        if self._page:
            pickle.dump(self._page, self._file, pickle.HIGHEST_PROTOCOL)
            self._page = []

    def pages(self) -> Iterator[list[Any]]:
        """All rows, page by page; none may be added after this."""
        self._flush()
        end = self._file.tell()
        self._file.seek(0)
        while self._file.tell() < end:
            yield pickle.load(self._file)

    def rows(self) -> Iterator[Any]:
        for page in self.pages():
            yield from page

    def close(self) -> None:
        self._file.close()


class Stamp:
    """What is known of all identifiers with the same stamp: how many, and which have the least and greatest number."""

    __slots__ = ("text", "count", "first", "last")

    def __init__(self, text: bytes, count: int, first: bytes, last: bytes) -> None:
        self.text = text
        self.count = count
        self.first = first
        self.last = last


class StampIndex:
    """Numbers the distinct stamps of many identifiers in the order of the stamps, from 1.

    `add` takes a stamp for each identifier and returns a ticket.  `sorted` then yields the stamps in order; after that
    `number_of` gives the number of the stamp that belongs to a ticket.
    """

    __slots__ = ("_folder", "_known", "_runs", "_tickets", "_numbers", "_map", "_most")

    def __init__(self, folder: str, most: int = 50_000) -> None:
        """At most `most` stamps are in memory at a time."""
        self._folder = folder
        self._most = most
        # stamp -> [ticket, count, least number, its identifier, greatest number, its identifier]
        self._known: dict[bytes, list[Any]] = {}
        self._runs: list[Spool] = []
        self._tickets = 0
        self._numbers: memoryview | None = None
        self._map: mmap.mmap | None = None

    def add(self, stamp: bytes, number: int, identifier: bytes) -> int:
        known = self._known.get(stamp)
        if known is None:
            if len(self._known) == self._most:
                self._end_run()
            ticket = self._tickets
            self._tickets += 1
            self._known[stamp] = [ticket, 1, number, identifier, number, identifier]
            return ticket
        known[1] += 1
        if number < known[2]:
            known[2:4] = number, identifier
        elif number > known[4]:
            known[4:6] = number, identifier
        return int(known[0])

    def _end_run(self) -> None:
        run = Spool(self._folder)
        for stamp in sorted(self._known):
            run.add((stamp, *self._known[stamp]))
        self._runs.append(run)
        self._known = {}

    def sorted(self) -> Iterator[Stamp]:
        """The distinct stamps in their order, each with what is known of its identifiers."""
        self._end_run()
        self._map = mmap.mmap(-1, 8 * max(1, self._tickets)) if self._tickets <= self._most else self._map_on_disk()
        self._numbers = memoryview(self._map).cast("Q")
        merged = heapq.merge(*(run.rows() for run in self._runs))
        for number, (text, group) in enumerate(groupby(merged, key=lambda row: row[0]), 1):
            count = 0
            rows = list(group)
            for _, ticket, counted, *_ in rows:
                self._numbers[ticket] = number
                count += counted
            first, last = min(row[3:5] for row in rows), max(row[5:7] for row in rows)
            yield Stamp(text, count, first[1], last[1])

    def _map_on_disk(self) -> mmap.mmap:
        with TemporaryFile(dir=self._folder) as file:
            file.truncate(8 * self._tickets)
            return mmap.mmap(file.fileno(), 8 * self._tickets)

    def number_of(self, ticket: int) -> int:
        assert self._numbers is not None
        return self._numbers[ticket]

    def close(self) -> None:
        for run in self._runs:
            run.close()
        if self._numbers is not None:
            self._numbers.release()
        if self._map is not None:
            self._map.close()
