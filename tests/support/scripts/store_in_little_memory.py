"""Prints the size of a value that was written and read back with half a GB of address space: script FOLDER."""

import resource
import sys

from noidtools.store import open_store

resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
store = open_store(sys.argv[1])
store.write(lambda writer: writer.put(b"t", b"k", b"x" * (20 << 20)))
print(len(store.read(lambda reader: reader.get(b"t", b"k")) or b""))
