"""Minting: first the identifiers that are due in the queue, then new ones from the generator."""

from __future__ import annotations

from ..errors import ExhaustedError
from ..schemes import MintRequest
from . import circulation, events, schema
from .circulation import HELD, PEPPERED, RESERVED, Circulation, advanced, bound_among, save
from .events import may_continue
from .policies import RESERVE, minting_policy
from .schema import CLAIMS, CUSTODY, OFFICES, QUEUE, RELATIONS, STATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..store import Writer
    from . import Minter
    from .events import Actor

# How many identifiers are minted in one transaction: enough that the cost of the commit does not matter, so few that
# other writers do not wait long.
CHUNK = 10_000


class MintOptions:
    """What is done with each identifier that is minted.

    peppered  whether it gets a pepper
    elements  the values that are bound to it, by element
    reserved  whether it is reserved in place of published; None for what the minter's policy says
    unbound   elements that must not be bound already: an identifier that was never issued, but to which somebody has
              bound one of these, is skipped, so that the binding is not lost
    """

    __slots__ = ("peppered", "elements", "reserved", "unbound")

    def __init__(self, *, peppered: bool = False, elements: dict[bytes, bytes] | None = None,
                 reserved: bool | None = None, unbound: tuple[bytes, ...] = ()) -> None:
        self.peppered = peppered
        self.elements = elements or {}
        self.reserved = reserved
        self.unbound = unbound or tuple(self.elements)

    @property
    def plain(self) -> bool:
        """Whether nothing but the circulation record is to be written for an identifier."""
        return not self.peppered and not self.unbound


class Batch:
    """The result of minting in one transaction.

    ids    the identifiers as written in answers, with their peppers
    ended  whether no more can be minted
    event  the number of the event that records them
    """

    __slots__ = ("ids", "ended", "event")

    def __init__(self, ids: list[bytes], ended: bool, event: int) -> None:
        self.ids = ids
        self.ended = ended
        self.event = event


def mint(
    minter: Minter, actor: Actor, count: int, options: MintOptions, *, patience: int | None = None,
    on_minted: Callable[[list[bytes]], None] | None = None,
) -> Iterator[list[bytes]]:
    """Mint `count` identifiers in transactions of CHUNK, and yield those of each transaction once it is committed.

    `on_minted` is called with them before the commit, and again if the transaction has to be repeated; what it raises
    undoes the transaction.  Raises ExhaustedError after the last one if no more are left.
    """
    minted = event = 0
    while minted < count:
        request = request_for(minter, actor, patience, made=minted, wanted=count)
        batch = _mint_chunk(minter, actor, min(count - minted, CHUNK), options, request, event, on_minted)
        minted += len(batch.ids)
        event = batch.event
        if batch.ids:
            yield batch.ids
        if batch.ended:
            raise exhausted(minter)


def request_for(
    minter: Minter, actor: Actor, patience: int | None = None, *, made: int = 0, wanted: int = 1
) -> MintRequest:
    """A request to the generator, for the transaction that this thread is in or for one of its own.

    `made` of the `wanted` identifiers of the command were minted in earlier transactions.
    """
    return MintRequest(actor.clock, patience, sharing=minter.sharing, whole=minter.store.writing, made=made,
                       wanted=wanted)


def _mint_chunk(
    minter: Minter, actor: Actor, count: int, options: MintOptions, request: MintRequest, event: int,
    on_minted: Callable[[list[bytes]], None] | None,
) -> Batch:
    def work(writer: Writer) -> Batch:
        batch = mint_some(minter, writer, actor, count, options, request, event)
        if on_minted is not None:
            on_minted(batch.ids)
        return batch

    return minter.write(work)


def exhausted(minter: Minter) -> ExhaustedError:
    """The error for a minter that has no more identifiers."""
    return ExhaustedError(minter.scheme.exhausted_message())


