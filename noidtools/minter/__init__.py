"""A minter: a store, the settings it was created with, and the scheme they name."""

from __future__ import annotations

import os

from ..errors import InvalidError
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
    K = TypeVar("K")
    T = TypeVar("T")

FOLDER = "NOID"

# An identifier longer than this is a mistake or an attack, and would make every message about it unreadable.
LONGEST_IDENTIFIER = 65536


def location_of(dbdir: str) -> str:
    """Where the store of the minter in a folder lies."""
    return os.path.join(dbdir, FOLDER)


class Minter:
    """Opened from the folder that holds `NOID/`; refuses what is not a minter of this format."""

    def __init__(self, dbdir: str, *, store: Store | None = None) -> None:
        self.dbdir = dbdir
        self.store = store or open_store(location_of(dbdir))
        self._generation = -1
        self._closed = False
        self._rulebook: RuleCache | None = None
        try:
            self.store.read(self._load)
        except BaseException:
            if store is None:
                self.store.close()
            raise

    def _load(self, reader: Reader) -> None:
        """Read the settings, if that was not done since the database was opened."""
        generation = self.store.generation
        if generation == self._generation:
            return
        self.settings = Settings.unpacked(meta.packed_settings(reader, self.store.location))
        self.scheme = scheme_for(self.settings)
        self.labels = self.settings.labels
        self._stripped = sorted(self.labels, key=len, reverse=True)
        self._generation = generation

    @property
    def rulebook(self) -> RuleCache:
        """The minter's rules, kept from one lookup to the next."""
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
        def work_here(reader: Reader) -> T:
            self._load(reader)
            return work(reader)

        return self.store.read(work_here, max_age=max_age)

    def read_pages(
        self, page: Callable[[Reader, K | None], tuple[list[T], K | None]], after: K | None = None
    ) -> Iterator[T]:
        """What `page` finds behind a key, again and again, each time in a read transaction of its own.

        `page` returns what it found and the key to go on behind, None if there was nothing.  What is found is not of
        one moment, but no transaction stays open while somebody works with it.
        """
        while True:
            found, after = self.read(lambda reader: page(reader, after))  # noqa: B023 - run before the loop goes on
            yield from found
            if after is None:
                return

    def write(self, work: Callable[[Writer], T], *, shared: bool = False) -> T:
        """Run `work` in a write transaction, or in a savepoint of this thread's, as `Store.write` does."""
        def work_here(writer: Writer) -> T:
            # Another minter's database may have been put in place since: what is made now is made by its rules.
            self._load(writer)
            return work(writer)

        return self.store.write(work_here, shared=shared)

    # -- identifiers as people write them, and as they are stored ---------------------------------------

    def stored(self, given: bytes) -> bytes:
        """The identifier under which something asked for is kept: without labels, in its one spelling."""
        for label in self._stripped:
            if given.startswith(label):
                given = given[len(label) :]
                break
        else:
            given = self._without_implied_label(given)
        if not given:
            raise InvalidError("the identifier is empty")
        if len(given) > LONGEST_IDENTIFIER:
            raise InvalidError(f"an identifier may have {LONGEST_IDENTIFIER} bytes, this one has {len(given)}")
        return self.scheme.canonical(given)

    @property
    def implied_labels(self) -> tuple[bytes, ...]:
        """Labels that go without saying before this minter's own identifiers, because their form tells the system."""
        if self.scheme.system:
            return (self.scheme.system,)
        return (b"ark:/", b"ark:") if self.settings["naan"] else ()

    def _without_implied_label(self, given: bytes) -> bytes:
        for label in self.implied_labels:
            rest = given[len(label) :]
            if given.startswith(label) and self.scheme.without_prefix(rest) != rest:
                return rest
        return given

    def shown(self, identifier: bytes) -> bytes:
        return self.labels[0] + identifier if self.labels else identifier

    def ensure_valid(self, reader: Reader, identifier: bytes) -> None:
        """Refuse an identifier that is not of this minter's form."""
        if self.scheme.free:
            return
        state = meta.generator_state(reader) if self.scheme.grows else None
        self.scheme.ensure_valid(identifier, state)
