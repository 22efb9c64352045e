"""The environment of a database folder, which is opened anew when a restore replaced its files."""

from __future__ import annotations

import os
from time import monotonic

import lmdb

from ...errors import NoidError, StoreError
from ..locks import WriterLock
from ..shared import SharedStore, keep_for_parent
from . import database
from .database import DATA, LOCK, WRITER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .headers import Headers, Watched

# Address space, not memory nor disk.  Less if the system grants no more, and grown when it fills.
RESERVED = 1 << 40
_STALE_READERS_EVERY = 60.0


class LmdbEnvironment(SharedStore):
    """A folder with a database in it.  What is read and written there is in `LmdbStore`."""

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
        if not self._lock.shared(lambda: self._is_current(0.0)):
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
            try:
                # LMDB opens one file after the other: if a restore came between, they are of two databases.
                self._file = self.identity()
                self.last_used = self._checked = monotonic()
            except BaseException:
                environment.close()
                raise
            if self._file == before:
                break
            environment.close()
        self.generation += 1
        self._version = (self.generation, -1)
        self._environment = environment

    def _open_files(self) -> lmdb.Environment:
        if not os.stat(self._data).st_size:
            raise StoreError(f"{self._data} is empty: it was damaged or never a minter's; restore a backup")
        self.writable = database.is_writable(self.location)
        return database.open_checked(self.location, RESERVED, writable=self.writable)

    # -- closing ---------------------------------------------------------------------------------------

    def _close_lock_file(self) -> bool:
        return self._writer_lock.close()

    def _shut(self) -> None:
        environment = self._environment
        if environment is not None:
            self._environment = self._headers = self._watched = None
            environment.close()

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

    # -- what must be done with it now and then --------------------------------------------------------

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

    def _translated(self, error: Exception) -> NoidError:
        try:
            from .errors import translated
        except OSError:  # no file can be opened, which may be the very error
            return StoreError(f"the database in {self.location} could not be used: {error}")
        return translated(error, self.location)
