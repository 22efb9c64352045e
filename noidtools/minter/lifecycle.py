"""The states of an identifier: reserved, published, withdrawn.

    reserved    registered, but not for the public: no resolver answers for it
    published   the public may resolve it; what minting makes, unless the minter says otherwise
    withdrawn   for good: never minted again, nothing more can be done to it; resolvers show its tombstone

A name that is only held or queued and has nothing bound counts as reserved: there
is nothing yet that the public could reach.  An alias is in the state of what it
stands for.  Names that were never minted, held, queued or bound have no state.
"""

from __future__ import annotations

from ..clock import timestamp
from ..codec import pack, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, printable
from . import aliases, identifiers, meta, queue, records, relations
from .events import Change, record_event
from .identifiers import NameRef
from .records import (
    HELD,
    RESERVED,
    WITHDRAWN,
    Circulation,
    ensure_not_withdrawn,
    find,
    save,
)
from .relations import PREDECESSOR, SUCCESSOR, Relation
from .tables import TOMBSTONES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

RESERVED_STATE, PUBLISHED_STATE, WITHDRAWN_STATE = "reserved", "published", "withdrawn"
STATES = (RESERVED_STATE, PUBLISHED_STATE, WITHDRAWN_STATE)
_LONGEST_REASON = 4096
_MINTING = (b"mint", b"peppermint")


class Tombstone:
    """What is left of a withdrawn identifier.  Dates have fourteen digits; `minted` is empty for what never was,
    `reason` and `successor` where none was given."""

    __slots__ = ("date", "minted", "reason", "successor", "successor_key")

    def __init__(self, date: bytes, minted: bytes, reason: bytes, successor: bytes, successor_key: bytes) -> None:
        self.date = date
        self.minted = minted
        self.reason = reason
        self.successor = successor
        self.successor_key = successor_key


class StateChange:
    """What becomes of one identifier's state; `said` is whether the state it comes to was said of it before."""

    __slots__ = ("identifier", "before", "after", "said", "unqueued")

    def __init__(self, identifier: bytes, before: str | None, after: str, said: bool, unqueued: bool = False) -> None:
        self.identifier = identifier
        self.before = before
        self.after = after
        self.said = said
        self.unqueued = unqueued

    def change(self) -> Change:
        # What only counted as reserved, and now is, had no state of its own before.
        before = self.before.encode() if self.before and self.before != self.after else None
        return Change(b"state", before, self.after.encode(), self.identifier)


def state_of(reader: Reader, identifier: bytes, record: Circulation | None) -> str | None:
    """The state of an identifier whose circulation record this is; None for a name of which nothing is known."""
    if records.alias_target(reader, identifier) is None:
        return _own_state(reader, identifier, record)
    end = aliases.end_of_chain(reader, identifier)
    # What another system manages is not for us to doubt.
    return _own_state(reader, end, find(reader, end)) or PUBLISHED_STATE


def _own_state(reader: Reader, identifier: bytes, record: Circulation | None) -> str | None:
    if record is not None:
        if record.withdrawn:
            return WITHDRAWN_STATE
        if record.reserved:
            return RESERVED_STATE
        if record.was_issued:
            return PUBLISHED_STATE
    if records.is_bound(reader, identifier):
        return PUBLISHED_STATE
    return None if record is None else RESERVED_STATE


def state_since(reader: Reader, identifier: bytes) -> bytes:
    """When an identifier came into its state, as far as the record tells; empty if it tells nothing."""
    from .history import events_of

    date = b""
    for event in events_of(reader, identifier):
        moved = any(change.what == b"state" and change.of == identifier and not change.element
                    for change in event.changes)
        if not date or event.verb in _MINTING or moved:
            date = event.date
    return date


def tombstone(reader: Reader, identifier: bytes) -> Tombstone | None:
    packed = reader.get(TOMBSTONES, identifier)
    return None if packed is None else Tombstone(*unpack(packed))


def ensure_known(minter: Minter, reader: Reader, ref: NameRef) -> None:
    """Raise NotFoundError for a name of which nothing is stored, InvalidError if this minter could not make it."""
    if not ref.known:
        identifiers.ensure_well_formed(minter, reader, ref.key)
        raise NotFoundError(f"{printable(ref.display)} is not known here: it was neither minted nor bound")


# -- changes ---------------------------------------------------------------------------------------------------------


