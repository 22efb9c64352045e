"""Copies of a whole minter to another folder or to another engine, while others use it.

The copy is made out of sight, of one moment of the minter, and compared with it from beginning to end; nobody waits for
that.  If it shall take the place of the minter, what others changed since that moment is found by comparing both again,
the last time while nobody else may write, unless nobody did.
"""

from __future__ import annotations

import os
from functools import partial

from ..errors import ConflictError, StoreError
from ..store.creation import create_store, move_store, readme_of, remove_store, replace_store
from ..store.folders import remove_leftovers
from ..store.moves import ensure_no_move, finish_move, move_to_copy
from . import Minter, location_of
from .events import record_event
from .schema import ALL_TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..console import Progress
    from ..store import Reader, Store, Work, Writer
    from .events import Actor

    Item = tuple[bytes, bytes]
    Read = Callable[[Callable[[Reader], list[Item]]], list[Item]]

# Items and bytes that are read at once.
_ITEMS, _BYTES = 5_000, 16 << 20

# Comparisons while others write; the next is made while they wait.
_MOST_ROUNDS = 2
_MARK = ".NOID-copy-"
_DIFFERS = ("the copy differs from what was copied: nothing was made; look for a fault of the disk or of the memory, "
            "and say 'noid check'")


class Copied:
    """What a copy is.

    items     how many items were copied and compared
    aside     where the minter that was copied lies now; None if it is where it was
    finished  whether this was the last step of a move that was interrupted
    """

    __slots__ = ("items", "aside", "finished")

    def __init__(self, items: int, aside: str | None, *, finished: bool = False) -> None:
        self.items = items
        self.aside = aside
        self.finished = finished


