"""A minter in PostgreSQL as a store that is read: when it is opened, where it is read, and when work is run again."""

from __future__ import annotations

import os
from time import monotonic, sleep

from ...errors import NoidError, NoMinterError, StoreError
from ..locks import TIMEOUT
from ..sql_tables import LONGEST_KEY
from . import statements as sql
from .commit import may_run_again, translated
from .connection import LostError, SqlError, from_int
from .engine_file import path_of, read_engine_file
from .old_locks import USER
from .old_shared import SharedStore, keep_for_parent
from .source import NameGoneError, ReplacedError, Source
from .transactions import MovedOnError, PostgresReader, get_parameters, got_values, stored_place, true_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from .. import Reader
    from .engine_file import EngineFile
    from .source import Version
    T = TypeVar("T")

# Seconds that a read waits for a server: in general; and for a resolver, whose client waits.
_READ_TIMEOUT, _RESOLVER_TIMEOUT = 10.0, 2.0

# Seconds for which the primary is read after the replica was lost, which may take its whole time to be noticed.
_WITHOUT_REPLICA = 5.0

# Seconds from one attempt to the next, at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5

# A time before all others.
_NEVER = float("-inf")


def _read_timeout(max_age: float) -> float:
    return _RESOLVER_TIMEOUT if max_age > 0 else _READ_TIMEOUT


