"""Copies of a whole minter to another folder or to another engine; backups, and minters made from them.

A copy is made under a hidden name, from one transaction, and compared with the minter from beginning to end.  If it is
to replace the minter, that is a write transaction, so that nobody else writes meanwhile.  In the same folder the copy
is put in place during that transaction.  For another folder, the transaction ends with a note in the minter that it was
moved: from that commit on, nobody opens or changes it; then the copy appears, and the minter is set aside.  A move that
was interrupted before the note has changed nothing; one that was interrupted later is finished by the same command.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial

from ..errors import BusyError, ConflictError, NoidError, StoreError, UsageError
from ..schemes import MintRequest, scheme_for
from ..schemes.base import Settings
from ..store import (
    create_store,
    ensure_readable,
    exists,
    forget_destination,
    is_embedded,
    note_destination,
    open_store,
    readme_of,
    remove_store,
    replace_store,
    restore_store,
    set_aside,
)
from ..store.folders import ensure_own, move_folder, remove_folder, remove_leftovers, unfinished_name
from ..times import SECOND, system_clock, timestamp
from . import config, location_of, schema
from .events import record_event
from .folder import MinterFolder, existing_folder
from .schema import ALL_TABLES, DEPARTED, ONWARD
from .tokens import all_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from ..console import Progress
    from ..schemes.base import Generator
    from ..store import Reader, Store, Work, Writer
    from . import Minter
    from .events import Actor

    Item = tuple[bytes, bytes]
    T = TypeVar("T")

# Items and bytes that are read at once.
_ITEMS, _BYTES = 5_000, 16 << 20
_MARK = ".NOID-copy-"
# How the hidden folders begin that a killed process leaves among backups, whose names are times.
_LEFTOVER = ".20"


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy is.

    items     how many items were copied and compared
    aside     where the minter that was copied is now; None if it is where it was
    finished  whether this was the last step of a move that was interrupted
    """

    items: int
    aside: str | None
    finished: bool = False


