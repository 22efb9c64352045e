"""The states of an identifier (reserved, published, unavailable, withdrawn), and the tombstones of the last two.

    reserved     registered, but not public: it does not resolve
    published    resolvers answer for it; the state of a new identifier, unless the policy on minting is reserve
    unavailable  published, but resolvers show a tombstone until it is published again
    withdrawn    no longer registered: it is never minted again and cannot be changed; all interfaces show its tombstone

A name that is only held or queued and has nothing bound counts as reserved, because there is nothing to resolve.  An
alias has the state of the name at the end of its chain.  Names that were never minted, held, queued or bound have no
state.

A tombstone can be corrected although a withdrawn identifier cannot be changed: it is a record of the withdrawal, not
of the identifier.
"""

from __future__ import annotations

from ..codec import decode_text, pack, unpack
from ..errors import ConflictError, GoneError, InvalidError, NotFoundError, StoreError, UsageError, printable
from ..times import display_day
from . import aliases, circulation, identifiers, queue, relations, schema
from .circulation import (
    HELD,
    RESERVED,
    UNAVAILABLE,
    WITHDRAWN,
    Circulation,
    ensure_not_withdrawn,
    find,
    save,
)
from .events import Change, property_changes, record_event
from .identifiers import NameRef
from .policies import EVERYTHING, RestrictedReader, hides, hides_names
from .relations import PREDECESSOR, SUCCESSOR, Relation
from .schema import TOMBSTONES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

RESERVED_STATE, PUBLISHED_STATE, UNAVAILABLE_STATE, WITHDRAWN_STATE = STATES = (
    "reserved", "published", "unavailable", "withdrawn")
_MINTING = (b"mint", b"peppermint")


class StateChange:
    """The change of the state of one identifier.

    before, after  its states; None for no state
    unchanged      whether it was in the state `after` already, so that there is nothing to record
    unqueued       whether it was removed from the queue
    """

    __slots__ = ("identifier", "before", "after", "unchanged", "unqueued")

    def __init__(
        self, identifier: bytes, before: str | None, after: str, unchanged: bool, unqueued: bool = False
    ) -> None:
        self.identifier = identifier
        self.before = before
        self.after = after
        self.unchanged = unchanged
        self.unqueued = unqueued

    def change(self) -> Change:
        """The change of state, for the event."""
        # A name that only counted as reserved, and is reserved now, had no recorded state before.
        before = self.before.encode() if self.before and self.before != self.after else None
        return Change(b"state", before, self.after.encode(), self.identifier)


def state_of(reader: Reader, identifier: bytes, record: Circulation | None) -> str | None:
    """The state of an identifier, of which `record` is the circulation record; None if nothing is known of it."""
    if circulation.alias_target(reader, identifier) is None:
        return _own_state(reader, identifier, record)
    end = aliases.end_of_chain(reader, identifier)
    # The end of the chain may be a name of another system, of which nothing is known here.
    return _own_state(reader, end, find(reader, end)) or PUBLISHED_STATE


def _own_state(reader: Reader, identifier: bytes, record: Circulation | None) -> str | None:
    if record is not None:
        if record.withdrawn:
            return WITHDRAWN_STATE
        if record.unavailable:
            return UNAVAILABLE_STATE
        if record.reserved:
            return RESERVED_STATE
        if record.was_issued:
            return PUBLISHED_STATE
    if circulation.is_bound(reader, identifier):
        return PUBLISHED_STATE
    return None if record is None else RESERVED_STATE


def is_public(reader: Reader, identifier: bytes) -> bool:
    """Whether those who may only read are told of an identifier: it is not reserved, nor only held or queued."""
    return state_of(reader, identifier, find(reader, identifier)) != RESERVED_STATE


def reader_in(view: str, reader: Reader) -> Reader:
    """The reader through which a user with this view of the minter reads (see policies.py)."""
    return reader if view == EVERYTHING else RestrictedReader(reader, is_public if hides_names(view) else None)


def state_since(reader: Reader, identifier: bytes) -> bytes:
    """When the state of an identifier last changed, according to its events; empty if it has none."""
    from .history import events_of

    date = b""
    for event in events_of(reader, identifier):
        changed = any(change.what == b"state" and change.of == identifier and not change.element
                      for change in event.changes)
        if not date or event.verb in _MINTING or changed:
            date = event.date
    return date


def ensure_known(minter: Minter, reader: Reader, ref: NameRef) -> None:
    """Raise NotFoundError for a name of which nothing is stored, InvalidError if this minter could not make it."""
    if not ref.known:
        identifiers.ensure_well_formed(minter, reader, ref.key)
        raise NotFoundError(f"{printable(ref.display)} is not known here: it was neither minted nor bound")


# -- changes of the state --------------------------------------------------------------------------------------------


