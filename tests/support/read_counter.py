"""Counts the read transactions that begin in each store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noidtools.minter import Minter


@contextmanager
def counted_reads(minter: Minter, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[int]]:
    """Transactions of this thread, by the id of the store, in all stores of the minter's engine.

    A read inside a read of the same store joins it and is not counted.
    """
    counts: Counter[int] = Counter()
    open_reads: Counter[int] = Counter()
    engine = type(minter.store)
    read = engine.read

    def counted(store, work, **options):
        counts[id(store)] += not open_reads[id(store)]
        open_reads[id(store)] += 1
        try:
            return read(store, work, **options)
        finally:
            open_reads[id(store)] -= 1

    with monkeypatch.context() as patch:
        patch.setattr(engine, "read", counted)
        yield counts
