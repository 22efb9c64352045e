"""Minting: the queue's ripe identifiers first, then new ones from the generator."""

from __future__ import annotations

from . import bindings, queueing
from .circulation import HELD, PEPPERED, Circulation, add_to_held_count, record_head, save
from .events import amend as amend_event
from .events import forget as forget_event
from .events import record as record_event
from .exceptions import ExhaustedError
from .tables import IDS, META, PEPPERS
from .waiting import NotYet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .events import Actor
    from .minter import Minter
    from .store import Writer
    from .waiting import Request, Waiting

# One durable commit for so many: enough that its cost vanishes, few enough that other writers get their turn.
CHUNK = 10_000


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
    """What one transaction minted: identifiers as to be shown, when they may be (0: at once), and whether
    there were fewer than wanted because no more are left."""

    __slots__ = ("ids", "due", "ended")

    def __init__(self, ids: list[bytes], due: int, ended: bool) -> None:
        self.ids = ids
        self.due = due
        self.ended = ended


def mint(
    minter: Minter, actor: Actor, count: int, order: Order, waiting: Waiting, *, patience: int | None = None
) -> Iterator[list[bytes]]:
    """Mint `count` identifiers, yielding them as they are committed and due.  Raises ExhaustedError where they end."""
    made = 0
    while made < count:
        request = waiting.request(patience)
        batch = _mint_chunk(minter, actor, min(count - made, CHUNK), order, request)
        waiting.until(batch.due, made, count)
        made += len(batch.ids)
        if batch.ids:
            yield batch.ids
        if batch.ended:
            raise exhausted(minter)


def _mint_chunk(minter: Minter, actor: Actor, count: int, order: Order, request: Request) -> Batch:
    return minter.write(lambda writer: mint_some(minter, writer, actor, count, order, request))


def exhausted(minter: Minter) -> ExhaustedError:
    return ExhaustedError(minter.scheme.exhausted())


def mint_some(
    minter: Minter, writer: Writer, actor: Actor, count: int, order: Order, request: Request
) -> Batch:
    """Mint up to `count` identifiers in this transaction; fewer where the namespace ends, or the rest lies ahead
    in time; never none without a reason."""
    run = _Run(minter, writer, actor, order)
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
            if request.sharing and len(run.minted) < count:
                raise NotYet
            break
    run.finish()
    return Batch(run.minted, run.generator.due, ended)


class _Run:
    """One transaction's worth of minting."""

    __slots__ = ("minter", "writer", "actor", "order", "generator", "minted", "_event", "_flags", "_new_holds")

    def __init__(self, minter: Minter, writer: Writer, actor: Actor, order: Order) -> None:
        self.minter = minter
        self.writer = writer
        self.actor = actor
        self.order = order
        self.generator = minter.scheme.generator(writer.get(META, b"state"))
        self.minted: list[bytes] = []
        self._event = record_event(writer, actor, b"peppermint" if order.peppered else b"mint")
        self._flags = HELD if minter.settings.long_term else 0
        self._new_holds = 0

    def issue(self, drawn: list[tuple[bytes, int]]) -> None:
        """Record those of the drawn identifiers that may be issued; the others stay as they are."""
        head = record_head(self._flags, self._event)
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
        if self._flags:
            self._new_holds += len(fresh)

    def _may_reissue(self, record: Circulation) -> bool:
        if record.held or record.queued:
            return False
        # What went through the queue before its turn came is out already, unless we are starting over.
        return self.generator.starting_over or not record.issued

    def reissue(self, identifier: bytes, record: Circulation, number: int) -> None:
        """Issue an identifier of which something may be known; what was bound to it is cleared."""
        flags = record.flags & ~PEPPERED | self._flags
        if record.issued or record.queued:
            bindings.clear(self.writer, identifier)
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
        save(self.writer, identifier, Circulation(flags, self._event, number, b"i" + record.history))
        if self.order.element is not None:
            bindings.store(self.writer, identifier, self.order.element, self.order.value)
        self.minted.append(shown)

    def finish(self) -> None:
        self.writer.put(META, b"state", self.generator.state())
        add_to_held_count(self.writer, self._new_holds)
        if not self.minted:
            forget_event(self.writer, self._event)
            return
        ends = [self.minted[0], self.minted[-1]]
        if self.order.peppered:
            ends = [shown.rpartition(b"!")[0] for shown in ends]
        amend_event(self.writer, self._event, b"%d" % len(self.minted), *ends)
