"""The search index of a minter: an SQLite database beside its store, with the words and the targets of its names.

Nothing waits for the index when a minter is changed: it is brought up to date from the events before it is searched.
It holds nothing that is not in the store.  One that is missing, damaged, of another release or of another database (a
backup was restored) is made anew.  A name that was only minted, with nothing bound to it, is not in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from ..codec import pack, unpack
from ..description.missing import without_code
from ..errors import BusyError, StoreError
from ..minter import Minter
from ..minter.changes import extended_events, keys_of_bulk
from ..minter.events import event_head, newest_number
from ..minter.lifecycle import state_of
from ..minter.stored import ChangedNames, StoredName, changed_names, names_of_events, read_name, stored_names
from ..names import targets
from ..resolution import target_element
from ..store import Reader
from ..times import system_clock

_FILE = "search.sqlite"
_VERSION = 4
_SCHEMA = """
CREATE TABLE names (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, state TEXT NOT NULL);
CREATE TABLE targets (name INTEGER NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL);
CREATE INDEX targets_by_name ON targets (name);
CREATE INDEX targets_by_url ON targets (url);
CREATE INDEX targets_by_host ON targets (host);
CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = "unicode61 remove_diacritics 2");
CREATE TABLE position (number INTEGER NOT NULL, head BLOB NOT NULL, element BLOB NOT NULL, extended BLOB NOT NULL);
"""

# What is read of a name.
_NEEDED = frozenset(("circulation", "elements", "alias"))
# The words of a value beyond this length are not found.
_LONGEST_TEXT = 1 << 16
# How many names are read in one transaction of the store.
_PAGE = 1000
# How long to wait for another process that brings the index up to date, in seconds: as long as for a writer.
_PATIENCE = 2.0


# What an index has: the number of the last event; the head of that event, by which another one with the same number is
# recognized; the element of targets; and the marks of events that were extended, packed.
Position = tuple[int, bytes, bytes, bytes]


class Index:
    """The index of one minter, open for one search."""

    def __init__(self, minter: Minter) -> None:
        self._minter = minter
        self._path = os.path.join(minter.store.location, _FILE)
        self._database = self._open()

    @classmethod
    @contextmanager
    def of(cls, minter: Minter) -> Iterator[Index]:
        """The index, brought up to date.  Raises StoreError if it cannot be written, BusyError while it is made."""
        try:
            index = cls._opened(minter)
            with closing(index._database):
                index._update()
                yield index
        except sqlite3.DatabaseError as error:
            raise StoreError(f"the search index {os.path.join(minter.store.location, _FILE)} cannot be used ({error}): "
                             "delete it, and it is made anew") from None

    @classmethod
    def _opened(cls, minter: Minter) -> Index:
        try:
            return cls(minter)
        except sqlite3.DatabaseError:
            # It is damaged, and has nothing that cannot be made anew.
            for ending in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(minter.store.location, _FILE + ending))
            return cls(minter)

    def select(self, query: str, values: Iterable[object]) -> Iterator[tuple[int, bytes]]:
        """The names of a selection from the tables: their numbers in the index, and their keys."""
        return self._database.execute(query, tuple(values))

    def keys_at(self, url: str) -> list[bytes]:
        """The keys of the names that lead to an address."""
        rows = self._database.execute(
            "SELECT DISTINCT names.key FROM targets JOIN names ON names.id = targets.name WHERE targets.url = ?",
            (normal_url(url),))
        return [key for (key,) in rows]

    def shared_targets(self) -> dict[str, list[bytes]]:
        """The addresses to which several names lead, with the keys of these names."""
        rows = self._database.execute(
            "SELECT DISTINCT targets.url, names.key FROM targets JOIN names ON names.id = targets.name WHERE "
            "targets.url IN (SELECT url FROM targets GROUP BY url HAVING COUNT(DISTINCT name) > 1)")
        found: dict[str, list[bytes]] = {}
        for url, key in rows:
            found.setdefault(url, []).append(key)
        return found

    # -- the file --------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        try:
            # Anyone who may read the store may read the index; SQLite gives its other files the same mode.
            mode = os.stat(os.path.dirname(self._path)).st_mode & 0o666
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode))
            database = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
            database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536")
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreError(f"the search index {self._path} cannot be written ({error}): search as the account that "
                             "owns the minter") from None
        return database

    # -- bringing it up to date ------------------------------------------------------------------------

    def _update(self) -> None:
        minter = self._minter
        position = self._position()
        if position is not None and minter.read(partial(_is_current, position)):
            return
        if not self._begin():
            if position is None:
                raise BusyError("the search index is being made: try again in a minute")
            return  # another process is about to bring it up to date
        try:
            # Another process may have done the work while this one waited.
            position = self._position()
            changed = None if position is None else minter.read(partial(_changed_since, minter, position))
            reached = self._make() if changed is None else self._apply(*changed)
            self._database.execute("DELETE FROM position")
            self._database.execute("INSERT INTO position VALUES (?, ?, ?, ?)", reached)
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise

    def _begin(self) -> bool:
        """Begin to write; False if another process does."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True

    def _position(self) -> Position | None:
        """What the index has; None for an index to be made."""
        if self._database.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            return None
        row: Position | None = self._database.execute("SELECT * FROM position").fetchone()
        return row

    def _make(self) -> Position:
        """Fill the index with all names; returns what it then has."""
        tables = self._database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND (sql LIKE 'CREATE VIRTUAL%' OR "
            "name IN ('names', 'targets', 'position'))").fetchall()
        for (name,) in tables:
            self._database.execute(f"DROP TABLE {name}")
        for statement in _SCHEMA.strip().split(";\n"):
            self._database.execute(statement)
        self._database.execute(f"PRAGMA user_version = {_VERSION}")
        minter = self._minter
        position = minter.read(lambda reader: _position_at(reader, newest_number(reader)))
        after: bytes | None = b""
        while after is not None:
            after = minter.read(partial(self._put_page, after))
        return position

    def _put_page(self, after: bytes, reader: Reader) -> bytes | None:
        """Put the next names; returns the key of the last, None after the end."""
        put = self._writer(reader)
        for count, name in enumerate(stored_names(reader, after=after, only=_NEEDED), 1):
            put(name)
            if count == _PAGE:
                return name.key
        return None

    def _apply(self, changed: ChangedNames, position: Position) -> Position:
        """Put the names that were changed; returns what the index then has."""
        minter = self._minter
        keys = set(changed.keys)
        if changed.mintings:
            keys |= minter.read(lambda reader: names_of_events(reader, changed.mintings))
        ordered = sorted(keys)
        for start in range(0, len(ordered), _PAGE):
            minter.read(partial(self._put_names, ordered[start : start + _PAGE]))
        return position

    def _put_names(self, keys: list[bytes], reader: Reader) -> None:
        put = self._writer(reader)
        for key in keys:
            put(read_name(reader, key, only=_NEEDED))

    def _writer(self, reader: Reader) -> Callable[[StoredName], None]:
        """The function that puts a name as it is in a transaction of the store, in place of what the index had."""
        execute, element = self._database.execute, target_element(reader)
        display = self._minter.namespace.display

        def put(name: StoredName) -> None:
            known = execute("SELECT id FROM names WHERE key = ?", (name.key,)).fetchone()
            if known is not None:
                execute("DELETE FROM texts WHERE rowid = ?", known)
                execute("DELETE FROM targets WHERE name = ?", known)
            state = state_of(reader, name.key, name.record) or ""
            if not name.elements and name.alias is None:
                if known is not None:
                    execute("DELETE FROM names WHERE id = ?", known)
                return
            if known is None:
                known = (execute("INSERT INTO names (key, state) VALUES (?, ?)", (name.key, state)).lastrowid,)
            else:
                execute("UPDATE names SET state = ? WHERE id = ?", (state, *known))
            values = [value for _, value in name.elements] if state != "withdrawn" else []
            # The code of a missing value, such as (:unkn), is no word of it.
            words = [indexed_text(display(name.key)), indexed_text(name.alias or b""),
                     *(without_code(indexed_text(value[:_LONGEST_TEXT])) for value in values)]
            execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (*known, "\n".join(words)))
            for url in dict.fromkeys(target.url for rest, value in name.elements if rest == element
                                     for target in targets.parse(value)):
                execute("INSERT INTO targets VALUES (?, ?, ?)",
                        (*known, normal_url(indexed_text(url)), indexed_text(targets.host_of(url))))

        return put


