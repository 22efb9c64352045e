"""Write transactions as the body of a `with` statement."""

from __future__ import annotations

from functools import partial
from weakref import ref

from ...errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Writer
    from .old_transactions import TransactionalStore


class InnerOpenError(StoreError):
    """A transaction is to be committed while one inside it is open."""


class WriteTransaction:
    """A write transaction, or a savepoint of one, as the body of a `with` statement.  It can be used once.

    It belongs to the thread that enters it.
    """

    # What is begun by the next `__enter__`, and what was begun without a `with` statement.
    _next: _Block | None = None
    _begun: _Block | None = None
    _used = False

    def __init__(self, store: TransactionalStore, timeout: float) -> None:
        self._store = store
        self._timeout = timeout

    def __enter__(self) -> Writer:
        if self._used:
            raise StoreError("a transaction can be used once: begin another one")
        self._used = True
        block, self._next = self._next, None
        if block is None:
            block = self._begun = _Block(self._store)
        return block.begin(self._timeout)

    def exit_function(self) -> Callable[..., None]:
        """What a `with` statement gets as `__exit__` before it calls `__enter__`, and calls in the end."""
        block = self._begun
        if block is None:
            if self._used:
                raise StoreError("a transaction can be used once, and the `with` statement that began it ends it")
            block = self._next = _Block(self._store)
        return _Exit(_leave, block)


class _ExitOfInstance:
    """A method `__exit__` that an interruption cannot skip.

    When Ctrl-C comes as a method begins, the method does nothing, and the transaction would stay open as long as
    anybody keeps the traceback, which has the method's arguments.  So the block is not among them: the `with` statement
    has the one reference to it, and undoes it by giving that up.
    """

    def __get__(self, transaction: WriteTransaction | None, _: type | None = None) -> Callable[..., None]:
        if transaction is None:  # as contextlib.ExitStack gets it, which calls it with the transaction
            return lambda transaction, *error: transaction.exit_function()(*error)
        return transaction.exit_function()


WriteTransaction.__exit__ = _ExitOfInstance()  # type: ignore[attr-defined]


class _Exit(partial[None]):
    """A function written in C: it passes a weak reference to a block, and has the only strong one itself."""

    def __new__(cls, leave: Callable[..., None], block: _Block) -> _Exit:
        made = super().__new__(cls, leave, ref(block))
        made.block = block
        return made

    block: _Block


def _leave(
    block_ref: ref[_Block], kind: type[BaseException] | None, error: BaseException | None, traceback: object
) -> None:
    block = block_ref()
    assert block is not None
    try:
        block.end(commit=error is None)
    except InnerOpenError:
        raise
    except BaseException:
        block.end(commit=False)  # what an interruption has left of it
        raise


class _EndedBlock:
    """What a block becomes when it has ended: it has no `__del__`, in which Python would ignore an interruption."""

    def end(self, *, commit: bool) -> None:
        """End it, if it has not ended; only one of this thread and process."""


class _Block(_EndedBlock):
    """A write transaction or savepoint that is open from `begin` to `end`; it is undone when it is forgotten before."""

    _writer: Writer | None = None

    def __init__(self, store: TransactionalStore) -> None:
        self._store = store

    def begin(self, timeout: float) -> Writer:
        state = self._store._state
        if state.writer is not None:
            outer, actions = state.writer, len(state.actions or ())
            self._writer = writer = self._store._begin_child(outer)
            state.blocks += ((writer, outer, actions),)
        elif state.reader is not None:
            raise StoreError("a write cannot begin inside a read: the read would not see it")
        else:
            self._writer = writer = self._store._begin(timeout)
            state.blocks = ((writer, None, 0),)
            state.actions, state.in_block = [], True
        state.reader = state.writer = writer
        return writer

    def end(self, *, commit: bool) -> None:
        # A fork gives the child another state.
        state, writer = self._store._state, self._writer
        assert writer is not None
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
        self.__class__ = _EndedBlock  # type: ignore[assignment]
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
        if self._writer is not None and self._is_open():
            self.end(commit=False)
