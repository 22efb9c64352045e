"""Creation of the files of an LMDB database."""

from __future__ import annotations

import os

import lmdb

from .. import files
from . import database
from .database import LEAST_RESERVED, LOCK, WRITER
from .errors import translated


def create_files(folder: str) -> None:
    """Make an empty database in an empty folder."""
    try:
        files.ensure_allocated(os.path.join(folder, LOCK), database.LOCK_SIZE)
        # py-lmdb takes a path that is no UTF-8 as bytes only.
        lmdb.open(os.fsencode(folder), map_size=LEAST_RESERVED, max_readers=database.MOST_READERS, mode=0o664).close()
        os.close(os.open(os.path.join(folder, WRITER), os.O_CREAT | os.O_RDWR, 0o664))
    except (lmdb.Error, OSError) as error:
        raise translated(error, folder) from error
