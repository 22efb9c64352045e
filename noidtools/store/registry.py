"""All stores of this process whose engines need that: one object for a location, few open at once, none over a fork."""

from __future__ import annotations

import os
from _thread import allocate_lock
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    class SharedStore(Protocol):
        """A store that can be shut and opens itself again.  `last_used` is a time of the monotonic clock."""

        last_used: float

        def suspend(self) -> bool: ...

        def before_fork(self, deadline: float) -> bool:
            """Shut it and keep it so until the fork is over; False if a transaction goes on in it."""

        def after_fork_in_parent(self) -> None:
            """Allow its use again; called if `before_fork` returned True."""

        def after_fork_in_child(self) -> None:
            """Make it usable in the child, where no other thread of the parent exists."""

    S = TypeVar("S", bound=SharedStore)

# Each open store takes files and address space, and a process may serve thousands of them: beyond this number those
# that were not used for longest are suspended, if no transaction is open in them.
MOST_OPEN = 64

# Seconds that a fork waits for the transactions of other threads to end.
_FORK_WAIT = 1.0

# Held while a store is opened, and during a fork.
opening = allocate_lock()

# Guards the two dictionaries: the stores in use with the number of those who opened them, and those that are open.
_guard = allocate_lock()
_shared: dict[str, tuple[SharedStore, int]] = {}
_open: dict[SharedStore, None] = {}
_shut_for_fork: list[SharedStore] = []


def share(key: str, make: Callable[[], S]) -> S:
    """The store with this key, made if nobody has it; to be given back with `release`."""
    with _guard:
        known, holders = _shared.get(key, (None, 0))
        store: S = make() if known is None else known  # type: ignore[assignment]
        _shared[key] = (store, holders + 1)
        return store


def release(store: SharedStore) -> bool:
    """Returns whether nobody else has it."""
    with _guard:
        for key, (known, holders) in _shared.items():
            if known is store:
                if holders > 1:
                    _shared[key] = (store, holders - 1)
                    return False
                del _shared[key]
                return True
    return False


def add_open(store: SharedStore) -> None:
    with _guard:
        _open[store] = None


def discard_open(store: SharedStore) -> None:
    with _guard:
        _open.pop(store, None)


def suspend_surplus() -> None:
    """Keep the number of open stores within its limit, as far as no transactions are open in them."""
    with _guard:
        surplus = len(_open) - MOST_OPEN
        candidates = sorted(_open, key=lambda store: store.last_used) if surplus > 0 else []
    for store in candidates:
        if surplus <= 0:
            break
        surplus -= store.suspend()


def _before_fork() -> None:
    opening.acquire()
    deadline = monotonic() + _FORK_WAIT
    with _guard:
        stores = list(_open)
    _shut_for_fork[:] = [store for store in stores if store.before_fork(deadline)]


def _after_fork_in_parent() -> None:
    for store in _shut_for_fork:
        store.after_fork_in_parent()
    _shut_for_fork.clear()
    opening.release()


def _after_fork_in_child() -> None:
    global _guard
    # Another thread may have had it.
    _guard = allocate_lock()
    for store in {*_open, *(store for store, _ in _shared.values())}:
        store.after_fork_in_child()
    _open.clear()
    _shut_for_fork.clear()
    opening.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
