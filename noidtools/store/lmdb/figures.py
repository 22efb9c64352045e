"""Figures about an LMDB database: the disk under it, and its readers."""

from __future__ import annotations

import os
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    import lmdb

# When an open read transaction was first seen, by location, process, thread and transaction: LMDB does not tell when it
# began.
_seen: dict[tuple[str, bytes, bytes, int], float] = {}


def figures(location: str, environment: lmdb.Environment | None) -> dict[str, float]:
    """The figures of a database in a folder, whose environment is kept open meanwhile."""
    assert environment is not None
    disk = os.statvfs(location)
    found: dict[str, float] = {"free_bytes": disk.f_bavail * disk.f_frsize}
    rows = [line.split() for line in environment.readers().encode().splitlines()[1:]]
    last = int(environment.info()["last_txnid"])
    found["readers"] = len(rows)
    # Ours began after the last commit, if nobody has written since.
    behind = {(pid, thread, int(number)) for pid, thread, number in rows if number.isdigit() and int(number) < last}
    now = monotonic()
    open_now = {(location, *reader): _seen.get((location, *reader), now) for reader in behind}
    for key in [key for key in _seen if key[0] == location]:
        del _seen[key]
    _seen.update(open_now)
    found["oldest_reader_seconds"] = max((now - since for since in open_now.values()), default=0.0)
    found["oldest_reader_transactions"] = max((last - number for *_, number in behind), default=0)
    return found
