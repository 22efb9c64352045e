"""Write transactions as the body of a `with` statement."""

from __future__ import annotations

from ..errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .interface import Writer
    from .transactions import TransactionalStore


class WriteTransaction:
    """A write transaction, or a savepoint of one, as the body of a `with` statement.  It can be used once.

    It belongs to the thread that enters it.
    """

    _writer: Writer | None = None
    _outer: Writer | None = None

    def __init__(self, store: TransactionalStore, timeout: float) -> None:
        self._store = store
        self._timeout = timeout
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
            # In the child of a fork; or in another thread, which got a suspended generator with this `with`.
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
        try:
            self._store._end(writer, commit=error is None)
        except BaseException:
            if state.in_block:  # an interruption, before it had begun
                self._store._end(writer, commit=False)
            raise
        if error is None:
            for action in actions:
                action()

    def __del__(self) -> None:
        # An interruption that comes when `__exit__` begins keeps it from doing anything.
        if self._writer is not None and self._store._state.writer is self._writer:
            self.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
