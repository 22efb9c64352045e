"""Figures about a minter, for those who watch it: numbers by name, read in one transaction.

    drawn          identifiers minted so far, those that were skipped included
    left, total    what is left of the namespace, and its size; absent where it is unlimited
    held, queued   identifiers on hold, and in the queue
    events         changes recorded so far
    last_backup    when the last backup was written, in seconds since 1970; absent if none is known

and those of its database (see `Store.figures` in store/interface.py).
"""

from __future__ import annotations

from ..times import posix
from . import meta
from .events import newest_number
from .queue import queue_length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader
    from . import Minter


def minter_figures(minter: Minter) -> dict[str, float]:
    """All figures of a minter."""
    return minter.read(lambda reader: _figures(minter, reader)) | minter.store.figures()


def _figures(minter: Minter, reader: Reader) -> dict[str, float]:
    generator = meta.generator_of(minter.scheme, reader)
    found: dict[str, float] = {"drawn": generator.drawn}
    left = dict(generator.status()).get("Left", b"")
    if generator.total is not None and left.isdigit():
        found |= {"left": int(left), "total": generator.total}
    found |= {"held": meta.held_count(reader), "queued": queue_length(reader), "events": newest_number(reader)}
    backup = meta.last_backup(reader)
    if len(backup) == 14 and backup.isdigit():
        found["last_backup"] = _seconds(backup)
    return found


def _seconds(stamp: bytes) -> int:
    """Seconds since 1970 of a time in fourteen digits."""
    year, *rest = (int(stamp[start:end]) for start, end in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)))
    month, day, hour, minute, second = rest
    return posix(year, month, day, hour, minute, second)
