"""A store in LMDB: its transactions, its version, and when its environment is opened, grown and shut."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from time import monotonic, time

import lmdb

from ...errors import NoidError, NoMinterError, StoreError
from .. import folders
from ..base import BaseStore, StoreStatus, note_open, note_shut
from ..keys import scan, stored_key, stored_value, true_item
from ..locks import ReadersWriterLock, WriterLock
from . import files
from .files import DATA, LOCK, LONGEST_KEY, WRITER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ..base import EngineWriter

    Item = tuple[bytes, bytes]

# Address space, not memory nor disk.  Less if the system grants no more, and grown when it fills.
RESERVED = 1 << 40

# Keys of this length and more are, with the byte of their table, stored in another way: see store/keys.py.
_LONG = LONGEST_KEY - 1

_STALE_READERS_EVERY = 60.0

# Seconds within which two changes of a file may have the same time.
_COARSEST_TIME = 2.0

# How often a database is looked for that is being replaced.
_MOST_OPENINGS = 5

_identities = count(1)


class LmdbReader:
    """A read transaction.  `identity` and `version` are those of what it reads."""

    __slots__ = ("_txn", "_store", "identity", "version")

    # How often something was changed, so that a scan knows when it has to find its place again; None for never.
    _changes: int | None = None

    def __init__(self, txn: Any, store: LmdbStore) -> None:
        self._txn = txn
        self._store = store
        self.identity = store.identity_number
        self.version = (self.identity, txn.id())

    def close(self) -> None:
        try:
            self._txn.abort()
            # An exception may keep references to this object, and until it is deallocated a transaction is one of the
            # readers, whose number is limited.
            self._txn = None
        finally:
            self._store.leave()

    def get(self, table: bytes, key: bytes) -> bytes | None:
        if len(key) >= _LONG:
            return self._get_long(table + key)
        value: bytes | None = self._txn.get(table + key)
        return value

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        return [self.get(table, key) for table, key in places]

    def _get_long(self, key: bytes) -> bytes | None:
        stored = stored_key(key, LONGEST_KEY)
        value: bytes | None = self._txn.get(stored)
        return None if value is None else true_item(stored, value, LONGEST_KEY)[1]

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Item]:
        items = scan(lambda low, high: self._stored(high if reverse else low, reverse), table + prefix, LONGEST_KEY,
                     after=None if after is None else table + after, most=limit, reverse=reverse)
        return ((key[1:], value) for key, value in items)

    def _stored(self, start: bytes | None, reverse: bool) -> Iterator[Item]:
        """Items as they are stored, from a key on; or with `reverse` those before it, from the last one if it is None,
        the other way round."""
        with self._txn.cursor() as cursor:
            if reverse:
                found = cursor.prev() if start is not None and cursor.set_range(start) else cursor.last()
            else:
                found = cursor.set_range(start)
            if self._changes is None:
                if found:
                    yield from cursor.iterprev() if reverse else cursor.iternext()
                return
            while found:
                key, value = cursor.item()
                seen = self._changes
                yield key, value
                found = _step(cursor, reverse) if seen == self._changes else _find_again(cursor, key, reverse)


def _step(cursor: Any, reverse: bool) -> bool:
    return bool(cursor.prev() if reverse else cursor.next())


def _find_again(cursor: Any, key: bytes, reverse: bool) -> bool:
    """Set a cursor to what follows a key, after a change; if the item at a cursor was deleted, it is on the next one
    already."""
    if reverse:
        return bool(cursor.prev() if cursor.set_range(key) else cursor.last())
    return bool(cursor.set_range(key) and (cursor.key() != key or cursor.next()))


class LmdbWriter(LmdbReader):
    """A write transaction, or with `outer` a savepoint in one."""

    __slots__ = ("_environment", "_outer", "_changes")

    def __init__(
        self, txn: Any, store: LmdbStore, environment: lmdb.Environment, outer: LmdbWriter | None = None
    ) -> None:
        super().__init__(txn, store)
        # Of what was committed before.
        self.version = (self.identity, txn.id() - 1)
        self._environment = environment
        self._outer = outer
        self._changes: int = 0

    def savepoint(self) -> LmdbWriter:
        self._changes += 1
        return LmdbWriter(self._environment.begin(write=True, parent=self._txn), self._store, self._environment, self)

    def commit(self) -> None:
        try:
            self._txn.commit()
            if self._outer is None and self._changes:
                files.lengthen(self._environment, self._store.location)
        finally:
            self._end()

    def rollback(self) -> None:
        if self._txn is not None:
            try:
                self._txn.abort()
            finally:
                self._end()

    def _end(self) -> None:
        self._txn = None
        if self._outer is None:
            self._store.leave_write()

    def put(self, table: bytes, key: bytes, value: bytes) -> None:
        self._changes += 1
        self._txn.put(*_stored_item(table + key, value))

    def put_many(self, table: bytes, items: Iterable[Item]) -> None:
        self._changes += 1
        with self._txn.cursor() as cursor:
            cursor.putmulti([_stored_item(table + key, value) for key, value in items])

    def delete(self, table: bytes, key: bytes) -> bool:
        self._changes += 1
        return bool(self._txn.delete(stored_key(table + key, LONGEST_KEY)))

    def delete_prefix(self, table: bytes, prefix: bytes) -> int:
        keys = [key for key, _ in self.scan(table, prefix)]
        for key in keys:
            self.delete(table, key)
        return len(keys)


def _stored_item(key: bytes, value: bytes) -> Item:
    if len(key) < LONGEST_KEY:
        return key, value
    return stored_key(key, LONGEST_KEY), stored_value(key, value, LONGEST_KEY)


class LmdbStore(BaseStore):
    """A folder with a database in it.  A process has one object for each folder: see `open_store`.

    identity_number  another one whenever another database may have been opened
    """

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.writable = False
        self.identity_number = 0
        self._data = os.path.join(location, DATA)
        self._writer_lock = WriterLock(os.path.join(location, WRITER))
        # Shared by transactions, and exclusive for what may not be done during one.
        self._lock = ReadersWriterLock()
        self._environment: lmdb.Environment | None = None
        # Device and inode of the data file that was opened last, and the inodes of its lock file and its folder.
        self._file, self._lock_file, self._folder = (0, 0), 0, -1
        # While the store is suspended: the stamp of its data file, and the version that was read last.
        self._suspended: tuple[tuple[int, ...] | None, object] = (None, None)
        self._readers_checked = 0.0
        # When an open read transaction was first seen, by process, thread and transaction.
        self._seen: dict[tuple[bytes, bytes, int], float] = {}

    # -- transactions ----------------------------------------------------------------------------------

    def _begin_read(self) -> LmdbReader:
        environment = self._enter()
        try:
            return LmdbReader(environment.begin(), self)
        except BaseException:
            self.leave()
            raise

    def _begin_write(self, timeout: float) -> EngineWriter:
        self._enter()
        self.leave()
        if not self.writable:
            raise StoreError(files.not_writable(self.location))
        self._writer_lock.acquire(timeout)
        try:
            environment = self._enter(writing=True)
            try:
                self._check_stale_readers(environment)
                return LmdbWriter(files.begin_write(environment, self.location), self, environment)
            except BaseException:
                self.leave()
                raise
        except BaseException:
            self._writer_lock.release()
            raise

    def _enter(self, *, writing: bool = False) -> lmdb.Environment:
        """The environment of the database that is in place now, with `_lock` shared until `leave` is called."""
        while True:
            self._lock.acquire_shared()
            try:
                if self._is_current(writing=writing):
                    assert self._environment is not None
                    self.last_used = monotonic()
                    return self._environment
            except BaseException:
                self._lock.release_shared()
                raise
            self._lock.release_shared()
            with self._lock.exclusive():
                if not self._is_current(writing=writing):
                    self._open()

    def leave(self) -> None:
        """End what `_enter` began."""
        self._lock.release_shared()

    def leave_write(self) -> None:
        """End what `_begin_write` began."""
        self.leave()
        self._writer_lock.release()

    def _retry(self, error: Exception, attempt: int, deadline: float) -> bool:
        if isinstance(error, lmdb.MapFullError):
            return self._set_map_size(2)
        if isinstance(error, lmdb.MapResizedError):
            return self._set_map_size(0)
        if isinstance(error, lmdb.ReadersFullError):
            environment = self._enter()
            try:
                return bool(environment.reader_check())
            finally:
                self.leave()
        if isinstance(self._refusal(error), NoMinterError):
            # A restore may be about to put the new folder in place.
            return attempt < _MOST_OPENINGS and folders.complete_replacement(self.location)
        return False

    def _refusal(self, error: Exception) -> NoidError | None:
        return files.translated(error, self.location) if isinstance(error, (lmdb.Error, OSError)) else None

    # -- the environment -------------------------------------------------------------------------------

    def _is_current(self, *, writing: bool = False) -> bool:
        """Whether the environment is open, and of the file that is in place now."""
        if self._environment is None:
            return False
        try:
            found = os.stat(self._data)
        except FileNotFoundError:
            if os.path.exists(os.path.join(self.location, folders.ENGINE_FILE)):
                raise StoreError(f"the minter in {self.location} was moved to a database server: restart this "
                                 "program") from None
            if not folders.complete_replacement(self.location):
                raise files.no_minter(self.location) from None
            return False
        if (found.st_dev, found.st_ino) != self._file:
            return False
        # A lock file that was deleted is made again by the next process, and then this one has another.
        return not writing or files.inode(os.path.join(self.location, LOCK)) == self._lock_file

    def _open(self) -> None:
        self._ensure_usable()  # another thread may have closed it while this one waited
        folders.ensure_own(self.location)
        # A restore replaces the whole folder: if the file is the new one, so is the folder, which is looked at later.
        # The old file stays open, by which other processes notice it, too.  The new folder may have got the number of
        # an old one that was deleted; then the file was written in it.
        if (files.file_of(self.location)[0] != self._file and files.inode(self.location) == self._folder
                and not files.is_in_place(self.location)):
            raise files.moved_in(self.location)
        self._shut()
        while True:
            before, folder = files.file_of(self.location)[0], files.inode(self.location)
            stamp = self._stamp()
            self.writable = files.is_writable(self.location)
            try:
                environment = files.open_checked(self.location, RESERVED, writable=self.writable)
            except StoreError:
                if files.inode(self.location) == folder:
                    raise
                continue  # a restore came between
            # LMDB opens one file after the other: if a restore came between, they are of two databases.
            self._file, self._lock_file = files.file_of(self.location)
            if self._file == before and files.inode(self.location) == folder:
                break
            environment.close()
        self._folder = folder
        if stamp is None or stamp != self._suspended[0]:
            self.identity_number = next(_identities)
        self._suspended = None, None
        self._environment = environment
        self.last_used = monotonic()
        note_open(self)

    def _shut(self) -> None:
        environment, self._environment = self._environment, None
        if environment is not None:
            environment.close()
            note_shut(self)

    def suspend(self) -> bool:
        with self._lock.exclusive_if_free() as free:
            if not free or not self._writer_lock.close():
                return False
            if self._environment is not None:
                stamp, number = self._stamp(), int(self._environment.info()["last_txnid"])
                self._suspended = stamp, (self.identity_number, number)
            self._shut()
            return True

    def _stamp(self) -> tuple[int, ...] | None:
        """What changes with each commit to the data file; None if the last one was just now, since the next may get
        the same time."""
        try:
            found = os.stat(self._data)
        except OSError:
            return None
        if abs(time() - found.st_mtime) < _COARSEST_TIME:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _close(self) -> None:
        with self._lock.exclusive():
            self._shut()
            self._writer_lock.close()

    def abandon(self) -> bool:
        # LMDB allows one environment for a file in a process.  To close the inherited one leaves the parent alone only
        # if no transaction was open in it.
        if self._lock.is_free:
            environment, self._environment = self._environment, None
            if environment is not None:
                environment.close()
        return self._environment is None

    def _set_map_size(self, factor: int) -> bool:
        """Let the map grow by a factor; 0 is the size that another process has given it."""
        with self._lock.exclusive():
            if self._environment is not None:
                self._environment.set_mapsize(factor * int(self._environment.info()["map_size"]))
        return True

    def _check_stale_readers(self, environment: lmdb.Environment) -> None:
        now = monotonic()  # a killed reader would otherwise keep old pages from being used again
        if now - self._readers_checked > _STALE_READERS_EVERY:
            self._readers_checked = now
            environment.reader_check()

    # -- what it is ------------------------------------------------------------------------------------

    def version(self) -> object:
        self._ensure_usable()
        stamp, version = self._suspended  # together, since another thread may open the database
        if stamp is not None and stamp == self._stamp():
            return version
        return self.read(lambda reader: reader.version)  # type: ignore[attr-defined]

    def identity(self) -> object:
        self._ensure_usable()
        # To ask for this is no use of the store: those who look for minters ask all of them.
        if self._state.reader is None and (self._is_suspended() or self._is_current()):
            return self.identity_number
        return self.read(lambda reader: reader.identity)  # type: ignore[attr-defined]

    def _is_suspended(self) -> bool:
        """Whether the database is not open, and its file is as it was when it was shut."""
        stamp = self._suspended[0]
        return self._environment is None and stamp is not None and stamp == self._stamp()

    def status(self) -> StoreStatus:
        return StoreStatus(self.read(lambda _: self._figures()))

    def _figures(self) -> dict[str, float]:
        environment = self._environment
        assert environment is not None
        disk = os.statvfs(self.location)
        rows = [line.split() for line in environment.readers().encode().splitlines()[1:]]
        last = int(environment.info()["last_txnid"])
        # Ours began after the last commit, if nobody has written since.
        behind = {(pid, thread, int(number)) for pid, thread, number in rows if number.isdigit() and int(number) < last}
        now = monotonic()
        self._seen = {reader: self._seen.get(reader, now) for reader in behind}
        return {
            "size_bytes": os.path.getsize(self._data), "free_bytes": disk.f_bavail * disk.f_frsize,
            "readers": len(rows),
            "oldest_reader_seconds": max((now - since for since in self._seen.values()), default=0.0),
            "oldest_reader_transactions": max((last - number for *_, number in behind), default=0),
        }

    def backup(self, destination: str) -> int:
        from .backup import back_up

        return back_up(self.location, destination, lambda folder: self.read(lambda _: self._copy(folder)))

    def _copy(self, folder: str) -> None:
        assert self._environment is not None
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, DATA))  # of an attempt before this one
        self._environment.copy(os.fsencode(folder), compact=True)  # type: ignore[arg-type]


