"""Read transactions of minters in PostgreSQL.

A read needs no transaction of the server as long as every statement returns the same version of the minter.  If one
does not, the work is run again in a snapshot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import NoMinterError, StoreError
from ..keys import scan, stored_key, true_item
from ..sql_tables import LONGEST_KEY
from . import sql
from .connection import ServerError, close_pool, open_pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .connection import Row, Session, Step

    # The number of a minter, and the version of its content.
    Version = tuple[int, int]
    Place = tuple[bytes, bytes]
    Item = tuple[bytes, bytes]

# Seconds in which a statement must be answered.
STATEMENT_TIMEOUT = 10.0

# How many rows a scan reads at first, and later; and how many values a transaction remembers.
_FIRST_PAGE, PAGE, _MOST_KNOWN = 200, 2_000, 10_000

# How many places are read by the statement for a few.
_FEW = 6


class StaleSnapshotError(Exception):
    """Something was committed between two statements of a read."""


class MinterConnection:
    """A minter at an address.

    number     the number of its rows, as it was read last; a restore changes it
    latest     the version that was read last, and when it was asked for
    committed  the newest version that this process has committed
    """

    def __init__(self, address: str, name: str, *, writes: bool = True) -> None:
        self.name = name
        self.pool = open_pool(address, writes=writes)
        self.number: int | None = None
        self.latest: tuple[Version, float] | None = None
        self.committed: Version | None = None

    def close(self) -> None:
        close_pool(self.pool)

    def observe(self, rows: Sequence[Row], asked: float) -> Version:
        """The version that the rows of a statement begin with, which was sent at some time."""
        if not rows:
            raise NoMinterError(f"the database at {self.pool.address} has no minter {self.name!r}: it was moved or "
                                "removed, or this is another database")
        version = rows[0][0], rows[0][1]
        if self.latest is None or asked >= self.latest[1]:
            self.number, self.latest = version[0], (version, asked)
        return version


# -- reading ---------------------------------------------------------------------------------------------------------


class Rows(ABC):
    """Values and scans by true keys, over rows with stored ones."""

    def __init__(self) -> None:
        # Values by stored places.
        self._known: dict[Place, bytes | None] = {}

    @abstractmethod
    def _query(self, statement: str, *parameters: object) -> list[Row]:
        """The rows of a statement, whose last parameter is the name of the minter."""

    @abstractmethod
    def _stored(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None) -> Iterator[Item]:
        """Stored items from `low` on and before `high`; `limit` is how many will probably be used."""

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return self.get_many(((table, key),))[0]

    def get_many(self, places: Sequence[Place]) -> list[bytes | None]:
        wanted = [stored_place(table, key) for table, key in places]
        known = self._known
        missing = list(dict.fromkeys(place for place in wanted if place not in known))
        if missing:
            found = dict(zip(missing, self._values(missing), strict=True))
            if len(known) + len(found) <= _MOST_KNOWN:
                known.update(found)
            else:
                known = known | found
        return [_true_value(place, known[place]) for place in wanted]

    def _values(self, places: list[Place]) -> list[bytes | None]:
        if len(places) <= _FEW:
            return list(self._query(sql.get(len(places)), *chain.from_iterable(places))[0][2:])
        return [row[2] for row in self._query(sql.GET_MANY, *map(list, zip(*places, strict=True)))]

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Item]:
        return scan(lambda low, high: self._stored(table, low, high, reverse, limit), prefix, LONGEST_KEY,
                    after=after, most=limit, reverse=reverse)

    def _page(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, size: int) -> list[Item]:
        bounds = (low,) if high is None else (low, high)
        rows = self._query(sql.scan(ended=high is not None, reverse=reverse), table, *bounds, size)
        return [(row[2], row[3]) for row in rows if row[2] is not None]


def stored_place(table: bytes, key: bytes) -> Place:
    return table, key if len(key) < LONGEST_KEY else stored_key(key, LONGEST_KEY)


def _true_value(place: Place, value: bytes | None) -> bytes | None:
    if value is None or len(place[1]) < LONGEST_KEY:
        return value
    return true_item(place[1], value, LONGEST_KEY)[1]


def first_size(limit: int | None) -> int:
    return _FIRST_PAGE if limit is None else min(limit, PAGE)


class PostgresReader(Rows):
    """A read transaction, in which each statement must be answered within some seconds."""

    def __init__(self, minter: MinterConnection, seconds: float, *, snapshot: bool) -> None:
        """With `snapshot` it is a transaction of the server."""
        super().__init__()
        self.minter = minter
        self._seconds = seconds
        self._snapshot = snapshot
        self._session: Session | None = None
        self._begun = self._closed = False
        self.read_version: Version | None = None

    def version(self) -> Version:
        if self.read_version is None:
            self._query(sql.VERSION)
        assert self.read_version is not None
        return self.read_version

    def _query(self, statement: str, *parameters: object) -> list[Row]:
        if self._closed:
            raise StoreError("a read transaction cannot be used after its end")
        if self._session is None:
            self._session = self.minter.pool.take(monotonic() + self._seconds)
        steps: list[Step] = [(statement, (*parameters, self.minter.name))]
        if self._snapshot and not self._begun:
            steps[:0] = [(sql.BEGIN_SNAPSHOT, ()), (sql.NO_IDLE_LIMIT, ())]
        asked = monotonic() if not self._begun else 0.0  # an old snapshot says nothing about what is the latest
        self._begun = self._snapshot
        rows = self._session.run(steps, self._seconds)[-1]
        version = self.minter.observe(rows, asked)
        if self.read_version not in (None, version):
            raise StaleSnapshotError
        self.read_version = version
        return rows

    def _stored(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None) -> Iterator[Item]:
        size = first_size(limit)
        while True:
            page = self._page(table, low, high, reverse, size)
            yield from page
            if len(page) < size:
                return
            low, high = (low, page[-1][0]) if reverse else (page[-1][0] + b"\0", high)
            # A long scan would have to be run again too often while others write.
            self._snapshot, size = True, PAGE

    def close(self) -> None:
        session, self._session = self._session, None
        self._closed = True
        if session is not None:
            if self._begun:
                end_transaction(session)
            session.end()


def end_transaction(session: Session) -> None:
    """Roll a transaction back; if that fails, the session is closed, which has the same effect."""
    try:
        if not session.closed:
            session.run([(sql.ROLLBACK, ())], 1.0)
    except ServerError:
        pass
