"""A store in LMDB: its transactions, and its version."""

from __future__ import annotations

import os
from time import monotonic

import lmdb

from ...errors import NoidError, StoreError
from ..locks import USER
from . import database
from .environment import LmdbEnvironment
from .transactions import LONG_KEY, LmdbReader, LmdbWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..interface import Reader, Writer
    T = TypeVar("T")



class LmdbStore(LmdbEnvironment):
    """A folder with a database in it.  A process has one object for each folder: see `open_store`."""

    def version(self, max_age: float = 0.0) -> object | None:
        if monotonic() - self._checked >= max_age and self._was_replaced():
            return None
        watched = self._watched
        if watched is not None:
            version, words, place = watched
            if words[place] < version[1]:
                return version
        lock = self._lock
        users = lock.users
        # As `share` would, without waiting for one who is alone.
        users += USER
        try:
            if lock.closed or self._environment is None:
                return None
            version, number = self._version, self._environment.begin().id()
            if version[1] == number:
                self._watch(version)
            else:
                self._version = version = (self.generation, number)
            return version
        except lmdb.Error:
            return None  # the map has grown, or there are too many readers: a read finds out what to do
        finally:
            del users[-1]
            if lock.closed:
                lock.wake()

    def _watch(self, version: tuple[int, int]) -> None:
        """Let the headers show whether this version is still the last one: it was asked for twice and will be again."""
        if self._headers is None:
            try:
                from .headers import Headers
            except ImportError:
                return  # another release of the software was installed meanwhile
            self._headers = Headers(self._data, self._file, self._environment)
        self._watched = self._headers.watch(version)

    def figures(self) -> dict[str, float]:
        from .figures import figures

        # A read transaction keeps the environment open meanwhile.
        return super().figures() | self.read(lambda _: figures(self.location, self._environment))

    def backup(self, destination: str) -> int:
        from .backup import back_up

        return back_up(self.location, destination, self._copy)

    def _copy(self, folder: str) -> None:
        def copy() -> bool:
            if self._environment is None:
                return False
            self._environment.copy(os.fsencode(folder), compact=True)  # type: ignore[arg-type]
            return True

        while True:
            self._ensure_current()
            try:
                if self._lock.shared(copy):
                    return
            except lmdb.MapResizedError:
                self._lock.alone(self._adopt_size)

    # -- transactions ----------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        state, lock = self._state, self._lock
        if state.reader is not None:
            return self._read_inside(state.reader, work)
        users = lock.users
        try:
            while True:
                try:
                    # As `share` would, without the cost of a call.
                    users += USER
                    try:
                        environment = self._environment
                        if not lock.closed and environment is not None and (
                            monotonic() - self._checked < max_age or self._is_current(0.0)
                        ):
                            with environment.begin() as txn:
                                state.reader = reader = LmdbReader(txn, self.generation)
                                try:
                                    return work(reader)
                                finally:
                                    # An exception may keep these frames until garbage is collected, and until it is
                                    # deallocated a transaction is one of the readers, whose number is limited.
                                    state.reader = reader._txn = None
                                    del txn
                    finally:
                        del users[-1]
                        if lock.closed:
                            lock.wake()
                    self._lock.alone(self._reopen)
                except lmdb.MapResizedError:
                    self._lock.alone(self._adopt_size)
                except lmdb.ReadersFullError:
                    if not self._lock.shared(self._check_readers):
                        raise
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error

    def get_both(
        self, table: bytes, key: bytes, other_table: bytes, other_key: bytes, max_age: float = 0.0
    ) -> tuple[bytes | None, bytes | None, object | None]:
        lock = self._lock
        users = lock.users
        # A thread in a transaction shares the lock: where none does, this thread is in none.
        if not users and len(key) + len(other_key) < LONG_KEY:
            users += USER
            try:
                if not lock.closed and monotonic() - self._checked < max_age and (
                    environment := self._environment
                ) is not None:
                    # It ends when it is deallocated, on return; this is quicker than a `with` statement.
                    txn = environment.begin()
                    version, number = self._version, txn.id()
                    if version[1] != number:
                        self._version = version = (self.generation, number)
                    return txn.get(table + key), txn.get(other_table + other_key), version
            except lmdb.Error:
                pass  # the map has grown, or there are too many readers: `read` finds out what to do
            finally:
                del users[-1]
                if lock.closed:
                    lock.wake()
        return super().get_both(table, key, other_table, other_key, max_age)

    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        try:
            self._acquire_writer_lock(timeout)
            try:
                return self._write_locked(run)
            finally:
                try:
                    self._writer_lock.release()
                except BaseException:  # an interruption
                    self._writer_lock.release()
                    raise
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error

    def _acquire_writer_lock(self, timeout: float) -> None:
        try:
            while True:
                if self._environment is None or not self.writable:
                    self._ensure_current()  # of what is open, this is done when the lock is held
                if not self.writable:
                    from .errors import not_writable

                    raise StoreError(not_writable(self.location))
                self._writer_lock.acquire(timeout)
                self._ensure_current()
                # If the folder was replaced meanwhile, the other writers lock another file.
                if self.writable and self._writer_lock.is_in_place():
                    return
                self._writer_lock.release()
        except BaseException:
            self._writer_lock.release()
            raise

    def _write_locked(self, run: Callable[[Writer], T]) -> T:
        lock = self._lock
        while True:
            try:
                lock.share()
                try:
                    if self._is_current(0.0) and self._environment is not None:
                        self._check_stale_readers()
                        with database.begin_write(self._environment, self.location) as txn:
                            done = run(LmdbWriter(txn))
                        database.lengthen(self._environment, self._data)
                        return done
                finally:
                    del lock.users[-1]
                    if lock.closed:
                        lock.wake()
                self._lock.alone(self._reopen)
            except lmdb.MapFullError:
                self._lock.alone(self._grow)
            except lmdb.MapResizedError:
                self._lock.alone(self._adopt_size)

    def _write_child(self, outer: Writer, run: Callable[[Writer], T]) -> T:
        assert self._environment is not None and isinstance(outer, LmdbWriter)
        with outer.begin_child(self._environment) as txn:
            return run(LmdbWriter(txn))

    # -- transactions as blocks, whose work is not run again -------------------------------------------

    def _begin(self, timeout: float) -> LmdbWriter:
        try:
            self._acquire_writer_lock(timeout)
            try:
                return self._begin_locked()
            except BaseException:
                self._writer_lock.release()
                raise
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error

    def _begin_locked(self) -> LmdbWriter:
        """Begin a transaction with `_lock` shared, until `_end` leaves it."""
        lock = self._lock
        while True:
            action = self._reopen
            lock.share()
            txn = None
            try:
                if self._is_current(0.0) and self._environment is not None:
                    self._check_stale_readers()
                    txn = database.begin_write(self._environment, self.location)
                    return LmdbWriter(txn)
            except lmdb.MapFullError:
                action = self._grow
            except lmdb.MapResizedError:
                action = self._adopt_size
            except BaseException:
                if txn is not None:
                    txn.abort()
                lock.leave()
                raise
            del lock.users[-1]
            if lock.closed:
                lock.wake()
            self._lock.alone(action)

    def _end(self, writer: LmdbWriter, *, commit: bool) -> None:  # type: ignore[override]
        lock, state, txn = self._lock, self._state, writer._txn
        state.in_block, full, state.full = False, state.full, False
        try:
            try:
                txn.commit() if commit else txn.abort()
                if self._environment is not None:
                    database.lengthen(self._environment, self._data)
            finally:
                del lock.users[-1]
                if lock.closed:
                    lock.wake()
                if full:
                    self._lock.alone(self._grow)
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error
        finally:
            try:
                self._writer_lock.release()
            except BaseException:  # an interruption
                self._writer_lock.release()
                raise

    def _begin_child(self, outer: Writer) -> LmdbWriter:
        assert self._environment is not None and isinstance(outer, LmdbWriter)
        return LmdbWriter(outer.begin_child(self._environment))

    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, LmdbWriter)
        writer.finish(commit=commit)

    def _refusal(self, error: Exception) -> NoidError | None:
        if isinstance(error, lmdb.MapFullError):
            self._state.full = True
            return StoreError(f"the transaction needs more room than was set aside for {self.location}: more will be, "
                              "so undo it and do it again")
        return self._translated(error) if isinstance(error, (lmdb.Error, OSError)) else None
