"""The store: transactions over ordered tables of bytes.  The only package that knows LMDB.

What it offers, and all that the rest may rely on:

- `Store.read(work)` and `Store.write(work)` run `work` with a `Reader` or a
  `Writer`.  A read sees one moment.  A write happens whole or not at all, and
  is on disk when `write` returns.  `work` may be run again from the start if
  the engine asks for it, so it must have no effects but on the store.
- A `write` inside a `write` is a child: if it raises, it alone is undone.
- A table is named by one byte.  Keys and values may have any length; scans go
  in the order of the keys' bytes.
- One writer at a time over all processes, waited for with a limit.

LMDB's own rules are kept in here: keys of at most 511 bytes, a map that has a
size, one environment for a file in a process, none across a fork.
"""

from __future__ import annotations

from .lmdb import RESERVED, Store
from .transactions import Reader, Writer

__all__ = ["RESERVED", "Reader", "Store", "Writer"]
