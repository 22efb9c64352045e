"""A program that reads all of a database, and is killed by the system if the file is shorter than what it reads.

    python reading.py DATA

It stands alone: `database.py` runs this file in a process of its own.
"""

from __future__ import annotations

import os
import resource
import sys

import lmdb


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    environment = lmdb.open(os.fsencode(sys.argv[1]), subdir=False, readonly=True, lock=False, create=False)
    # A compact copy reads each page that is in use, and those that list the free ones.
    with open(os.devnull, "wb") as nowhere:
        environment.copyfd(nowhere.fileno(), compact=True)


if __name__ == "__main__":
    main()