def publish(minter: Minter, writer: Writer, actor: Actor, texts: list[bytes]) -> list[StateChange]:
    """Publish identifiers, so that they resolve; those that are published already stay so.  The tombstone of one that
    was unavailable is removed.

    Raises NotFoundError for one that is not known, ConflictError for one that was withdrawn, is an alias, or was not
    minted and has nothing bound.
    """
    transitions: dict[bytes, StateChange] = {}
    removed: list[Change] = []
    for name in texts:
        ref, record = _identify_for_change(minter, writer, name, "published")
        ensure_known(minter, writer, ref)
        if not (record and record.was_issued) and not circulation.is_bound(writer, ref.key):
            raise ConflictError(f"{printable(ref.display)} was not minted and nothing is bound under it, so there is "
                                "nothing to publish: bind something first")
        before = state_of(writer, ref.key, record)
        transitions.setdefault(ref.key, StateChange(ref.key, before, PUBLISHED_STATE, before == PUBLISHED_STATE))
        if record is not None and record.unavailable:
            removed += tombstone_changes(ref.key, tombstone_of(writer, ref.key), None)
            writer.delete(TOMBSTONES, ref.key)
        if record is not None and record.unusual:
            record.flags &= ~(RESERVED | UNAVAILABLE)
            save(writer, ref.key, record)
    _record_states(writer, actor, b"publish", transitions.values(), removed)
    return list(transitions.values())


def reserve(minter: Minter, writer: Writer, actor: Actor, texts: list[bytes]) -> list[StateChange]:
    """Reserve identifiers, so that they do not resolve.  One that is not issued is also held, so that it is not minted.

    Raises ConflictError for one that was withdrawn, is unavailable or is an alias.
    """
    stored: dict[bytes, Circulation] = {}
    foreign: set[bytes] = set()
    transitions = []
    extra = []
    for name in texts:
        ref, record = _identify_for_change(minter, writer, name, "reserved")
        if ref.key in stored:
            continue
        if record is not None and record.unavailable:
            raise ConflictError(f"{printable(ref.display)} is unavailable, and the public knows of it",
                                "publish it with 'noid publish' before you reserve it")
        stored[ref.key] = known = record or Circulation()
        if not ref.well_formed:
            foreign.add(ref.key)
        transitions.append(
            StateChange(ref.key, state_of(writer, ref.key, record), RESERVED_STATE, known.reserved, known.queued)
        )
        if not known.issued and not known.held:
            extra.append(Change(b"hold", None, b"held", ref.key))
        if known.queued:
            extra.append(Change(b"queue", b"queued", None, ref.key))
    event = _record_states(writer, actor, b"reserve", transitions, extra)
    for key, record in stored.items():
        hold = not record.issued and not record.held
        if key in foreign:
            record = circulation.foreign_record(writer, event)
        if record.queued:
            record = queue.take_from_queue(minter, writer, key, record, event)
        record.flags |= RESERVED | (HELD if hold else 0)
        schema.add_to_held_count(writer, int(hold))
        save(writer, key, record)
    return transitions


def make_unavailable(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, reason: bytes | None = None, *,
    since: bytes = b"", minted: bytes = b"",
) -> tuple[NameRef, Tombstone]:
    """Let resolvers show a tombstone in place of a published identifier, until it is published again.

    For one that is unavailable already the reason is replaced.  `since` and `minted` are as in `withdraw`.  Raises
    NotFoundError for one that is not known, ConflictError for one that is not published.
    """
    ref, record = _identify_for_change(minter, writer, text, "made unavailable")
    ensure_known(minter, writer, ref)
    if record is not None and record.unavailable:
        return amend_tombstone(minter, writer, actor, text, reason or b"")
    state = state_of(writer, ref.key, record) or RESERVED_STATE
    # A name from elsewhere to which nothing is bound counts as reserved here; there it may have been published.
    if state != PUBLISHED_STATE and (record is None or record.reserved or not record.foreign):
        raise ConflictError(f"{printable(ref.display)} is {state}, so that nobody can miss it: only a published "
                            "identifier can be made unavailable")
    after = new_tombstone(minter, writer, actor, ref, reason, None, since, minted)
    changes = [Change(b"state", state.encode(), UNAVAILABLE_STATE.encode(), ref.key),
               *tombstone_changes(ref.key, None, after)]
    event = record_event(writer, actor, UNAVAILABLE_STATE.encode(), ids=[ref.key], changes=changes)
    ref.record = record or Circulation()
    ref.record.flags |= UNAVAILABLE
    save(writer, ref.key, ref.record)
    write_tombstone(writer, ref, None, after, event)
    return ref, after