def changes_behind(minter: Minter) -> int:
    """How many events the index of a minter does not know yet; 0 if there is no index, or none that can be read."""
    path = os.path.join(minter.store.location, _FILE)
    if not os.path.exists(path):
        return 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as database:
        row = database.execute("SELECT number FROM position").fetchone()
        return max(minter.read(newest_number) - int(row[0]), 0) if row else 0
    return 0


def indexed_text(text: bytes) -> str:
    """A text as SQLite takes it: bytes that are not UTF-8 are replaced."""
    return text.decode("utf-8", "replace")


def normal_url(url: str) -> str:
    """An address as addresses are compared: scheme and host in lower case."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{mark}{host.lower()}{slash}{path}" if mark else url


def _position_at(reader: Reader, number: int) -> Position:
    """What an index has that knows all changes up to an event."""
    marks = extended_events(reader)
    extended = pack([field for event, mark in sorted(marks.items()) for field in (b"%d" % event, mark)])
    return (number, event_head(reader, number), target_element(reader), extended)


def _is_current(position: Position, reader: Reader) -> bool:
    return position == _position_at(reader, newest_number(reader))


def _changed_since(minter: Minter, position: Position, reader: Reader) -> tuple[ChangedNames, Position] | None:
    """What was changed, and what an index has that knows it; None if it must be made anew."""
    number, *_, extended = position
    if position[:-1] != _position_at(reader, number)[:-1]:
        return None
    changed = changed_names(minter, reader, number, system_clock())
    if changed is None:
        return None
    fields = unpack(extended)
    known = dict(zip(map(int, fields[::2]), fields[1::2], strict=True))
    for event, mark in extended_events(reader).items():
        if mark != known.get(event):
            changed.keys |= keys_of_bulk(reader, event)
    return changed, _position_at(reader, changed.number)
