"""Stores in PostgreSQL as wholes: opened, created, restored, set aside and removed.

A new minter has its rows first, and then the folder that names them.  A restore gives the content of a backup rows of
its own, and then exchanges the names of two minters in one transaction.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from functools import partial
from itertools import chain, islice
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import NoidError, OutcomeUnknownError, StoreError, UsageError
from ..base import share
from ..folders import (
    ADDRESS_VARIABLE,
    ENGINE_FILE,
    aside_name,
    create_folder,
    move_folder,
    readme_of,
    remove_folder,
    write_file,
    write_readme,
)
from ..lmdb.backup import read_backup
from ..locks import TIMEOUT
from ..sql_tables import TABLES
from . import sql
from .connection import ServerError, ensure_no_password, opened_session
from .engine_file import EngineFile, new_engine_file, path_of, read_engine_file
from .reader import STATEMENT_TIMEOUT
from .store import PostgresStore
from .writer import PostgresWriter, lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .. import Readme, Work, Writer
    from .connection import Step

# How many rows of a backup are written in one transaction.
_CHUNK = 20_000
_TRIES = 5
_NUMBER_TAKEN = "23505"


def open_store(location: str, *, resolving: bool = False) -> PostgresStore:
    """The store that the file in a folder names: one for all users in this process, and another one for resolvers."""
    path = os.path.realpath(location)
    store = share(f"postgres {'resolving ' if resolving else ''}{path}",
                  lambda: PostgresStore(location, resolving=resolving))
    try:
        store.version()
    except BaseException:
        store.close()
        raise
    return store


def exists(location: str) -> bool:
    return os.path.exists(path_of(location))


def ensure_readable(location: str) -> None:
    """The server answers damage with an error."""


def create_store(
    location: str, fill: Work, *, chunks: Iterable[Work] = (), readme: Readme = b"", address: str = "", read: str = ""
) -> PostgresStore:
    _create(location, address, read, chain(chunks, (fill,)), readme)
    return open_store(location)


def remove_store(location: str) -> None:
    _delete_minter(read_engine_file(location))
    remove_folder(location)


def set_aside(location: str, aside: str) -> None:
    """Move the folder of a store away, and give its rows another name, so that no other computer finds them by a copy
    of the folder."""
    file = read_engine_file(location)
    moved = file.with_minter(f"{file.minter}-moved-{os.urandom(4).hex()}")
    move_folder(location, aside)
    try:
        with opened_session(file.address, monotonic() + TIMEOUT) as session:
            lock(session, STATEMENT_TIMEOUT, (sql.LOCK, (file.minter,)))
            session.commit([(sql.RENAME, (moved.minter, file.minter))], STATEMENT_TIMEOUT)
    except ServerError as error:
        raise error.refusal(file.address, "written", TIMEOUT) from error
    write_file(path_of(aside), moved.text())


def restore_store(location: str, source: str, adjust: Work, before: Iterable[Work]) -> str | None:
    works = chain(_works_of(source), before)
    if exists(location):
        return _restore(os.path.realpath(location), works, adjust)
    readme = readme_of(source if os.path.isdir(source) else os.path.dirname(source))
    _create(location, os.environ.get(ADDRESS_VARIABLE, ""), "", chain(works, (adjust,)), readme)
    return None


# -- creation --------------------------------------------------------------------------------------------------------


def _create(location: str, address: str, read: str, works: Iterable[Work], readme: Readme) -> None:
    """Make a minter, and the folder that names it, which appears last.

    If anything is raised, nothing is left; only a process that is killed leaves rows that no folder names.
    """
    if not address:
        raise UsageError("the address of the database is missing: write it as in postgresql://host/database")
    file = new_engine_file(location, address, read)
    ensure_no_password(address, "address of the store")
    ensure_no_password(read, "address to read from")
    is_begun = False

    def fill_folder(folder: str) -> None:
        nonlocal is_begun
        is_begun = True
        write_file(os.path.join(folder, ENGINE_FILE), file.text())
        _create_minter(file)
        _write_all(folder, works)
        write_readme(folder, readme)

    try:
        create_folder(location, fill_folder)
    except BaseException:
        # Also if another process was quicker to make the folder, or if it is not known whether the minter was made.
        if is_begun:
            _delete_minter(file)
        raise


def _write_all(location: str, works: Iterable[Work]) -> None:
    with closing(open_store(location)) as store:
        for work in works:
            store.write(work)


def _create_minter(file: EngineFile) -> None:
    """Make a minter without content, and the tables if there are none."""
    try:
        for _ in range(_TRIES):
            with opened_session(file.address, monotonic() + TIMEOUT) as session:
                if session.run([(sql.HAS_TABLES, ())], STATEMENT_TIMEOUT)[0][0][0] < 2:
                    tables: list[Step] = [(statement, ()) for statement in TABLES.split(";\n") if statement]
                    session.run(tables, STATEMENT_TIMEOUT)
                number = int.from_bytes(os.urandom(4), "big") >> 1
                try:
                    session.run([(sql.INSERT_MINTER, (file.minter, number))], STATEMENT_TIMEOUT)
                    return
                except ServerError as error:
                    if error.state != _NUMBER_TAKEN:
                        raise
    except ServerError as error:
        raise error.refusal(file.address, "written", TIMEOUT) from error
    raise StoreError(f"the database at {file.address} has no room for another minter")


def _delete_minter(file: EngineFile) -> None:
    """Remove what belongs to a minter; an error does not matter, since its rows are in nobody's way."""
    with suppress(NoidError, ServerError), opened_session(file.address, monotonic() + TIMEOUT) as session:
        rows = lock(session, STATEMENT_TIMEOUT, (sql.LOCK, (file.minter,)))
        if rows:
            number = rows[0][0]
            session.commit([(sql.DELETE_ROWS, (number,)), (sql.DELETE_MINTER, (number,))], TIMEOUT)