def mint_some(
    minter: Minter, writer: Writer, actor: Actor, count: int, options: MintOptions, request: MintRequest, event: int = 0
) -> Batch:
    """Mint up to `count` identifiers in this transaction; fewer if the namespace ends, or if the others are made from
    times that are still ahead.

    Identifiers that are not due yet are waited for after the commit of the outermost transaction.  `event` is the
    number of the event of an earlier transaction of the same command, to which these identifiers are added.
    """
    run = _MintRun(minter, writer, actor, options, event, request.wanted - request.made)
    if next(writer.scan(QUEUE, limit=1), None) is not None:
        from . import queue  # most minters have an empty queue

        for identifier, record in queue.take_due(writer, actor.now(), count, run.passes_over):
            run.reissue(identifier, record, run.generator.drawn)
    skipped = 0
    ended = False
    while len(run.minted) < count and not ended:
        before = len(run.minted)
        drawn = run.generator.draw(count - before, request)
        run.issue(drawn)
        skipped = 0 if len(run.minted) > before else skipped + len(drawn)
        # A whole pass without result means that all identifiers are held or queued: another would not end.
        ended = not drawn or skipped > (run.generator.total or skipped)
        if run.generator.more_ahead and run.minted:
            break
    run.finish()
    due = run.generator.due
    if due:
        notice = run.generator.notice
        minter.store.after_commit(lambda: request.wait(due, notice))
    return Batch(run.minted, ended, run.event)


_CLAIM_TABLES = RELATIONS, CLAIMS, CUSTODY, OFFICES, STATED