def publish(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> list[StateChange]:
    """Let the public resolve what was reserved; what is published already stays so."""
    moves: dict[bytes, StateChange] = {}
    for name in given:
        own, record = _identify_for_change(minter, writer, name, "published")
        ensure_known(minter, writer, own)
        if not (record and record.was_issued) and not records.is_bound(writer, own.key):
            raise ConflictError(f"{printable(own.display)} was not minted and nothing is bound under it, so there is "
                                "nothing to publish: bind something first")
        before = state_of(writer, own.key, record)
        moves.setdefault(own.key, StateChange(own.key, before, PUBLISHED_STATE, before == PUBLISHED_STATE))
        if record is not None and record.reserved:
            record.flags &= ~RESERVED
            save(writer, own.key, record)
    _record_states(writer, actor, b"publish", moves.values())
    return list(moves.values())


def reserve(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> list[StateChange]:
    """Keep identifiers from the public.  A name that is not issued is also held, and so kept from minting."""
    found: dict[bytes, Circulation] = {}
    moves = []
    extra = []
    for name in given:
        own, record = _identify_for_change(minter, writer, name, "reserved")
        if own.key in found:
            continue
        found[own.key] = known = record or Circulation()
        moves.append(
            StateChange(own.key, state_of(writer, own.key, record), RESERVED_STATE, known.reserved, known.queued)
        )
        if not known.issued and not known.held:
            extra.append(Change(b"hold", None, b"held", own.key))
        if known.queued:
            extra.append(Change(b"queue", b"queued", None, own.key))
    event = _record_states(writer, actor, b"reserve", moves, extra)
    for key, record in found.items():
        hold = not record.issued and not record.held
        if record.queued:
            record = queue.take_from_queue(minter, writer, key, record, event)
        record.flags |= RESERVED | (HELD if hold else 0)
        meta.add_to_held_count(writer, int(hold))
        save(writer, key, record)
    return moves


def withdraw(
    minter: Minter, writer: Writer, actor: Actor, given: bytes, reason: bytes | None = None,
    successor: bytes | None = None,
) -> tuple[NameRef, Tombstone]:
    """Withdraw an identifier for good.  What was bound to it stays, for the record.

    Of one that is withdrawn already only the reason and the successor can be changed, when given.
    """
    own = identifiers.identify_for_change(minter, writer, given)
    identifier, record = own.key, own.record
    ensure_known(minter, writer, own)
    aliases.ensure_no_alias(writer, own, "withdrawn")
    before = tombstone(writer, identifier)
    if before is not None and reason is None and successor is None:
        raise ConflictError(f"{printable(own.display)} was withdrawn already, on {before.date.decode()}")
    if reason is not None and len(reason) > _LONGEST_REASON:
        raise InvalidError(f"a reason may have {_LONGEST_REASON} bytes, this one has {len(reason)}")
    after = _new_tombstone(minter, writer, actor, own, before, reason, successor)
    changes = _tombstone_changes(identifier, before, after)
    if before is None:
        state = state_of(writer, identifier, record)
        changes.insert(0, Change(b"state", state.encode() if state else None, b"withdrawn", identifier))
        changes += relations.drop_preferences(writer, identifier)
        if record is not None and record.queued:
            changes.append(Change(b"queue", b"queued", None, identifier))
    ids = [identifier, after.successor_key] if after.successor_key else [identifier]
    event = record_event(writer, actor, b"withdraw", ids=ids, changes=changes)
    _write_tombstone(minter, writer, own, record or Circulation(), after, event)
    _link_successor(writer, own, before, after, event)
    return own, after


def _identify_for_change(minter: Minter, writer: Writer, given: bytes, done: str) -> tuple[NameRef, Circulation | None]:
    own = identifiers.identify_for_change(minter, writer, given)
    ensure_not_withdrawn(own.display, own.record, done)
    aliases.ensure_no_alias(writer, own, done)
    return own, own.record


def _record_states(
    writer: Writer, actor: Actor, verb: bytes, moves: Iterable[StateChange], extra: Iterable[Change] = ()
) -> int:
    """One event for those whose state changed; none, and so no number, where nothing did."""
    changes = [move.change() for move in moves if not move.said]
    changes += extra
    if not changes:
        return 0
    return record_event(writer, actor, verb, ids=dict.fromkeys(change.of for change in changes), changes=changes)


def _new_tombstone(
    minter: Minter, reader: Reader, actor: Actor, own: NameRef, before: Tombstone | None, reason: bytes | None,
    successor: bytes | None,
) -> Tombstone:
    new = Tombstone(timestamp(actor.now()), _first_minted(reader, own.key), b"", b"", b"")
    if before is not None:
        new = Tombstone(before.date, before.minted, before.reason, before.successor, before.successor_key)
    if reason is not None:
        new.reason = reason
    if successor is not None:
        ref = identifiers.identify(minter, reader, successor) if successor else NameRef(b"", b"")
        if ref.key == own.key:
            raise ConflictError(f"{printable(own.display)} cannot be its own successor")
        if ref.key:
            ensure_not_withdrawn(ref.display, ref.record, "a successor")
        new.successor, new.successor_key = ref.display, ref.key
    return new


def _first_minted(reader: Reader, identifier: bytes) -> bytes:
    from .history import events_of

    for event in events_of(reader, identifier):
        if event.verb in _MINTING:
            return event.date
    return b""


def _tombstone_changes(identifier: bytes, before: Tombstone | None, after: Tombstone) -> list[Change]:
    changes = []
    for what in ("reason", "successor"):
        old, new = (getattr(before, what) if before else b""), getattr(after, what)
        if old != new:
            changes.append(Change(what.encode(), old or None, new or None, identifier))
    return changes


def _write_tombstone(
    minter: Minter, writer: Writer, own: NameRef, record: Circulation, stone: Tombstone, event: int
) -> None:
    if record.queued:
        record = queue.take_from_queue(minter, writer, own.key, record, event)
    record.flags = record.flags & ~RESERVED | WITHDRAWN
    save(writer, own.key, record)
    fields = stone.date, stone.minted, stone.reason, stone.successor, stone.successor_key
    writer.put(TOMBSTONES, own.key, pack(fields))


def _link_successor(writer: Writer, own: NameRef, before: Tombstone | None, after: Tombstone, event: int) -> None:
    """Let the two names tell of each other."""
    if before is not None and before.successor_key:
        relations.delete_relation(writer, own.key, Relation(SUCCESSOR, before.successor_key))
        relations.delete_relation(writer, before.successor_key, Relation(PREDECESSOR, own.key))
    if after.successor_key:
        there = Relation(SUCCESSOR, after.successor_key, after.successor, start=after.date, event=event)
        relations.put_relation(writer, own.key, there)
        back = Relation(PREDECESSOR, own.key, own.display, start=after.date, event=event)
        relations.put_relation(writer, after.successor_key, back)
