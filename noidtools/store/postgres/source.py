"""Where a minter is read: a pool of sessions with a server, and what was read of the minter's newest version.

Each commit raises the version of its minter, so what was read at one version is valid as long as that is the newest.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from time import monotonic

from ...errors import NoMinterError
from . import statements as sql
from .connection import LostError, ServerSession, SqlError, from_int, has_several_servers
from .listener import Listener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connection import Row, SqlStatement
    from .engine_file import EngineFile
    Version = tuple[int, int]
    Place = tuple[bytes, bytes]

# Seconds after which a version must be confirmed: while the server announces every commit, and where it does not.
_CONFIRMED_WITH_NOTICE, _CONFIRMED_WITHOUT = 0.9, 0.2

# Sessions that are kept for the next transaction, and how long a server that failed is not tried again by those who
# cannot wait.
_MOST_IDLE, _PAUSE = 4, 0.5

# Seconds in which a server that only reads says whether it still does.
_ROLE_TIMEOUT = 2.0

# Classes of SQLSTATEs of statements that the server does not know, or does not allow.
_NOT_ALLOWED = ("42", "0A")

# What is kept in memory: so many values, none longer than this, and so many pages of a table with so many items.
_MOST_KEPT, _LONGEST_KEPT = 5_000, 4_000
_MOST_PAGES, _LONGEST_PAGE = 500, 10


# A version is a count of commits, and some random bits: where a failover loses a commit, the next one has the same
# count, and must not be taken for it.
_RANDOM_BITS = 20


def next_version(number: int) -> int:
    """The version after a commit to this one."""
    random = int.from_bytes(os.urandom(4), "big") & ((1 << _RANDOM_BITS) - 1)
    return (commits(number) + 1) << _RANDOM_BITS | random


def commits(number: int) -> int:
    """The count of commits in a version."""
    return number >> _RANDOM_BITS


def oldest_version(count: int) -> int:
    """A version that is not greater than any with this count of commits."""
    return max(0, count) << _RANDOM_BITS


class Moment:
    """Values and pages of one version of a minter."""

    __slots__ = ("version", "values", "pages")

    def __init__(self, version: Version) -> None:
        self.version = version
        self.values: dict[Place, bytes | None] = {}
        # By table, and then by the arguments of the scan.
        self.pages: dict[bytes, dict[tuple[object, ...], list[tuple[bytes, bytes]]]] = {}

    def keep(self, place: Place, value: bytes | None) -> None:
        if value is None or len(value) <= _LONGEST_KEPT:
            if len(self.values) >= _MOST_KEPT:
                self.values = {}
            self.values[place] = value

    def page(self, table: bytes, scan: tuple[object, ...]) -> list[tuple[bytes, bytes]] | None:
        return self.pages.get(table, {}).get(scan)

    def keep_page(self, table: bytes, scan: tuple[object, ...], page: list[tuple[bytes, bytes]]) -> None:
        if len(page) <= _LONGEST_PAGE:
            pages = self.pages.setdefault(table, {})
            if len(pages) >= _MOST_PAGES:
                pages.clear()
            pages[scan] = page

    def after(self, version: Version, changes: dict[Place, bytes | None]) -> Moment:
        """The values after a commit that changed some."""
        new = Moment(version)
        new.values = self.values | changes
        if len(new.values) > _MOST_KEPT:
            new.values = dict(changes)
        touched = {table for table, _ in changes}
        new.pages = {table: pages for table, pages in self.pages.items() if table not in touched}
        return new


class Pool:
    """Sessions with the server at an address, shared by all minters that lie there.

    read_only  whether the server of the session opened last only reads, as a standby does
    announces  whether commits are announced; not where the server has no such statement, or forbids it
    """

    def __init__(self, address: str, *, writes: bool = True) -> None:
        """`writes` is whether something is to be written there: see ServerSession."""
        self.address = address
        self.writes = writes
        self.listener = Listener(address, writes=writes)
        self.users = 0
        self.read_only = False
        self.announces = True
        self._idle: list[ServerSession] = []
        self._failed = -_PAUSE
        self._failure: LostError | None = None

    @property
    def has_several_servers(self) -> bool:
        return has_several_servers(self.address)

    def take_idle(self) -> ServerSession | None:
        """A session that is kept, without asking whether the server has ended it; None if there is none."""
        try:
            session = self._idle.pop()
        except IndexError:
            return None
        if session.in_transaction:
            session.close()  # whoever used it left something undone
            return None
        return session

    def take(self, deadline: float, *, patient: bool = True) -> ServerSession:
        """A session, to be given back.  Raises LostError."""
        while self._idle:
            session = self.take_idle()
            if session is None:
                continue
            try:
                session.take_notifications()
            except LostError:
                continue
            return session
        if not patient and self._failure is not None and monotonic() - self._failed < _PAUSE:
            raise self._failure
        try:
            session = ServerSession(self.address, deadline, writes=self.writes)
            *_, rows = session.run([(statement, ()) for statement in sql.SET_UP], deadline)
        except (LostError, SqlError) as error:
            self._failure = error if isinstance(error, LostError) else LostError(str(error))
            self._failed = monotonic()
            raise self._failure from None
        self._failure = None
        self.read_only = rows[0][0] == b"on"
        return session

    def is_writable(self) -> bool:
        """Whether the server can be written to, as far as is known; one that only reads is asked again, because it may
        have been promoted."""
        if self.read_only:
            deadline = monotonic() + _ROLE_TIMEOUT
            try:
                session = self.take(deadline, patient=False)
                try:
                    self.read_only = session.run([(sql.READ_ONLY, ())], deadline)[0][0][0] == b"on"
                finally:
                    self.give(session)
            except (LostError, SqlError):
                return False
        return not self.read_only

    def on_announcement_failed(self, error: SqlError) -> None:
        if error.state.startswith(_NOT_ALLOWED):
            self.announces = False

    def give(self, session: ServerSession) -> None:
        """Take back a session that is in no transaction."""
        if session.closed:
            return
        idle = self._idle
        if len(idle) < _MOST_IDLE and self.users:
            idle += (session,)  # the last step: who is interrupted later must not take it for its own
        else:
            session.close()

    def clear(self) -> None:
        """Close the idle sessions, as after one of them was lost."""
        idle, self._idle = self._idle, []
        for session in idle:
            session.close()


_pools: dict[tuple[str, bool], Pool] = {}
_guard = allocate_lock()


def _use_pool(address: str, *, writes: bool) -> Pool:
    with _guard:
        pool = _pools.setdefault((address, writes), Pool(address, writes=writes))
        pool.users += 1
        return pool


def _release_pool(pool: Pool) -> None:
    with _guard:
        pool.users -= 1
        if not pool.users:
            _pools.pop((pool.address, pool.writes), None)
            pool.clear()
            pool.listener.close()


def _renew_in_child() -> None:
    # Sessions belong to the parent: libpq's handles are not closed in another process than their own.
    global _guard
    _guard = allocate_lock()
    _pools.clear()


os.register_at_fork(after_in_child=_renew_in_child)


class ReplacedError(NoMinterError):
    """Another store lies where the one that is read was."""


class NameGoneError(NoMinterError):
    """The database has no minter of this name; if it was moved, another store will soon lie where this one was."""


class Source:
    """A minter at an address.

    name    its name there
    moment  what was read at the newest version that is known; None if nothing was
    """

    def __init__(self, address: str, minter: str, file: EngineFile, *, writes: bool = True) -> None:
        """`file` is the one that names the minter; `writes` whether it is also written there."""
        self._file = file
        self.name = minter.encode("utf-8", "surrogateescape")
        self.minter = minter
        self.pool = _use_pool(address, writes=writes)
        self.moment: Moment | None = None
        # When that version was the newest.
        self._confirmed = 0.0
        self._heard: tuple[int, int] | None = None

    def close(self) -> None:
        _release_pool(self.pool)

    # -- the newest version ----------------------------------------------------------------------------

    def observe(self, version: Version, asked: float) -> Moment:
        """The moment of a version that the server returned for a statement sent at a time."""
        moment = self.moment
        if moment is None or moment.version != version:
            if moment is not None and moment.version[0] == version[0] and moment.version > version:
                return Moment(version)  # another thread has received a newer version meanwhile
            moment = self.moment = Moment(version)
        if asked > self._confirmed:
            self._confirmed = asked
        return moment

    def committed(self, moment: Moment, asked: float) -> None:
        """Use what is known after a commit of this process, unless another thread has committed since."""
        known = self.moment
        if known is None or known.version[0] != moment.version[0] or known.version < moment.version:
            self.moment = moment
            # Others may have committed since, if the answer came late.
            self._confirmed = asked

    def forget(self) -> None:
        self.moment = None

    def fresh(self) -> Moment | None:
        """The moment that is the newest, or was so within the last second; None if that must be asked."""
        moment = self.moment
        if moment is None:
            return None
        allowed = _CONFIRMED_WITH_NOTICE if self._receives_notifications() else _CONFIRMED_WITHOUT
        # A notification read above may have changed this.
        return moment if monotonic() - self._confirmed < allowed and moment is self.moment else None

    def _receives_notifications(self) -> bool:
        """Whether the server announces commits to us; those that it announced make `fresh` ask again."""
        heard = self.pool.listener.heard(self.name)
        if heard is not None and heard != self._heard:
            self._heard = heard
            self._confirmed = 0.0
        return heard is not None

    # -- statements ------------------------------------------------------------------------------------

    def version_of(self, rows: list[Row]) -> Version:
        """The version that the rows of a statement are of.  Raises ReplacedError and NameGoneError."""
        if self._file.was_replaced:
            raise self._replaced()
        if not rows:
            raise NameGoneError(f"the database at {self.pool.address} has no minter {self.minter!r}: it was moved "
                                "or removed, or this is another database")
        return from_int(rows[0][0]), from_int(rows[0][1])

    def ensure_in_place(self) -> None:
        """Raise ReplacedError unless the file that names the minter lies where it was, as whoever writes must: a copy
        that is on its way there would lack what is written."""
        if self._file.was_taken_away:
            raise self._replaced()

    def _replaced(self) -> ReplacedError:
        return ReplacedError(f"the minter {self.minter!r} is no longer used from here: another one was put in its "
                             "place, so open it again")

    def ask_at_once(self, statement: SqlStatement, parameters: tuple[bytes, ...], deadline: float) -> list[Row]:
        """As `ask`, in a session that is open already; nothing if there is none.  Raises LostError."""
        session = self.pool.take_idle()
        if session is None:
            return []
        try:
            return session.run(((statement, (self.name, *parameters)),), deadline)[0]
        except LostError:
            self.pool.clear()
            raise
        finally:
            self.pool.give(session)

    def ask(self, statement: SqlStatement, *parameters: bytes, deadline: float, patient: bool) -> list[Row]:
        """Run one statement outside a transaction.  A session that was lost meanwhile is replaced once."""
        while True:
            session = self.pool.take(deadline, patient=patient)
            try:
                (rows,) = session.run([(statement, (self.name, *parameters))], deadline)
                return rows
            except LostError:
                self.pool.clear()
                if monotonic() >= deadline or not patient:
                    raise
            finally:
                self.pool.give(session)
