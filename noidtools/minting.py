"""Minting: the queue's ripe identifiers first, then new ones from the generator."""

from __future__ import annotations

from . import bindings, config, events, queueing
from .circulation import HELD, PEPPERED, RESERVED, Circulation, add_to_held_count, moved_on, record_head, save
from .exceptions import ExhaustedError
from .tables import IDS, META, PEPPERS
from .waiting import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .events import Actor
    from .minter import Minter
    from .store import Writer

# One durable commit for so many: enough that its cost vanishes, few enough that other writers get their turn.
CHUNK = 10_000
# Whether minting publishes at once or reserves: the name of the choice in config.py, and the other than usual one.
INITIAL_STATE, RESERVE = "lifecycle/minting", b"reserve"


class Order:
    """What to do with each identifier as it is minted."""

    __slots__ = ("peppered", "element", "value")

    def __init__(self, *, peppered: bool = False, element: bytes | None = None, value: bytes = b"") -> None:
        self.peppered = peppered
        self.element = element
        self.value = value

    @property
    def plain(self) -> bool:
        return not self.peppered and self.element is None


class Batch:
    """What one transaction minted: identifiers as to be shown, and whether there are no more.  `event` tells of it."""

    __slots__ = ("ids", "ended", "event")

    def __init__(self, ids: list[bytes], ended: bool, event: int) -> None:
        self.ids = ids
        self.ended = ended
        self.event = event


def mint(
    minter: Minter, actor: Actor, count: int, order: Order, *, patience: int | None = None, sharing: bool = False
) -> Iterator[list[bytes]]:
    """Mint `count` identifiers, yielding them as they are committed.  Raises ExhaustedError where they end."""
    made = event = 0
    while made < count:
        request = Request(minter, actor.clock, patience, sharing=sharing, made=made, wanted=count)
        batch = _mint_chunk(minter, actor, min(count - made, CHUNK), order, request, event)
        made += len(batch.ids)
        event = batch.event
        if batch.ids:
            yield batch.ids
        if batch.ended:
            raise exhausted(minter)


def _mint_chunk(minter: Minter, actor: Actor, count: int, order: Order, request: Request, event: int) -> Batch:
    return minter.write(lambda writer: mint_some(minter, writer, actor, count, order, request, event))


def exhausted(minter: Minter) -> ExhaustedError:
    return ExhaustedError(minter.scheme.exhausted())


def mint_some(
    minter: Minter, writer: Writer, actor: Actor, count: int, order: Order, request: Request, event: int = 0
) -> Batch:
    """Mint up to `count` identifiers in this transaction; fewer where the namespace ends or the rest lies ahead.

    What is not due yet is waited for after the commit of the outermost transaction.  With the number of an
    `event` this is counted to it, as a further part of the same minting.
    """
    run = _Run(minter, writer, actor, order, event)
    for identifier, record in queueing.take_ripe(writer, actor.now(), count):
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
        if run.generator.later and run.minted:
            break
    run.finish(request.wanted - request.made)
    due = run.generator.due
    if due:
        minter.after_commit(lambda: request.wait(due))
    return Batch(run.minted, ended, run.event)


class _Run:
    """One transaction's worth of minting."""

    __slots__ = ("minter", "writer", "actor", "order", "generator", "minted", "event", "_continued", "_flags",
                 "_new_holds")

    def __init__(self, minter: Minter, writer: Writer, actor: Actor, order: Order, event: int) -> None:
        self.minter = minter
        self.writer = writer
        self.actor = actor
        self.order = order
        self.generator = minter.scheme.generator(writer.get(META, b"state"))
        self.minted: list[bytes] = []
        reserving = config.value(writer, INITIAL_STATE) == RESERVE
        self._continued = bool(event) and events.continues(writer, event, actor)
        self.event = event if self._continued else self._begin_event(reserving)
        self._flags = (HELD if minter.settings.long_term else 0) | (RESERVED if reserving else 0)
        self._new_holds = 0

    def _begin_event(self, reserving: bool) -> int:
        changes = [events.Change(b"state", None, b"reserved")] if reserving else []
        if self.order.element is not None:
            changes.append(events.Change(self.order.element, None, self.order.value, element=True))
        verb = b"peppermint" if self.order.peppered else b"mint"
        return events.record(self.writer, self.actor, verb, changes=changes)

    def issue(self, drawn: list[tuple[bytes, int]]) -> None:
        """Record those of the drawn identifiers that may be issued; the others stay as they are."""
        head = record_head(self._flags, self.event)
        known = self.writer.get
        fresh = []
        for identifier, number in drawn:
            packed = known(IDS, identifier)
            if packed is not None:
                record = Circulation.unpacked(packed)
                if self._may_reissue(record):
                    self.reissue(identifier, record, number)
            elif self.order.plain:
                fresh.append((identifier, head + number.to_bytes(6, "big") + b"i"))
                self.minted.append(self.minter.shown(identifier))
            else:
                self.reissue(identifier, Circulation(), number)
        fresh.sort()
        self.writer.put_many(IDS, fresh)
        if self._flags & HELD:
            self._new_holds += len(fresh)

    def _may_reissue(self, record: Circulation) -> bool:
        if record.held or record.queued or record.withdrawn:
            return False
        # What went through the queue before its turn came is out already, unless we are starting over.
        return self.generator.starting_over or not record.issued

    def reissue(self, identifier: bytes, record: Circulation, number: int) -> None:
        """Issue an identifier of which something may be known; what was bound to it is cleared."""
        flags = record.flags & ~(PEPPERED | RESERVED) | self._flags
        self._clear(identifier, used=record.issued or record.queued)
        self.writer.delete(PEPPERS, identifier)
        shown = self.minter.shown(identifier)
        if self.order.peppered:
            from . import peppers

            pepper = peppers.make()
            peppers.keep(self.writer, identifier, pepper)
            flags |= PEPPERED
            shown += b"!" + pepper
        if flags & HELD and not record.held:
            self._new_holds += 1
        new = moved_on(self.writer, identifier, record, b"i", self.event, number)
        new.flags = flags
        save(self.writer, identifier, new)
        if self.order.element is not None:
            bindings.store(self.writer, identifier, self.order.element, self.order.value)
        self.minted.append(shown)

    def _clear(self, identifier: bytes, *, used: bool) -> None:
        """A name that was used will mean something new: what was said of the old goes, and an event keeps it."""
        element, value = self.order.element, self.order.value
        changes = []
        if used:
            from . import custody, relations

            changes = bindings.clear(self.writer, identifier)
            changes += relations.clear(self.writer, identifier) + custody.clear(self.writer, self.actor, identifier)
        elif element is not None:
            before = bindings.value_of(self.writer, identifier, element)
            changes = [] if before is None else [events.Change(element, before, value, element=True)]
        for change in changes:
            if change.element and change.what == element:
                change.after = value
        if changes:
            events.record(self.writer, self.actor, b"clear", ids=[identifier], changes=changes)

    def finish(self, asked: int) -> None:
        """`asked` is how many this run and those after it were to mint."""
        self.writer.put(META, b"state", self.generator.state())
        add_to_held_count(self.writer, self._new_holds)
        if not self.minted:
            if not self._continued:
                events.forget(self.writer, self.event)
            return
        ends = [self.minted[0], self.minted[-1]]
        if self.order.peppered:
            ends = [shown.rpartition(b"!")[0] for shown in ends]
        events.count(self.writer, self.event, len(self.minted), asked, *ends)
