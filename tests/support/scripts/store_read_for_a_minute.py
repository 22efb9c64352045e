"""Holds a read transaction until it is killed: script FOLDER."""

import sys
import time

from noidtools.store import open_store


def work(reader: object) -> None:
    print("reading", flush=True)
    time.sleep(60)


open_store(sys.argv[1]).read(work)
