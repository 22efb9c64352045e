"""Writes a large value into the store in a folder: script FOLDER SIZE."""

import sys

from noidtools.store import open_store

store = open_store(sys.argv[1])
store.write(lambda writer: writer.put(b"t", b"big", b"x" * int(sys.argv[2])))
store.close()
