"""A minter: a store, the settings it was created with, and the scheme they name."""

from __future__ import annotations

import os

from ..errors import NoidError
from ..schemes import scheme_for
from ..schemes.settings import Settings
from ..store import open_store
from . import meta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from ..store import Reader, Store, Writer
    from .bindings import RuleCache
    from .namespace import Namespace
    K = TypeVar("K")
    T = TypeVar("T")

FOLDER = "NOID"


def location_of(dbdir: str) -> str:
    """The location of the store of the minter in a folder."""
    return os.path.join(dbdir, FOLDER)


class Minter:
    """A minter, opened from the folder that contains `NOID/`.

    Raises NoMinterError if there is none, StoreError if its database has an unknown format.  With `store` the database
    is open already; closing the minter then closes it.
    """

    def __init__(self, dbdir: str, *, store: Store | None = None) -> None:
        self.dbdir = dbdir
        self.store = store or open_store(location_of(dbdir))
        self._generation = -1
        self._closed = False
        self._rulebook: RuleCache | None = None
        self._namespace: Namespace | None = None
        try:
            self.store.read(self._load)
        except BaseException:
            if store is None:
                self.store.close()
            raise

    def _load(self, reader: Reader) -> None:
        """Read the settings, which are of another minter if another database was put in place."""
        generation = self.store.generation
        self.settings = Settings.unpacked(meta.packed_settings(reader, self.store.location))
        self.scheme = scheme_for(self.settings)
        self.labels = self.settings.labels
        self._generation = generation

    @property
    def rulebook(self) -> RuleCache:
        """The cache of the compiled rules of this minter."""
        if self._rulebook is None:
            from .bindings import RuleCache

            self._rulebook = RuleCache()
        return self._rulebook

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.store.close()

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        """Run `work` in a read transaction, as `Store.read` does."""
        store = self.store
        while True:
            try:
                done = store.read(work, max_age=max_age)
            except NoidError:
                if store.generation == self._generation:
                    raise
            else:
                if store.generation == self._generation:
                    return done
            # The database was opened anew, and may be another minter's: the work is done again with its settings.
            store.read(self._load)

    def read_pages(
        self, page: Callable[[Reader, K | None], tuple[list[T], K | None]], after: K | None = None
    ) -> Iterator[T]:
        """Read a table page by page, each page in a read transaction of its own, and yield the items.

        `page` reads the items after a key, and returns them with the key of the last, None if there was none.  The
        pages may be of different states of the database, but no transaction stays open while the items are processed.
        """
        while True:
            items, after = self.read(lambda reader: page(reader, after))  # noqa: B023 - run before the loop goes on
            yield from items
            if after is None:
                return

    def write(self, work: Callable[[Writer], T], *, shared: bool = False) -> T:
        """Run `work` in a write transaction, or in a savepoint if this thread is in one, as `Store.write` does."""
        def work_here(writer: Writer) -> T:
            # The database may have been replaced by another since it was opened, with other settings.
            if self.store.generation != self._generation:
                self._load(writer)
            return work(writer)

        return self.store.write(work_here, shared=shared)

    @property
    def namespace(self) -> Namespace:
        """The spellings of the names of this minter."""
        namespace = self._namespace
        if namespace is None or namespace.scheme is not self.scheme:
            from .namespace import Namespace

            self._namespace = namespace = Namespace(self.settings, self.scheme)
        return namespace

    def with_label(self, identifier: bytes) -> bytes:
        """An identifier that this minter made as written in answers: with the first label of the settings, if any."""
        return self.labels[0] + identifier if self.labels else identifier
