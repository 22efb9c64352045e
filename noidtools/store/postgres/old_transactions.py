"""The part of a store that all engines share: nested transactions, and actions after a commit."""

from __future__ import annotations

from _thread import _local
from abc import ABC, abstractmethod

from ...errors import NoidError, StoreError
from ..locks import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from .. import Reader, Writer
    T = TypeVar("T")
    R = TypeVar("R", bound=Reader)


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
    # The writer of each WriteTransaction, the outermost first, its outer one, and how many actions that had before.
    blocks: tuple[tuple[Writer, Writer | None, int], ...] = ()
    # Whether the outermost transaction is a WriteTransaction, in whose body errors of the engine must not be seen.
    in_block = False
    # Whether such a transaction found no more room.
    full = False


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

    def status(self) -> list[tuple[str, str]]:
        return []

    @abstractmethod
    def version(self, max_age: float = 0.0) -> object | None:
        """As `Store.version`."""

    def stamp(self) -> object | None:
        return self.version()

    @abstractmethod
    def size(self) -> int | None:
        """As `Store.size`."""

    def figures(self) -> dict[str, float]:
        size = self.size()
        return {} if size is None else {"size_bytes": size}

    def retire(self) -> Callable[[str | None], None]:
        return lambda location: None

    def after_commit(self, action: Callable[[], None]) -> None:
        actions = self._state.actions
        if actions is None:
            raise StoreError("nothing is going to be committed: this thread is in no write transaction")
        actions.append(action)

    def get_many(
        self, places: Sequence[tuple[bytes, bytes]], max_age: float = 0.0
    ) -> tuple[list[bytes | None], object | None]:
        return self.read(lambda reader: (reader.get_many(places), reader.version()), max_age=max_age)  # type: ignore[attr-defined]

    def get_both(
        self, table: bytes, key: bytes, other_table: bytes, other_key: bytes, max_age: float = 0.0
    ) -> tuple[bytes | None, bytes | None, object | None]:
        (value, other), version = self.get_many(((table, key), (other_table, other_key)), max_age)
        return value, other, version

    def _read_inside(self, reader: Reader, work: Callable[[Reader], T]) -> T:
        """Run work in the transaction that this thread is in."""
        return self._run_in_block(work, reader) if self._state.in_block else work(reader)

    def write(self, work: Callable[[Writer], T], *, timeout: float = TIMEOUT, shared: bool = False) -> T:
        state = self._state
        if state.writer is not None:
            if state.in_block:
                return self._run_in_block(lambda outer: self._write_inside(outer, work), state.writer)
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

    def transaction(self, *, timeout: float = TIMEOUT) -> AbstractContextManager[Writer]:
        from .old_blocks import WriteTransaction

        return WriteTransaction(self, timeout)  # type: ignore[return-value]  # its `__exit__` is a descriptor

    def _run_in_block(self, work: Callable[[R], T], reader: R) -> T:
        """Run work that belongs to a WriteTransaction; what the engine raises becomes a refusal here."""
        try:
            return work(reader)
        except NoidError:
            raise
        except Exception as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            raise refusal from error

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
    def read(self, work: Callable[[Reader], T], *, max_age: float = 0.0) -> T:
        """As `Store.read`: by `_read_inside` in a transaction of this thread, else in one of its own, with `reader` of
        the thread's state set meanwhile."""

    @abstractmethod
    def _write(self, run: Callable[[Writer], T], timeout: float) -> T:
        """Run the work in a write transaction and commit it."""

    @abstractmethod
    def _write_child(self, outer: Writer, run: Callable[[Writer], T]) -> T:
        """Run the work in a savepoint of a write transaction."""

    @abstractmethod
    def _begin(self, timeout: float) -> Writer:
        """Begin a write transaction."""

    @abstractmethod
    def _end(self, writer: Writer, *, commit: bool) -> None:
        """Commit or undo what `_begin` began, and let others write, whatever happens.  First of all it sets `in_block`
        of the thread's state to False."""

    @abstractmethod
    def _begin_child(self, outer: Writer) -> Writer:
        """Begin a savepoint in a write transaction."""

    @abstractmethod
    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        """Make what was done since `_begin_child` part of the outer transaction, or undo it."""

    @abstractmethod
    def _abandon(self, writer: Writer) -> None:
        """Leave alone a transaction of the parent process or of another thread, also when this process ends."""

    @abstractmethod
    def _refusal(self, error: Exception) -> NoidError | None:
        """What the engine or the system raised, as a refusal that says what to do; None for any other exception."""
