"""The file in which a minter's figures are: `statistics.sqlite` in its folder, beside NOID/.

It holds how often each name was resolved on each day, and as a cache how many names were minted on each day.  Several
processes write it at once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from ..errors import StoreError

FILE = "statistics.sqlite"
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS resolutions (day INTEGER NOT NULL, name BLOB NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (day, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS resolutions_by_name ON resolutions (name);
CREATE TABLE IF NOT EXISTS resolved (day INTEGER PRIMARY KEY, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS minted (day INTEGER PRIMARY KEY, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS position (first INTEGER NOT NULL, number INTEGER NOT NULL, date BLOB NOT NULL,
    who BLOB NOT NULL);
"""
_PATIENCE = 2.0


def path_of(dbdir: str) -> str:
    return os.path.join(dbdir, FILE)


@contextmanager
def opened(path: str, schema: str, version: int, *, create: bool, patience: float = _PATIENCE) -> Iterator[
        sqlite3.Connection]:
    """A database of figures with these tables; the caller's transaction is committed at the end.

    Raises StoreError if it cannot be used; without `create` also if there is none.
    """
    try:
        if create:
            # Who may use the folder may use the file; SQLite gives its other files the same mode.
            mode = os.stat(os.path.dirname(path) or ".").st_mode & 0o666
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode))
        elif not os.path.exists(path):
            raise StoreError(f"there is no {path} yet")
        with closing(sqlite3.connect(path, timeout=patience, isolation_level=None)) as database:
            _prepare(database, path, schema, version)
            yield database
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be used ({error}): make room, give this account the right to write there, or "
                         "move the file away if it is damaged") from None


def _prepare(database: sqlite3.Connection, path: str, schema: str, version: int) -> None:
    found = database.execute("PRAGMA user_version").fetchone()[0]
    if found > version:
        raise StoreError(f"{path} was written by a newer release of noidtools: install that release")
    if found < version:
        database.execute("PRAGMA journal_mode = WAL")
        with transaction(database):
            for statement in schema.strip().split(";\n"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {version}")
    database.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction that writes; it is rolled back if the `with` block raises."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextmanager
def statistics(dbdir: str, *, create: bool = False, patience: float = _PATIENCE) -> Iterator[sqlite3.Connection]:
    """The figures of the minter in a folder."""
    with opened(path_of(dbdir), _SCHEMA, _VERSION, create=create, patience=patience) as database:
        yield database


def add_resolutions(dbdir: str, counts: Mapping[tuple[int, bytes], int], patience: float = _PATIENCE) -> None:
    """Add to the numbers of resolutions, by day and name."""
    totals: dict[int, int] = {}
    for (day, _), number in counts.items():
        totals[day] = totals.get(day, 0) + number
    with statistics(dbdir, create=True, patience=patience) as database, transaction(database):
        database.executemany(
            "INSERT INTO resolutions VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [(day, name, number) for (day, name), number in sorted(counts.items())])
        database.executemany(
            "INSERT INTO resolved VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
            sorted(totals.items()))
