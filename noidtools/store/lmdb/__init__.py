"""LMDB, the embedded engine: a folder with the files `data.mdb`, `lock.mdb` and `writer.lock`.

The modules of this package observe the rules of LMDB: keys of at most 511 bytes, a map of a certain size, one
environment for a file in a process, none across a fork.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import chain

import lmdb

from ..base import share
from ..folders import create_folder, move_folder, remove_folder, write_readme
from .files import DATA, create_files, ensure_files, is_writable, read_all, translated
from .store import LmdbStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .. import Readme, Work


def open_store(location: str, *, resolving: bool = False) -> LmdbStore:
    """The store in a folder: one object for all in this process, since LMDB allows one environment for a file.

    There are no replicas, so that `resolving` changes nothing.
    """
    store = share(os.path.realpath(location), lambda: LmdbStore(location))
    try:
        store.read(lambda _: None)
    except BaseException:
        store.close()
        raise
    return store


def create_store(
    location: str, fill: Work, *, chunks: Iterable[Work] = (), readme: Readme = b""
) -> LmdbStore:
    def fill_folder(folder: str) -> None:
        create_files(folder)
        _write_all(folder, chain(chunks, (fill,)))
        write_readme(folder, readme)

    create_folder(location, fill_folder)
    return open_store(location)


def restore_store(location: str, source: str, adjust: Work, before: Iterable[Work]) -> str | None:
    from .backup import restore

    return restore(location, source, lambda folder: _write_all(folder, chain(before, (adjust,))))


def _write_all(folder: str, works: Iterable[Work]) -> None:
    with closing(open_store(folder)) as store:
        for work in works:
            store.write(work)


def remove_store(location: str) -> None:
    remove_folder(location)


def set_aside(location: str, aside: str) -> None:
    move_folder(location, aside)


def exists(location: str) -> bool:
    return os.path.exists(os.path.join(location, DATA))


def ensure_readable(location: str) -> None:
    ensure_files(location, writable=is_writable(location))
    try:
        read_all(location)
    except lmdb.Error as error:
        raise translated(error, location) from None
