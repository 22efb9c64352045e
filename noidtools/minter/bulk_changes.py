"""Changes of many bindings that belong to one event, made in as many transactions as it takes.

A transaction changes so few bindings that other writers wait less than a tenth of a second, and there is a pause after
each.  The first one records the event, the others extend it.  What was bound before and after is a row of the table of
changes for each binding, the value before always whole, so that `undo` can take the event back.

An event may have a name, by which `undo` finds it.  An event is open until its command has come to its end: its number
is stored under the parameters of the command.  The same command then goes on with that event.  It begins anew, and
passes over what the event has changed, unless that was changed since.
"""

from __future__ import annotations

import time

from ..codec import pack, pair, pair_prefix, split_pair, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, printable
from . import open_changes
from .circulation import PEPPERED, WITHDRAWN
from .events import (
    Change,
    Digest,
    add_detail,
    add_to_bulk,
    discard_event,
    newest_number,
    number_key,
    pack_value,
    read_event,
    record_event,
    unpack_value,
)
from .schema import CHANGES, ELEMENTS, HISTORY, IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor, Event

    A = TypeVar("A", bound="Applied")
    # What to do about a binding with this value: its new value, None to remove it; or Unchanged.
    Decide = Callable[["Edit", bytes | None], "bytes | None | Unchanged"]

# How large the values may be that are changed in one transaction; one more may be of any size.
MOST_BYTES = 1 << 20

# Seconds that the work of one transaction should take, and seconds between two of them: longer than a waiting writer
# sleeps between its attempts, so that it gets its turn.
_SECONDS = 0.02
_PAUSE = 0.004
_FEWEST, _MOST = 50, 5000
_LONGEST_NAME = 200


class Edit:
    """The change of one binding: the identifier as stored, the element, and the values, None for no value."""

    __slots__ = ("key", "element", "before", "after")

    def __init__(self, key: bytes, element: bytes, before: bytes | None, after: bytes | None) -> None:
        self.key = key
        self.element = element
        self.before = before
        self.after = after


class Unchanged:
    """Why a binding is left as it is; an empty reason if there was nothing to do."""

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        self.reason = reason


class LeftAlone:
    """A binding that a bulk change left as it is, and why: `IDENTIFIER ELEMENT` and a clause."""

    __slots__ = ("key", "element", "reason")

    def __init__(self, key: bytes, element: bytes, reason: str) -> None:
        self.key = key
        self.element = element
        self.reason = reason


