"""Figures of use: how many names a minter made, and how often they were resolved, day by day.

What was minted is known from the events; how often names were resolved is counted where that is switched on (see
counting.py).
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from ..codec import decode_text, unpack
from ..errors import StoreError, UsageError
from ..minter import Minter, config
from ..minter.events import Event, date_and_actor, newest_number, packed_events
from ..resolution import STATISTICS
from ..store import Reader
from ..times import SECOND, system_clock, timestamp
from .counting import COMPUTED
from .database import path_of, statistics, transaction

_EPOCH = date(1970, 1, 1)
_DAY = 86_400 * SECOND
_PAGE = 5000
# So many events are read faster than a file is opened.
_FEW = 500
_MINTING = (b"mint", b"peppermint")
# The count of an event may grow for a minute (see events.py): younger ones are counted anew each time.
_SETTLED = 120 * SECOND
_USUAL_DAYS = 30
_LONGEST_PERIOD = 366 * 100


@dataclass(frozen=True, slots=True)
class UsageDay:
    """A day, in UTC: how many identifiers were minted, and how often names were resolved."""

    day: date
    minted: int
    resolved: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Figures of use of a minter, or of one name.

    days     every day of the period, the first one first
    names    the names that were resolved most, with their numbers; an empty name stands for those that rules compute or
             that go on to a successor
    counted  whether resolutions are counted now
    """

    days: tuple[UsageDay, ...]
    names: tuple[tuple[str, int], ...]
    counted: bool

    @property
    def minted(self) -> int:
        return sum(day.minted for day in self.days)

    @property
    def resolved(self) -> int:
        return sum(day.resolved for day in self.days)


def day_number(day: date) -> int:
    return (day - _EPOCH).days


def today(now: int) -> date:
    """The day of a moment in nanoseconds since 1970."""
    return _EPOCH + timedelta(days=now // _DAY)


def period(since: bytes, until: bytes, now: int) -> tuple[date, date]:
    """The first and the last day of a period; dates are in fourteen digits, and if empty the last thirty days."""
    last = _date(until) if until else today(now)
    return _date(since) if since else last - timedelta(days=_USUAL_DAYS - 1), last


def _date(stamp: bytes) -> date:
    return date(int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8]))


def usage(minter: Minter, first: date, last: date, *, name: bytes | None = None, top: int = 0) -> Usage:
    """The figures of a minter from one day to another, both included; `name` is a stored identifier, for which nothing
    is said of minting, and `top` how many names to list.

    Raises UsageError for a period that ends before it begins, StoreError if the figures cannot be read.
    """
    start, end = day_number(first), day_number(last)
    if end < start or end - start > _LONGEST_PERIOD:
        raise UsageError("a period begins before it ends, and has a hundred years at most")
    minted = {} if name is not None else minted_by_day(minter, start)
    resolved: dict[int, int] = {}
    names: list[tuple[str, int]] = []
    if os.path.exists(path_of(minter.dbdir)):
        with statistics(minter.dbdir) as database:
            resolved = _resolved(database, start, end, name)
            names = [(decode_text(minter.namespace.display(found)) if found != COMPUTED else "", count)
                     for found, count in _most_resolved(database, start, end, top)] if top else []
    days = tuple(UsageDay(_EPOCH + timedelta(days=day), minted.get(day, 0), resolved.get(day, 0))
                 for day in range(start, end + 1))
    return Usage(days, tuple(names), minter.read(is_counted))


def is_counted(reader: Reader) -> bool:
    """Whether the resolutions of a minter's names are counted."""
    return config.value(reader, STATISTICS) == b"on"


def _resolved(database: sqlite3.Connection, start: int, end: int, name: bytes | None) -> dict[int, int]:
    if name is None:
        return dict(database.execute("SELECT day, count FROM resolved WHERE day BETWEEN ? AND ?", (start, end)))
    return dict(database.execute(
        "SELECT day, count FROM resolutions WHERE name = ? AND day BETWEEN ? AND ?", (name, start, end)))


def _most_resolved(database: sqlite3.Connection, start: int, end: int, top: int) -> list[tuple[bytes, int]]:
    return list(database.execute(
        "SELECT name, sum(count) AS number FROM resolutions WHERE day BETWEEN ? AND ? GROUP BY name "
        "ORDER BY number DESC, name LIMIT ?", (start, end, top)))


