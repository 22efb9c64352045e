"""Holds a read transaction until it is killed: script FOLDER."""

import sys
import time

from noidtools.store import Store


def work(reader: object) -> None:
    print("reading", flush=True)
    time.sleep(60)


Store(sys.argv[1]).read(work)
