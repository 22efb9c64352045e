"""Minting: the queue's ripe identifiers first, then new ones from the generator."""

from __future__ import annotations

from ..errors import ExhaustedError, UsageError
from ..schemes import MintRequest
from . import config, events, meta, queue, records
from .policies import INITIAL_STATE, RESERVE
from .records import HELD, PEPPERED, RESERVED, Circulation, advanced, save
from .tables import CUSTODY, RELATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Writer
    from . import Minter
    from .bindings import Bound
    from .events import Actor


# One durable commit for so many: enough that its cost vanishes, few enough that other writers get their turn.
CHUNK = 10_000


class MintOptions:
    """What to do with each identifier as it is minted.

    One that was bound before it was ever issued, and to an element in `unbound`, is passed over: somebody counts
    on what is bound there.
    """

    __slots__ = ("peppered", "element", "value", "unbound")

    def __init__(self, *, peppered: bool = False, element: bytes | None = None, value: bytes = b"",
                 unbound: tuple[bytes, ...] = ()) -> None:
        self.peppered = peppered
        self.element = element
        self.value = value
        self.unbound = unbound if element is None else (element,)

    @property
    def plain(self) -> bool:
        return not self.peppered and not self.unbound


class Batch:
    """What one transaction minted: identifiers as to be shown, and whether there are no more.  `event` tells of it."""

    __slots__ = ("ids", "ended", "event")

    def __init__(self, ids: list[bytes], ended: bool, event: int) -> None:
        self.ids = ids
        self.ended = ended
        self.event = event


def mint(
    minter: Minter, actor: Actor, count: int, order: MintOptions, *, patience: int | None = None
) -> Iterator[list[bytes]]:
    """Mint `count` identifiers, yielding them as they are committed.  Raises ExhaustedError where they end."""
    made = event = 0
    while made < count:
        request = request_for(minter, actor, patience, made=made, wanted=count)
        batch = _mint_chunk(minter, actor, min(count - made, CHUNK), order, request, event)
        made += len(batch.ids)
        event = batch.event
        if batch.ids:
            yield batch.ids
        if batch.ended:
            raise exhausted(minter)


def request_for(
    minter: Minter, actor: Actor, patience: int | None = None, *, made: int = 0, wanted: int = 1
) -> MintRequest:
    """A request for identifiers, made in the transaction that this thread is in or in one of its own."""
    store = minter.store
    return MintRequest(actor.clock, patience, sharing=store.shared, whole=store.writing, made=made, wanted=wanted)


def _mint_chunk(
    minter: Minter, actor: Actor, count: int, order: MintOptions, request: MintRequest, event: int
) -> Batch:
    return minter.write(lambda writer: mint_some(minter, writer, actor, count, order, request, event))


def exhausted(minter: Minter) -> ExhaustedError:
    return ExhaustedError(minter.scheme.exhausted_message())


def mint_some(
    minter: Minter, writer: Writer, actor: Actor, count: int, order: MintOptions, request: MintRequest, event: int = 0
) -> Batch:
    """Mint up to `count` identifiers in this transaction; fewer where the namespace ends or the rest lies ahead.

    What is not due yet is waited for after the commit of the outermost transaction.  With the number of an
    `event` this is counted to it, as a further part of the same minting.
    """
    run = _MintRun(minter, writer, actor, order, event, request.wanted - request.made)
    for identifier, record in queue.take_due(writer, actor.now(), count, run.passes_over):
        run.reissue(identifier, record, run.generator.drawn)
    skipped = 0
    ended = False
    while len(run.minted) < count and not ended:
        before = len(run.minted)
        drawn = run.generator.draw(count - before, request)
        run.issue(drawn)
        skipped = 0 if len(run.minted) > before else skipped + len(drawn)
        # A whole pass that gave nothing: everything is held or queued, and starting over would never end.
        ended = not drawn or skipped > (run.generator.total or skipped)
        if run.generator.more_ahead and run.minted:
            break
    run.finish()
    due = run.generator.due
    if due:
        notice = run.generator.notice
        minter.store.after_commit(lambda: request.wait(due, notice))
    return Batch(run.minted, ended, run.event)


