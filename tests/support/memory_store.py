"""An engine that keeps its stores in the memory of this process, for tests of what the store's interface promises.

At its location lies a file of one line, `engine: memory`.  It is registered with `noidtools.store.ENGINES`.
"""

from __future__ import annotations

import os
import pickle
import threading
from bisect import bisect_left, bisect_right
from itertools import chain, count

from noidtools.errors import BusyError, ConflictError, NoMinterError, StoreError
from noidtools.store.transactions import TransactionalStore

_numbers = count(1)
_stores: dict[str, MemoryStore] = {}


class Database:
    """What was committed, and its version: replaced by each commit, never changed."""

    def __init__(self) -> None:
        self.committed: tuple[dict[tuple[bytes, bytes], bytes], int] = ({}, next(_numbers))
        self.writers = threading.Lock()


class MemoryReader:
    def __init__(self, items: dict[tuple[bytes, bytes], bytes], version: int) -> None:
        self.items = items
        self.number = version
        self.changes = 0

    def version(self):
        return self.number

    def get(self, table, key):
        return self.items.get((table, key))

    def get_many(self, places):
        return [self.items.get(place) for place in places]

    def scan(self, table, prefix=b"", *, after=None, limit=None, reverse=False):
        keys, seen, given = [], -1, 0
        while limit is None or given < limit:
            if seen != self.changes:
                keys = sorted(key for of, key in self.items if of == table and key.startswith(prefix))
                seen = self.changes
            if reverse:
                place = (len(keys) if after is None else bisect_left(keys, after)) - 1
            else:
                place = 0 if after is None else bisect_right(keys, after)
            if not 0 <= place < len(keys):
                return
            after = keys[place]
            given += 1
            yield after, self.items[table, after]


class MemoryWriter(MemoryReader):
    def version(self):
        return None

    def __init__(
        self, items: dict[tuple[bytes, bytes], bytes], version: int, outer: MemoryWriter | None = None
    ) -> None:
        super().__init__(items, version)
        self.outer = outer

    def put(self, table, key, value):
        self.changes += 1
        self.items[table, key] = value

    def put_many(self, table, items):
        for key, value in items:
            self.put(table, key, value)

    def delete(self, table, key):
        self.changes += 1
        return self.items.pop((table, key), None) is not None

    def delete_prefix(self, table, prefix):
        keys = [key for key, _ in self.scan(table, prefix)]
        return sum(self.delete(table, key) for key in keys)


class MemoryStore(TransactionalStore):
    writable = True
    generation = 1

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location
        self._database = Database()

    def read(self, work, *, max_age=0.0):
        if self._state.reader is not None:
            return self._read_inside(self._state.reader, work)
        self._state.reader = reader = MemoryReader(*self._database.committed)
        try:
            return work(reader)
        finally:
            self._state.reader = None

    def _write(self, run, timeout):
        writer = self._begin(timeout)
        committed = False
        try:
            done = run(writer)
            committed = True
        finally:
            self._end(writer, commit=committed)
        return done

    def _begin(self, timeout):
        if not self._database.writers.acquire(timeout=timeout):
            raise BusyError(f"another process has been writing to {self.location} for over {timeout:g} seconds")
        items, version = self._database.committed
        return MemoryWriter(dict(items), version)

    def _end(self, writer, *, commit):
        self._state.in_block = False
        if commit:
            self._database.committed = writer.items, next(_numbers)
        self._database.writers.release()

    def _write_child(self, outer, run):
        child = self._begin_child(outer)
        done = run(child)
        self._end_child(child, commit=True)
        return done

    def _begin_child(self, outer):
        return MemoryWriter(dict(outer.items), outer.number, outer)

    def _end_child(self, writer, *, commit):
        if commit:
            writer.outer.items = writer.items
            writer.outer.changes += 1

    def _abandon(self, writer):
        pass

    def _refusal(self, error):
        return None

    def version(self, max_age=0.0):
        return self._database.committed[1]

    def identity(self):
        return id(self._database) if os.path.exists(self.location) else None

    def size(self):
        return None

    def backup(self, destination):
        if os.path.lexists(destination):
            raise ConflictError(f"{destination} exists already")
        items = self._database.committed[0]
        with open(destination, "xb") as file:
            pickle.dump(items, file)
        return len(items)

    def replace(self, items):
        with self._database.writers:
            self._database = Database()
            self._database.committed = items, next(_numbers)
        self.generation += 1

    def suspend(self):
        return True

    def close(self):
        pass


def open_store(location: str, *, resolving: bool = False) -> MemoryStore:
    if not exists(location):
        raise NoMinterError(f"there is no minter in {location}: create one with 'noid dbcreate', or name its folder")
    return _stores[os.path.realpath(location)]


def create_store(location: str, fill, *, chunks=(), readme=b"") -> MemoryStore:
    if os.path.lexists(location):
        raise ConflictError(f"{location} exists already")
    store = MemoryStore(location)
    for work in chain(chunks, (fill,)):
        store.write(work)
    with open(location, "x", encoding="utf-8") as file:
        file.write("engine: memory\n")
    _stores[os.path.realpath(location)] = store
    return store


def restore_store(location: str, source: str, adjust) -> str | None:
    try:
        with open(source, "rb") as file:
            writer = MemoryWriter(pickle.load(file), 0)
    except (OSError, pickle.UnpicklingError):
        raise StoreError(f"{source} is no backup") from None
    adjust(writer)
    if not exists(location):
        store = create_store(location, lambda _: None)
        store.replace(writer.items)
        return None
    before = create_store(f"{location}-replaced-{next(_numbers)}", lambda _: None)
    before.replace(open_store(location)._database.committed[0])
    open_store(location).replace(writer.items)
    return before.location


def remove_store(location):
    _stores.pop(location, None)
    if os.path.exists(location):
        os.unlink(location)


def exists(location: str) -> bool:
    return os.path.realpath(location) in _stores and os.path.exists(location)
