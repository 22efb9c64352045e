"""Threads that write: how many there may be, and group commit, by which they share a commit.

The slow part of a change is the commit, which waits for the disk.  Requests that change the same minter at the same
time share one: the threads of a process put their commands into a list.  A thread that finds nobody at work becomes the
leader: it takes all that wait, runs their commands in one transaction, and then makes the first of those that came
meanwhile the next leader and wakes the others.

Each command succeeds or is refused on its own, because it runs in a savepoint; it is answered after the commit.  If the
commit fails, all of them are refused.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakSet

from ..errors import BusyError, NoidError
from ..schemes import NeedsOwnTransaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from ..minter import Minter

    T = TypeVar("T")

# Commands in one transaction at most, so that no client waits long for the others.
_LARGEST_GROUP = 64

# Seconds for which a request waits for one of the threads that may write.
_SLOT_SECONDS = 0.25

_TOO_BUSY = "the minter is busy: try again in a few seconds"


class WriterSlots:
    """Keeps threads of this process free for reading: at most `count` requests change something at once.

    Another one waits for a moment, since changes are usually quick, and is then refused.  From then on those that find
    no slot are refused at once, until one finds a slot.  Minters that kept a request waiting in vain have one slot
    together, until a request has changed them, so that the other slots are left for other minters.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._are_stuck = False
        self._again = threading.Lock()
        # The minters that others keep busy.
        self._busy: WeakSet[Minter] = WeakSet()

    @contextmanager
    def taken(self, minter: Minter) -> Iterator[None]:
        """Hold a slot for the `with` block, which changes the minter; raises BusyError if there is none."""
        is_again = minter in self._busy
        if is_again and not self._begin_again():
            raise BusyError(_TOO_BUSY)
        try:
            with self._slot(), self._noted(minter):
                yield
        finally:
            if is_again:
                self._end_again()

    @contextmanager
    def _noted(self, minter: Minter) -> Iterator[None]:
        """Note whether others keep the minter busy."""
        is_busy = False
        try:
            yield
        except BusyError:
            is_busy = True
            raise
        finally:
            if is_busy:
                self._busy.add(minter)
            else:
                self._busy.discard(minter)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._acquire(0 if self._are_stuck else _SLOT_SECONDS):
            self._are_stuck = True
            raise BusyError(_TOO_BUSY)
        self._are_stuck = False
        try:
            yield
        finally:
            self._release()

    def _acquire(self, seconds: float) -> bool:
        """Take a slot; returns False if none becomes free within these seconds."""
        return self._free.acquire(timeout=seconds)

    def _release(self) -> None:
        self._free.release()

    def _begin_again(self) -> bool:
        """Whether this request may try to change a busy minter; returns False if another one tries."""
        return self._again.acquire(blocking=False)

    def _end_again(self) -> None:
        self._again.release()


def run_in_group(minter: Minter, command: Callable[[], T]) -> T:
    """Run a command that changes the minter; returns what it returns, or raises what it raises.

    If it shares its transaction and raises NeedsOwnTransaction, it is called again on its own.  It may also be called
    again if the transaction has to be repeated.
    """
    with _lock:
        group = _groups.setdefault(minter, _Group())
    member = _Member(command)
    group.run(minter, member)
    if member.is_alone:
        return command()
    if member.error is not None:
        raise member.error
    result: T = member.result
    return result


class _Member:
    """A command of a group, and what became of it.

    is_alone  whether it is to be run by its own thread, in a transaction of its own
    leads     whether its thread is to run the group
    wake      set when the command has run, or when its thread is to lead
    """

    def __init__(self, command: Callable[[], Any]) -> None:
        self.command = command
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_alone = self.leads = False
        self.wake = threading.Event()

    def run(self, *, shared: bool) -> None:
        """Run the command, which raises nothing unless it is shared: then an exception that is no refusal ends the
        transaction, which the store may be able to repeat."""
        self.error, self.is_alone = None, False
        try:
            self.result = self.command()
        except NeedsOwnTransaction:
            self.is_alone = True
        except NoidError as error:
            self.error = error
        except BaseException as error:
            if shared:
                raise
            self.error = error


class _Group:
    """The commands that wait for the commit of one minter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[_Member] = []
        self._has_leader = False

    def run(self, minter: Minter, member: _Member) -> None:
        """Return when the command has run and its transaction has ended; raises BusyError if it waits too long."""
        with self._lock:
            self._waiting.append(member)
            if not self._has_leader:
                self._has_leader = member.leads = True
        if not member.leads and not member.wake.wait(minter.timeout):
            with self._lock:
                if member in self._waiting and not member.leads:
                    self._waiting.remove(member)
                    raise BusyError(_TOO_BUSY)
            member.wake.wait()  # a leader has taken it, and will wake it
        if member.leads:
            self._lead(minter)

    def _lead(self, minter: Minter) -> None:
        with self._lock:
            members, self._waiting = self._waiting[:_LARGEST_GROUP], self._waiting[_LARGEST_GROUP:]
        try:
            if len(members) == 1:
                members[0].run(shared=False)
            else:
                _run_together(minter, members)
        finally:
            with self._lock:
                self._has_leader = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].leads = True
                    self._waiting[0].wake.set()
            for member in members:
                member.wake.set()


def _run_together(minter: Minter, members: list[_Member]) -> None:
    has_run: bool | None = None  # before it begins

    def run_all(_: object) -> None:
        nonlocal has_run
        has_run = False
        for member in members:
            member.run(shared=True)
        has_run = True

    try:
        minter.write(run_all, shared=True)
    except BaseException as error:  # noqa: BLE001 - it is raised in the threads of all commands
        # If it ended half-way, that is the fault of one command: each is then run alone.
        is_fault = has_run is False
        for member in members:
            member.error, member.is_alone = error, is_fault


# The groups of all minters of this process.
_groups: WeakKeyDictionary[Minter, _Group] = WeakKeyDictionary()
_lock = threading.Lock()