def bind_elements(
    minter: Minter, actor: Actor, how: bytes, text: bytes, pairs: list[tuple[bytes, bytes | None]]
) -> list[Bound]:
    """Bind each element to its value in one of the ways of `bindings.HOWS`, in one transaction.

    To mint the identifier, `how` is mint or peppermint, and `text` is the word new.
    """
    from . import bindings

    bindings.ensure_how(how)
    if how not in bindings.MINTING:
        return minter.write(lambda writer: bindings.bind(minter, writer, actor, how, text, pairs))
    if text != b"new":
        raise UsageError(f"bind {how.decode()} makes its own identifier: write the word new in place of Id")
    return mint_and_bind(minter, actor, pairs, peppered=how == b"peppermint")


def mint_and_bind(
    minter: Minter, actor: Actor, pairs: list[tuple[bytes, bytes | None]], *, peppered: bool = False
) -> list[Bound]:
    """Mint one identifier and bind each element to its value, in one transaction.

    An identifier to which one of the elements is bound already is passed over.  The results bear the identifier as
    it is to be handed out, with its pepper if it has one.
    """
    order = MintOptions(peppered=peppered, unbound=tuple(element for element, _ in pairs))
    request = request_for(minter, actor)

    from . import bindings

    def work(writer: Writer) -> list[Bound]:
        batch = mint_some(minter, writer, actor, 1, order, request)
        if not batch.ids:
            raise exhausted(minter)
        done = bindings.bind(minter, writer, actor, b"new", batch.ids[0], pairs)
        for bound in done:
            bound.identifier, bound.how = batch.ids[0], b"peppermint" if peppered else b"mint"
        return done

    return minter.write(work)


