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
from noidtools.store import StoreStatus
from noidtools.store.base import BaseStore

_numbers = count(1)
_stores: dict[str, MemoryStore] = {}


class Database:
    """What was committed, and its version: replaced by each commit, never changed."""

    def __init__(self) -> None:
        self.committed: tuple[dict[tuple[bytes, bytes], bytes], int] = ({}, next(_numbers))
        self.writers = threading.Lock()


class MemoryReader:
    def __init__(self, database: Database, items: dict[tuple[bytes, bytes], bytes], version: int) -> None:
        self.database = database
        self.items = items
        self.version = version
        self.changes = 0

    def close(self):
        pass

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
    def __init__(self, database, items, version, outer: MemoryWriter | None = None) -> None:
        super().__init__(database, dict(items), version)
        self.outer = outer
        self.ended = False

    def savepoint(self):
        return MemoryWriter(self.database, self.items, self.version, self)

    def commit(self):
        self.ended = True
        if self.outer is not None:
            self.outer.items = self.items
            self.outer.changes += 1
            return
        self.database.committed = self.items, next(_numbers)
        self.database.writers.release()

    def rollback(self):
        if self.outer is None and not self.ended:
            self.database.writers.release()

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


class MemoryStore(BaseStore):
    writable = True

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self._database = Database()

    def _begin_read(self):
        return MemoryReader(self._database, *self._database.committed)

    def _begin_write(self, timeout):
        database = self._database
        if not database.writers.acquire(timeout=timeout):
            raise BusyError(f"another process has been writing to {self.location} for over {timeout:g} seconds")
        return MemoryWriter(database, *database.committed)

    def _retry(self, error, attempt, deadline):
        return False

    def _refusal(self, error):
        return None

    def version(self):
        return self.read(lambda reader: reader.version)  # type: ignore[attr-defined]

    def identity(self):
        if not os.path.exists(self.location):
            raise NoMinterError(f"there is no minter in {self.location}")
        return self.read(lambda reader: id(reader.database))  # type: ignore[attr-defined]

    def status(self):
        return StoreStatus({})

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

    def suspend(self):
        return True

    def close(self):
        pass

    def _close(self):
        pass


def open_store(location: str, *, resolving: bool = False) -> MemoryStore:
    if not exists(location):
        raise NoMinterError(f"there is no minter in {location}: create one, or name another folder")
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


def restore_store(location: str, source: str, adjust, before) -> str | None:
    try:
        with open(source, "rb") as file:
            writer = MemoryWriter(Database(), pickle.load(file), 0)
    except (OSError, pickle.UnpicklingError):
        raise StoreError(f"{source} is no backup") from None
    for work in (*before, adjust):
        work(writer)
    if not exists(location):
        store = create_store(location, lambda _: None)
        store.replace(writer.items)
        return None
    replaced = create_store(f"{location}-replaced-{next(_numbers)}", lambda _: None)
    replaced.replace(open_store(location)._database.committed[0])
    open_store(location).replace(writer.items)
    return replaced.location


def remove_store(location):
    _stores.pop(location, None)
    if os.path.exists(location):
        os.unlink(location)


def exists(location: str) -> bool:
    return os.path.realpath(location) in _stores and os.path.exists(location)


def ensure_readable(location: str) -> None:
    """Memory is never damaged."""
