"""The health of links over time: which targets are broken, since when, and which have moved for good.

A target counts as broken after failures on three different days without a success between them.  What was found is in
`links.sqlite` in the minter's folder, beside NOID/: it is no fact about identifiers and follows from asking again, and
a run that takes hours must neither write to the minter's database nor make the counts of resolutions wait.

A round asks each target of the published names once.  If a run ends before its round does, because it was killed or its
time is over, the next run goes on with the round: it skips the targets that were asked already.  In one run, only a
limited number of targets is asked of each host, so that a host with very many does not delay the others.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..errors import BusyError
from ..minter import Minter
from ..minter.events import Actor
from ..minter.qualities import FAILS, HOLDS
from ..statistics.database import opened, transaction
from ..store.locks import lock_file
from ..times import SECOND
from . import Verification
from .http import UnreachableError, WebAddress
from .links import Link, LinkLimits, check_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..console import Progress

FILE = "links.sqlite"
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS targets (url BLOB PRIMARY KEY, round INTEGER NOT NULL, checked INTEGER NOT NULL,
    detail TEXT NOT NULL, good INTEGER, failed INTEGER, days INTEGER NOT NULL, day INTEGER, broken INTEGER,
    moved TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS targets_not_well ON targets (url) WHERE days > 0 OR moved <> '';
CREATE TABLE IF NOT EXISTS names (name BLOB NOT NULL, url BLOB NOT NULL, PRIMARY KEY (name, url)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS names_by_url ON names (url);
CREATE TABLE IF NOT EXISTS rounds (number INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER);
"""
# Failures on this many days make a link broken.
DAYS = 3
_DAY = 86_400
# Days after which a round that was not finished is given up for a new one.
_LONGEST_ROUND = 30
# Results are stored after this many, or this many seconds.
_CHUNK, _SECONDS = 200, 5.0
# More than a host may have, so that one cannot fill the queue.
_HOSTS_IN_QUEUE = 4
_LONGEST_DETAIL = 300


@dataclass(slots=True, kw_only=True)
class CheckLimits:
    """How far one run goes.

    hours     after which it ends, for the next run to go on
    per_host  how many targets of one host are asked in a run
    links     how each is asked
    """

    hours: float = 6
    per_host: int = 5000
    links: LinkLimits = field(default_factory=LinkLimits)


@dataclass(slots=True)
class CheckCount:
    """What a run did.

    asked, failing, moved   how many targets were asked, fail now, and have moved
    broken                  how many are broken, those of earlier runs included
    postponed               how many are left for the next run
    """

    asked: int = 0
    failing: int = 0
    moved: int = 0
    broken: int = 0
    postponed: int = 0


def path_of(dbdir: str) -> str:
    return os.path.join(dbdir, FILE)


def _lock_of(dbdir: str) -> str:
    return path_of(dbdir) + ".lock"


def last_run(dbdir: str) -> float:
    """When the links of the minter in a folder were last checked, in seconds since 1970; 0 if never."""
    try:
        return os.stat(_lock_of(dbdir)).st_mtime
    except OSError:
        return 0.0


