"""Databases of LMDB that another program made, read only."""

from __future__ import annotations

import os

import lmdb

from ...errors import InvalidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def foreign_items(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a database that is one file, in the order of the keys.

    The file must not be in use: it is opened without a lock.  Raises InvalidError for what is no such database.
    """
    try:
        environment = lmdb.open(os.fsencode(path), subdir=False, readonly=True, lock=False, create=False,
                                max_spare_txns=0)
        try:
            _ensure_whole(environment, path)
            with environment.begin() as txn, txn.cursor() as cursor:
                yield from cursor
        finally:
            environment.close()
    except lmdb.Error as error:
        raise InvalidError(f"{path} is no database of LMDB, or is damaged: {error}") from None


def _ensure_whole(environment: lmdb.Environment, path: str) -> None:
    """Raise InvalidError for a file that was cut off: reading behind its end would kill the process.

    A sound file may be shorter than it says, too, if its last pages were freed before they were ever written.
    """
    length = (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])
    if os.stat(path).st_size < length:
        raise InvalidError(f"{path} has {os.stat(path).st_size} bytes, but its database {length}, so it is cut off; if "
                           "it is no longer where it comes from, 'mdb_copy -nc' makes a whole copy of it there")