class _MintRun:
    """Mints identifiers in one transaction."""

    __slots__ = ("minter", "writer", "actor", "options", "generator", "minted", "event", "_claims", "_requested",
                 "_continued", "_tallied", "_flags", "_new_holds", "_reserving")

    def __init__(
        self, minter: Minter, writer: Writer, actor: Actor, options: MintOptions, event: int, requested: int
    ) -> None:
        """`requested` is how many identifiers this run and the later ones of the same command are to mint."""
        schema.ensure_not_departed(writer)  # a minting that goes on may have begun before
        self.minter = minter
        self.writer = writer
        self.actor = actor
        self.options = options
        self.generator = minter.take_generator(writer)
        self.minted: list[bytes] = []
        self._requested = requested
        self._tallied = self._new_holds = 0
        self._reserving = minting_policy(writer) == RESERVE if options.reserved is None else options.reserved
        self._flags = (HELD if minter.settings.long_term else 0) | (RESERVED if self._reserving else 0)
        self._claims: bool | None = None
        self._continued = bool(event) and may_continue(writer, event, actor)
        self.event = event if self._continued else self._begin_event()

    def _begin_event(self) -> int:
        changes = [events.Change(b"state", None, b"reserved")] if self._reserving else []
        changes += [events.Change(name, None, value, element=True) for name, value in self.options.elements.items()]
        verb = b"peppermint" if self.options.peppered else b"mint"
        return events.record_event(self.writer, self.actor, verb, changes=changes)

    def issue(self, drawn: list[tuple[bytes, int]]) -> None:
        """Record those of the drawn identifiers that may be issued; the others stay as they are."""
        identifiers = [identifier for identifier, _ in drawn]
        known = circulation.find_many(self.writer, identifiers)
        bound = bound_among(self.writer, identifiers, self.options.unbound)
        event, display, plain = self.event, self.minter.with_label, self.options.plain
        fresh: list[tuple[bytes, int]] = []
        for (identifier, number), record in zip(drawn, known, strict=True):
            if record is None and plain:
                fresh.append((identifier, number))
                self.minted.append(display(identifier))
            elif record is None:
                if identifier not in bound:
                    self.reissue(identifier, Circulation(), number)
            elif self._may_reissue(record) and (record.was_issued or identifier not in bound):
                self.reissue(identifier, record, number)
                if self.event != event:
                    # From here on the identifiers belong to another event.
                    self._save_fresh(fresh, event)
                    fresh, event = [], self.event
        self._save_fresh(fresh, event)

    def _save_fresh(self, fresh: list[tuple[bytes, int]], event: int) -> None:
        circulation.save_issued(self.writer, self._flags, event, fresh)
        if self._flags & HELD:
            self._new_holds += len(fresh)

    def passes_over(self, identifier: bytes, record: Circulation | None) -> bool:
        """Whether an element in `unbound` is bound to an identifier that was never issued, so that it is skipped."""
        if record is not None and record.was_issued:
            return False
        return identifier in bound_among(self.writer, [identifier], self.options.unbound)

    def _may_reissue(self, record: Circulation) -> bool:
        if record.held or record.queued or record.withdrawn or (record.reserved and not record.was_issued):
            return False
        if record.unavailable:
            return False  # its tombstone is still shown
        if record.foreign:
            return False
        # One that was minted from the queue before the generator drew it is issued already; after the generator has
        # started over it may be issued again.
        return self.generator.reissues or not record.issued

    def reissue(self, identifier: bytes, record: Circulation, number: int) -> None:
        """Issue an identifier that may have a record already; if it was issued before, its bindings are cleared."""
        if record.event == self.event:
            # It was already issued in this event: the second time needs an event of its own.
            if self._tallied < len(self.minted):  # else it is of an earlier transaction, which has written the tally
                self._update_tally()
            self._continued = False
            self.event = self._begin_event()
        flags = record.flags & ~(PEPPERED | RESERVED) | self._flags
        if record.was_issued:
            self._clear(identifier)
        display = self.minter.with_label(identifier)
        if record.flags & PEPPERED or self.options.peppered:
            from . import tokens
        if record.flags & PEPPERED and not self.options.peppered:
            tokens.delete_pepper(self.writer, identifier)
        if self.options.peppered:
            pepper = tokens.make_pepper()
            tokens.store_pepper(self.writer, identifier, pepper)
            flags |= PEPPERED
            display += b"!" + pepper
        if flags & HELD and not record.held:
            self._new_holds += 1
        new = advanced(self.writer, identifier, record, b"i", self.event, number)
        new.flags = flags
        save(self.writer, identifier, new)
        for element, value in self.options.elements.items():
            circulation.bind_minted(self.writer, identifier, element, value)
        self.minted.append(display)

    def _clear(self, identifier: bytes) -> None:
        """Remove the bindings, synonyms and custodian of an identifier that is issued again, and record that."""
        changes = circulation.clear_bindings(self.writer, identifier)
        others: list[bytes] = []
        if self._has_claims():
            from . import custody, qualities
            from .relations import claims

            cleared, others = claims.clear_claims(self.writer, identifier)
            changes += cleared + custody.clear_custody(self.writer, self.actor, identifier)
            changes += qualities.clear_qualities(self.writer, identifier)
        for change in changes:
            if change.element and change.what in self.options.elements:
                # The minting binds this element again, with this value.
                change.after = self.options.elements[change.what]
        if changes:
            events.record_event(self.writer, self.actor, b"clear", ids=[identifier, *others], changes=changes)

    def _has_claims(self) -> bool:
        """Whether any relations and custodians are stored; if none are, they are not looked up for each identifier."""
        if self._claims is None:
            self._claims = any(next(self.writer.scan(table, limit=1), None) for table in _CLAIM_TABLES)
        return self._claims

    def finish(self) -> None:
        """Write the state of the generator, the number of holds, the tally of the event, and that of a token."""
        if self.actor.token is not None:
            self.actor.token.count_minted(self.writer, len(self.minted), self._requested)
        self.minter.save_generator(self.writer, self.generator)
        schema.add_to_held_count(self.writer, self._new_holds)
        if self.minted:
            self._update_tally()
        elif not self._continued:
            events.discard_event(self.writer, self.event)

    def _update_tally(self) -> None:
        """Add to the tally of the event what was minted since the last update."""
        start, self._tallied = self._tallied, len(self.minted)
        ends = [self.minted[start], self.minted[-1]]
        if self.options.peppered:
            ends = [display.rpartition(b"!")[0] for display in ends]
        tally = events.Tally(len(self.minted) - start, self._requested - start, *ends)
        events.add_to_tally(self.writer, self.event, tally)
