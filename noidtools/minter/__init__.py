"""A minter: a store, the settings it was created with, and the scheme they name."""

from __future__ import annotations

import os
import threading
from time import monotonic, sleep

from ..errors import StoreError
from ..schemes import scheme_for
from ..schemes.base import Settings
from ..store import TIMEOUT, ensure_folder_name, exists, open_store
from . import schema
from .policies import AccessPolicy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from ..schemes import Generator
    from ..store import Reader, Store, Writer
    from .bindings import RuleCache
    from .namespace import Namespace
    K = TypeVar("K")
    T = TypeVar("T")

FOLDER = "NOID"

# Seconds in which a copy takes the place of a minter.
_REPLACEMENT = 2.0


def default_dbdir(program: str, variable: str, *folders: str) -> str:
    """The folder of the minter where no option names one.

    It is `variable`, the value of $NOID, if that is set.  Otherwise its name follows the first underscore in the name
    of the program, as in noid_kt5, and it is in the first of `folders` that has a minter of that name; if none has, in
    the first of them.  If the program's name has no underscore, it is the last of `folders` itself.
    """
    if variable:
        return variable
    name = os.path.basename(program).partition("_")[2]
    if not name:
        return folders[-1] or "."
    first, *others = (os.path.join(folder, name) for folder in folders)
    if not others:
        return first
    return next((folder for folder in (first, *others) if exists(location_of(folder))), first)


def location_of(dbdir: str) -> str:
    """The location of the store of the minter in a folder; raises UsageError for what cannot be a folder."""
    ensure_folder_name(dbdir)
    return os.path.join(dbdir, FOLDER)


def _while_replaced(action: Callable[[], T]) -> T:
    """Run an action, and run it again while a copy of the minter is about to replace it."""
    deadline = monotonic() + _REPLACEMENT
    while True:
        try:
            return action()
        except schema.MovedError as error:
            if not error.in_place or monotonic() > deadline:
                raise
        sleep(0.02)


class _ThreadState(threading.local):
    sharing = False


class Minter:
    """A minter, opened from the folder that contains `NOID/`.

    Raises NoMinterError if there is none, StoreError if its database has an unknown format.  With `store` the database
    is open already; closing the minter then closes it.  `resolving` is as in `open_store`.

    timeout  for how many seconds a write waits for other writers, unless it says otherwise
    """

    timeout = TIMEOUT

    def __init__(self, dbdir: str, *, store: Store | None = None, resolving: bool = False) -> None:
        self.dbdir = dbdir
        self._resolving = resolving
        self._identity: object = None
        self._closed = False
        self._threads = _ThreadState()
        self._rulebook: RuleCache | None = None
        # The access policy that was read last, and the version of the store in which it was.
        self._policy: tuple[object, AccessPolicy] | None = None
        self._namespace: Namespace | None = None
        # The generator of the last minting, by the state that it stored.
        self._generators: dict[bytes | None, Generator] = {}
        self.store = store or _while_replaced(self._open_store)
        if store is not None:
            store.read(self._load)

    def _open_store(self) -> Store:
        self.store = open_store(location_of(self.dbdir), resolving=self._resolving)
        try:
            self.store.read(self._load)
        except BaseException:
            self.store.close()
            raise
        return self.store

    def _load(self, reader: Reader) -> None:
        """Read the settings, which are of another minter if another database was put in place."""
        identity = self.store.identity()
        packed = schema.packed_settings(reader, self.store.location)
        try:
            self.settings = Settings.unpacked(packed)
            self.scheme = scheme_for(self.settings)
        except (ValueError, IndexError, KeyError):
            raise StoreError(f"the settings of the minter in {self.store.location} are damaged",
                             "restore a backup with 'noid restore'") from None
        self.labels = self.settings.labels
        self._generators = {}
        self._identity = identity

    def _ensure_loaded(self, reader: Reader) -> None:
        """Read the settings again if the database was replaced by another one."""
        if self.store.identity() != self._identity:
            self._load(reader)

    @property
    def rulebook(self) -> RuleCache:
        """The cache of the compiled rules of this minter."""
        if self._rulebook is None:
            from .bindings import RuleCache

            self._rulebook = RuleCache()
        return self._rulebook

    def access_policy(self) -> AccessPolicy:
        """The access rules; they are read again when something was committed."""
        if self.store.writing:
            # What this thread has not committed yet counts, too.
            return self.read(AccessPolicy.of)
        known, version = self._policy, self.store.version()
        if known is not None and known[0] == version:
            return known[1]
        policy = self.read(AccessPolicy.of)
        self._policy = version, policy
        return policy

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.store.close()

    def read(self, work: Callable[[Reader], T]) -> T:
        """Run `work` in a read transaction, as `Store.read` does."""
        def work_here(reader: Reader) -> T:
            self._ensure_loaded(reader)
            return work(reader)

        return self.store.read(work_here)

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

    def write(self, work: Callable[[Writer], T], *, shared: bool = False, timeout: float | None = None) -> T:
        """Run `work` in a write transaction, or in a savepoint if this thread is in one, as `Store.write` does.

        `shared` says that several independent commands share the transaction: see `sharing`.
        """
        threads, before = self._threads, self._threads.sharing
        seconds = self.timeout if timeout is None else timeout

        def work_here(writer: Writer) -> T:
            self._ensure_loaded(writer)
            schema.ensure_not_moved(writer, self.store.location)
            threads.sharing = before or shared
            try:
                return work(writer)
            finally:
                threads.sharing = before

        return _while_replaced(lambda: self.store.write(work_here, timeout=seconds))

    @property
    def sharing(self) -> bool:
        """Whether this thread is in a transaction that independent commands share."""
        return self._threads.sharing

    @property
    def namespace(self) -> Namespace:
        """The spellings of the names of this minter."""
        namespace = self._namespace
        if namespace is None or namespace.scheme is not self.scheme:
            from .namespace import Namespace

            self._namespace = namespace = Namespace(self.settings, self.scheme)
        return namespace

    def take_generator(self, writer: Writer) -> Generator:
        """The generator in the state that is stored, for a transaction that mints and then calls `save_generator`.

        The one of the last minting is used again if nobody else has minted since; reading its state takes longer than
        drawing an identifier.
        """
        state = schema.generator_state(writer)
        # Taken out, so that no other thread gets it, nor a later minting if this one fails.
        known = self._generators.pop(state, None)
        return known or self.scheme.generator(state)

    def save_generator(self, writer: Writer, generator: Generator) -> None:
        """Store the state of the generator, for the next transaction that mints."""
        state = schema.save_generator(writer, generator)
        # Another thread may have read the settings of another minter that was put in the place of this one.
        if generator.is_reusable_for(self.scheme):
            self._generators = {state: generator}

    def with_label(self, identifier: bytes) -> bytes:
        """An identifier that this minter made as written in answers: with the first label of the settings, if any."""
        return self.labels[0] + identifier if self.labels else identifier
