"""Write transactions of minters in PostgreSQL.

A write locks the row of the minter, so that there is one writer at a time.  Its changes are collected and sent together
with the next scan, or with the commit; savepoints are those of the server.  The same transaction writes a token by
which a commit is found whose answer was lost.
"""

from __future__ import annotations

import os
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ...errors import NoMinterError, OutcomeUnknownError, StoreError
from ..keys import stored_value
from ..sql_tables import LONGEST_KEY
from . import sql
from .connection import ServerError
from .reader import PAGE, STATEMENT_TIMEOUT, Rows, end_transaction, first_size, stored_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .connection import Row, Session, Step
    from .reader import Item, MinterConnection, Place, Version

# More seconds in which a statement must be answered, for each row and for each byte that it sends.
_ROW_TIMEOUT, _BYTE_TIMEOUT = 0.001, 1e-6
# Seconds that one attempt to lock the minter waits, and more until a server that does not answer is given up.
_LOCK_ATTEMPT, _LOCK_ANSWER = 10.0, 2.0
# Seconds in which it must become known whether a transaction was committed.
_SETTLE_TIMEOUT = 60.0
# Seconds from one attempt to the next, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5

# Bytes that are too many to be sent together with other statements.
_LARGE = 1 << 15
# How many changes, and bytes of them, are collected before they are sent.
_MOST_CHANGES, _MOST_BYTES = 10_000, 1 << 23

# Commits that are listed, so that one whose answer was lost is found; and how often older ones are deleted.
_COMMITS_LISTED, _COMMITS_DELETED_EVERY = 100_000, 256
# A version is a count of commits and some random bits: where a failover loses a commit, the next one has the same
# count, and must not be taken for it.
_RANDOM_BITS = 20


def commits(version: int) -> int:
    """The count of commits in a version."""
    return version >> _RANDOM_BITS


def _next_version(version: int) -> int:
    return (commits(version) + 1) << _RANDOM_BITS | int.from_bytes(os.urandom(4), "big") >> 32 - _RANDOM_BITS


def _int8(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)


def pauses() -> Iterator[None]:
    """Waits from one attempt to the next, longer each time."""
    pause = _FIRST_PAUSE
    while True:
        yield
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


class _Scan:
    """The position of a scan in a write: what was changed beyond it has to be read again."""

    __slots__ = ("table", "low", "high", "reverse", "stale")

    def __init__(self, table: bytes, low: bytes, high: bytes | None, reverse: bool) -> None:
        self.table, self.low, self.high, self.reverse = table, low, high, reverse
        self.stale = True

    def note_change(self, table: bytes, key: bytes) -> None:
        if table == self.table and key >= self.low and (self.high is None or key < self.high):
            self.stale = True

    def pass_by(self, key: bytes) -> None:
        if self.reverse:
            self.high = key
        else:
            self.low = key + b"\0"


