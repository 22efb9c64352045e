"""Read transactions of PostgreSQL.

A short read needs no transaction of the server: each statement returns the version it was of, and as long as that
stays the same, all were of one moment.  If it does not, the work is run again in a transaction of the server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import islice
from time import monotonic

from ...codec import successor
from ...errors import StoreError
from ..keys import head_length, stored_key, true_item, true_items
from ..sql_tables import LONGEST_KEY
from . import statements as sql
from .connection import LostError, SqlError, bytea_array, from_int, int8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .connection import Row, ServerSession, SqlStatement, Step
    from .source import Moment, Place, Source, Version
    Item = tuple[bytes, bytes]

_HEAD = head_length(LONGEST_KEY)

# How many rows a scan reads at first, and later.
_FIRST_PAGE, PAGE = 200, 2_000

# A statement also reads again so many places that were read before, to know whether they are still the same.
_MOST_REREAD = 50


class MovedOnError(Exception):
    """Something was committed between two statements of a read."""


def stored_place(table: bytes, key: bytes) -> Place:
    return table, key if len(key) < LONGEST_KEY else stored_key(key, LONGEST_KEY)


def true_value(place: Place, value: bytes | None) -> bytes | None:
    return value if value is None or len(place[1]) < LONGEST_KEY else true_item(place[1], value, LONGEST_KEY)[1]


def get_parameters(places: Sequence[Place]) -> tuple[SqlStatement, tuple[bytes, ...]]:
    """The statement that reads places, and its parameters but the minter."""
    if len(places) in sql.GET:
        return sql.GET[len(places)], tuple(part for place in places for part in place)
    return sql.GET_MANY, (bytea_array([table for table, _ in places]), bytea_array([key for _, key in places]))


def got_values(rows: list[Row], count: int) -> list[bytes | None]:
    """The values that such a statement returned for so many places, in their order."""
    return list(rows[0][2:]) if count in sql.GET else [row[2] for row in rows]


def scan_parameters(
    table: bytes, low: bytes, high: bytes | None, reverse: bool, size: int
) -> tuple[SqlStatement, tuple[bytes, ...]]:
    """The statement that reads items from `low` on and before `high`, and its parameters but the minter."""
    parameters = (table, low, int8(size))
    return sql.SCAN[high is not None, reverse], parameters if high is None else (*parameters, high)


def page_items(rows: Iterable[Row]) -> list[Item]:
    return [(row[2], row[3]) for row in rows if row[2] is not None and row[3] is not None]


class Scanning(ABC):
    """Scans of true keys over stored ones."""

    __slots__ = ()

    @abstractmethod
    def stored(
        self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None
    ) -> Iterator[Item]:
        """Stored items from `low` on and before `high`; `limit` is how many will probably be taken."""

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Item]:
        head = prefix[:_HEAD]
        low, high = head, successor(head)
        if after is not None and not reverse:
            # Stored keys with the head of a long one are in another order: all of them are read.
            low = max(low, after + b"\0" if len(after) < _HEAD else after[:_HEAD])
        elif after is not None:
            end = after if len(after) < _HEAD else successor(after[:_HEAD])
            high = end if high is None or (end is not None and end < high) else high
        if limit == 0 or (high is not None and low >= high):
            return iter(())
        items = true_items(self.stored(table, low, high, reverse, limit), prefix, LONGEST_KEY, reverse=reverse)
        found = _beyond(items, after, reverse)
        return found if limit is None else islice(found, limit)


def _beyond(items: Iterator[Item], after: bytes | None, reverse: bool) -> Iterator[Item]:
    if after is None:
        return items
    return (item for item in items if (item[0] < after if reverse else item[0] > after))


def first_size(limit: int | None) -> int:
    """How many rows the first page of a scan has."""
    return _FIRST_PAGE if limit is None else min(limit, PAGE)


class PostgresReader(Scanning):
    """A read transaction.

    failed  what made it useless, so that its work has to be run again; whoever ran the work may not have passed it on
    """

    __slots__ = ("_source", "_deadline", "_patient", "_in_transaction", "_session", "_begun", "_version", "_moment",
                 "_seen", "_fixed", "failed", "_ended", "_allowed")

    def __init__(self, source: Source, deadline: float, *, moment: Moment | None, in_transaction: bool) -> None:
        """`moment` is one that may be used without asking the server whether it is the newest."""
        self._source = source
        self._deadline = deadline
        # Seconds in which each statement must be answered: a read may be long, if only the server answers.
        self._allowed = deadline - monotonic()
        self._patient = moment is None
        self._in_transaction = in_transaction
        self._session: ServerSession | None = None
        self._begun = False
        self._moment = moment
        self._version: Version | None = None if moment is None else moment.version
        self._seen: dict[Place, bytes | None] = {}
        # Whether something was read that cannot be compared with a later version.
        self._fixed = False
        self.failed: Exception | None = None
        self._ended = False

    def end(self) -> None:
        """Give the session back."""
        session, self._session = self._session, None
        self._ended = True
        if session is None:
            return
        if self._begun:
            session.send([(sql.ROLLBACK, ())], monotonic() + 1)
        self._source.pool.give(session)

    @property
    def minter_id(self) -> int | None:
        """The number of the minter that was read; None if nothing was."""
        return None if self._version is None else self._version[0]

    def size(self) -> int:
        """Bytes of the tables of noidtools, of all minters in the database."""
        self.version()
        assert self._session is not None
        return from_int(self._session.run([(sql.SIZE, ())], self._deadline)[0][0][0])

    def version(self) -> object | None:
        if self._version is None:
            self._run(sql.VERSION)
        self._fixed = True
        return self._version

    # -- statements ------------------------------------------------------------------------------------

    def _run(
        self, statement: SqlStatement, *parameters: bytes, again: tuple[Place, ...] = (), count: int = 0
    ) -> list[Row]:
        """The rows of a statement.

        If they are of another version than what was read before, the work must be run again, unless it read `count`
        places, of which the last, `again`, are all that was read before, and are still the same.
        """
        if self._ended:
            raise StoreError("a read transaction cannot be used after its end")
        if self.failed is not None:
            raise self.failed
        try:
            rows = self._ask(statement, parameters)
        except (LostError, SqlError) as error:
            self.failed = error
            raise
        version = self._source.version_of(rows)
        if version != self._version:
            if self._version is not None and not self._still_the_same(rows, again, count):
                self.failed = MovedOnError()
                raise self.failed
            self._version = version
        return rows

    def _ask(self, statement: SqlStatement, parameters: tuple[bytes, ...]) -> list[Row]:
        if self._session is None:
            self._session = self._source.pool.take(self._deadline, patient=self._patient)
        steps: list[Step] = [(statement, (self._source.name, *parameters))]
        current = not self._begun
        if self._in_transaction and not self._begun:
            steps[:0] = [(sql.BEGIN_SNAPSHOT, ()), (sql.NO_LIMIT, ())]
            self._begun = True
        asked = monotonic()
        rows = self._session.run(steps, self._deadline)[-1]
        self._deadline = monotonic() + self._allowed
        if current:
            self._moment = self._source.observe(self._source.version_of(rows), asked)
        return rows

    def _still_the_same(self, rows: list[Row], again: tuple[Place, ...], count: int) -> bool:
        if self._fixed or not again or len(again) != len(self._seen):
            return False
        return got_values(rows, count)[-len(again) :] == [self._seen[place] for place in again]

    # -- reading ---------------------------------------------------------------------------------------

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return self.get_many(((table, key),))[0]

    def get_many(self, places: Sequence[Place]) -> list[bytes | None]:
        wanted = [stored_place(table, key) for table, key in places]
        seen = self._seen
        known = {} if self._moment is None else self._moment.values
        missing = []
        for place in wanted:
            if place not in seen:
                if place in known:
                    seen[place] = known[place]
                else:
                    missing.append(place)
        if missing:
            self._fetch(list(dict.fromkeys(missing)))
        return [true_value(place, seen[place]) for place in wanted]

    def _fetch(self, places: list[Place]) -> None:
        again: tuple[Place, ...] = ()
        if not self._fixed and not self._in_transaction and len(self._seen) <= _MOST_REREAD:
            again = tuple(self._seen)
        statement, parameters = get_parameters([*places, *again])
        rows = self._run(statement, *parameters, again=again, count=len(places) + len(again))
        many = len(places) > _MOST_REREAD
        for place, value in zip(places, got_values(rows, len(places) + len(again)), strict=False):
            self._seen[place] = value
            if self._moment is not None and not many:
                self._moment.keep(place, value)

    def stored(
        self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None
    ) -> Iterator[Item]:
        size = first_size(limit)
        while True:
            page = self._page(table, low, high, reverse, size)
            yield from page
            if len(page) < size:
                return
            if reverse:
                high = page[-1][0]
            else:
                low = page[-1][0] + b"\0"
            # A long scan would have to be run again too often while others write.
            self._in_transaction = True
            size = PAGE

    def _page(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, size: int) -> list[Item]:
        self._fixed = True
        scan = (low, high, reverse, size)
        known = None if self._moment is None else self._moment.page(table, scan)
        if known is not None:
            return known
        statement, parameters = scan_parameters(table, low, high, reverse, size)
        page = page_items(self._run(statement, *parameters))
        if self._moment is not None:
            self._moment.keep_page(table, scan, page)
        return page
