"""What is the same in all engines: transactions inside transactions, and actions after a commit."""

from __future__ import annotations

from _thread import _local
from abc import ABC, abstractmethod

from ..errors import NoidError, StoreError
from . import TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from . import Reader, Writer
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

    def after_commit(self, action: Callable[[], None]) -> None:
        actions = self._state.actions
        if actions is None:
            raise StoreError("nothing is going to be committed: this thread is in no write transaction")
        actions.append(action)

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

    def transaction(self, *, timeout: float = TIMEOUT) -> WriteTransaction:
        return WriteTransaction(self, timeout)

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
        """Commit or undo what `_begin` began, and let others write, whatever happens."""

    @abstractmethod
    def _begin_child(self, outer: Writer) -> Writer:
        """Begin a savepoint in a write transaction."""

    @abstractmethod
    def _end_child(self, writer: Writer, *, commit: bool) -> None:
        """Make what was done since `_begin_child` part of the outer transaction, or undo it."""

    @abstractmethod
    def _abandon(self, writer: Writer) -> None:
        """Do nothing with a transaction of the parent process or of another thread, now and when this process ends."""

    @abstractmethod
    def _refusal(self, error: Exception) -> NoidError | None:
        """What the engine or the system raised, as a refusal that says what to do; None for any other exception."""


class WriteTransaction:
    """A write transaction, or a savepoint of one, as the body of a `with` statement.  It can be used once.

    It belongs to the thread that enters it.
    """

    __slots__ = ("_store", "_timeout", "_writer", "_outer", "_actions")

    def __init__(self, store: TransactionalStore, timeout: float) -> None:
        self._store = store
        self._timeout = timeout
        self._writer: Writer | None = None
        self._outer: Writer | None = None
        # How many actions the outer transaction had before.
        self._actions = 0

    def __enter__(self) -> Writer:
        state = self._store._state
        if self._writer is not None:
            raise StoreError("a transaction can be used once: begin another one")
        if state.writer is not None:
            self._outer, self._actions = state.writer, len(state.actions or ())
            self._writer = writer = self._store._begin_child(state.writer)
        elif state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        else:
            self._writer = writer = self._store._begin(self._timeout)
            state.actions, state.in_block = [], True
        state.reader = state.writer = writer
        return writer

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        # A fork gives the child another state.
        state, writer = self._store._state, self._writer
        assert writer is not None
        if state.writer is not writer:
            # In the child of a fork, or in another thread, to which a generator was handed over with its `with`.
            self._store._abandon(writer)
            if error is None:
                raise StoreError("a transaction ends in the thread and in the process in which it began")
            return
        actions = state.actions or []
        if self._outer is not None:
            state.reader = state.writer = self._outer
            if error is not None:
                del actions[self._actions :]
            self._store._end_child(writer, commit=error is None)
            return
        state.reader = state.writer = state.actions = None
        state.in_block = False
        self._store._end(writer, commit=error is None)
        if error is None:
            for action in actions:
                action()