class PostgresWriter(Rows):
    """A write transaction, with the row of the minter locked."""

    def __init__(self, minter: MinterConnection, session: Session, version: Version) -> None:
        super().__init__()
        self.minter = minter
        self._session: Session | None = session
        self.version = version
        self._new = _next_version(version[1])
        self._token = os.urandom(16)
        self._failure: ServerError | None = None
        # Statements that were not sent yet; changes that come after them, by stored places, and their bytes.
        self._steps: list[Step] = []
        self._changes: dict[Place, bytes | None] = {}
        self._bytes = 0
        self._is_changed = False
        self._scans: list[_Scan] = []
        self._level = 0

    # -- statements ------------------------------------------------------------------------------------

    def _send(self, *steps: Step, commit: bool = False) -> list[Row]:
        """Send the statements that wait and some more, in one round trip; returns the rows of the last."""
        if self._failure is not None:
            raise self._failure
        if self._session is None:
            raise StoreError("a write transaction cannot be used after its end")
        steps = (*self._steps, *steps)
        self._steps = []
        count, size = _extent(steps)
        seconds = STATEMENT_TIMEOUT + count * _ROW_TIMEOUT + size * _BYTE_TIMEOUT
        try:
            run = self._session.commit if commit else self._session.run
            return run(steps, seconds, large=size > _LARGE)[-1]
        except ServerError as error:
            self._failure = error
            raise

    def _query(self, statement: str, *parameters: object) -> list[Row]:
        return self._send((statement, (*parameters, self.minter.name)))

    def _collect_changes(self) -> None:
        """Make the changes statements that wait to be sent."""
        puts = [(*place, value) for place, value in self._changes.items() if value is not None]
        deleted = [place for place, value in self._changes.items() if value is None]
        if puts:
            self._steps.append((sql.PUT_MANY, (self.version[0], *map(list, zip(*puts, strict=True)))))
        if deleted:
            self._steps.append((sql.DELETE_MANY, (*map(list, zip(*deleted, strict=True)), self.version[0])))
        self._changes, self._bytes = {}, 0

    # -- reading ---------------------------------------------------------------------------------------

    def _stored(self, table: bytes, low: bytes, high: bytes | None, reverse: bool, limit: int | None) -> Iterator[Item]:
        scan = _Scan(table, low, high, reverse)
        self._scans.append(scan)
        try:
            size, complete = first_size(limit), False
            page: Iterator[Item] = iter(())
            while True:
                if scan.stale:
                    self._collect_changes()
                    rows = self._page(table, scan.low, scan.high, reverse, size)
                    scan.stale, complete, page = False, len(rows) < size, iter(rows)
                item = next(page, None)
                if item is not None:
                    scan.pass_by(item[0])
                    yield item
                elif complete:
                    return
                else:
                    scan.stale, size = True, PAGE
        finally:
            self._scans.remove(scan)

    # -- changes ---------------------------------------------------------------------------------------

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        self._change(stored_place(table, key), stored_value(key, value, LONGEST_KEY))

    def put_many(self, table: bytes, items: Iterable[Item]) -> None:
        for key, value in items:
            self.put(table, key, value)

    def delete(self, table: bytes, key: bytes) -> bool:
        if self.get(table, key) is None:
            return False
        self._change(stored_place(table, key), None)
        return True

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self._change(stored_place(table, key), None)
        return len(keys)

    def _change(self, place: Place, value: bytes | None) -> None:
        self._changes[place] = self._known[place] = value
        self._is_changed = True
        for scan in self._scans:
            scan.note_change(*place)
        self._bytes += len(place[1]) + len(value or b"")
        if len(self._changes) >= _MOST_CHANGES or self._bytes >= _MOST_BYTES:
            self._collect_changes()
            self._known.clear()
            self._send()

    def exchange_names(self, new: str, before: str) -> None:
        """Give the name of this minter to the rows of a new one, and the name `before` to its own rows."""
        name = self.minter.name
        if not self._send((sql.LOCK, (new,))):
            raise NoMinterError(f"the database at {self.minter.pool.address} has no minter {new!r} any more: nothing "
                                "was restored")
        self._steps += [(sql.RENAME, (before, name)), (sql.RENAME, (name, new))]
        self._is_changed = True

    # -- savepoints ------------------------------------------------------------------------------------

    def savepoint(self) -> Savepoint:
        self._level += 1
        self._collect_changes()
        self._steps.append((f"SAVEPOINT s{self._level}", ()))
        return Savepoint(self, self._level)

    def end_savepoint(self, level: int, *, commit: bool) -> None:
        self._level = level - 1
        if commit:
            self._collect_changes()
        else:
            self._changes, self._bytes = {}, 0
            self._known.clear()
            for scan in self._scans:
                scan.stale = True
        if self._steps and self._steps[-1] == (f"SAVEPOINT s{level}", ()):
            self._steps.pop()  # nothing happened since
            return
        if not commit:
            self._steps.append((f"ROLLBACK TO SAVEPOINT s{level}", ()))
        self._steps.append((f"RELEASE SAVEPOINT s{level}", ()))

    # -- the end ---------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Raises ServerError if nothing was committed, OutcomeUnknownError if that cannot be found out."""
        if self._failure is not None:
            raise self._failure
        if not self._is_changed:
            self.rollback()
            return
        self._collect_changes()
        number = self.version[0]
        steps: list[Step] = [(sql.PUT_MANY, (number, [sql.COMMITS], [_int8(self._new)], [self._token]))]
        if not commits(self._new) % _COMMITS_DELETED_EVERY:
            oldest = max(0, commits(self._new) - _COMMITS_LISTED) << _RANDOM_BITS
            steps.append((sql.DELETE_COMMITS, (number, sql.COMMITS, _int8(oldest))))
        steps.append((sql.SET_VERSION, (self._new, number)))
        try:
            self._send(*steps, commit=True)
        except ServerError as error:
            if not error.outcome_unknown:
                raise
            self._close()
            self.minter.pool.drain()
            if not self._was_committed():
                raise ServerError(str(error), lost=True) from error
        # A failover must not lose what the server has acknowledged to this process.
        self.minter.committed = number, self._new
        self.minter.latest = None
        self._close()

    def rollback(self) -> None:
        if self._session is not None:
            end_transaction(self._session)
        self._close()

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.end()

    def _was_committed(self) -> bool:
        """Whether the transaction was committed, the answer to whose commit was lost.

        The row of the minter can be locked when that transaction has ended, however it ended.  The commit made here is
        confirmed by the standbys that must confirm commits, and with it all that was committed before.
        """
        deadline = monotonic() + _SETTLE_TIMEOUT
        for _ in pauses():
            try:
                found = self._look_for_token(deadline)
                if found is not None:
                    return found
                break
            except ServerError:
                if monotonic() >= deadline:
                    break
        raise OutcomeUnknownError(f"the connection with the database at {self.minter.pool.address} was lost during a "
                                  f"commit, and it has not become known for {_SETTLE_TIMEOUT:g} seconds whether it "
                                  "took place: see what is there before you do this again")

    def _look_for_token(self, deadline: float) -> bool | None:
        """Whether the commit is listed in the database; None if it may have been deleted from the list."""
        number = self.version[0]
        session = self.minter.pool.take(min(deadline, monotonic() + STATEMENT_TIMEOUT))
        try:
            # By its number, because its name may have been given to another minter by a restore meanwhile.
            locked = lock(session, deadline - monotonic(), (sql.LOCK_NUMBER, (number,)))
            now = locked[0][1] if locked else 0
            tokens = session.commit([(sql.SET_VERSION, (now, number)),
                                     (sql.TOKEN, (number, sql.COMMITS, _int8(self._new)))], STATEMENT_TIMEOUT)[-2]
        finally:
            if not session.closed:
                end_transaction(session)
            session.end()
        if tokens:
            return bool(tokens[0][0] == self._token)
        if not locked:
            return None  # the minter was deleted
        return False if commits(now) - commits(self.version[1]) < _COMMITS_LISTED else None


