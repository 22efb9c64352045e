"""Backups of minters in PostgreSQL, in the form of those of LMDB: either engine restores the backups of both."""

from __future__ import annotations

import os
import time
from functools import partial
from itertools import islice

from ...errors import OutcomeUnknownError, StoreError
from ..folders import ENGINE_FILE, aside_name, create_folder, readme_of, write_file, write_readme
from ..keys import true_item
from ..locks import TIMEOUT
from ..sql_tables import LONGEST_KEY
from . import statements as sql
from .commit import translated
from .connection import LostError, SqlError, int8
from .creation import new_name
from .engine_file import read_engine_file
from .minter_rows import create_minter, delete_minter, exchange_minters
from .source import Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .. import Work, Writer
    from .engine_file import EngineFile
    Item = tuple[bytes, bytes, bytes]

_PAGE, _CHUNK = 5_000, 20_000

# Seconds for a page of a backup, which may come from a slow disk.
_PAGE_TIMEOUT = 120.0


def back_up(location: str, destination: str) -> int:
    """Write a backup of one moment; returns the number of its items."""
    from ..lmdb.backup import write_backup

    file = read_engine_file(location)
    try:
        return write_backup(destination, _all_items(file), readme_of(location))
    except (LostError, SqlError) as error:
        raise translated(error, file.address, "read", TIMEOUT) from error


def _all_items(file: EngineFile) -> Iterator[Item]:
    """Tables, keys and values of a minter in one transaction of the server."""
    session = Pool(file.address).take(time.monotonic() + TIMEOUT)
    try:
        found = session.run([(sql.BEGIN_SNAPSHOT, ()), (sql.NO_LIMIT, ()), (sql.VERSION, (file.minter.encode(),))],
                            time.monotonic() + _PAGE_TIMEOUT)[-1]
        if not found:
            raise StoreError(f"the database at {file.address} has no minter {file.minter!r}")
        number = int.from_bytes(found[0][0] or b"", "big")
        table = key = b""
        while True:
            parameters = (int8(number), table, key, sql.COMMITS, int8(_PAGE))
            (rows,) = session.run([(sql.DUMP, parameters)], time.monotonic() + _PAGE_TIMEOUT)
            for row in rows:
                table, key, value = (column or b"" for column in row)
                yield (table, *true_item(key, value, LONGEST_KEY))
            if len(rows) < _PAGE:
                return
    finally:
        session.close()


def restore(
    location: str, source: str, adjust: Work, write_all: Callable[[str, Iterable[Work]], None]
) -> str:
    """See `restore_store` of this package; `write_all` has works write to the store in a folder.

    The content gets a name and rows of its own; then names are exchanged in one transaction.  Returns the path of the
    folder of the minter that was replaced.
    """
    location = os.path.realpath(location)
    file = read_engine_file(location)
    new = file.of_minter(new_name(location))
    before = file.of_minter(f"{file.minter}-replaced-{os.urandom(4).hex()}")
    aside = aside_name(location, "replaced")

    def fill(folder: str) -> None:
        write_file(os.path.join(folder, ENGINE_FILE), new.text())
        create_minter(new)
        try:
            write_all(folder, works_of(source, adjust))
            write_readme(folder, readme_of(location))
            write_file(os.path.join(folder, ENGINE_FILE), before.text())
            exchange_minters(file, new, before)
        except OutcomeUnknownError:
            raise  # the new rows may be the minter's by now
        except BaseException:
            delete_minter(new)
            raise

    create_folder(aside, fill)
    return aside


def works_of(source: str, adjust: Work) -> Iterator[Work]:
    """The works that write the content of a backup, and then `adjust`."""
    from ..lmdb.backup import read_backup

    items = read_backup(source)
    while chunk := list(islice(items, _CHUNK)):
        yield partial(_put, chunk)
    yield adjust


def _put(chunk: list[Item], writer: Writer) -> None:
    for table, key, value in chunk:
        writer.put(table, key, value)