# -- minted on a day -------------------------------------------------------------------------------------------------


def minted_by_day(minter: Minter, start: int) -> dict[int, int]:
    """How many identifiers were minted on each day from one on, by the events.

    If these are many, what was counted before is in the file of the figures, and only later ones are read.
    """
    before, newest = minter.read(lambda reader: (_number_before(reader, start), newest_number(reader)))
    if newest - before > _FEW:
        try:
            with statistics(minter.dbdir, create=True) as database, transaction(database):
                return _update(minter, database, start)
        except StoreError:
            pass  # it cannot be written: all are read
    settled, recent, _ = _count(minter, before)
    return _sum(settled, recent)


def _update(minter: Minter, database: sqlite3.Connection, start: int) -> dict[int, int]:
    row = database.execute("SELECT first, number, date, who FROM position").fetchone()
    known = row is not None and row[0] <= start and minter.read(
        lambda reader: date_and_actor(reader, row[1]) == (row[2], row[3]))
    if known:
        first, number = row[:2]
    else:
        # The file is new, or begins later, or another database is in place since.
        database.execute("DELETE FROM minted")
        first, number = start, minter.read(lambda reader: _number_before(reader, start))
    settled, recent, reached = _count(minter, number)
    if settled or not known:
        database.executemany("INSERT INTO minted VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + "
                             "excluded.count", list(settled.items()))
    if reached > number or not known:
        database.execute("DELETE FROM position")
        database.execute("INSERT INTO position VALUES (?, ?, ?, ?)",
                         (first, reached, *minter.read(lambda reader: date_and_actor(reader, reached))))
    return _sum(dict(database.execute("SELECT day, count FROM minted WHERE day >= ?", (start,))), recent)


def _count(minter: Minter, after: int) -> tuple[dict[int, int], dict[int, int], int]:
    """How many were minted by the events after one: by those whose counts do not grow any more, by the others; and the
    number of the last of the first."""
    settled_before = timestamp(system_clock() - _SETTLED)
    settled: dict[int, int] = {}
    recent: dict[int, int] = {}
    reached, growing = after, False
    while page := minter.read(partial(_events, after)):
        for number, packed in page:
            stamp, _, _, verb = unpack(packed, most=4)
            growing = growing or stamp >= settled_before
            if not growing:
                reached = number
            event = Event(number, packed) if verb in _MINTING else None
            if event is not None and event.tally is not None:
                day = _day_of(stamp)
                counts = recent if growing else settled
                counts[day] = counts.get(day, 0) + event.tally.minted
        after = page[-1][0]
    return settled, recent, reached


def _events(after: int, reader: Reader) -> list[tuple[int, bytes]]:
    return list(packed_events(reader, after=after, limit=_PAGE))


def _number_before(reader: Reader, start: int) -> int:
    """The number of the last event before a day, 0 if there is none; numbers have no gaps, and dates rise."""
    first = (_EPOCH + timedelta(days=start)).strftime("%Y%m%d000000").encode()
    low, high = 0, newest_number(reader)
    while low < high:
        middle = (low + high + 1) // 2
        if date_and_actor(reader, middle)[0] < first:
            low = middle
        else:
            high = middle - 1
    return low


def _day_of(stamp: bytes) -> int:
    try:
        return day_number(_date(stamp))
    except ValueError:
        return 0  # damaged: 'noid check' reports it


def _sum(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {day: one.get(day, 0) + other.get(day, 0) for day in one.keys() | other.keys()}


# -- for a page about many minters -----------------------------------------------------------------------------------


class DailyFigures:
    """The figures of the last days of many minters; those of a minter are read again if something has changed."""

    def __init__(self, days: int = _USUAL_DAYS) -> None:
        self._days = days
        self._known: dict[str, tuple[object, Usage]] = {}

    def of(self, minter: Minter, now: int | None = None) -> Usage:
        """The figures of a minter; `now` is in nanoseconds since 1970."""
        last = today(system_clock() if now is None else now)
        state = (last, minter.store.version(), minter.store.identity(), *map(_modified, (
            path_of(minter.dbdir), path_of(minter.dbdir) + "-wal")))
        known = self._known.get(minter.dbdir)
        if known is None or known[0] != state:
            found = usage(minter, last - timedelta(days=self._days - 1), last)
            self._known[minter.dbdir] = known = state, found
        return known[1]


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