def copy_minter(
    source_dir: str, target_dir: str, actor: Actor, *, address: str = "", read: str = "", move: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Copy the minter in a folder to another folder; or, if both are the same, put the copy in its place.

    address, read  of the database server for the copy: see `create_store`
    move           take the minter away from where it was, so that nobody uses it any more

    The copy appears atomically.  A move that was interrupted is finished.  Raises ConflictError if there is a minter in
    the folder already.
    """
    in_place = os.path.realpath(source_dir) == os.path.realpath(target_dir)
    target = location_of(target_dir)
    ensure_own(target)
    ensure_readable(location_of(source_dir))
    with closing(open_store(location_of(source_dir))) as source:
        if move and not in_place and _is_moved_copy(source, target):
            note_destination(source.location, location_of(os.path.abspath(target_dir)))
            return Copied(0, set_aside(source.location), finished=True)
        if not in_place and os.path.lexists(target):
            raise ConflictError(f"{target} exists already: to copy a minter to this folder, move it away first")
        _ensure_minter(source, os.path.abspath(target_dir) if move or in_place else None)
        with existing_folder(target_dir), unfinished_name(target_dir, _MARK) as hidden:
            copy = _Copy(source, target_dir, hidden, actor, progress or (lambda *_: None))
            return copy.move(address, read, in_place=in_place) if move or in_place else copy.make(address, read)


def _ensure_minter(store: Store, destination: str | None) -> None:
    """Raise StoreError if this is no minter, or if it was moved, unless to this folder."""
    def work(reader: Reader) -> None:
        if destination is None or schema.noted_move(reader) != os.fsencode(destination):
            schema.packed_settings(reader, store.location)

    store.read(work)


def _is_moved_copy(source: Store, target: str) -> bool:
    """Whether a minter was moved to a location, and the copy is there, but the minter was not set aside yet."""
    if source.read(schema.noted_move) != os.fsencode(os.path.abspath(os.path.dirname(target))) or not exists(target):
        return False
    with closing(open_store(target)) as copy:
        return copy.read(schema.stored_settings) == source.read(schema.stored_settings)


class _Copy:
    def __init__(self, source: Store, target_dir: str, hidden: str, actor: Actor, progress: Progress) -> None:
        self._source = source
        self._target_dir = target_dir
        self._actor = actor
        self._progress = progress
        self._items = 0
        self._hidden = hidden
        remove_leftovers(target_dir, f".{_MARK}")

    def make(self, address: str, read: str) -> Copied:
        """Make a copy beside the minter, which others may change meanwhile."""
        try:
            self._source.read(lambda reader: self._write_hidden(reader, address, read))
            self._uncover()
        except BaseException:
            remove_store(self._hidden)
            raise
        return Copied(self._items, None)

    def _uncover(self) -> None:
        """Let the copy appear."""
        target = location_of(self._target_dir)
        move_folder(self._hidden, target)
        forget_destination(target)

    def move(self, address: str, read: str, *, in_place: bool) -> Copied:
        """Make a copy and replace the minter by it."""
        source = os.path.realpath(self._source.location)
        noted = os.fsencode(os.path.abspath(self._target_dir))
        try:
            with self._source.transaction() as writer:
                self._write_hidden(writer, address, read)
                if in_place and is_embedded(source):
                    # Writers that are waiting find the copy.
                    return Copied(self._items, replace_store(source, self._hidden))
                schema.note_move(writer, noted)
            if in_place:
                aside = replace_store(source, self._hidden)
            else:
                # From the commit on nobody writes to the minter, and with the note nobody restores another one there.
                note_destination(source, location_of(os.path.abspath(self._target_dir)))
                self._uncover()
                aside = set_aside(source)
        except BaseException:
            remove_store(self._hidden)
            self._forget_move(source, noted)
            raise
        return Copied(self._items, aside)

    def _forget_move(self, source: str, noted: bytes) -> None:
        """After a failure: let the minter be used again where it is, unless the copy has appeared."""
        def work(writer: Writer) -> None:
            if schema.noted_move(writer) == noted:
                schema.note_move(writer, None)
                forget_destination(source)

        if os.path.lexists(source) and (
            os.path.realpath(self._target_dir) == os.path.dirname(source)
            or not os.path.lexists(location_of(self._target_dir))
        ):
            try:
                self._source.write(work)
            except NoidError:
                return  # the same command finishes the move

    def _write_hidden(self, reader: Reader, address: str, read: str) -> None:
        """Write a complete copy of what is read, under a name by which nobody opens it."""
        remove_store(self._hidden)  # the work of a transaction may be run again
        self._items = 0
        source = os.fsencode(os.path.realpath(self._source.location))

        def finish(writer: Writer) -> None:
            schema.note_move(writer, None)
            record_event(writer, self._actor, b"copy", b"from " + source)

        target = create_store(self._hidden, lambda writer: None, chunks=self._pages_to_put(reader),
                              readme=readme_of(self._source.location), address=address, read=read)
        with closing(target):
            self._compare(reader, target)
            target.write(finish)

    def _pages_to_put(self, reader: Reader) -> Iterator[Work]:
        for table in ALL_TABLES:
            for _, items in _pages(reader, table):
                yield partial(_put, table, items)
                self._count(len(items), "items copied")

    def _compare(self, reader: Reader, target: Store) -> None:
        """Raise StoreError unless the copy has what is read, and nothing else."""
        self._items = 0
        for table in ALL_TABLES:
            for after, items in _pages(reader, table):
                if target.read(partial(_page, table, after)) != items:
                    raise StoreError("the copy differs from what was copied: nothing was made",
                                     "look for a fault of the disk or of the memory, and run 'noid check'")
                self._count(len(items), "items compared")

    def _count(self, more: int, remark: str) -> None:
        self._items += more
        self._progress(self._items, 0, remark)


def _pages(reader: Reader, table: bytes) -> Iterator[tuple[bytes | None, list[Item]]]:
    """A table in pages, the last of which is empty: the key after which a page begins, None at first, and its items."""
    after: bytes | None = None
    while True:
        items = _page(table, after, reader)
        yield after, items
        if not items:
            return
        after = items[-1][0]


def _page(table: bytes, after: bytes | None, reader: Reader) -> list[Item]:
    items: list[Item] = []
    size = 0
    for item in reader.scan(table, after=after, limit=_ITEMS):
        items.append(item)
        size += len(item[1])
        if size >= _BYTES:
            break
    return items


def _put(table: bytes, items: list[Item], writer: Writer) -> None:
    writer.put_many(table, items)


# -- backups ---------------------------------------------------------------------------------------------------------

# How many identifiers are drawn in one transaction to be skipped, and how many at the most, which takes some minutes.
_CHUNK = 100_000
_MOST_SKIPPED = 100_000_000


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did.

    aside    where the minter is that was replaced, None if there was none
    drawn    how many identifiers the restored minter has drawn, those that were skipped included
    skipped  how many of them were skipped
    timed    whether labels are made from the time, so that nothing needs to be skipped
    lost     how many identifiers the minter that was replaced had drawn beyond that; None if it cannot be told
    tokens   the names of valid tokens that the minter that was replaced does not have, as if they had been revoked
    """

    aside: str | None
    drawn: int
    skipped: int
    timed: bool
    lost: int | None
    tokens: tuple[str, ...]


def back_up(minter: Minter, destination: str) -> int:
    """Write a backup, which appears complete or not at all; returns the number of items in it.

    The minter stores the time, for those who watch it, unless it cannot be written by this process.
    """
    date = timestamp(system_clock())
    items = minter.store.backup(destination)
    with suppress(StoreError, BusyError):
        minter.write(lambda writer: schema.set_last_backup(writer, date))
    return items


@dataclass(slots=True)
class MinterBackup:
    """What was done for one minter of a folder.

    name     of the minter
    path     where the backup is
    items    how many items are in it
    removed  how many older backups were removed
    error    why there is no backup, or why older ones were not removed; empty if all is well
    """

    name: str
    path: str
    items: int = 0
    removed: int = 0
    error: str = ""


def back_up_all(folder: str, destination: str, now: int, keep: int | None = None) -> Iterator[MinterBackup]:
    """Back up each minter in a folder to destination/NAME/TIME: the minter's name, and `now` in fourteen digits.

    With `keep`, a number of seconds, older backups of a minter are removed once its new one is complete.  If one fails,
    the others are made all the same.
    """
    minters = MinterFolder(folder)
    for name, dbdir in minters.dbdirs():
        place = os.path.join(destination, name)
        done = MinterBackup(name, os.path.join(place, timestamp(now).decode()))
        try:
            ensure_readable(location_of(dbdir))
            with existing_folder(destination), existing_folder(place):
                remove_leftovers(place, _LEFTOVER)
                done.items = back_up(minters.open(dbdir, name), done.path)
            if keep is not None:
                done.removed = _remove_older(place, timestamp(now - keep * SECOND).decode())
        except NoidError as error:
            done.error = error.message
        yield done


def _remove_older(place: str, first: str) -> int:
    """Remove the backups in a folder that were made before a time; returns how many."""
    old = [name for name in os.listdir(place) if len(name) == len(first) and name.isdigit() and name < first]
    for name in old:
        # Out of sight first, so that no part of a backup is taken for one.
        hidden = os.path.join(place, f".{name}-old-{os.getpid()}")
        move_folder(os.path.join(place, name), hidden)
        remove_folder(hidden)
    return len(old)


def restore(dbdir: str, source: str, actor: Actor, skip: int = 0, *, replace: bool = True) -> Restored:
    """Make a backup the minter in a folder, in place of the one there; without `replace` raise ConflictError if there
    is one.

    The generator draws `skip` identifiers and drops them: they are neither held nor ever minted.  That is for those
    that were minted after the backup, of which the restored minter knows nothing.
    """
    if skip > _MOST_SKIPPED:
        raise UsageError(f"{skip} identifiers are too many to skip: at most {_MOST_SKIPPED} can be skipped in one go")
    location = location_of(dbdir)
    drawn = skipped = 0
    timed = False
    tokens: list[bytes] = []

    def ensure_replaceable() -> None:
        if not replace and exists(location):
            raise ConflictError(f"there is a minter in {dbdir} already, which is not replaced: choose another folder")

    def generator_in(writer: Writer) -> Generator:
        nonlocal timed
        schema.note_move(writer, None)  # the source may be a minter that was moved
        scheme = scheme_for(Settings.unpacked(schema.packed_settings(writer, source)))
        timed = scheme.timed
        return schema.generator_of(scheme, writer)

    def draw(before: int, writer: Writer) -> None:
        """Skip some identifiers, `before` of which were skipped already."""
        nonlocal skipped
        ensure_replaceable()
        generator = generator_in(writer)
        skipped, end = before, min(skip, before + _CHUNK)
        while skipped < end and not timed:
            made = generator.draw(end - skipped, MintRequest(actor.clock))
            if not made:
                break
            skipped += len(made)
        if skipped > before:
            schema.save_generator(writer, generator)

    def skipping() -> Iterator[Work]:
        """In many transactions, because a database server ends one in which nothing happens for a minute."""
        before = -1
        while before < skipped < skip:
            before = skipped
            yield partial(draw, before)

    def adjust(writer: Writer) -> None:
        nonlocal drawn, tokens
        # Not before: another process may have made a minter meanwhile, or have handed over the one that is replaced.
        ensure_replaceable()
        drawn = generator_in(writer).drawn
        # What was handed over to a successor must not be minted here again because of an older backup.
        for setting, terms in _departed(location).items():
            config.change(writer, actor, setting, terms)
        tokens = [token.name for token in all_tokens(writer) if not token.is_expired()]
        record_event(writer, actor, b"restore", b"skipped %d" % skipped)

    with existing_folder(dbdir):
        aside = restore_store(location, source, adjust, skipping())
    before = None if aside is None else _replaced(aside)
    lost = None if before is None else max(0, before[0] - drawn)
    known = before[1] if before else set()
    return Restored(aside, drawn, skipped, timed, lost, tuple(name.decode() for name in tokens if name not in known))


def _departed(location: str) -> dict[str, bytes]:
    """The settings by which a minter has departed; none if it has not, or cannot be read."""
    def work(reader: Reader) -> dict[str, bytes]:
        found = {name: config.value(reader, name) for name in (ONWARD, DEPARTED)}
        return {name: value for name, value in found.items() if value is not None}

    return _read_if_possible(location, work) or {}


def _replaced(aside: str) -> tuple[int, set[bytes]] | None:
    """How many identifiers the minter that was replaced had drawn, and its tokens; None if it cannot be read."""
    def work(reader: Reader) -> tuple[int, set[bytes]]:
        scheme = scheme_for(Settings.unpacked(schema.packed_settings(reader, aside)))
        return schema.generator_of(scheme, reader).drawn, {token.name for token in all_tokens(reader)}

    return _read_if_possible(aside, work)


def _read_if_possible(location: str, work: Callable[[Reader], T]) -> T | None:
    """What `work` reads of the minter in a location; None if there is none that can be read."""
    with suppress(NoidError):
        ensure_readable(location)
        with closing(open_store(location)) as store:
            return store.read(work)
    return None
