"""A minter in PostgreSQL as a store: what `reading.py` reads is also written, and the work of a write is run again if
that is needed and possible."""

from __future__ import annotations

from time import monotonic, sleep

from ...errors import NoidError, StoreError
from .commit import UNKNOWN, begin_write, end_failed, ensure_nothing_lost, may_run_again, settle
from .connection import LostError, SqlError
from .engine_file import no_minter
from .reading import FIRST_PAUSE, LONGEST_PAUSE, ReadStore
from .writer import PostgresWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from .. import Writer
    T = TypeVar("T")


class PostgresStore(ReadStore):
    """A minter in a database server."""

    def _enter_to_write(self) -> None:
        """As `_enter`, for a thread that writes.  Raises NoMinterError if there is no store at the location now."""
        self._enter()
        try:
            if self._file is not None and self._file.was_taken_away and not self._file.was_replaced:
                raise no_minter(self.location)
        except BaseException:
            self._lock.leave()
            raise

    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        deadline = monotonic() + timeout
        pause = FIRST_PAUSE
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
            except BaseException as error:
                if not isinstance(error, Exception):
                    writer.minter.session.close()  # an interruption: how far it came is not known
                raise
            finally:
                del self._lock.users[-1]
                if self._lock.closed:
                    self._lock.wake()
            sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _begun(self, deadline: float, timeout: float) -> PostgresWriter:
        """Share the lock of threads, and lock the minter that is at the location then."""
        while True:
            self._enter_to_write()
            try:
                return self._begin_write(deadline, timeout)
            except BaseException as error:
                try:
                    again = self._is_elsewhere(error)
                finally:
                    self._lock.leave()
                if not again:
                    raise

    def _run_work(self, run: Callable[[Writer], T], writer: PostgresWriter) -> T:
        try:
            done = run(writer)
        except Exception as raised:
            if writer.minter.failed is None:
                self._undo(writer)
                raise
            raise writer.minter.failed from raised
        if writer.minter.failed is not None:
            raise writer.minter.failed
        return done

    def _begin_write(self, deadline: float, timeout: float) -> PostgresWriter:
        """Lock the minter.  Raises BusyError when the time is over."""
        minter = begin_write(self._source(), deadline, timeout)
        try:
            if self._newest is not None and self._newest[0] == minter.id:
                ensure_nothing_lost(minter, self._newest[1])
            self._observe(minter.id)
            return PostgresWriter(minter)
        except BaseException:
            end_failed(minter.source, minter.session)
            raise

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

    def _end(self, writer: PostgresWriter, *, commit: bool) -> None:  # type: ignore[override]
        self._state.in_block, session = False, writer.minter.session
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
        except BaseException as error:
            if not isinstance(error, Exception):
                session.close()  # an interruption: how far it came is not known
            raise
        finally:
            del self._lock.users[-1]
            if self._lock.closed:
                self._lock.wake()

    def _begin_child(self, outer: Writer) -> PostgresWriter:
        assert isinstance(outer, PostgresWriter)
        return PostgresWriter(outer.minter, outer)

    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, PostgresWriter)
        if commit or writer.minter.failed is None:
            writer.end(commit=commit)

    def _refusal(self, error: Exception) -> NoidError | None:
        return self._translated(error, "used") if isinstance(error, (LostError, SqlError)) else None
