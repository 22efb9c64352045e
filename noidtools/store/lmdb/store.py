"""A store in LMDB: its environment, which is opened anew when a restore replaced its files, and its transactions."""

from __future__ import annotations

import os
from time import monotonic

import lmdb

from ...errors import NoidError, StoreError
from ..locks import WriterLock
from ..shared import SharedStore, keep_for_parent
from . import database
from .database import DATA, LOCK, WRITER
from .transactions import LONG_KEY, LmdbReader, LmdbWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..interface import Reader, Writer
    from .headers import Headers, Watched
    T = TypeVar("T")

# Address space, not memory nor disk.  Less if the system grants no more, and grown when it fills.
RESERVED = 1 << 40
_STALE_READERS_EVERY = 60.0


class LmdbStore(SharedStore):
    """A folder with a database in it.  A process has one object for each folder: see `open_store`."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.generation = 0
        self.writable = False
        self._data, self._lock_file = (os.path.join(location, name) for name in (DATA, LOCK))
        self._writer_lock = WriterLock(os.path.join(location, WRITER))
        self._environment: lmdb.Environment | None = None
        self._file: tuple[int, int, int] | None = None
        # The environment of the parent process, if a transaction was open in it when this process was forked.
        self._of_parent: lmdb.Environment | None = None
        self._checked = self._readers_checked = 0.0
        # The version that was read last: the same object until something is committed, so that it is compared quickly.
        self._version = (0, -1)
        # The headers of the data file, once the version was asked for twice, and what `Headers.watch` returned last.
        self._headers: Headers | None = None
        self._watched: Watched | None = None

    # -- opening ---------------------------------------------------------------------------------------

    def _ensure_current(self) -> None:
        """Open the environment, or open it anew if a restore put another file in its place."""
        with self._lock:
            if self._is_current(0.0):
                return
        self._lock.alone(self._reopen)

    def _is_current(self, max_age: float) -> bool:
        """Whether the environment is open, and of the file that is in place now, or was `max_age` seconds ago."""
        if self._environment is None:
            return False
        self.last_used = now = monotonic()
        return now - self._checked < max_age or not self._was_replaced()

    def _was_replaced(self) -> bool:
        found = self.identity()
        # None while the old file is moved away and the new one is not yet in place.
        return found is not None and found != self._file

    def _reopen(self) -> None:
        if self._environment is not None and not self._was_replaced():
            return  # another thread did this while we waited to be alone
        if self._of_parent is not None:
            raise StoreError(f"{self.location} was in a transaction when this process was forked, and cannot be used "
                             "in it: fork when no transaction is open")
        self._shut()
        self._open_as_one_of_few()

    def _open(self) -> None:
        while True:
            before = self.identity()
            environment = self._open_files()
            # LMDB opens one file after the other: if a restore came between, they are of two databases.
            self._file = self.identity()
            if self._file == before:
                break
            environment.close()
        self._environment = environment
        self.last_used = self._checked = monotonic()
        self.generation += 1
        self._version = (self.generation, -1)

    def _open_files(self) -> lmdb.Environment:
        if not os.stat(self._data).st_size:
            raise StoreError(f"{self._data} is empty: it was damaged or never a minter's; restore a backup")
        self.writable = database.is_writable(self.location)
        return database.open_checked(self.location, RESERVED, writable=self.writable)

    # -- closing ---------------------------------------------------------------------------------------

    def _close_lock_file(self) -> bool:
        return self._writer_lock.close()

    def _shut(self) -> None:
        if self._environment is not None:
            self._environment.close()
            self._environment = self._headers = self._watched = None

    def _renew_in_child(self) -> None:
        self._writer_lock.renew_in_child()
        if self._environment is not None:
            # It must be neither used nor closed here: that would end the parent's transactions.
            self._of_parent, self._environment = self._environment, None
            self._headers = self._watched = None
            keep_for_parent(self._of_parent)

    # -- what it is ------------------------------------------------------------------------------------

    def size(self) -> int | None:
        return database.size(self._data)

    def identity(self) -> tuple[int, int, int] | None:
        found = database.identity(self._data, self._lock_file)
        if found is not None and found == self._file:
            self._checked = monotonic()
        return found

    def stamp(self) -> object | None:
        return database.stamp(self._data)

    def version(self, max_age: float = 0.0) -> object | None:
        if monotonic() - self._checked >= max_age and self._was_replaced():
            return None
        watched = self._watched
        if watched is not None:
            version, words, place = watched
            if words[place] < version[1]:
                return version
        lock = self._lock
        # As `with lock` would, without the cost of its calls.
        lock.users.append(None)
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
            lock.users.pop()
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
        while True:
            self._ensure_current()
            try:
                with self._lock:
                    if self._environment is not None:
                        return self._environment.copy(os.fsencode(folder), compact=True)  # type: ignore[arg-type]
            except lmdb.MapResizedError:
                self._lock.alone(self._adopt_size)

    # -- transactions ----------------------------------------------------------------------------------

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        state, lock = self._state, self._lock
        if state.reader is not None:
            return self._read_inside(state.reader, work)
        try:
            while True:
                try:
                    # As `with lock` would, without the cost of its calls.
                    lock.users.append(None)
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
                        lock.users.pop()
                        if lock.closed:
                            lock.wake()
                    lock.alone(self._reopen)
                except lmdb.MapResizedError:
                    self._lock.alone(self._adopt_size)
                except lmdb.ReadersFullError:
                    with self._lock:
                        if not self._check_readers():
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
            users.append(None)
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
                users.pop()
                if lock.closed:
                    lock.wake()
        return super().get_both(table, key, other_table, other_key, max_age)

    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        try:
            self._acquire_writer_lock(timeout)
            try:
                return self._write_locked(run)
            finally:
                self._writer_lock.release()
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error

    def _acquire_writer_lock(self, timeout: float) -> None:
        while True:
            if self._environment is None or not self.writable:
                self._ensure_current()  # of what is open, this is done when the lock is held
            if not self.writable:
                from .errors import not_writable

                raise StoreError(not_writable(self.location))
            self._writer_lock.acquire(timeout)
            try:
                self._ensure_current()
                # If the folder was replaced meanwhile, the other writers lock another file.
                if self.writable and self._writer_lock.is_in_place():
                    return
            except BaseException:
                self._writer_lock.release()
                raise
            self._writer_lock.release()

    def _write_locked(self, run: Callable[[Writer], T]) -> T:
        while True:
            try:
                with self._lock:
                    if self._is_current(0.0) and self._environment is not None:
                        self._check_stale_readers()
                        with database.begin_write(self._environment, self.location) as txn:
                            done = run(LmdbWriter(txn))
                        database.lengthen(self._environment, self._data)
                        return done
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
        while True:
            action = self._reopen
            self._lock.__enter__()
            try:
                if self._is_current(0.0) and self._environment is not None:
                    self._check_stale_readers()
                    return LmdbWriter(database.begin_write(self._environment, self.location))
            except (lmdb.MapFullError, lmdb.MapResizedError) as error:
                action = self._grow if isinstance(error, lmdb.MapFullError) else self._adopt_size
            except BaseException:
                self._lock.__exit__()
                raise
            self._lock.__exit__()
            self._lock.alone(action)

    def _end(self, writer: Writer, *, commit: bool) -> None:
        assert isinstance(writer, LmdbWriter)
        full = self._state.full
        self._state.full = False
        try:
            try:
                writer.finish(commit=commit)
                if self._environment is not None:
                    database.lengthen(self._environment, self._data)
            finally:
                self._lock.__exit__()
                if full:
                    self._lock.alone(self._grow)
        except (lmdb.Error, OSError) as error:
            raise self._translated(error) from error
        finally:
            self._writer_lock.release()

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

    def _translated(self, error: Exception) -> NoidError:
        try:
            from .errors import translated
        except OSError:  # no file can be opened, which may be the very error
            return StoreError(f"the database in {self.location} could not be used: {error}")
        return translated(error, self.location)

    def _grow(self) -> None:
        if self._environment is not None:
            self._environment.set_mapsize(2 * int(self._environment.info()["map_size"]))

    def _adopt_size(self) -> None:
        if self._environment is not None:
            self._environment.set_mapsize(0)

    def _check_readers(self) -> int:
        """Clear the entries of readers that were killed; returns how many there were."""
        return 0 if self._environment is None else self._environment.reader_check()

    def _check_stale_readers(self) -> None:
        now = monotonic()  # a killed reader would otherwise keep old pages from being used again
        if now - self._readers_checked > _STALE_READERS_EVERY:
            self._readers_checked = now
            self._check_readers()

    def _abandon(self, writer: Writer) -> None:
        keep_for_parent(writer)
