"""What is the same in all engines: transactions inside transactions, and actions after a commit."""

from __future__ import annotations

from _thread import _local
from abc import ABC, abstractmethod

from ..errors import StoreError
from . import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from . import Reader, Writer
    T = TypeVar("T")


class ThreadState(_local):
    """The transaction that each thread is in."""

    # The innermost reader or writer; None outside a transaction.
    reader: Reader | None = None
    # The same if it is a writer.
    writer: Writer | None = None
    # Whether independent commands share the transaction.
    shared = False
    # What is to be done after the commit; None outside a write.
    actions: list[Callable[[], None]] | None = None


class TransactionalStore(ABC):
    """The transactions of a store.  An engine adds how one begins and ends."""

    def __init__(self) -> None:
        self._state = ThreadState()

    @property
    def writing(self) -> bool:
        return self._state.writer is not None

    @property
    def shared(self) -> bool:
        return self._state.shared

    def after_commit(self, action: Callable[[], None]) -> None:
        actions = self._state.actions
        if actions is None:
            raise StoreError("nothing is going to be committed: this thread is in no write transaction")
        actions.append(action)

    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        reader = self._state.reader
        return work(reader) if reader is not None else self._read(work, max_age)

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT, shared: bool = False) -> T:
        state = self._state
        if state.writer is not None:
            return self._write_inside(state.writer, work)
        if state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        actions: list[Callable[[], None]] = []

        def run(writer: Writer) -> T:
            actions.clear()
            state.reader = state.writer = writer
            state.shared, state.actions = shared, actions
            try:
                return work(writer)
            finally:
                state.reader = state.writer = state.actions = None
                state.shared = False

        done = self._write(run, timeout)
        for action in actions:
            action()
        return done

    def _write_inside(self, outer: Writer, work: Callable[[Writer], T]) -> T:
        state = self._state
        actions = state.actions
        assert actions is not None
        before = len(actions)

        def run(writer: Writer) -> T:
            state.reader = state.writer = writer
            try:
                return work(writer)
            finally:
                state.reader = state.writer = outer

        try:
            return self._write_child(outer, run)
        except BaseException:
            del actions[before:]
            raise

    @abstractmethod
    def _read(self, work: Callable[[Reader], T], max_age: float) -> T:
        """Run the work in a read transaction, with `reader` of this thread's state set meanwhile."""

    @abstractmethod
    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        """Run the work in a write transaction and commit it."""

    @abstractmethod
    def _write_child(self, outer: Writer, run: Callable[[Writer], T]) -> T:
        """Run the work in a savepoint of a write transaction."""