def withdraw(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, reason: bytes | None = None,
    successor: bytes | None = None, *, since: bytes = b"", minted: bytes = b"",
) -> tuple[NameRef, Tombstone]:
    """Withdraw an identifier permanently: it is no longer registered.  Returns it and its tombstone.

    What was bound to it stays stored, for its history.  `since` and `minted` are dates that another minter has
    recorded, in place of now and of the date of the first minting here.  Raises ConflictError if it was withdrawn
    before or is an alias.
    """
    ref = identifiers.identify_for_change(minter, writer, text)
    ensure_known(minter, writer, ref)
    if ref.record is not None and ref.record.withdrawn:
        raise ConflictError(f"{gone_error(writer, ref.key, ref.display)}: to correct the reason or the successor, "
                            "amend its tombstone")
    aliases.ensure_no_alias(writer, ref, "withdrawn")
    after = new_tombstone(minter, writer, actor, ref, reason, successor, since, minted)
    state = state_of(writer, ref.key, ref.record)
    changes = [Change(b"state", state.encode() if state else None, b"withdrawn", ref.key)]
    changes += tombstone_changes(ref.key, tombstone_of(writer, ref.key), after)
    changes += aliases.drop_preferences(writer, ref.key)
    if ref.record is not None and ref.record.queued:
        changes.append(Change(b"queue", b"queued", None, ref.key))
    ids = [ref.key, after.successor_key] if after.successor_key else [ref.key]
    event = record_event(writer, actor, b"withdraw", ids=ids, changes=changes)
    record = ref.record or Circulation()
    if record.queued:
        record = queue.take_from_queue(minter, writer, ref.key, record, event)
    record.flags = record.flags & ~(RESERVED | UNAVAILABLE) | WITHDRAWN
    save(writer, ref.key, record)
    write_tombstone(writer, ref, None, after, event)
    return ref, after


def _identify_for_change(minter: Minter, writer: Writer, text: bytes, done: str) -> tuple[NameRef, Circulation | None]:
    """The identifier of a text, and its record; raises ConflictError if it was withdrawn or is an alias.

    `done` is the participle for the message: the identifier cannot be `done`.
    """
    ref = identifiers.identify_for_change(minter, writer, text)
    ensure_not_withdrawn(ref.display, ref.record, done)
    aliases.ensure_no_alias(writer, ref, done)
    return ref, ref.record


def _record_states(
    writer: Writer, actor: Actor, verb: bytes, transitions: Iterable[StateChange], extra: Iterable[Change] = ()
) -> int:
    """Record one event for all transitions that change something; returns its number, 0 if none does."""
    changes = [transition.change() for transition in transitions if not transition.unchanged]
    changes += extra
    if not changes:
        return 0
    return record_event(writer, actor, verb, ids=dict.fromkeys(change.of for change in changes), changes=changes)


# -- tombstones ------------------------------------------------------------------------------------------------------

_LONGEST_REASON = 4096
_FIELDS = 5


class Tombstone:
    """What resolvers show of an identifier that was withdrawn or is unavailable.

    date           since when, in fourteen digits
    minted         when it was first minted; empty if it never was
    reason         why; empty if no reason was stated
    successor      the name to use instead, as written in answers; empty if there is none
    successor_key  the same as stored
    """

    __slots__ = ("date", "minted", "reason", "successor", "successor_key")

    def __init__(self, date: bytes, minted: bytes, reason: bytes, successor: bytes, successor_key: bytes) -> None:
        self.date = date
        self.minted = minted
        self.reason = reason
        self.successor = successor
        self.successor_key = successor_key

    def sentence(self, name: bytes) -> str:
        """The tombstone of `name` in one line."""
        reason = f": {printable(self.reason).rstrip('.')}" if self.reason else ""
        instead = f"; use {printable(self.successor)} instead" if self.successor else ""
        return f"{printable(name)} was withdrawn on {display_day(self.date)}{reason}{instead}"


def tombstone_of(reader: Reader, identifier: bytes) -> Tombstone | None:
    """The tombstone of an identifier, None if it has none; without a successor that the user may not see."""
    packed = reader.get(TOMBSTONES, identifier)
    if packed is None:
        return None
    fields = unpack(packed)
    if len(fields) != _FIELDS:
        raise StoreError(f"the tombstone of {printable(identifier)} is damaged", "'noid check' says what can be done")
    tombstone = Tombstone(*fields)
    if hides(reader, tombstone.successor_key):
        tombstone.successor = tombstone.successor_key = b""
    return tombstone


def find_tombstone(minter: Minter, reader: Reader, text: bytes) -> tuple[NameRef, Tombstone]:
    """The identifier that a text means, and its tombstone; raises NotFoundError if it has none."""
    ref = identifiers.identify(minter, reader, text)
    tombstone = tombstone_of(reader, ref.key)
    if tombstone is None:
        raise NotFoundError(f"{printable(ref.display)} was neither withdrawn nor made unavailable, and has no "
                            "tombstone")
    return ref, tombstone


