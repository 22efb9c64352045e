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

from ..base import StoreStatus
from ..folders import ADDRESS_VARIABLE, aside_name, move_folder, write_file
from ..locks import TIMEOUT
from .engine_file import path_of, read_engine_file
from .old_shared import share
from .store import PostgresStore
from .writer import PostgresWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from .. import Reader, Readme, Work, Writer
    T = TypeVar("T")


class _Adapted(PostgresStore):
    """The store with the protocol of noidtools.store."""

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        return super().read(work, max_age=max_age or float(self._resolving))

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT, shared: bool = False) -> T:
        return super().write(work, timeout=timeout)

    def version(self, max_age: float = 0.0) -> object:
        reader: Any = self._state.reader
        if reader is not None and not self.writing:
            return reader.version()
        version = super().version(float(self._resolving))
        if version is None and not self.writing:
            version = self.read(lambda reader: reader.version())  # type: ignore[attr-defined]
        return version

    def identity(self) -> object:
        reader: Any = self._state.reader
        if isinstance(reader, PostgresWriter):
            return super().identity(), reader.minter.id
        if reader is not None:
            return super().identity(), reader.version()[0]
        number = self.version()[0]  # type: ignore[index]
        return super().identity(), number

    def status(self) -> StoreStatus:  # type: ignore[override]
        return StoreStatus(super().figures(), super().status())


def open_store(location: str, *, resolving: bool = False) -> PostgresStore:
    """The store that the file in a folder names: one object for all who open it in this process.

    Those who open it for `resolving` share another one, which reads the replica, if there is one.
    """
    if resolving and read_engine_file(location).read:
        return _opened(f"postgres replica {os.path.realpath(location)}",
                       lambda: _Adapted(location, resolving=True))
    return _opened(f"postgres {os.path.realpath(location)}", lambda: _Adapted(location))


def _opened(key: str, make: Callable[[], PostgresStore]) -> PostgresStore:
    store = share(key, make)
    try:
        store.read(lambda reader: reader.version())  # type: ignore[attr-defined]
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


def set_aside(location: str) -> str:
    from .minter_rows import rename_minter

    location = os.path.realpath(location)
    file = read_engine_file(location)
    moved = file.of_minter(f"{file.minter}-moved-{os.urandom(4).hex()}")
    aside = aside_name(location, "moved")
    move_folder(location, aside)
    rename_minter(file, moved)
    write_file(path_of(aside), moved.text())
    return aside


def exists(location: str) -> bool:
    return os.path.exists(path_of(location))
