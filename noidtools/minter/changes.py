"""Changes of many bindings that belong to one event.

A few hundred thousand are changed in one transaction; more in batches, between which other writers have their turn.
The first batch records the event, the others extend it.  What was bound before and after is a row of the table of
changes for each binding, the value before always whole, so that `undo` can restore it.  An event may have a name, by
which `undo` finds it.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field

from ..codec import pack, pair, pair_prefix, split_pair, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, printable
from .circulation import PEPPERED, WITHDRAWN
from .events import (
    NUMBER_SIZE,
    Change,
    Digest,
    add_to_bulk,
    discard_event,
    newest_number,
    number_key,
    pack_value,
    read_event,
    record_event,
    unpack_value,
)
from .schema import CHANGES, ELEMENTS, HISTORY, IDS, META, sound_number, stored_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor, Event

    A = TypeVar("A", bound="Applied")
    E = TypeVar("E", "Edit", "RecordedEdit")

# How many names and bindings, and bytes of them, are written in one transaction, as all or nothing: for so long, some
# seconds, others cannot write.
MOST_AT_ONCE = 200_000
MOST_BYTES_AT_ONCE = 128 << 20

# The same for one of several batches.
BATCH = 5000
BATCH_BYTES = 1 << 20

# Seconds between two batches: longer than a waiting writer sleeps between its attempts, so that it gets its turn.
_PAUSE = 0.005
_LONGEST_NAME = 200
_EVENT_NAME = b"event name "
_EXTENDED = b"extended event "


def fits_at_once(count: int, size: int) -> bool:
    """Whether this many names and bindings, and bytes of them, are written in one transaction."""
    return count <= MOST_AT_ONCE and size <= MOST_BYTES_AT_ONCE


def fills_batch(count: int, size: int) -> bool:
    """Whether this many are enough for a batch."""
    return count >= BATCH or size >= BATCH_BYTES


@dataclass(slots=True)
class Edit:
    """The change of one binding: the identifier as stored, the element, and the values, None for no value."""

    key: bytes
    element: bytes
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class Unchanged:
    """Why a binding is left as it is; an empty reason if there was nothing to do."""

    reason: str = ""


@dataclass(slots=True)
class LeftAlone:
    """A binding that a bulk change left as it is, and why."""

    key: bytes
    element: bytes
    reason: str


@dataclass(slots=True)
class Applied:
    """What one transaction did.

    changed, same  how many bindings it changed, and how many had nothing to change
    recorded       how many of those that it changed the event had not changed before
    added          how many identifiers it recorded
    left           the bindings that it left alone
    edits          the changes
    """

    changed: int = 0
    same: int = 0
    recorded: int = 0
    added: int = 0
    left: list[LeftAlone] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)


class BulkEvent:
    """The event of a bulk change; it is recorded with the first binding that is changed.

    verb, details  as of any event
    name           by which `undo` finds it; may be empty
    number         of the event, 0 as long as it is not recorded
    """

    def __init__(self, minter: Minter, actor: Actor, verb: bytes, *details: bytes, name: bytes = b"") -> None:
        if len(name) > _LONGEST_NAME or name.isdigit() or any(byte < 0x20 for byte in name):
            raise InvalidError(f"the name of an event is one line of up to {_LONGEST_NAME} bytes, and no number")
        self._minter = minter
        self._actor = actor
        self.verb = verb
        self.details = details
        self.name = name
        self.number = 0

    def write(self, work: Callable[[Writer, int], A], before: Callable[[Writer], None] | None = None) -> A:
        """Run `work` in a write transaction with the number of the event, then let other writers have their turn.

        `before` is run in the same transaction, for what has an event of its own that precedes this one.  The event
        remains only if this or an earlier transaction changed something.
        """
        def transaction(writer: Writer) -> tuple[A, int]:
            if before is not None:
                before(writer)
            number = self.number or self._record(writer)
            done = work(writer, number)
            return done, number if self._is_kept(writer, number, done) else 0

        done, self.number = self._minter.write(transaction)
        time.sleep(_PAUSE)
        return done

    def _record(self, writer: Writer) -> int:
        """Record the event, which has no changes yet.  One of the same name and the same command is continued."""
        known = named_event(writer, self.name) if self.name else 0
        if known:
            event = read_event(writer, known)
            if event is None or (event.verb, tuple(event.details)) != (self.verb, self.details):
                raise ConflictError(f"event {known} has the name {printable(self.name)!r} already: choose another")
            return known
        number = record_event(writer, self._actor, self.verb, *self.details)
        if self.name:
            writer.put(META, _EVENT_NAME + self.name, b"%d" % number)
        return number

    def _is_kept(self, writer: Writer, number: int, done: Applied) -> bool:
        """Count the changes of a transaction.  An event that it recorded in vain is deleted, and False is returned."""
        # One that another event follows stays: the numbers have no gaps.
        event = read_event(writer, number)
        if done.changed or done.added or newest_number(writer) > number or (event and event.bulk is not None):
            if event and event.bulk is not None:
                # Its number does not tell that it has changed something again.
                writer.put(META, _EXTENDED + b"%d" % number, os.urandom(8))
            add_to_bulk(writer, number, done.recorded)
            return True
        discard_event(writer, number)
        if self.name:
            writer.delete(META, _EVENT_NAME + self.name)
        return False


def apply_edits(
    writer: Writer, number: int, edits: list[E], decide: Callable[[E, bytes | None], bytes | None | Unchanged]
) -> Applied:
    """Change bindings, as `decided` says."""
    done = decided(writer, edits, decide)
    # A binding that the event has changed already is one change, from the value before the event.
    known = recorded_before(writer, number, [(edit.key, edit.element) for edit in done.edits])
    for edit in done.edits if known else ():
        edit.before = known.get((edit.key, edit.element), edit.before)
    done.recorded = done.changed - len(known)
    put_edits(writer, number, done.edits)
    return done


def decided(
    reader: Reader, edits: list[E], decide: Callable[[E, bytes | None], bytes | None | Unchanged]
) -> Applied:
    """What is to be done about bindings, of each what `decide` says when it has seen the present value: the new value,
    None to remove it, or Unchanged.

    Identifiers that were withdrawn or need a pepper are left alone, as they are by `bind`.
    """
    done = Applied()
    found = reader.get_many([place for edit in edits
                             for place in ((ELEMENTS, pair(edit.key, edit.element)), (IDS, edit.key))])
    for edit, current, packed in zip(edits, found[::2], found[1::2], strict=True):
        reason = _locked(packed[0] if packed else 0)
        new = Unchanged(reason) if reason else decide(edit, current)
        if isinstance(new, Unchanged) and new.reason:
            done.left.append(LeftAlone(edit.key, edit.element, new.reason))
        elif isinstance(new, Unchanged) or new == current:
            done.same += 1
        else:
            done.edits.append(Edit(edit.key, edit.element, current, new))
    done.changed = len(done.edits)
    return done


def _locked(flags: int) -> str:
    """Why the bindings of an identifier with these flags cannot be changed; empty if they can."""
    if flags & WITHDRAWN:
        return "it was withdrawn"
    return "it cannot be changed without its pepper" if flags & PEPPERED else ""


def put_edits(writer: Writer, number: int, edits: list[Edit], *, indexed: Iterable[bytes] | None = None) -> None:
    """Write new values, the rows of the table of changes, and the entries of the identifiers in the index of events.

    `indexed` are the identifiers that need such an entry, by default all; a record that points to the event is enough.
    """
    event = number_key(number)
    writer.put_many(CHANGES, sorted(
        (event + pair(edit.key, edit.element), packed_edit(edit.before, edit.after)) for edit in edits))
    writer.put_many(ELEMENTS, sorted((pair(edit.key, edit.element), edit.after)
                                     for edit in edits if edit.after is not None))
    for edit in edits:
        if edit.after is None:
            writer.delete(ELEMENTS, pair(edit.key, edit.element))
    keys = {edit.key for edit in edits} if indexed is None else set(indexed)
    writer.put_many(HISTORY, sorted((pair(key, event), b"") for key in keys))


# -- what bulk events changed ----------------------------------------------------------------------------------------


def packed_edit(before: bytes | Digest | None, after: bytes | Digest | None) -> bytes:
    """A row of the table of changes."""
    return pack((pack_value(before, whole=True), pack_value(after)))


@dataclass(slots=True)
class RecordedEdit:
    """The change of one binding as an event has it: a long value may be a digest.

    later  the last change of the same binding by a later event, if that was looked for
    """

    key: bytes
    element: bytes
    before: bytes | Digest | None
    after: bytes | Digest | None
    later: RecordedEdit | None = None

    @classmethod
    def unpacked(cls, place: bytes, packed: bytes) -> RecordedEdit:
        """A row of the table of changes; `place` is its key without the number of the event."""
        before, after = unpack(packed)
        return cls(*split_pair(place), unpack_value(before), unpack_value(after))


def recorded_edits(
    reader: Reader, number: int, after: bytes | None = None
) -> tuple[list[RecordedEdit], bytes | None]:
    """The changes of a bulk event in the order of identifiers, as many as a batch has, from the first after a place on;
    and the place to go on from, None at the end."""
    event = number_key(number)
    edits: list[RecordedEdit] = []
    size = 0
    for key, packed in reader.scan(CHANGES, event, after=None if after is None else event + after):
        place = key[len(event) :]
        edits.append(RecordedEdit.unpacked(place, packed))
        size += len(packed)
        if fills_batch(len(edits), size):
            return edits, place
    return edits, None


def changes_to(reader: Reader, number: int, identifier: bytes) -> list[Change]:
    """The changes of a bulk event to one identifier."""
    event = number_key(number)
    rows = reader.scan(CHANGES, event + pair_prefix(identifier))
    edits = [RecordedEdit.unpacked(key[len(event) :], packed) for key, packed in rows]
    return [Change(edit.element, edit.before, edit.after, identifier, element=True) for edit in edits]


def recorded_before(
    reader: Reader, number: int, places: list[tuple[bytes, bytes]]
) -> dict[tuple[bytes, bytes], bytes | None]:
    """The values of bindings, identifiers and elements, before a bulk event changed them; only of those it changed."""
    return {place: edit.before if isinstance(edit.before, bytes) else None
            for place, edit in recorded_changes(reader, number, places).items()}


def recorded_changes(
    reader: Reader, number: int, places: list[tuple[bytes, bytes]]
) -> dict[tuple[bytes, bytes], RecordedEdit]:
    """What a bulk event changed of these bindings, identifiers and elements."""
    rows = reader.get_many([(CHANGES, number_key(number) + pair(*place)) for place in places])
    return {place: RecordedEdit.unpacked(pair(*place), packed)
            for place, packed in zip(places, rows, strict=True) if packed}


def extended_events(reader: Reader) -> dict[int, bytes]:
    """The numbers of the bulk events that changed something in several transactions, each with a mark that is another
    after every one of them."""
    return {stored_number(key.removeprefix(_EXTENDED)) or 0: mark for key, mark in reader.scan(META, _EXTENDED)}


def keys_of_bulk(reader: Reader, number: int) -> set[bytes]:
    """The identifiers that a bulk event changed."""
    return {split_pair(key[NUMBER_SIZE:])[0] for key, _ in reader.scan(CHANGES, number_key(number))}


def matches(value: bytes | None, recorded: bytes | Digest | None) -> bool:
    """Whether a value is the recorded one, which may be a digest."""
    if value is None or recorded is None or isinstance(recorded, bytes):
        return value == recorded
    return len(value) == recorded.size and hashlib.sha256(value).digest() == recorded.sha256


# -- names of events -------------------------------------------------------------------------------------------------


def find_event(reader: Reader, text: bytes) -> Event:
    """The event with this number or name; raises NotFoundError if there is none."""
    number = int(text) if text.isdigit() and len(text) < 12 else named_event(reader, text)
    event = read_event(reader, number) if number else None
    if event is None:
        raise NotFoundError(f"there is no event {printable(text)[:200]}", "'noid log' lists all, with their numbers")
    return event


def named_event(reader: Reader, name: bytes) -> int:
    """The number of the event of that name, 0 if there is none."""
    stored = stored_number(reader.get(META, _EVENT_NAME + name))
    return sound_number(stored, f"the name {printable(name)!r} of an event")


def event_names(reader: Reader) -> Iterator[tuple[bytes, int | None]]:
    """All names of events, and the number of each event; None if that is damaged."""
    for key, stored in reader.scan(META, _EVENT_NAME):
        yield key.removeprefix(_EVENT_NAME), stored_number(stored)