def _extent(steps: Sequence[Step]) -> tuple[int, int]:
    """The rows and bytes that statements send."""
    lists = [values for _, parameters in steps for values in parameters if isinstance(values, list)]
    return sum(map(len, lists)), sum(len(value) for values in lists for value in values)


class Savepoint:
    """A savepoint of a write transaction: the same transaction, but for its end."""

    def __init__(self, writer: PostgresWriter, level: int) -> None:
        self._writer = writer
        self._level = level
        self.version = writer.version
        self._ended = False
        self.get, self.get_many, self.scan = writer.get, writer.get_many, writer.scan
        self.put, self.put_many = writer.put, writer.put_many
        self.delete, self.delete_prefix = writer.delete, writer.delete_prefix
        self.savepoint = writer.savepoint

    def commit(self) -> None:
        self._end(commit=True)

    def rollback(self) -> None:
        self._end(commit=False)

    def _end(self, *, commit: bool) -> None:
        if not self._ended:
            self._ended = True
            self._writer.end_savepoint(self._level, commit=commit)


# -- the beginning of a write ----------------------------------------------------------------------------------------


def begin_write(minter: MinterConnection, timeout: float) -> PostgresWriter:
    """Begin a transaction with the minter locked.  Raises BusyError after `timeout` seconds."""
    deadline = monotonic() + timeout
    for _ in pauses():
        try:
            session = minter.pool.take(min(deadline, monotonic() + STATEMENT_TIMEOUT))
            try:
                writer = PostgresWriter(minter, session, _locked_version(minter, session, deadline - monotonic()))
                _ensure_nothing_lost(writer)
                return writer
            except BaseException:
                end_transaction(session)
                session.end()
                raise
        except ServerError as error:
            if error.lost or error.is_read_only:
                minter.pool.drain()
            again = error.may_run_again and (not error.is_read_only or minter.pool.has_several_servers)
            if not (again or error.is_locked) or monotonic() >= deadline:
                raise error.refusal(minter.pool.address, "written", timeout) from error
    raise AssertionError  # pauses() does not end


def _locked_version(minter: MinterConnection, session: Session, seconds: float) -> Version:
    row = (sql.LOCK, (minter.name,))
    rows = lock(session, seconds, row)
    if not rows:
        # A restore, for which we waited, has given the name to another minter.
        rows = session.run([row], _LOCK_ATTEMPT + _LOCK_ANSWER)[0]
    return minter.observe(rows, monotonic())


def lock(session: Session, seconds: float, row: Step) -> list[Row]:
    """Begin a transaction and lock a row, for which at most ten seconds are waited; returns what was found."""
    wait = max(0.001, min(_LOCK_ATTEMPT, seconds))
    steps: list[Step] = [(sql.BEGIN_WRITE, ()), (sql.LOCK_TIMEOUT, (f"{round(1000 * wait + 1)}ms",)), row]
    return session.run(steps, wait + _LOCK_ANSWER)[-1]


def _ensure_nothing_lost(writer: PostgresWriter) -> None:
    """Raise StoreError if the database lacks the newest version that this process has committed.

    That cannot be seen any more when others have made more commits since than were lost.
    """
    committed, found = writer.minter.committed, writer.version
    if committed is None or committed[0] != found[0] or committed == found or commits(found[1]) > commits(committed[1]):
        return
    raise StoreError(f"the database at {writer.minter.pool.address} has lost changes of this minter in a failover: "
                     "identifiers that were given could be given again, so nothing is written; see what is missing, "
                     "and restart this process to go on")
