"""A minter: a store, the settings it was created with, and the scheme they name."""

from __future__ import annotations

import os
from _thread import _local

from ..errors import InvalidError, StoreError
from ..schemes import scheme_for
from ..schemes.settings import Settings
from ..store import Store
from .tables import FORMAT, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ..store import Reader, Writer
    from .bindings import RuleCache
    T = TypeVar("T")

FOLDER = "NOID"

# An identifier longer than this is a mistake or an attack, and would make every message about it unreadable.
LONGEST_IDENTIFIER = 65536


class Minter:
    """Opened from the folder that holds `NOID/`; refuses what is not a minter of this format."""

    def __init__(self, dbdir: str, *, store: Store | None = None) -> None:
        self.dbdir = dbdir
        self.store = store or Store(os.path.join(dbdir, FOLDER))
        self._packed = b""
        self._mine = _local()
        self._rulebook: RuleCache | None = None
        self.store.read(self._load)

    def _load(self, reader: Reader) -> None:
        version = reader.get(META, b"format")
        if version is None or not version.isdigit():
            raise StoreError(f"{self.store.folder} is an LMDB database, but not a minter's: check the path")
        if int(version) > FORMAT:
            raise StoreError(
                f"{self.store.folder} was written by a newer release of noidtools (format {int(version)}, "
                f"this one knows {FORMAT}): install that release"
            )
        packed = reader.get(META, b"settings") or b""
        if packed != self._packed:
            self.settings = Settings.unpacked(packed)
            self.scheme = scheme_for(self.settings)
            self.labels = self.settings.labels
            self._stripped = sorted(self.labels, key=len, reverse=True)
            self._packed = packed

    @property
    def rulebook(self) -> RuleCache:
        """The minter's rules, kept from one lookup to the next."""
        if self._rulebook is None:
            from .bindings import RuleCache

            self._rulebook = RuleCache()
        return self._rulebook

    def close(self) -> None:
        self.store.close()

    def read(self, work: Callable[[Reader], T]) -> T:
        def work_here(reader: Reader) -> T:
            self._load(reader)
            return work(reader)

        return self.store.read(work_here)

    def write(self, work: Callable[[Writer], T]) -> T:
        outer: list[Callable[[], None]] | None = getattr(self._mine, "afterwards", None)
        if outer is not None:
            return self._write_child(work, outer)
        afterwards: list[Callable[[], None]] = []
        self._mine.afterwards = afterwards

        def work_anew(writer: Writer) -> T:
            afterwards.clear()
            # Another minter's database may have been put in place since: what is made now is made by its rules.
            self._load(writer)
            return work(writer)

        try:
            done = self.store.write(work_anew)
        finally:
            self._mine.afterwards = None
        for action in afterwards:
            action()
        return done

    def _write_child(self, work: Callable[[Writer], T], afterwards: list[Callable[[], None]]) -> T:
        before = len(afterwards)
        try:
            return self.store.write(work)
        except BaseException:
            del afterwards[before:]
            raise

    @property
    def writing(self) -> bool:
        """Whether this thread is in a write transaction."""
        return getattr(self._mine, "afterwards", None) is not None

    def after_commit(self, action: Callable[[], None]) -> None:
        """Have something done once this thread's transaction is committed and others may write, before `write`
        returns; it is forgotten if the transaction, or the child of it in which we are, comes to nothing."""
        self._mine.afterwards.append(action)

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
        state = reader.get(META, b"state") if self.scheme.grows else None
        self.scheme.ensure_valid(identifier, state)