def ensure_not_gone(reader: Reader, ref: NameRef) -> None:
    """Raise GoneError, with the tombstone in one sentence, if the identifier was withdrawn."""
    if ref.record is not None and ref.record.withdrawn:
        raise gone_error(reader, ref.key, ref.display)


def gone_error(reader: Reader, identifier: bytes, display: bytes) -> GoneError:
    """The refusal of a withdrawn identifier: its tombstone in one sentence."""
    tombstone = tombstone_of(reader, identifier)
    if tombstone is None:
        return GoneError(f"{printable(display)} was withdrawn")
    return GoneError(tombstone.sentence(display), decode_text(tombstone.reason))


def new_tombstone(
    minter: Minter, reader: Reader, actor: Actor, ref: NameRef, reason: bytes | None, successor: bytes | None,
    since: bytes = b"", minted: bytes = b"",
) -> Tombstone:
    """A tombstone that begins now, or at another time, for the caller to write with `write_tombstone`."""
    new = Tombstone(since or actor.date(), minted or _first_minted(reader, ref.key), b"", b"", b"")
    _set_texts(minter, reader, ref, new, reason, successor)
    return new


def amend_tombstone(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, reason: bytes | None = None,
    successor: bytes | None = None,
) -> tuple[NameRef, Tombstone]:
    """Replace the reason or the successor on the tombstone of an identifier; empty ones are removed.

    Raises NotFoundError if it has none, UsageError if there is nothing to replace, ConflictError for a successor of an
    identifier that is only unavailable, ForbiddenError where a pepper is missing.
    """
    if reason is None and successor is None:
        raise UsageError("there is nothing to change: give a reason or a successor")
    ref, before = find_tombstone(minter, writer, text)
    identifiers.ensure_pepper(writer, ref)
    if successor and ref.record is not None and ref.record.unavailable:
        raise ConflictError(f"{printable(ref.display)} is only unavailable: a successor is for one that was withdrawn")
    after = Tombstone(before.date, before.minted, before.reason, before.successor, before.successor_key)
    _set_texts(minter, writer, ref, after, reason, successor)
    changes = tombstone_changes(ref.key, before, after)
    if changes:
        ids = [ref.key, after.successor_key] if after.successor_key else [ref.key]
        write_tombstone(writer, ref, before, after, record_event(writer, actor, b"tombstone", ids=ids, changes=changes))
    return ref, after


def write_tombstone(writer: Writer, ref: NameRef, before: Tombstone | None, after: Tombstone, event: int) -> None:
    """Write a tombstone in place of the one before, and relate the identifier and its successor to each other."""
    fields = after.date, after.minted, after.reason, after.successor, after.successor_key
    writer.put(TOMBSTONES, ref.key, pack(fields))
    if before is not None and before.successor_key:
        relations.delete_relation(writer, ref.key, Relation(SUCCESSOR, before.successor_key))
        relations.delete_relation(writer, before.successor_key, Relation(PREDECESSOR, ref.key))
    if after.successor_key:
        forward = Relation(SUCCESSOR, after.successor_key, after.successor, start=after.date, event=event)
        relations.put_relation(writer, ref.key, forward)
        backward = Relation(PREDECESSOR, ref.key, ref.display, start=after.date, event=event)
        relations.put_relation(writer, after.successor_key, backward)


def tombstone_changes(identifier: bytes, before: Tombstone | None, after: Tombstone | None) -> list[Change]:
    """What differs between two tombstones, for an event."""
    old, new = ({"reason": each.reason, "successor": each.successor} if each else {} for each in (before, after))
    return property_changes(identifier, old, new)


def _set_texts(
    minter: Minter, reader: Reader, ref: NameRef, tombstone: Tombstone, reason: bytes | None, successor: bytes | None
) -> None:
    if reason is not None:
        if len(reason) > _LONGEST_REASON:
            raise InvalidError(f"a reason may have at most {_LONGEST_REASON} bytes, this one has {len(reason)}")
        tombstone.reason = reason
    if successor is not None:
        other = identifiers.identify(minter, reader, successor) if successor else NameRef(b"", b"")
        if other.key == ref.key:
            raise ConflictError(f"{printable(ref.display)} cannot be its own successor")
        if other.key:
            ensure_not_withdrawn(other.display, other.record, "a successor")
        tombstone.successor, tombstone.successor_key = other.display, other.key


def _first_minted(reader: Reader, identifier: bytes) -> bytes:
    from .history import events_of

    for event in events_of(reader, identifier):
        if event.verb in _MINTING:
            return event.date
    return b""
