"""Write transactions as the body of a `with` statement."""

from __future__ import annotations

from ..errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .interface import Writer
    from .transactions import TransactionalStore


class InnerOpenError(StoreError):
    """A transaction is to be committed while one inside it is open."""


class WriteTransaction:
    """A write transaction, or a savepoint of one, as the body of a `with` statement.  It can be used once.

    It belongs to the thread that enters it.
    """

    _writer: Writer | None = None
    _ended = False

    def __init__(self, store: TransactionalStore, timeout: float) -> None:
        self._store = store
        self._timeout = timeout

    def __enter__(self) -> Writer:
        state = self._store._state
        if self._writer is not None:
            raise StoreError("a transaction can be used once: begin another one")
        if state.writer is not None:
            outer, actions = state.writer, len(state.actions or ())
            self._writer = writer = self._store._begin_child(outer)
            state.blocks += ((writer, outer, actions),)
        elif state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        else:
            self._writer = writer = self._store._begin(self._timeout)
            state.blocks = ((writer, None, 0),)
            state.actions, state.in_block = [], True
        state.reader = state.writer = writer
        return writer

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        try:
            self._leave(commit=error is None)
        except InnerOpenError:
            raise
        except BaseException:
            self._leave(commit=False)  # what an interruption has left of it
            raise

    def _leave(self, *, commit: bool) -> None:
        # A fork gives the child another state.
        state, writer = self._store._state, self._writer
        assert writer is not None
        if self._ended:
            return
        if not self._is_open():
            # In the child of a fork; or in another thread, which got a suspended generator with this `with`.
            self._store._abandon(writer)
            if commit:
                raise StoreError("a transaction ends in the thread and in the process in which it began")
            return
        while state.blocks[-1][0] is not writer:
            if commit:
                raise InnerOpenError("a transaction inside this one has not ended: nothing was committed")
            # An interruption kept it from ending.
            self._end_innermost(commit=False)
        actions = self._end_innermost(commit=commit)
        self._ended = True
        for action in actions:
            action()

    def _is_open(self) -> bool:
        """Whether it is one of this thread, and has not ended."""
        return any(writer is self._writer for writer, _, _ in self._store._state.blocks)

    def _end_innermost(self, *, commit: bool) -> list[Callable[[], None]]:
        """End a transaction or savepoint, or what is left to be done of that; returns what is to be done afterwards."""
        state = self._store._state
        (writer, outer, before), actions = state.blocks[-1], state.actions or []
        if outer is not None:
            if not commit:
                del actions[before:]
            self._store._end_child(writer, commit=commit)
        else:
            state.reader = state.writer = state.actions = None
            if state.in_block:
                self._store._end(writer, commit=commit)
        state.blocks, state.reader, state.writer = state.blocks[:-1], outer, outer
        return actions if commit and outer is None else []

    def __del__(self) -> None:
        # An interruption that comes when `__exit__` begins keeps it from doing anything.
        if self._writer is not None and not self._ended and self._is_open():
            self._leave(commit=False)