class ChunkSize:
    """How many bindings to change in the next transaction, so that its work takes about _SECONDS."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 500

    def adapt(self, count: int, seconds: float) -> None:
        """Take into account that the work on `count` bindings took so long."""
        if count and seconds > 0:
            wanted = int(count * _SECONDS / seconds)
            self.size = max(_FEWEST, min(_MOST, 2 * self.size, wanted))


class BulkEvent:
    """The event of a bulk change; it is recorded with the first binding that is changed.

    verb, details  as of any event
    name           by which `undo` finds it; may be empty
    parameters     under which its number is stored until the command has come to its end; empty for a command that
                   does not go on with its event if it was interrupted
    number         of the event, 0 as long as it is not recorded
    changed        how many bindings this command has changed
    """

    def __init__(
        self, minter: Minter, actor: Actor, verb: bytes, *details: bytes, name: bytes = b"", parameters: bytes = b""
    ) -> None:
        if len(name) > _LONGEST_NAME or name.isdigit() or any(byte < 0x20 for byte in name):
            raise InvalidError(f"the name of an event is one line of up to {_LONGEST_NAME} bytes, and no number")
        self._minter = minter
        self._actor = actor
        self.verb = verb
        self.details = details
        self.name = name
        self.parameters = parameters
        self.number = 0
        self.changed = 0

    def opened(self, reader: Reader) -> int:
        """The number of the open event of the same command, 0 if there is none."""
        return open_changes.open_change(reader, self.parameters) if self.parameters else 0

    def write(self, work: Callable[[Writer, int], A], *, last: bool = True) -> A | None:
        """Run `work` in a write transaction with the number of the event, then let other writers have their turn.

        With `last` the command has then come to its end.  The event remains only if this or an earlier transaction
        changed something.  None is returned, and nothing is done, if the event is no longer open: another process has
        run the same command to its end, or takes the event back.
        """
        def transaction(writer: Writer) -> tuple[A | None, int]:
            opened = self.opened(writer) if self.parameters else self.number
            if self.number and opened != self.number:
                return None, self.number
            number = self._joined(writer, opened) if opened else self.record(writer)
            done = work(writer, number)
            if not self._finish(writer, number, done, recorded=not opened):
                return done, 0
            if self.parameters:
                open_changes.close_change(writer, self.parameters) if last else (
                    open_changes.save_open_change(writer, self.parameters, number))
            return done, number

        done, self.number = self._minter.write(transaction)
        self.changed += done.changed if done else 0
        time.sleep(_PAUSE)
        return done

    def record(self, writer: Writer) -> int:
        """Record the event, which has no changes yet."""
        if self.name:
            self._ensure_free(open_changes.named_event(writer, self.name))
        number = record_event(writer, self._actor, self.verb, *self.details)
        if self.name:
            open_changes.name_event(writer, self.name, number)
        return number

    def _joined(self, writer: Writer, number: int) -> int:
        """The number of the event, which gets its name if it was begun without."""
        if self.name and not self.number:
            known = open_changes.named_event(writer, self.name)
            if known != number:
                self._ensure_free(known)
                open_changes.name_event(writer, self.name, number)
                add_detail(writer, number, b"name " + self.name)
        return number

    def _ensure_free(self, known: int) -> None:
        if known:
            raise ConflictError(f"event {known} has the name {printable(self.name)!r} already: choose another")

    def _finish(self, writer: Writer, number: int, done: Applied, *, recorded: bool) -> bool:
        """Count the changes of this transaction; an event that was recorded in it in vain is deleted, and False is
        returned."""
        # One that another event follows stays, too: the numbers have no gaps.
        if not recorded or done.changed or done.added or newest_number(writer) > number:
            add_to_bulk(writer, number, done.recorded)
            return True
        discard_event(writer, number)
        if self.name:
            open_changes.forget_event_name(writer, self.name)
        return False


class Applied:
    """What one transaction did.

    changed, same  how many bindings it changed, and how many had nothing to change
    recorded       how many of those that it changed the event had not changed before
    added          how many identifiers it recorded
    left           the bindings that it left alone
    edits          the changes
    """

    __slots__ = ("changed", "same", "recorded", "added", "left", "edits")

    def __init__(self) -> None:
        self.changed = self.same = self.recorded = self.added = 0
        self.left: list[LeftAlone] = []
        self.edits: list[Edit] = []


def apply_edits(writer: Writer, number: int, edits: list[Edit], decide: Decide) -> Applied:
    """Change bindings, as `decided` says."""
    done = decided(writer, number, edits, decide)
    put_edits(writer, number, done.edits)
    return done


def decided(reader: Reader, number: int, edits: list[Edit], decide: Decide) -> Applied:
    """What is to be done about bindings, of each what `decide` says when it has seen the present value.

    Identifiers that were withdrawn or need a pepper are left alone, as they are by `bind`.  What the event has changed
    is passed over, unless it was changed since.  The event may be 0, for one that is not recorded yet.
    """
    done = Applied()
    event = number_key(number)
    places = [(pair(edit.key, edit.element), edit.key) for edit in edits]
    found = reader.get_many([place for both, key in places
                             for place in ((ELEMENTS, both), (IDS, key), (CHANGES, event + both))])
    for edit, current, packed, row in zip(edits, found[::3], found[1::3], found[2::3], strict=True):
        reason = _locked(packed[0] if packed else 0)
        if reason:
            done.left.append(LeftAlone(edit.key, edit.element, reason))
            continue
        if row is not None and matches(current, unpack_value(unpack(row)[1])):
            done.same += 1
            continue
        new = decide(edit, current)
        if isinstance(new, Unchanged) or new == current:
            if isinstance(new, Unchanged) and new.reason:
                done.left.append(LeftAlone(edit.key, edit.element, new.reason))
            else:
                done.same += 1
            continue
        done.edits.append(Edit(edit.key, edit.element, current, new))
        done.recorded += row is None
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


class RecordedEdit:
    """The change of one binding as an event has it: a long value may be a digest."""

    __slots__ = ("key", "element", "before", "after")

    def __init__(
        self, key: bytes, element: bytes, before: bytes | Digest | None, after: bytes | Digest | None
    ) -> None:
        self.key = key
        self.element = element
        self.before = before
        self.after = after

    @classmethod
    def unpacked(cls, place: bytes, packed: bytes) -> RecordedEdit:
        """A row of the table of changes; `place` is its key without the number of the event."""
        before, after = unpack(packed)
        return cls(*split_pair(place), unpack_value(before), unpack_value(after))


def recorded_edits(
    reader: Reader, number: int, *, after: bytes | None = None, limit: int | None = None
) -> tuple[list[RecordedEdit], bytes | None]:
    """Changes of a bulk event in the order of identifiers, from the first behind a place on; and the place to go on
    from, None at the end.

    Fewer than `limit` are returned if they reach MOST_BYTES, but at least one, unless there is none.
    """
    event = number_key(number)
    edits: list[RecordedEdit] = []
    size = 0
    for key, packed in reader.scan(CHANGES, event, after=None if after is None else event + after, limit=limit):
        place = key[len(event) :]
        edits.append(RecordedEdit.unpacked(place, packed))
        size += len(packed)
        if size >= MOST_BYTES or len(edits) == limit:
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
    event = number_key(number)
    rows = reader.get_many([(CHANGES, event + pair(*place)) for place in places])
    found = {place: unpack_value(unpack(packed)[0]) for place, packed in zip(places, rows, strict=True) if packed}
    return {place: before if isinstance(before, bytes) else None for place, before in found.items()}


def find_event(reader: Reader, text: bytes) -> Event:
    """The event with this number or name; raises NotFoundError if there is none."""
    number = int(text) if text.isdigit() and len(text) < 12 else open_changes.named_event(reader, text)
    event = read_event(reader, number) if number else None
    if event is None:
        raise NotFoundError(f"there is no event {printable(text)[:200]}: 'noid log' lists all, with their numbers")
    return event


def open_events(reader: Reader) -> list[Event]:
    """The events whose commands have not come to their end: they run, or were interrupted."""
    numbers = sorted({number for _, number in open_changes.open_changes(reader)})
    return [event for event in (read_event(reader, number) for number in numbers) if event is not None]


def matches(value: bytes | None, recorded: bytes | Digest | None) -> bool:
    """Whether a value is the recorded one, which may be a digest."""
    if value is None or recorded is None or isinstance(recorded, bytes):
        return value == recorded
    import hashlib

    return len(value) == recorded.size and hashlib.sha256(value).digest() == recorded.sha256
