"""PostgreSQL: minters in the tables of a database server, which replicates them.

The location of such a store is a folder with the file `engine` (see engine_file.py).

    connection    sessions with a server; nothing else knows psycopg
    statements    the tables, and all SQL
    source        a minter at an address: sessions, and what was read of its newest version; `listener` hears of others
    transactions  reads; `writer` writes, `locked_minter` is what it sends; `commit` begins writes and settles those
                  whose answer was lost
    reading       when the store is opened, where it is read, and when the work of a read is run again
    store         the same for the work of a write
"""

from __future__ import annotations

import os
from itertools import chain

from ..files import ADDRESS_VARIABLE
from ..shared import share
from .engine_file import path_of, read_engine_file
from .store import PostgresStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..interface import Readme, Work


def open_store(location: str, *, resolving: bool = False) -> PostgresStore:
    """The store that the file in a folder names: one object for all who open it in this process.

    Those who open it for `resolving` share another one, which reads the replica, if there is one.
    """
    if resolving and read_engine_file(location).read:
        return _opened(f"postgres replica {os.path.realpath(location)}",
                       lambda: PostgresStore(location, resolving=True))
    return _opened(f"postgres {os.path.realpath(location)}", lambda: PostgresStore(location))


def _opened(key: str, make: Callable[[], PostgresStore]) -> PostgresStore:
    store = share(key, make)
    try:
        store.read(lambda reader: reader.version())
    except BaseException:
        store.close()
        raise
    return store


def create_store(
    location: str, fill: Work, *, chunks: Iterable[Work] = (), readme: Readme = b"", address: str = "", read: str = ""
) -> PostgresStore:
    from .creation import create

    create(location, address, read, chain(chunks, (fill,)), readme, _write_all)
    return open_store(location)


def _write_all(location: str, works: Iterable[Work]) -> None:
    store = open_store(location)
    try:
        for work in works:
            store.write(work)
    finally:
        store.close()


def restore_store(location: str, source: str, adjust: Work) -> str | None:
    from .backup import restore, works_of

    if not exists(location):
        from ..folders import readme_of
        from .creation import create

        works = works_of(source, adjust)
        readme = readme_of(source if os.path.isdir(source) else os.path.dirname(source))
        create(location, os.environ.get(ADDRESS_VARIABLE, ""), "", works, readme, _write_all)
        return None
    aside = restore(location, source, adjust, _write_all)
    store = open_store(location)
    store.forget()
    store.close()
    return aside


def remove_store(location: str) -> None:
    from ..folders import remove_folder
    from .minter_rows import delete_minter

    delete_minter(read_engine_file(location))
    remove_folder(location)


def exists(location: str) -> bool:
    return os.path.exists(path_of(location))