def copy_minter(
    source_dir: str, target_dir: str, actor: Actor, *, address: str = "", read: str = "", move: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Copy the minter in a folder to another folder; or, if both are the same, put the copy in its place.

    address, read  of the database server for the copy: see `create_store`
    move           take the minter away from where it was, so that nobody uses it any more

    The copy appears complete and compared, or not at all.  A move that was interrupted is finished.  Raises
    ConflictError if there is a minter in the folder already.
    """
    in_place = os.path.realpath(source_dir) == os.path.realpath(target_dir)
    target = location_of(target_dir)
    if move and finish_move(location_of(source_dir), target):
        return Copied(0, None, finished=True)
    ensure_no_move(target)
    if not in_place and os.path.lexists(target):
        raise ConflictError(f"{target} exists already: to copy a minter to this folder, move it away first")
    made = _make_folder(target_dir)
    try:
        source = Minter(source_dir)
        try:
            return _Copy(source, target_dir, actor, progress or (lambda *_: None)).run(
                address, read, in_place=in_place, move=move)
        finally:
            source.close()
    except BaseException:
        if made and not os.listdir(target_dir):
            os.rmdir(target_dir)
        raise


def _make_folder(folder: str) -> bool:
    """Make a folder if there is none; returns whether it was made."""
    if os.path.isdir(folder):
        return False
    try:
        os.mkdir(folder)
    except OSError as error:
        raise StoreError(f"the folder {folder} cannot be made: {error.strerror}") from None
    return True


class _Copy:
    def __init__(self, source: Minter, target_dir: str, actor: Actor, progress: Progress) -> None:
        self._source = source.store
        self._target_dir = target_dir
        self._actor = actor
        self._progress = progress
        self._items = 0
        self._target: Store | None = None

    def run(self, address: str, read: str, *, in_place: bool, move: bool) -> Copied:
        for mark in (_MARK, f".{_MARK}"):
            remove_leftovers(self._target_dir, mark)
        hidden = os.path.join(self._target_dir, f"{_MARK}{os.getpid()}")
        try:
            target, version = self._source.read(lambda reader: self._copied(reader, hidden, address, read))
            if not in_place and not move:
                self._finish(target)
                move_store(hidden, location_of(self._target_dir))
                return Copied(self._items, None)
            version = self._catch_up_while_others_write(target, version)
            with self._source.transaction() as writer:
                if version is None or self._source.version() != version:
                    self._catch_up(target, lambda work: work(writer))
                self._finish(target)
                return Copied(self._items, self._put_in_place(hidden, in_place=in_place))
        except BaseException:
            self._remove_unfinished(hidden)
            raise

    def _remove_unfinished(self, hidden: str) -> None:
        if self._target is not None:
            self._target.close()
        remove_store(hidden)

    # -- copying and comparing -------------------------------------------------------------------------

    def _copied(self, reader: Reader, hidden: str, address: str, read: str) -> tuple[Store, object | None]:
        """Make a copy of what is read, and compare it; returns it and the version that was copied."""
        self._remove_unfinished(hidden)  # the work of a transaction may be run again
        self._items = 0
        self._target = target = create_store(hidden, lambda writer: None, chunks=self._copied_pages(reader),
                                             readme=readme_of(self._source.location), address=address, read=read)
        if self._catch_up(target, lambda work: work(reader)):
            raise StoreError(_DIFFERS)
        return target, reader.version()

    def _copied_pages(self, reader: Reader) -> Iterator[Work]:
        for table in ALL_TABLES:
            for _, _, items in _pages(lambda work: work(reader), table):
                yield partial(_put, table, items)
                self._count(len(items), "items copied")

    def _count(self, more: int, remark: str) -> None:
        self._items += more
        self._progress(self._items, 0, remark)

    def _catch_up_while_others_write(self, target: Store, copied: object | None) -> object | None:
        """Make the copy nearly equal to the source; returns the version of the source that it has, None if unknown."""
        for _ in range(_MOST_ROUNDS):
            version = self._source.version()
            if version is not None and version == copied:
                return version
            differing = self._catch_up(target, self._source.read)
            copied = None if differing else version
        return copied

    def _catch_up(self, target: Store, read: Read) -> int:
        """Make the copy equal to the source, page by page; returns how many items differed."""
        differing = self._items = 0
        for table in ALL_TABLES:
            for after, last, items in _pages(read, table):
                differs = partial(_differs, table, after, last, items)
                if target.read(differs):
                    differing += target.write(partial(_make_equal, table, after, last, items))
                    if target.read(differs):
                        raise StoreError(_DIFFERS)
                self._count(len(items), "items compared")
        return differing

    # -- the last step ---------------------------------------------------------------------------------

    def _finish(self, target: Store) -> None:
        source = os.fsencode(os.path.realpath(self._source.location))
        target.write(lambda writer: record_event(writer, self._actor, b"copy", b"from " + source))
        target.close()

    def _put_in_place(self, hidden: str, *, in_place: bool) -> str:
        """Let the copy take the place of the source; returns where that is from now on."""
        source = os.path.realpath(self._source.location)
        # First those elsewhere, then those here, so that never two minters can mint the same names.
        end_of_use = self._source.retire()
        aside = None
        try:
            aside = replace_store(source, hidden) if in_place else move_to_copy(
                source, hidden, location_of(self._target_dir))
        finally:
            end_of_use(aside)
        return aside


def _pages(read: Read, table: bytes) -> Iterator[tuple[bytes | None, bytes | None, list[Item]]]:
    """A table in pages: the key after which a page begins, None at the beginning; its last key, None if it reaches to
    the end of the table; and its items."""
    after: bytes | None = None
    while True:
        items = read(partial(_page, table, after))
        last = items[-1][0] if items and _is_full(items) else None
        yield after, last, items
        if last is None:
            return
        after = last


def _page(table: bytes, after: bytes | None, reader: Reader) -> list[Item]:
    items: list[Item] = []
    size = 0
    for item in reader.scan(table, after=after, limit=_ITEMS):
        items.append(item)
        size += len(item[1])
        if size >= _BYTES:
            break
    return items


def _is_full(items: list[Item]) -> bool:
    return len(items) == _ITEMS or sum(len(value) for _, value in items) >= _BYTES


def _range(reader: Reader, table: bytes, after: bytes | None, last: bytes | None) -> Iterator[Item]:
    """The items after one key, up to another one."""
    for item in reader.scan(table, after=after):
        if last is not None and item[0] > last:
            return
        yield item


def _differs(table: bytes, after: bytes | None, last: bytes | None, items: list[Item], reader: Reader) -> bool:
    found = list(reader.scan(table, after=after, limit=len(items) + (last is None)))
    return found != items


def _make_equal(table: bytes, after: bytes | None, last: bytes | None, items: list[Item], writer: Writer) -> int:
    """Make the items after one key and up to another equal to these; returns how many differed."""
    wanted = dict(items)
    superfluous = []
    for key, value in _range(writer, table, after, last):
        if key not in wanted:
            superfluous.append(key)
        elif wanted[key] == value:
            del wanted[key]
    for key in superfluous:
        writer.delete(table, key)
    writer.put_many(table, sorted(wanted.items()))
    return len(superfluous) + len(wanted)


def _put(table: bytes, items: list[Item], writer: Writer) -> None:
    writer.put_many(table, items)
