"""The minter that a write transaction of PostgreSQL has locked: its row, what is sent to the server, and the commit."""

from __future__ import annotations

import os
from bisect import insort
from time import monotonic

from . import statements as sql
from .connection import LostError, SqlError, bytea_array, int8
from .source import Moment, commits, next_version, oldest_version
from .transactions import (
    get_parameters,
    got_values,
    page_items,
    scan_parameters,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    from .connection import Row, ServerSession, Step
    from .source import Place, Source, Version
    from .transactions import Item
    R = TypeVar("R", tuple[bytes, bytes], tuple[bytes, bytes, bytes])

# Seconds in which a statement must be answered, and more for each row and for each byte that it sends.
STATEMENT_TIMEOUT, _ROW_TIMEOUT, _BYTE_TIMEOUT = 10.0, 0.001, 1e-6

# How many rows and bytes one statement writes at most.
_MOST_ROWS, _MOST_ROW_BYTES = 10_000, 1 << 23

# How many changes of one transaction are remembered for the next, and how many places of one call are.
_MOST_REMEMBERED = 200

# Commits that are listed, so that one whose answer was lost is found; and how often older ones are deleted.
COMMITS_LISTED, _COMMITS_DELETED_EVERY = 100_000, 256


class TableChanges:
    """Changes of one table: stored keys and values, None for what was deleted."""

    __slots__ = ("values", "_keys", "_new")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self._keys: list[bytes] = []
        self._new: list[bytes] = []

    def put(self, key: bytes, value: bytes | None) -> None:
        if key not in self.values:
            self._new.append(key)
        self.values[key] = value

    def ordered(self) -> list[bytes]:
        """The keys in order."""
        if len(self._new) > 8:
            self._keys += self._new
            self._keys.sort()
        else:
            for key in self._new:
                insort(self._keys, key)
        self._new.clear()
        return self._keys


class LockedMinter:
    """A minter whose row is locked by a transaction of the server.

    failed   what made the transaction useless; whoever ran its work may not have passed it on
    flushes  how often changes were sent before the commit, or undone: pages read before are then obsolete
    """

    def __init__(self, source: Source, session: ServerSession, version: Version) -> None:
        self.source = source
        self.session = session
        self.id, self.number = version
        # The version that the commit makes.
        self.new = next_version(self.number)
        self.failed: Exception | None = None
        self.flushes = 0
        self.count = self.bytes = 0
        self.token = os.urandom(16)
        known = source.moment
        # Private to this transaction, because others still read the moment before it.
        self._moment = Moment(version)
        if known is not None and known.version == version:
            self._moment.values, self._moment.pages = dict(known.values), dict(known.pages)

    def run(self, steps: Sequence[Step], rows: int = 0) -> list[list[Row]]:
        if self.failed is not None:
            raise self.failed
        try:
            size = sum(len(value) for _, parameters in steps for value in parameters if value)
            allowed = STATEMENT_TIMEOUT + rows * _ROW_TIMEOUT + size * _BYTE_TIMEOUT
            return self.session.run(steps, monotonic() + allowed)
        except (LostError, SqlError) as error:
            self.failed = error
            raise

    def get_many(self, places: Sequence[Place]) -> list[bytes | None]:
        """Values as they are on the server."""
        known = self._moment.values
        missing = [place for place in places if place not in known]
        if not missing:
            return [known[place] for place in places]
        statement, parameters = get_parameters(missing)
        (rows,) = self.run([(statement, (self.source.name, *parameters))], len(missing))
        fetched = dict(zip(missing, got_values(rows, len(missing)), strict=True))
        found = [fetched[place] if place in fetched else known[place] for place in places]
        if len(fetched) <= _MOST_REMEMBERED:
            for place, value in fetched.items():
                self._moment.keep(place, value)
        return found

    def page(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, size: int) -> list[Item]:
        """Items as they are on the server."""
        scan = (low, high, reverse, size)
        known = self._moment.page(table, scan)
        if known is not None:
            return known
        statement, parameters = scan_parameters(table, low, high, reverse, size)
        page = page_items(self.run([(statement, (self.source.name, *parameters))])[0])
        # A dictionary of its own, because the moment before shares the others.
        self._moment.pages[table] = dict(self._moment.pages.get(table, {}))
        self._moment.keep_page(table, scan, page)
        return page

    def forget(self) -> None:
        """Discard what was read from the server, because it was changed."""
        self.flushes += 1
        self._moment = Moment(self._moment.version)

    # -- the end ---------------------------------------------------------------------------------------

    def commit(self, changes: dict[bytes, TableChanges]) -> int | None:
        """Commit the transaction with its last changes; returns the new version, None if nothing was changed.

        Raises LostError if the session was lost, so that it is not known whether it was committed; or if the server
        warned of something, such as that a standby did not confirm the commit.
        """
        if not self.flushes and not any(table.values for table in changes.values()):
            self.rollback()
            return None
        new = self.new
        steps = flush_steps(self.id, changes)
        count = sum(len(table.values) for table in changes.values())
        steps.append((sql.PUT, (int8(self.id), sql.COMMITS, int8(new), self.token)))
        if not commits(new) % _COMMITS_DELETED_EVERY:
            oldest = int8(oldest_version(commits(new) - COMMITS_LISTED))
            steps.append((sql.DELETE_COMMITS, (int8(self.id), sql.COMMITS, oldest)))
        steps += [(sql.SET_VERSION, (int8(self.id), int8(new))), (sql.COMMIT, ())]
        self.session.take_warning()  # warnings of earlier statements do not concern the commit
        asked = monotonic()
        self.run(steps, count)
        if self.session.take_warning():
            raise LostError("the server warned that the commit may not be safe")
        self._remember(new, changes, count, asked)
        return new

    def _remember(self, new: int, changes: dict[bytes, TableChanges], count: int, asked: float) -> None:
        version = self.id, new
        if self.flushes:
            self.source.committed(Moment(version), asked)
            return
        known = self._moment.values
        everything = {(table, key): value for table, of in changes.items() for key, value in of.values.items()
                      if count <= _MOST_REMEMBERED or (table, key) in known}
        moment = self._moment.after(version, everything)
        for table in changes:
            moment.pages.pop(table, None)
        self.source.committed(moment, asked)

    def announce(self) -> None:
        """Send a notification of the commit to all listeners (NOTIFY), without waiting for the result."""
        pool = self.source.pool
        if pool.announces:
            self.session.send([(sql.WITHOUT_DISK, ()), (sql.NOTIFY, (self.source.name,))], monotonic() + 1,
                              pool.on_announcement_failed)

    def rollback(self) -> None:
        if not self.session.closed:
            self.session.send([(sql.ROLLBACK, ())], monotonic() + 1)


def flush_steps(minter: int, changes: dict[bytes, TableChanges]) -> list[Step]:
    """The statements that make changes."""
    steps: list[Step] = []
    puts: list[tuple[bytes, bytes, bytes]] = []
    deleted: list[Place] = []
    for table, of in sorted(changes.items()):
        for key in of.ordered():
            value = of.values[key]
            if value is None:
                deleted.append((table, key))
            else:
                puts.append((table, key, value))
    number = int8(minter)
    if len(puts) <= 3:
        steps += [(sql.PUT, (number, *put)) for put in puts]
    else:
        steps += [(sql.PUT_MANY, (number, *map(bytea_array, zip(*batch, strict=True)))) for batch in _batches(puts)]
    if len(deleted) <= 3:
        steps += [(sql.DELETE, (number, *place)) for place in deleted]
    else:
        steps += [(sql.DELETE_MANY, (number, *map(bytea_array, zip(*batch, strict=True))))
                  for batch in _batches(deleted)]
    return steps


def _batches(rows: list[R]) -> Iterator[list[R]]:
    start = size = 0
    for place, row in enumerate(rows):
        if place > start and (place - start >= _MOST_ROWS or size > _MOST_ROW_BYTES):
            yield rows[start:place]
            start, size = place, 0
        size += sum(map(len, row))
    yield rows[start:]
