"""A program that reads a whole database, for `files.read_all`: LMDB may end the process that reads a damaged page.

It is run by its path, and knows nothing of the rest of the package.  It writes the number of items; or, with status 1,
the name of an exception of LMDB and what is wrong.
"""

from __future__ import annotations

import os
import resource
import sys

import lmdb


def count_items(path: str) -> int:
    """The number of items of a database in a folder, or in a file that nobody writes to.

    Each item is read in the order of the keys and by its key, and each page that is in use or lists free ones is read.
    Raises lmdb.Error if something is wrong.
    """
    in_folder = os.path.isdir(path)
    found = 0
    with lmdb.open(os.fsencode(path), subdir=in_folder, readonly=True, lock=in_folder, create=False) as environment:
        main = environment.open_db(None)
        with environment.begin() as txn:
            expected = int(txn.stat(main)["entries"])
            last = b""
            for key, value in txn.cursor():
                if key <= last or txn.get(key) != value:
                    raise lmdb.CorruptedError("its keys are out of order")
                last = key
                found += 1
        if found != expected:
            raise lmdb.CorruptedError(f"it has {found} items and should have {expected}")
        environment.copyfd(os.open(os.devnull, os.O_WRONLY), compact=True)
    return found


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        sys.stdout.write(str(count_items(sys.argv[1])))
    except lmdb.Error as error:
        sys.stdout.write(f"{type(error).__name__} {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
