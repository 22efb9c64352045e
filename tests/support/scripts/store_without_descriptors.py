"""Uses the store in a folder when no file can be opened any more, and prints what it says."""

import os
import resource
import sys

from noidtools.errors import StoreError
from noidtools.store import open_store

store = open_store(sys.argv[1])
store.read(lambda reader: reader.get(b"t", b"a"))
store.suspend()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
try:
    store.read(lambda reader: reader.get(b"t", b"a"))
except StoreError as error:
    print(error.message)
try:
    store.write(lambda writer: writer.put(b"t", b"a", b"2"))
except StoreError as error:
    print(error.message)
