"""Counts the read transactions that begin in each store of LMDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from noidtools.store import base
from noidtools.store.lmdb.store import LmdbStore


class CountedEnvironment:
    """An environment of LMDB that counts the transactions that begin in it, by whatever method of the store."""

    def __init__(self, environment, count) -> None:
        self._environment = environment
        self._count = count

    def begin(self, *args, **options):
        self._count()
        return self._environment.begin(*args, **options)

    def __getattr__(self, name: str):
        return getattr(self._environment, name)


@contextmanager
def counted_reads() -> Iterator[Counter[str]]:
    """The number of transactions by the location of the store, in all stores that are open.

    A read inside a read of the same store joins it and begins none.  No store may be opened, replaced or closed
    meanwhile.
    """
    counts: Counter[str] = Counter()
    stores = [store for store in base._stores().open if isinstance(store, LmdbStore)]
    environments = {store: store._environment for store in stores}
    for store, environment in environments.items():
        store._environment = CountedEnvironment(  # type: ignore[assignment]
            environment, lambda location=store.location: counts.update([location]))
    try:
        yield counts
    finally:
        for store, environment in environments.items():
            store._environment = environment
