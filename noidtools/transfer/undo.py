"""Taking back the changes of bindings that an event made."""

from __future__ import annotations

from time import perf_counter

from ..errors import ConflictError, NoidError
from ..minter import open_changes
from ..minter.archive import Archives
from ..minter.bulk_changes import (
    Applied,
    BulkEvent,
    ChunkSize,
    Edit,
    RecordedEdit,
    Unchanged,
    apply_edits,
    decided,
    find_event,
    matches,
    recorded_edits,
)
from ..minter.importing import forget_names, names_added_by
from ..minter.namespace import RULE_MARK
from .retarget import BulkReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..minter import Minter
    from ..minter.bulk_changes import Decide
    from ..minter.events import Actor, Event
    from ..store import Reader, Writer

    Progress = Callable[[int, int, str], None]

# What the verbs of events begin with that change bindings, and no others.
_BINDING = b"bind "
# The verb of the event that takes back an import that is not complete; its names are forgotten, too.
_OF_IMPORT = b"undo import"
# What the parameters of the open event of an import begin with (see bulk_changes.py), before and during that.
IMPORTING, UNDOING_IMPORT = b"import ", b"undo import "
_CHANGED_SINCE = "it was changed since"
_NOT_STORED = "its value before was too long to be stored"


def undo(
    minter: Minter, actor: Actor, text: bytes, *, dry_run: bool = False, progress: Progress | None = None
) -> BulkReport:
    """Give every binding that an event changed the value before it, unless it was changed since.

    `text` is the number or the name of the event.  Raises NotFoundError if there is no such event, ConflictError if it
    changed other things than bindings.  The taking back is an event, too, and can be taken back.
    """
    event = minter.read(lambda reader: Archives(minter.dbdir, reader).whole(find_event(reader, text)))
    _ensure_may_be_undone(event)
    report = BulkReport()
    incomplete = minter.read(lambda reader: _incomplete_import(reader, event.number))
    undoing = BulkEvent(minter, actor, _OF_IMPORT if incomplete else b"undo",
                        b"of event %d (%b)" % (event.number, event.verb), parameters=b"undo %d" % event.number)
    report.continued = minter.read(undoing.opened) > 0
    size = ChunkSize()
    total, seen = event.bulk or len(event.changes), 0
    try:
        for edits, last in _pages(minter, event, size):
            seen += len(edits)
            if dry_run:
                report.add(minter.read(_preview(undoing, edits)))
            else:
                done = undoing.write(_work(event, edits, size, incomplete), last=last and not incomplete)
                if done is None:
                    break
                report.add(done)
            if progress:
                progress(min(seen, total - 1), total, f"event {undoing.number}")
        if incomplete and not dry_run:
            _forget_names(minter, event.number, undoing)
    except KeyboardInterrupt:
        raise NoidError("interrupted: a part may be taken back already; say the same again to go on") from None
    finally:
        if progress:
            progress(1, 1, "")
    report.number = undoing.number
    return report


def _incomplete_import(reader: Reader, number: int) -> bytes:
    """The digest of the import of all lines or none whose event this is, if it has not come to its end; else empty."""
    return next((parameters.removeprefix(begin) for parameters, opened in open_changes.open_changes(reader)
                 for begin in (IMPORTING, UNDOING_IMPORT) if opened == number and parameters.startswith(begin)), b"")


def _forget_names(minter: Minter, number: int, undoing: BulkEvent) -> None:
    """Forget the names that an incomplete import has recorded, and then that it was not complete."""
    after: bytes | None = None
    while True:
        keys, after = minter.read(lambda reader: names_added_by(reader, number, after))  # noqa: B023
        if undoing.write(_forgetting(number, keys, last=after is None), last=after is None) is None or after is None:
            return


def _forgetting(number: int, keys: list[bytes], *, last: bool) -> Callable[[Writer, int], Applied]:
    def work(writer: Writer, undoing: int) -> Applied:
        forget_names(writer, number, undoing, keys)
        if last:
            open_changes.close_changes_of(writer, number)
            open_changes.forget_records_before(writer, number)
        return Applied()

    return work


def _ensure_may_be_undone(event: Event) -> None:
    if event.archive:
        raise ConflictError(f"what event {event.number} changed is in an archive that cannot be read here: put it back "
                            "where 'noid history' finds it")
    if event.verb == _OF_IMPORT:
        raise ConflictError(f"event {event.number} took back an import that was not complete: import the file again")
    others = sorted({change.what.decode("utf-8", "replace") for change in event.changes if not change.element})
    rule = any(identifier.startswith(RULE_MARK) for identifier in event.ids)
    if event.bulk is None and (others or rule or not event.changes or not event.verb.startswith(_BINDING)):
        what = "a rule" if rule else f"the {others[0]} of a name" if others else "other things"
        raise ConflictError(
            f"event {event.number} ({event.verb.decode('utf-8', 'replace')}) changed {what}, and only changes of "
            "bindings can be taken back"
        )


def _pages(minter: Minter, event: Event, size: ChunkSize) -> Iterator[tuple[list[RecordedEdit], bool]]:
    """The changes of the event, as many at a time as one transaction should change; and whether they are the last."""
    if event.bulk is None:
        yield [RecordedEdit(event.subject(change), change.what, change.before, change.after)
               for change in event.changes], True
        return
    after: bytes | None = None
    while True:
        edits, after = minter.read(lambda reader: recorded_edits(  # noqa: B023
            reader, event.number, after=after, limit=size.size))  # noqa: B023
        yield edits, after is None
        if after is None:
            return


def _work(
    event: Event, recorded: list[RecordedEdit], size: ChunkSize, incomplete: bytes
) -> Callable[[Writer, int], Applied]:
    def work(writer: Writer, number: int) -> Applied:
        began = perf_counter()
        open_changes.close_changes_of(writer, event.number)
        if incomplete:
            # The import ends, if it runs; and the same import has to take it back before it begins.
            open_changes.save_open_change(writer, UNDOING_IMPORT + incomplete, event.number)
        done = apply_edits(writer, number, *_edits(recorded))
        size.adapt(len(recorded), perf_counter() - began)
        return done

    return work


def _preview(undoing: BulkEvent, recorded: list[RecordedEdit]) -> Callable[[Reader], Applied]:
    return lambda reader: decided(reader, undoing.opened(reader), *_edits(recorded))


def _edits(recorded: list[RecordedEdit]) -> tuple[list[Edit], Decide]:
    """The bindings that an event changed, and what is done about each to take that back."""
    by_place = {(edit.key, edit.element): edit for edit in recorded}
    return [Edit(edit.key, edit.element, None, None) for edit in recorded], lambda edit, current: _value_before(
        by_place[edit.key, edit.element], current)


def _value_before(edit: RecordedEdit, current: bytes | None) -> bytes | None | Unchanged:
    if not matches(current, edit.after):
        # What has the value before was taken back already, by an undo that was interrupted.
        return Unchanged("" if matches(current, edit.before) else _CHANGED_SINCE)
    if edit.before is None or isinstance(edit.before, bytes):
        return edit.before
    return Unchanged(_NOT_STORED)