@contextmanager
def link_database(dbdir: str, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """What is known of the links of the minter in a folder; raises StoreError if it cannot be used."""
    with opened(path_of(dbdir), _SCHEMA, _VERSION, create=create) as database:
        yield database


class LinkCheck:
    """One run over the targets of a minter's published names."""

    def __init__(self, minter: Minter, actor: Actor, limits: CheckLimits, progress: Progress | None = None) -> None:
        self.count = CheckCount()
        self._minter = minter
        self._actor = actor
        self._limits = limits
        self._progress = progress
        self._round = 0
        self._ends = time.monotonic() + limits.hours * 3600
        self._per_host: dict[str, int] = {}
        # Results that are not stored yet, with the names that have the target.
        self._done: dict[bytes, tuple[Link, list[bytes]]] = {}
        self._database: sqlite3.Connection

    def run(self) -> CheckCount:
        """Ask the targets; raises StoreError if the results cannot be stored, BusyError if another run is under way."""
        with link_database(self._minter.dbdir, create=True) as self._database, self._alone():
            self._round = self._begin_round()
            self._ask_all()
            if not self.count.postponed:
                self._end_round()
            (self.count.broken,) = self._database.execute(
                "SELECT count(*) FROM targets WHERE days >= ?", (DAYS,)).fetchone()
        return self.count

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two runs at once would ask every host twice: the second is refused."""
        descriptor = lock_file(_lock_of(self._minter.dbdir))
        if descriptor is None:
            raise BusyError("the links of this minter are being checked already: wait until that has ended")
        try:
            if self._limits.hours:
                os.utime(descriptor)
            yield
        finally:
            os.close(descriptor)

    # -- rounds ----------------------------------------------------------------------------------------

    def _now(self) -> int:
        return self._actor.now() // SECOND

    def _begin_round(self) -> int:
        """The number of the round that was not finished, or of a new one."""
        number, began, ended = self._database.execute(
            "SELECT number, began, ended FROM rounds ORDER BY number DESC").fetchone() or (0, 0, 0)
        if ended is None and began > self._now() - _LONGEST_ROUND * _DAY:
            return int(number)
        with transaction(self._database):
            self._database.execute("DELETE FROM rounds")
            self._database.execute("INSERT INTO rounds VALUES (?, ?, NULL)", (number + 1, self._now()))
        return int(number) + 1

    def _end_round(self) -> None:
        """Forget targets that no name has any more."""
        with transaction(self._database):
            self._database.execute("UPDATE rounds SET ended = ?", (self._now(),))
            self._database.execute("DELETE FROM names WHERE url IN (SELECT url FROM targets WHERE round < ?)",
                                   (self._round,))
            self._database.execute("DELETE FROM targets WHERE round < ?", (self._round,))

    # -- asking ----------------------------------------------------------------------------------------

    def _ask_all(self) -> None:
        limits = self._limits.links
        limits.waiting = max(limits.waiting, _HOSTS_IN_QUEUE * self._limits.per_host)
        due = time.monotonic() + _SECONDS
        try:
            for (name, url), link in check_links(self._links(), limits):
                if url not in self._done:
                    self._count(link)
                self._done.setdefault(url, (link, []))[1].append(name)
                if len(self._done) >= _CHUNK or time.monotonic() > due:
                    self._store()
                    due = time.monotonic() + _SECONDS
        finally:
            # Also after Ctrl-C: what was asked need not be asked again.
            self._store()
            if self._progress:
                self._progress(1, 1, "")

    def _count(self, link: Link) -> None:
        count = self.count
        count.asked += 1
        count.failing += link.verdict == FAILS
        count.moved += bool(link.moved)
        if self._progress:
            self._progress(count.asked, 0, f"targets asked, {count.failing} failing")

    def _links(self) -> Iterator[tuple[tuple[bytes, bytes], bytes]]:
        """The targets to be asked, each with its name."""
        for results in Verification(self._minter, self._actor).run():
            for result in results:
                for url in dict.fromkeys(result.urls):
                    if not self._was_asked(url, result.identifier):
                        if self._may_ask(url):
                            yield (result.identifier, url), url
                        else:
                            self.count.postponed += 1

    def _was_asked(self, url: bytes, name: bytes) -> bool:
        """Whether a target was asked in this round; one that failed or has moved is recorded for this name, too."""
        if url in self._done:
            self._done[url][1].append(name)
            return True
        row = self._database.execute("SELECT round, days, moved FROM targets WHERE url = ?", (url,)).fetchone()
        if row is None or row[0] < self._round:
            return False
        if row[1] or row[2]:
            self._database.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", (name, url))
        return True

    def _may_ask(self, url: bytes) -> bool:
        if time.monotonic() >= self._ends:
            return False
        try:
            host = WebAddress(url).authority
        except UnreachableError:
            return True  # nobody is asked for it
        self._per_host[host] = self._per_host.get(host, 0) + 1
        return self._per_host[host] <= self._limits.per_host

    # -- storing ---------------------------------------------------------------------------------------

    def _store(self) -> None:
        done, self._done = self._done, {}
        if not done:
            return
        with transaction(self._database):
            for url, (link, names) in done.items():
                is_well = self._store_link(url, link)
                self._database.execute("DELETE FROM names WHERE url = ?", (url,))
                if not is_well:
                    self._database.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)",
                                               [(name, url) for name in names])

    def _store_link(self, url: bytes, link: Link) -> bool:
        """Store a result; returns whether there is nothing to report about the target."""
        now = self._now()
        today = now // _DAY
        row = self._database.execute(
            "SELECT good, failed, days, day, broken FROM targets WHERE url = ?", (url,)).fetchone()
        good, failed, days, day, broken = row or (None, None, 0, None, None)
        if link.verdict == HOLDS:
            good, failed, days, day, broken = now, None, 0, None, None
        elif link.verdict == FAILS:
            failed = now if failed is None else failed
            days += day != today
            day = today
            broken = now if broken is None and days >= DAYS else broken
        moved = link.moved if _is_worth_offering(url, link.moved) else ""
        self._database.execute(
            "INSERT OR REPLACE INTO targets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (url, self._round, now, link.detail[:_LONGEST_DETAIL], good, failed, days, day, broken, moved))
        return not days and not moved


def _is_worth_offering(url: bytes, moved: str) -> bool:
    """Whether a permanent redirect names another place of the same thing: many servers send whatever they have lost to
    their front page."""
    if not moved:
        return False
    return urlsplit(moved).path not in ("", "/") or urlsplit(url.decode("utf-8", "replace")).path in ("", "/")
