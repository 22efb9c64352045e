"""A minter in PostgreSQL as a store: where it is read, and when the work of a transaction is run again."""

from __future__ import annotations

import os
from time import monotonic, sleep

from ...errors import NoidError, NoMinterError, StoreError
from ..locks import TIMEOUT
from ..shared import SharedStore, keep_for_parent
from . import statements as sql
from .commit import UNKNOWN, begin_write, end_failed, ensure_nothing_lost, may_run_again, settle, translated
from .connection import LostError, SqlError
from .engine_file import no_minter, path_of, read_engine_file
from .source import NameGoneError, ReplacedError, Source
from .transactions import MovedOnError, PostgresReader, get_parameters, got_values, stored_place, true_value
from .writer import PostgresWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from ..interface import Reader, Writer
    from .engine_file import EngineFile
    from .source import Version
    T = TypeVar("T")

# Seconds that a read waits for a server: in general; and for a resolver, whose client waits.
_READ_TIMEOUT, _RESOLVER_TIMEOUT = 10.0, 2.0

# Seconds from one attempt to the next, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class PostgresStore(SharedStore):
    """A minter in a database server."""

    def __init__(self, location: str, *, resolving: bool = False) -> None:
        """With `resolving` the replica is read, if there is one."""
        super().__init__(location)
        self._resolving = resolving
        self.generation = 0
        self._primary: Source | None = None
        self._replica: Source | None = None
        self._file: EngineFile | None = None
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
        """Share the lock, with the store open."""
        while True:
            self._lock.__enter__()
            if self._is_current():
                self.last_used = monotonic()
                return
            self._lock.leave()
            self._lock.alone(self._reopen)

    def _enter_to_write(self) -> None:
        """The same for a thread that writes.  Raises NoMinterError if there is no store at the location now."""
        self._enter()
        if self._file is not None and self._file.was_taken_away and not self._file.was_replaced:
            self._lock.leave()
            raise no_minter(self.location)

    def _is_current(self) -> bool:
        """Whether the store is open, and no other one lies where it was."""
        return self._primary is not None and self._file is not None and not self._file.was_replaced

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
        for source in (self._primary, self._replica):
            if source is not None:
                source.close()
        self._primary = self._replica = None

    def _close_lock_file(self) -> bool:
        return True

    def _renew_in_child(self) -> None:
        if self._primary is not None:
            self._of_parent = True
            keep_for_parent((self._primary, self._replica))
        self._primary = self._replica = None

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
        lock.users.append(None)
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
            lock.users.pop()
            if lock.closed:
                lock.wake()

    def _reading_source(self) -> Source | None:
        return self._replica if self._resolving and self._replica is not None else self._primary

    def size(self) -> int | None:
        return self.read(lambda reader: reader.size() if isinstance(reader, PostgresReader) else None)

    def status(self) -> list[tuple[str, str]]:
        from .status import status

        self._enter()
        try:
            return status(self._source(), self._replica)
        finally:
            self._lock.leave()

    def figures(self) -> dict[str, float]:
        from .figures import figures

        self._enter()
        try:
            return super().figures() | figures(self._replica)
        finally:
            self._lock.leave()

    def retire(self) -> Callable[[str | None], None]:
        from .minter_rows import retire_minter

        assert isinstance(self._state.writer, PostgresWriter) and self._file is not None
        return retire_minter(self._state.writer.minter, self._file)

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
                deadline = monotonic() + (_RESOLVER_TIMEOUT if max_age > 0 else _READ_TIMEOUT)
                return self._read(work, deadline, max_age)
            except NoMinterError as error:
                if not self._is_elsewhere(error):
                    raise
            finally:
                self._lock.leave()

    def _read(self, work: Callable[[Reader], T], deadline: float, max_age: float) -> T:
        source = self._reading_source() or self._source()
        pause, in_transaction, tried = _FIRST_PAUSE, False, {source}
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
                source, in_transaction = other, False
                tried.add(other)
                continue
            if not may_run_again(error) or monotonic() + pause >= deadline:
                raise self._translated(error, "read")
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

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
                self._lock.leave()
        return super().get_many(places, max_age)

    # -- writing ---------------------------------------------------------------------------------------

    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        deadline = monotonic() + timeout
        pause = _FIRST_PAUSE
        while True:
            writer = self._begun(deadline, timeout)
            try:
                done = self._run_work(run, writer)
                if self._commit(writer):
                    return done
            except (LostError, SqlError) as error:
                self._undo(writer)
                if not may_run_again(error) or monotonic() >= deadline:
                    raise self._translated(error, "written", timeout) from error
            finally:
                self._lock.leave()
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _begun(self, deadline: float, timeout: float) -> PostgresWriter:
        """Share the lock of threads, and lock the minter that is at the location then."""
        while True:
            self._enter_to_write()
            try:
                return self._begin_write(deadline, timeout)
            except BaseException as error:
                again = self._is_elsewhere(error)
                self._lock.leave()
                if not again:
                    raise

    def _run_work(self, run: Callable[[Writer], T], writer: PostgresWriter) -> T:
        try:
            done = run(writer)
        except BaseException as raised:
            if writer.minter.failed is None or not isinstance(raised, Exception):
                self._undo(writer)
                raise
            raise writer.minter.failed from raised
        if writer.minter.failed is not None:
            raise writer.minter.failed
        return done

    def _begin_write(self, deadline: float, timeout: float) -> PostgresWriter:
        """Lock the minter.  Raises BusyError when the time is over."""
        minter = begin_write(self._source(), deadline, timeout)
        if self._newest is not None and self._newest[0] == minter.id:
            ensure_nothing_lost(minter, self._newest[1])
        self._observe(minter.id)
        return PostgresWriter(minter)

    def _commit(self, writer: PostgresWriter) -> bool:
        """Whether the transaction was committed; if not, it is to be run again."""
        minter = writer.minter
        try:
            new = minter.commit(writer.changes)
        except (LostError, SqlError) as error:
            if isinstance(error, SqlError) and error.state != UNKNOWN:
                raise
            minter.source.pool.clear()
            minter.session.close()
            return settle(minter)
        if new is not None:
            minter.announce()
            # A failover must not lose what the server has acknowledged to us; what we only have read, it may.
            self._newest = minter.id, new
        minter.source.pool.give(minter.session)
        return True

    def _undo(self, writer: PostgresWriter) -> None:
        end_failed(writer.minter.source, writer.minter.session)

    def _write_child(self, outer: Writer, run: Callable[[Writer], T]) -> T:
        child = self._begin_child(outer)
        try:
            done = run(child)
        except BaseException:
            if child.minter.failed is None:
                child.end(commit=False)
            raise
        child.end(commit=True)
        return done

    # -- transactions as blocks, whose work is not run again -------------------------------------------

    def _begin(self, timeout: float) -> PostgresWriter:
        return self._begun(monotonic() + timeout, timeout)

    def _end(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, PostgresWriter)
        try:
            if not commit or writer.minter.failed is not None:
                self._undo(writer)
            try:
                if commit and (writer.minter.failed is not None or not self._commit(writer)):
                    raise StoreError("the connection with the database was lost, and the transaction was undone: do it "
                                     "again")
            except (LostError, SqlError) as error:
                self._undo(writer)
                raise self._translated(error, "written") from error
        finally:
            self._lock.leave()

    def _begin_child(self, outer: Writer) -> PostgresWriter:
        assert isinstance(outer, PostgresWriter)
        return PostgresWriter(outer.minter, outer)

    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, PostgresWriter)
        if commit or writer.minter.failed is None:
            writer.end(commit=commit)

    def _abandon(self, writer: Writer) -> None:
        keep_for_parent(writer)

    def _refusal(self, error: Exception) -> NoidError | None:
        return self._translated(error, "used") if isinstance(error, (LostError, SqlError)) else None

    def _translated(self, error: Exception | None, how: str, timeout: float = TIMEOUT) -> NoidError:
        return translated(error, self._source().pool.address, how, timeout)
