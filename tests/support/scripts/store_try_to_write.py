"""Prints the refusal of a writer that waits no longer than a tenth of a second: script FOLDER."""

import sys

from noidtools.errors import BusyError
from noidtools.store import open_store

try:
    open_store(sys.argv[1]).write(lambda writer: None, timeout=0.1)
except BusyError as error:
    print(error)