# -- restores --------------------------------------------------------------------------------------------------------


def _restore(location: str, works: Iterable[Work], adjust: Work) -> str:
    """Put what works write in the place of a minter; returns the path of the folder of the one that was there.

    That folder is complete before the names are exchanged.
    """
    file = read_engine_file(location)
    new = file.with_minter(new_engine_file(location, file.address).minter)
    before = file.with_minter(f"{file.minter}-replaced-{os.urandom(4).hex()}")
    aside = aside_name(location, "replaced")

    def fill(folder: str) -> None:
        write_file(os.path.join(folder, ENGINE_FILE), new.text())
        _create_minter(new)
        try:
            _write_all(folder, works)
            write_readme(folder, readme_of(location))
            _exchange(location, folder, new, before, adjust)
        except OutcomeUnknownError:
            raise  # the new rows may be the minter's by now
        except BaseException:
            _delete_minter(new)
            raise

    create_folder(aside, fill)
    return aside


def _exchange(location: str, folder: str, new: EngineFile, before: EngineFile, adjust: Work) -> None:
    """Change the new minter by `adjust`, give it the name of the one at the location, and that one another name.

    Meanwhile nobody writes to the minter that is replaced, so that what `adjust` reads there, such as its departure, is
    not changed before it is gone.  The exchange is a write like any other, so that it is settled if the answer to its
    commit is lost.  Raises OutcomeUnknownError if that takes too long.
    """
    try:
        with closing(open_store(location)) as store, store.transaction() as writer:
            assert isinstance(writer, PostgresWriter)
            _write_all(folder, (adjust,))
            write_file(os.path.join(folder, ENGINE_FILE), before.text())
            writer.exchange_names(new.minter, before.minter)
    except OutcomeUnknownError as error:
        raise OutcomeUnknownError(
            f"the connection with the database at {new.address} was lost when the restored minter was put in place, "
            f"and it has not become known whether it is: if noid_minters has {before.minter!r}, which is what was "
            f"there before, it is; if it has {new.minter!r}, restore again") from error


def _works_of(source: str) -> Iterator[Work]:
    """The works that write the content of a backup."""
    items = read_backup(source)
    while chunk := list(islice(items, _CHUNK)):
        yield partial(_put, chunk)


def _put(chunk: list[tuple[bytes, bytes, bytes]], writer: Writer) -> None:
    for table, key, value in chunk:
        writer.put(table, key, value)