class ReadStore(SharedStore):
    """A minter in a database server, as far as it is read."""

    def __init__(self, location: str, *, resolving: bool = False) -> None:
        """With `resolving` the replica is read, if there is one."""
        super().__init__(location)
        self._resolving = resolving
        self.generation = 0
        self._primary: Source | None = None
        self._replica: Source | None = None
        self._file: EngineFile | None = None
        # When the file that names the minter was last seen where it was, and from when on the replica is read.
        self._checked = self._replica_from = _NEVER
        # Whether a transaction of the parent process was open when this process was forked.
        self._of_parent = False
        # The number of the minter that was read last, and the newest version that this process has committed.
        self._id: int | None = None
        self._newest: Version | None = None

    @property
    def writable(self) -> bool:
        return self._primary is None or self._primary.pool.is_writable()

    # -- opening and closing ---------------------------------------------------------------------------

    def _source(self) -> Source:
        """Where the minter is written; for a thread that shares the lock."""
        assert self._primary is not None
        return self._primary

    def _enter(self) -> None:
        """Share the lock, with the store open.  See `ReadersWriterLock` for how it is left."""
        lock, current = self._lock, False
        while True:
            lock.share()
            try:
                current = self._is_current()
            finally:
                if not current:
                    del lock.users[-1]
                    if lock.closed:
                        lock.wake()
            if current:
                return
            lock.alone(self._reopen)

    def _is_current(self) -> bool:
        """Whether the store is open, and no other one lies where it was."""
        now = monotonic()
        if self._primary is None or self._file is None or self._file.was_replaced:
            return False
        self.last_used = self._checked = now
        return True

    def _is_elsewhere(self, error: BaseException) -> bool:
        """Whether an error was raised because another store was put in the place of this one, or is so right now."""
        if isinstance(error, NameGoneError):
            return self._file is not None and self._file.is_replaced_soon()
        return isinstance(error, ReplacedError)

    def _reopen(self) -> None:
        if self._is_current():
            return  # another thread did this while we waited to be alone
        if self._of_parent:
            raise StoreError(f"{self.location} was in a transaction when this process was forked, and cannot be used "
                             "in it: fork when no transaction is open")
        self._shut()
        self._newest = None
        self._open_as_one_of_few()

    def _open(self) -> None:
        self._file = file = read_engine_file(self.location)
        self._primary = Source(file.address, file.minter, file)
        self._replica = Source(file.read, file.minter, file, writes=False) if file.read else None

    def _shut(self) -> None:
        sources = self._primary, self._replica
        self._primary = self._replica = None
        self._checked = _NEVER
        for source in sources:
            if source is not None:
                source.close()

    def _close_lock_file(self) -> bool:
        return True

    def _renew_in_child(self) -> None:
        if self._primary is not None:
            self._of_parent = True
            keep_for_parent((self._primary, self._replica))
        self._primary = self._replica = None
        self._checked = _NEVER

    def forget(self) -> None:
        """Read everything anew: another minter was put in the place of this one."""
        for source in (self._primary, self._replica):
            if source is not None:
                source.forget()
        self._id = self._newest = None
        self.generation += 1

    # -- what it is ------------------------------------------------------------------------------------

    def identity(self) -> object | None:
        try:
            file = os.stat(path_of(self.location))
        except (OSError, ValueError):
            return None
        return file.st_dev, file.st_ino, self._id

    def _observe(self, number: int) -> None:
        if number != self._id:
            self._id = number
            self.generation += 1

    def version(self, max_age: float = 0.0) -> object | None:
        lock = self._lock
        users = lock.users
        users += USER
        try:
            source = self._reading_source()
            if lock.closed or source is None:
                return None
            moment = source.fresh() if max_age > 0 else None
            if moment is not None:
                return moment.version
            asked = monotonic()
            rows = source.ask(sql.VERSION, deadline=asked + _RESOLVER_TIMEOUT, patient=not max_age)
            return source.observe(source.version_of(rows), asked).version
        except (LostError, SqlError, NoMinterError):
            return None
        finally:
            del users[-1]
            if lock.closed:
                lock.wake()

    def _reading_source(self) -> Source | None:
        if self._resolving and self._replica is not None and monotonic() >= self._replica_from:
            return self._replica
        return self._primary

    def _on_lost(self, source: Source) -> None:
        """Read elsewhere for a while, if it is the replica that was lost."""
        if source is self._replica:
            self._replica_from = monotonic() + _WITHOUT_REPLICA

    def size(self) -> int | None:
        return self.read(lambda reader: reader.size() if isinstance(reader, PostgresReader) else None)

    def status(self) -> list[tuple[str, str]]:
        from .status import status

        self._enter()
        try:
            return status(self._source(), self._replica)
        finally:
            del self._lock.users[-1]
            if self._lock.closed:
                self._lock.wake()

    def figures(self) -> dict[str, float]:
        from .figures import figures

        known = super().figures()
        self._enter()
        try:
            return known | figures(self._replica)
        finally:
            del self._lock.users[-1]
            if self._lock.closed:
                self._lock.wake()

    def backup(self, destination: str) -> int:
        from .backup import back_up

        return back_up(self.location, destination)

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        state = self._state
        if state.reader is not None:
            return self._read_inside(state.reader, work)
        while True:
            self._enter()
            try:
                return self._read(work, monotonic() + _read_timeout(max_age), max_age)
            except NoMinterError as error:
                if not self._is_elsewhere(error):
                    raise
            finally:
                del self._lock.users[-1]
                if self._lock.closed:
                    self._lock.wake()

    def _read(self, work: Callable[[Reader], T], deadline: float, max_age: float) -> T:
        source = self._reading_source() or self._source()
        pause, in_transaction, tried = FIRST_PAUSE, False, {source}
        while True:
            moment = source.fresh() if max_age > 0 and not in_transaction else None
            reader = PostgresReader(source, deadline, moment=moment, in_transaction=in_transaction)
            try:
                return self._run_read(work, reader)
            except MovedOnError:
                in_transaction = True
                continue
            except (LostError, SqlError) as failure:
                error = failure
            source.pool.clear()
            other = self._primary if source is self._replica else self._replica
            if isinstance(error, LostError) and other is not None and other not in tried:
                self._on_lost(source)
                source, in_transaction = other, False
                tried.add(other)
                # The first may have taken all of the time, as one that hangs does.
                deadline = max(deadline, monotonic() + _read_timeout(max_age))
                continue
            if not may_run_again(error) or monotonic() + pause >= deadline:
                raise self._translated(error, "read")
            sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _run_read(self, work: Callable[[Reader], T], reader: PostgresReader) -> T:
        """Run work once.  What made the transaction useless is raised, whatever the work made of it."""
        self._state.reader = reader
        try:
            done = work(reader)
        except Exception as raised:
            if reader.failed is not None and reader.failed is not raised:
                raise reader.failed from raised
            raise
        finally:
            self._state.reader = None
            reader.end()
            if reader.minter_id is not None:
                self._observe(reader.minter_id)
        if reader.failed is not None:
            raise reader.failed
        return done

    def get_many(
        self, places: Sequence[tuple[bytes, bytes]], max_age: float = 0.0
    ) -> tuple[list[bytes | None], object | None]:
        if self._state.reader is None and places:
            self._enter()
            try:
                source = self._reading_source() or self._source()
                wanted = [stored_place(table, key) for table, key in places]
                statement, parameters = get_parameters(wanted)
                asked = monotonic()
                rows = source.ask(statement, *parameters, deadline=asked + _RESOLVER_TIMEOUT, patient=not max_age)
                version = source.observe(source.version_of(rows), asked).version
                self._observe(version[0])
                values = got_values(rows, len(wanted))
                return [true_value(place, value) for place, value in zip(wanted, values, strict=True)], version
            except (LostError, SqlError, NoMinterError):
                pass  # `read` finds out what to do
            finally:
                del self._lock.users[-1]
                if self._lock.closed:
                    self._lock.wake()
        return super().get_many(places, max_age)

    def get_both(
        self, table: bytes, key: bytes, other_table: bytes, other_key: bytes, max_age: float = 0.0
    ) -> tuple[bytes | None, bytes | None, object | None]:
        if self._state.reader is None and len(key) < LONGEST_KEY and len(other_key) < LONGEST_KEY:
            lock = self._lock
            users = lock.users
            # As `share` would, without the cost of a call.
            users += USER
            try:
                asked = monotonic()
                if not lock.closed and (asked - self._checked < max_age or self._is_current()):
                    found = self._get_both((table, key, other_table, other_key), asked)
                    if found is not None:
                        return found
            except SqlError:
                pass  # `read` finds out what to do
            finally:
                del users[-1]
                if lock.closed:
                    lock.wake()
        (value, other), version = super().get_many(((table, key), (other_table, other_key)), max_age)
        return value, other, version

    def _get_both(
        self, places: tuple[bytes, ...], asked: float
    ) -> tuple[bytes | None, bytes | None, object | None] | None:
        """Two values, by one statement in a session that is open; None if that does not succeed."""
        source = self._reading_source() or self._source()
        try:
            rows = source.ask_at_once(sql.GET[2], places, asked + _RESOLVER_TIMEOUT)
        except LostError:
            self._on_lost(source)
            return None
        if not rows:
            return None  # no session is open, or the minter has gone
        number, count, value, other = rows[0]
        version = from_int(number), from_int(count)
        source.observe(version, asked)
        self._observe(version[0])
        return value, other, version

    def _translated(self, error: Exception | None, how: str, timeout: float = TIMEOUT) -> NoidError:
        return translated(error, self._source().pool.address, how, timeout)