class _MintRun:
    """One transaction's worth of minting."""

    __slots__ = ("minter", "writer", "actor", "order", "generator", "minted", "event", "_anything_said", "_asked",
                 "_continued", "_counted", "_flags", "_new_holds", "_reserving")

    def __init__(
        self, minter: Minter, writer: Writer, actor: Actor, order: MintOptions, event: int, asked: int
    ) -> None:
        """`asked` is how many this run and those after it are to mint."""
        self.minter = minter
        self.writer = writer
        self.actor = actor
        self.order = order
        self.generator = meta.generator_of(minter.scheme, writer)
        self.minted: list[bytes] = []
        self._asked = asked
        self._counted = self._new_holds = 0
        self._reserving = config.value(writer, INITIAL_STATE) == RESERVE
        self._flags = (HELD if minter.settings.long_term else 0) | (RESERVED if self._reserving else 0)
        # Where nobody ever said anything about names, it need not be looked for name by name.
        self._anything_said = any(next(writer.scan(table, limit=1), None) for table in (RELATIONS, CUSTODY))
        self._continued = bool(event) and events.may_continue(writer, event, actor)
        self.event = event if self._continued else self._begin_event()

    def _begin_event(self) -> int:
        changes = [events.Change(b"state", None, b"reserved")] if self._reserving else []
        if self.order.element is not None:
            changes.append(events.Change(self.order.element, None, self.order.value, element=True))
        verb = b"peppermint" if self.order.peppered else b"mint"
        return events.record_event(self.writer, self.actor, verb, changes=changes)

    def issue(self, drawn: list[tuple[bytes, int]]) -> None:
        """Record those of the drawn identifiers that may be issued; the others stay as they are."""
        identifiers = [identifier for identifier, _ in drawn]
        known = records.find_many(self.writer, identifiers)
        bound = records.bound_among(self.writer, identifiers, self.order.unbound)
        event, shown, plain = self.event, self.minter.shown, self.order.plain
        fresh: list[tuple[bytes, int]] = []
        for (identifier, number), record in zip(drawn, known, strict=True):
            if record is None and plain:
                fresh.append((identifier, number))
                self.minted.append(shown(identifier))
            elif record is None:
                if identifier not in bound:
                    self.reissue(identifier, Circulation(), number)
            elif self._may_reissue(record) and (record.was_issued or identifier not in bound):
                self.reissue(identifier, record, number)
                if self.event != event:
                    # What comes from here on belongs to another event.
                    self._save_fresh(fresh, event)
                    fresh, event = [], self.event
        self._save_fresh(fresh, event)

    def _save_fresh(self, fresh: list[tuple[bytes, int]], event: int) -> None:
        records.save_issued(self.writer, self._flags, event, fresh)
        if self._flags & HELD:
            self._new_holds += len(fresh)

    def passes_over(self, identifier: bytes, record: Circulation | None) -> bool:
        """Whether something is bound already where this order would bind, which issuing would not clear."""
        if record is not None and record.was_issued:
            return False
        return any(records.value_of(self.writer, identifier, element) is not None for element in self.order.unbound)

    def _may_reissue(self, record: Circulation) -> bool:
        if record.held or record.queued or record.withdrawn or (record.reserved and not record.was_issued):
            return False
        # What went through the queue before its turn came is out already, unless we are starting over.
        return self.generator.reissues or not record.issued

    def reissue(self, identifier: bytes, record: Circulation, number: int) -> None:
        """Issue an identifier of which something may be known; what was bound to it is cleared."""
        if record.event == self.event:
            # It came round again within one command: each of its turns is an event of its own.
            self._count()
            self.event = self._begin_event()
        flags = record.flags & ~(PEPPERED | RESERVED) | self._flags
        if record.was_issued:
            self._clear(identifier)
        shown = self.minter.shown(identifier)
        if record.flags & PEPPERED and not self.order.peppered:
            from . import peppers

            peppers.delete_pepper(self.writer, identifier)
        if self.order.peppered:
            from . import peppers

            pepper = peppers.make_pepper()
            peppers.store_pepper(self.writer, identifier, pepper)
            flags |= PEPPERED
            shown += b"!" + pepper
        if flags & HELD and not record.held:
            self._new_holds += 1
        new = advanced(self.writer, identifier, record, b"i", self.event, number)
        new.flags = flags
        save(self.writer, identifier, new)
        if self.order.element is not None:
            from . import bindings

            bindings.bind_minted(self.writer, identifier, self.order.element, self.order.value)
        self.minted.append(shown)

    def _clear(self, identifier: bytes) -> None:
        """The name will mean something new: what was said of the old goes, and an event keeps what it was."""
        from . import bindings

        changes = bindings.clear_bindings(self.writer, identifier)
        others: list[bytes] = []
        if self._anything_said:
            from . import custody, relations

            said, others = relations.clear_synonyms(self.writer, identifier)
            changes += said + custody.clear_custody(self.writer, self.actor, identifier)
        for change in changes:
            if change.element and change.what == self.order.element:
                # This is bound at once again, as the event of the minting says.
                change.after = self.order.value
        if changes:
            events.record_event(self.writer, self.actor, b"clear", ids=[identifier, *others], changes=changes)

    def finish(self) -> None:
        meta.save_generator(self.writer, self.generator)
        meta.add_to_held_count(self.writer, self._new_holds)
        if self.minted:
            self._count()
        elif not self._continued:
            events.discard_event(self.writer, self.event)

    def _count(self) -> None:
        """Tell in the event of what was minted since the last."""
        start, self._counted = self._counted, len(self.minted)
        ends = [self.minted[start], self.minted[-1]]
        if self.order.peppered:
            ends = [shown.rpartition(b"!")[0] for shown in ends]
        events.add_to_tally(self.writer, self.event, len(self.minted) - start, self._asked - start, *ends)
