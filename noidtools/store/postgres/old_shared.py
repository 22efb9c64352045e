"""Stores that a process opens once for all their users, suspends while they are idle, and closes before a fork."""

from __future__ import annotations

import os
from _thread import allocate_lock
from abc import abstractmethod
from time import monotonic

from ...errors import StoreError
from .old_locks import ReadersWriterLock
from .old_transactions import ThreadState, TransactionalStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from .. import Writer
    S = TypeVar("S", bound="SharedStore")

# Each open store takes files and address space, and a process may serve thousands of them: beyond this number those
# that were not used for longest are suspended, if no transaction is open in them.
MOST_OPEN = 64

# Seconds that a fork waits for the transactions of other threads to end.
_FORK_WAIT = 1.0


class SharedStore(TransactionalStore):
    """A store that is shared by all who open it.  An engine adds how the database is opened and shut.

    last_used  a time of the monotonic clock
    """

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location
        self.last_used = 0.0
        # Shared by transactions; who opens or shuts the database must be alone.
        self._lock = ReadersWriterLock()
        self._closed = False

    @abstractmethod
    def _open(self) -> None:
        """Open the database; only called by a thread that is alone."""

    @abstractmethod
    def _shut(self) -> None:
        """Give back files and memory of the database, if it is open; only called by a thread that is alone."""

    @abstractmethod
    def _close_lock_file(self) -> bool:
        """Close the file by which writers lock each other out; False if a thread of this process is about to write."""

    @abstractmethod
    def _renew_in_child(self) -> None:
        """Replace what belongs to the parent after a fork.  The database is open only if a transaction was, too."""

    def _open_as_one_of_few(self) -> None:
        """Open the database, and shut others if there are too many."""
        if self._closed:
            raise StoreError(f"{self.location} was closed: open it again")
        with _opening:
            # First: a fork must shut what is open.
            _add_open(self)
            try:
                self._open() if _opener is None else _opener(self._open)
            except BaseException:
                _discard_open(self)
                raise
        _suspend_surplus()

    def suspend(self) -> bool:
        return self._lock.try_alone(self._suspend)

    def _suspend(self) -> bool:
        if not self._close_lock_file():
            return False
        self._shut()
        _discard_open(self)
        return True

    def close(self) -> None:
        if self._state.reader is not None:
            raise StoreError(f"{self.location} cannot be closed inside its own transaction")
        try:
            _release(self)
        finally:
            if self._closed:
                try:
                    self._shut_for_good()
                except BaseException:  # an interruption: nobody would shut it later
                    self.suspend()
                    raise

    def _shut_for_good(self) -> None:
        self._lock.alone(self._shut)
        _discard_open(self)
        self._close_lock_file()

    # -- forks -----------------------------------------------------------------------------------------

    def before_fork(self, deadline: float) -> bool:
        """Shut the database and keep it shut until the fork is over; False if a transaction goes on in it."""
        timeout = 0.0 if self._state.reader is not None else max(0.0, deadline - monotonic())
        if not self._lock.acquire_alone(timeout):
            return False
        try:
            self._shut()
            _discard_open(self)
        except BaseException:  # an interruption, which Python does not let through here
            self._lock.release_alone()
            raise
        return True

    def _abandon(self, writer: Writer) -> None:
        keep_for_parent(writer)

    def after_fork_in_child(self) -> None:
        # The other threads of the parent do not exist here, and cannot release their locks.
        self._lock = ReadersWriterLock()
        self._state = ThreadState()
        self._renew_in_child()


def keep_for_parent(thing: object) -> None:
    """After a fork, in the child: let something that belongs to the parent never be finalized here, not even when this
    process ends."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


# -- all shared stores of this process -------------------------------------------------------------------------------

# What opens stores in this process, if something is to be done before and after: see `open_through`.
_opener: Callable[[Callable[[], None]], None] | None = None

# Held while a store is opened, and during a fork.
_opening = allocate_lock()

# Guards the two dictionaries: the stores in use with the number of those who opened them, and those that are open.
_guard = allocate_lock()
_shared: dict[str, tuple[SharedStore, int]] = {}
_open: dict[SharedStore, None] = {}

# During a fork: the stores that are kept shut, and [True] while `_opening` is held for it.
_shut_for_fork: list[SharedStore] = []
_held_for_fork: list[bool] = []


def open_through(opener: Callable[[Callable[[], None]], None]) -> None:
    """Open stores in this process by calling `opener` with a function that opens one."""
    global _opener
    _opener = opener


def share(key: str, make: Callable[[], S]) -> S:
    """The store with this key, made if nobody uses it yet; `close` ends the use."""
    with _guard:
        known, holders = _shared.get(key, (None, 0))
        store: S = make() if known is None else known  # type: ignore[assignment]
        _shared[key] = (store, holders + 1)
        return store


def _release(store: SharedStore) -> None:
    """Count one user less; if that was the last, the store is closed."""
    with _guard:
        for key, (known, holders) in _shared.items():
            if known is store:
                if holders > 1:
                    _shared[key] = (store, holders - 1)
                else:
                    store._closed = True
                    del _shared[key]
                return


def _add_open(store: SharedStore) -> None:
    with _guard:
        _open[store] = None


def _discard_open(store: SharedStore) -> None:
    with _guard:
        _open.pop(store, None)


def _suspend_surplus() -> None:
    """Keep the number of open stores within its limit, as far as no transactions are open in them."""
    with _guard:
        surplus = len(_open) - MOST_OPEN
        candidates = sorted(_open, key=lambda store: store.last_used) if surplus > 0 else []
    for store in candidates:
        if surplus <= 0:
            break
        surplus -= store.suspend()


# What is raised in the functions below, Python prints, and goes on with the fork.  An interruption must not keep them
# from releasing the locks.


def _before_fork() -> None:
    global _held_for_fork
    _held_for_fork += map(_opening.acquire, (True,))  # in one step: see locks.py
    deadline = monotonic() + _FORK_WAIT
    with _guard:
        stores = list(_open)
    for store in stores:
        if store.before_fork(deadline):
            _shut_for_fork.append(store)


def _after_fork_in_parent() -> None:
    try:
        _release_for_fork()
    except BaseException:
        if _held_for_fork:
            _release_for_fork()
        raise


def _release_for_fork() -> None:
    while _shut_for_fork:
        lock = _shut_for_fork[-1]._lock
        del _shut_for_fork[-1]
        lock.closed = False
        lock.entrance.release()
    if _held_for_fork:
        del _held_for_fork[:]
        _opening.release()


def _after_fork_in_child() -> None:
    global _guard
    # Another thread may have held it.
    _guard = allocate_lock()
    for store in {*_open, *(store for store, _ in _shared.values())}:
        store.after_fork_in_child()
    _open.clear()
    _shut_for_fork.clear()
    _release_for_fork()


def _take_interruption() -> None:
    """Called before those above, so that an interruption during the fork ends this function, and none of them."""


os.register_at_fork(after_in_parent=_take_interruption, after_in_child=_take_interruption)
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
