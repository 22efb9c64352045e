"""Changes of many bindings: another beginning for many targets, and the undoing of such a change.

Both are done in one transaction, or where they are larger than that in batches (see minter/changes.py).  A run that
ended half-way, however it ended, is finished by the same command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from ..errors import ConflictError, InvalidError, NoidError
from ..minter import Minter
from ..minter.bindings import all_rules
from ..minter.changes import (
    Applied,
    BulkEvent,
    Edit,
    LeftAlone,
    RecordedEdit,
    Unchanged,
    apply_edits,
    decided,
    fills_batch,
    find_event,
    fits_at_once,
    matches,
    recorded_changes,
    recorded_edits,
)
from ..minter.circulation import bindings_after
from ..minter.events import Actor, Event, packed_events
from ..minter.history import Archives
from ..minter.namespace import RULE_MARK
from ..names.targets import replace_beginning
from ..spool import Spool
from ..store import Reader, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from ..console import Progress

    E = TypeVar("E", Edit, RecordedEdit)
    # Some of the bindings to change, from the first after a place on; and the place to go on from, None at the end.
    Page = Callable[[Reader, bytes | None], tuple[list[E], bytes | None]]
    Decide = Callable[[E, bytes | None], bytes | None | Unchanged]
    # An identifier and an element.
    Place = tuple[bytes, bytes]

# How many bindings are read in one transaction in search of those to change.
_READ_TOGETHER = 20_000


class BulkReport:
    """What a bulk change did.

    number   of its event, 0 if nothing was changed
    changed  how many bindings
    left     which bindings were left as they are although they were meant: identifier, element, reason
    """

    def __init__(self) -> None:
        self.number = self.changed = 0
        self.left = Spool(3)

    def clear(self) -> None:
        """Forget what was done, because the transaction begins anew."""
        self.changed = 0
        self.left.clear()

    @classmethod
    def of(cls, preview: Iterator[Edit | LeftAlone]) -> BulkReport:
        """What a change would do, in numbers."""
        report = cls()
        for found in preview:
            if isinstance(found, LeftAlone):
                report.left.add(found.key, found.element, found.reason.encode())
            else:
                report.changed += 1
        return report

    def add(self, done: Applied) -> None:
        """Add what one transaction did."""
        self.changed += done.changed
        for left in done.left:
            self.left.add(left.key, left.element, left.reason.encode())


def _change_all(
    minter: Minter, event: BulkEvent, page: Page[E], decide: Decide[E], *, at_once: bool, total: int,
    progress: Progress | None,
) -> BulkReport:
    """Change all bindings that `page` finds, in one transaction or in batches."""
    report = BulkReport()

    def all_pages(writer: Writer, number: int) -> Applied:
        report.clear()
        whole = Applied()
        place: bytes | None = None
        while True:
            edits, place = page(writer, place)
            done = apply_edits(writer, number, edits, decide)
            report.add(done)
            whole.changed += done.changed
            whole.recorded += done.recorded
            show()
            if place is None:
                return whole

    def show() -> None:
        if progress:
            progress(min(report.changed, total), total + 1, "bindings changed")

    def batches() -> None:
        place: bytes | None = None
        while True:
            # Those to change are found in read transactions, for which no writer has to wait.
            edits, place = minter.read(lambda reader: page(reader, place))  # noqa: B023
            if edits:
                report.add(event.write(lambda writer, number: apply_edits(writer, number, edits, decide)))  # noqa: B023
                show()
            if place is None:
                return

    try:
        if at_once:
            event.write(all_pages)
        else:
            batches()
    except KeyboardInterrupt:
        raise NoidError(_interrupted(event.number, report.changed)) from None
    finally:
        if progress:
            progress(1, 1, "")
    report.number = event.number
    return report


def _preview(minter: Minter, page: Page[E], decide: Decide[E]) -> Iterator[Edit | LeftAlone]:
    """What `_change_all` would change and leave, each as it is stored when it is read."""
    def work(reader: Reader, place: bytes | None) -> tuple[list[Edit | LeftAlone], bytes | None]:
        edits, following = page(reader, place)
        done: Applied = decided(reader, edits, decide)
        return [*done.edits, *done.left], following

    return minter.read_pages(work)


def _interrupted(number: int, changed: int) -> str:
    if not number:
        return ("interrupted: nothing was changed, unless it was complete just now; 'noid log' has the event in that "
                "case")
    return (f"interrupted after {changed} bindings or a few more: give the same command again to go on, or run 'noid "
            f"undo {number}' to restore them")


# -- retarget --------------------------------------------------------------------------------------------------------


class Retargeting:
    """A change of all values of an element that begin with one address, so that they begin with another.

    old, new  the addresses
    element   the element that holds the targets
    prefix    only under identifiers that begin with this
    """

    def __init__(self, minter: Minter, old: bytes, new: bytes, element: bytes, prefix: bytes = b"") -> None:
        if not old:
            raise InvalidError("the old address is empty: name the one with which the targets begin")
        if old == new:
            raise InvalidError("the old and the new address are the same, so there is nothing to change")
        self._minter = minter
        self._old = old
        self._new = new
        self._element = element
        self._prefix = prefix

    def preview(self) -> Iterator[Edit | LeftAlone]:
        """The changes that would be made, and what would be left, page by page, each as it is stored when it is
        read."""
        return _preview(self._minter, self._page, self._decide)

    def dry_run(self) -> BulkReport:
        """What `run` would do, in numbers."""
        return BulkReport.of(self.preview())

    @property
    def is_extension(self) -> bool:
        """Whether the new address begins with the old one, so that targets that begin with it are left as they are."""
        return self._new.startswith(self._old)

    def rules(self) -> int:
        """How many rules contain the old address; they are left as they are."""
        return self._minter.read(lambda reader: sum(self._old in value for _, _, value in all_rules(reader)))

    def run(self, actor: Actor, *, name: bytes = b"", progress: Progress | None = None) -> BulkReport:
        """Make the changes, under one event."""
        event = BulkEvent(self._minter, actor, b"retarget", b"from " + self._old, b"to " + self._new,
                          b"element " + self._element, *([b"prefix " + self._prefix] if self._prefix else []),
                          *([b"name " + name] if name else []), name=name)
        total = size = 0
        for edit in self._minter.read_pages(self._page):
            total += 1
            size += len(edit.before or b"")
        return _change_all(self._minter, event, self._page, self._decide, total=total, progress=progress,
                           at_once=fits_at_once(total, size))

    def _page(self, reader: Reader, after: bytes | None) -> tuple[list[Edit], bytes | None]:
        edits: list[Edit] = []
        size = 0
        bindings = bindings_after(reader, self._element, prefix=self._prefix, after=after)
        for read, (place, identifier, value) in enumerate(bindings, 1):
            if value is not None:
                new = replace_beginning(value, self._old, self._new)
                if new != value:
                    edits.append(Edit(identifier, self._element, value, new))
                    size += len(value)
            if fills_batch(len(edits), size) or read == _READ_TOGETHER:
                return edits, place
        return edits, None

    def _decide(self, edit: Edit, current: bytes | None) -> bytes | None | Unchanged:
        # Somebody may have bound another value since the page was read.
        return Unchanged() if current is None else replace_beginning(current, self._old, self._new)


# -- undo ------------------------------------------------------------------------------------------------------------

# What the verbs of events begin with that change bindings, and no others.
_BINDING = b"bind "
# The verb of an undo, and how its detail begins.
_UNDO, _UNDONE = b"undo", re.compile(rb"of event (\d+) ")
_CHANGED_SINCE = "it was changed since"
# How many events are read at once.
_EVENTS_TOGETHER = 500
_NOT_STORED = "its value before was too long to be stored"


@dataclass(slots=True)
class _LaterEvent:
    """An event after the one that is to be undone.

    undoes  the number of the event that it has undone, 0 if it is no undo
    edits   the changes of bindings; None for a bulk event, whose changes have to be looked up
    """

    number: int
    undoes: int
    edits: dict[Place, RecordedEdit] | None


class _LaterChanges:
    """What later events changed of the bindings that an event has changed.

    Events that were undone do not count, nor do those that undid them.
    """

    def __init__(self, minter: Minter, event: Event) -> None:
        self._dbdir = minter.dbdir
        self._event = event
        self._newest, self._events = minter.read(lambda reader: self._after(reader, event.number))

    def of(self, reader: Reader, edits: list[RecordedEdit]) -> dict[Place, RecordedEdit]:
        """The last later change of each binding that has one."""
        # What was recorded since is not kept: the transaction may be rolled back and run again.
        events = self._events + self._after(reader, self._newest)[1]
        undone: set[int] = set()
        for event in reversed(events):
            if event.number not in undone:
                undone.add(event.undoes)
        places = {(edit.key, edit.element): None for edit in edits}
        found: dict[Place, RecordedEdit] = {}
        for event in events:
            if not event.undoes and event.number not in undone:
                changes = event.edits
                if changes is None:
                    changes = recorded_changes(reader, event.number, list(places))
                found |= {place: edit for place, edit in changes.items() if place in places}
        return found

    def _after(self, reader: Reader, number: int) -> tuple[int, list[_LaterEvent]]:
        """The number of the last event, and the events after this one that changed the bindings, or may have."""
        archives = Archives(self._dbdir, reader)
        events: list[_LaterEvent] = []
        while page := list(packed_events(reader, after=number, limit=_EVENTS_TOGETHER)):
            found = [self._later(archives.whole(Event(number, packed))) for number, packed in page]
            ours = self._ours(reader, list({place: None for event in found for place in event.edits or ()}))
            for event in found:
                if event.edits is not None:
                    event.edits = {place: edit for place, edit in event.edits.items() if place in ours}
            events += [event for event in found if event.undoes or event.edits is None or event.edits]
            number = page[-1][0]
        return number, events

    @staticmethod
    def _later(event: Event) -> _LaterEvent:
        undone = _UNDONE.match(event.details[0]) if event.verb == _UNDO and event.details else None
        edits = None if event.bulk is not None else {(edit.key, edit.element): edit for edit in _edits_of(event)}
        return _LaterEvent(event.number, int(undone[1]) if undone else 0, edits)

    def _ours(self, reader: Reader, places: list[Place]) -> Container[Place]:
        """Those of the bindings that the event has changed."""
        if self._event.bulk is not None:
            return recorded_changes(reader, self._event.number, places)
        return {(edit.key, edit.element) for edit in _edits_of(self._event)}


def undo(
    minter: Minter, actor: Actor, text: bytes, *, dry_run: bool = False, progress: Progress | None = None
) -> BulkReport:
    """Give every binding that an event changed the value before it, unless it was changed since.

    `text` is the number or the name of the event.  Raises NotFoundError if there is no such event, ConflictError if it
    changed other things than bindings.  The undoing is an event, too, and can be undone.
    """
    if dry_run:
        return BulkReport.of(preview_undo(minter, text))
    event, page = _undoable(minter, text)
    total = event.bulk or len(event.changes)
    undoing = BulkEvent(minter, actor, _UNDO, b"of event %d (%b)" % (event.number, event.verb))
    size = 0
    if fits_at_once(total, 0):
        size = sum(len(edit.before) for edit in minter.read_pages(page) if isinstance(edit.before, bytes))
    return _change_all(minter, undoing, page, _value_before, total=total, progress=progress,
                       at_once=fits_at_once(total, size))


def preview_undo(minter: Minter, text: bytes) -> Iterator[Edit | LeftAlone]:
    """The changes that `undo` would make, and what it would leave, page by page; raises what `undo` raises."""
    _, page = _undoable(minter, text)
    return _preview(minter, page, _value_before)


def _undoable(minter: Minter, text: bytes) -> tuple[Event, Page[RecordedEdit]]:
    """The event of this number or name, and what finds its changes."""
    event = minter.read(lambda reader: Archives(minter.dbdir, reader).whole(find_event(reader, text)))
    _ensure_may_be_undone(event)
    later = _LaterChanges(minter, event)
    find = _pages_of(event)

    def page(reader: Reader, place: bytes | None) -> tuple[list[RecordedEdit], bytes | None]:
        edits, following = find(reader, place)
        changed = later.of(reader, edits)
        for edit in edits:
            edit.later = changed.get((edit.key, edit.element))
        return edits, following

    return event, page


def _ensure_may_be_undone(event: Event) -> None:
    if event.archive:
        raise ConflictError(f"what event {event.number} changed is in an archive that cannot be read here",
                            "put it back where 'noid history' finds it")
    others = sorted({change.what.decode("utf-8", "replace") for change in event.changes if not change.element})
    rule = any(identifier.startswith(RULE_MARK) for identifier in event.ids)
    if event.bulk is None and (others or rule or not event.changes or not event.verb.startswith(_BINDING)):
        what = "a rule" if rule else f"the {others[0]} of a name" if others else "other things"
        raise ConflictError(
            f"event {event.number} ({event.verb.decode('utf-8', 'replace')}) changed {what}, and only changes of "
            "bindings can be undone"
        )


def _pages_of(event: Event) -> Page[RecordedEdit]:
    """Finds the changes of an event."""
    if event.bulk is not None:
        return lambda reader, place: recorded_edits(reader, event.number, place)
    return lambda reader, place: (_edits_of(event), None)


def _edits_of(event: Event) -> list[RecordedEdit]:
    """The changes of bindings by an event that is no bulk event."""
    return [RecordedEdit(event.subject(change), change.what, change.before, change.after)
            for change in event.changes if change.element]


def _value_before(edit: RecordedEdit, current: bytes | None) -> bytes | None | Unchanged:
    if not matches(current, edit.after):
        # What has the value before was restored already, by an undo that ended half-way.
        return Unchanged("" if matches(current, edit.before) else _CHANGED_SINCE)
    if edit.later is not None and matches(current, edit.later.after):
        # Somebody has bound the same value again.  (If a later event bound another one, this one, which may have taken
        # several transactions, has changed it after that.)
        return Unchanged(_CHANGED_SINCE)
    if edit.before is None or isinstance(edit.before, bytes):
        return edit.before
    return Unchanged(_NOT_STORED)
