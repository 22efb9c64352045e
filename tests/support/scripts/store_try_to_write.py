"""Prints the refusal of a writer that waits no longer than a tenth of a second: script FOLDER."""

import sys

from noidtools.errors import BusyError
from noidtools.store import Store

try:
    Store(sys.argv[1]).write(lambda writer: None, patience=0.1)
except BusyError as error:
    print(error)
