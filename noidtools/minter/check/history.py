"""Checks of events, of their index, of the rows of bulk changes, and of what refers to events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from ...codec import pair
from ...errors import printable
from ...store import Reader, Writer
from ..changes import RecordedEdit, changes_to, event_names
from ..circulation import find_many
from ..events import NUMBER_SIZE, Event, index_event, number_key, read_event
from ..schema import CHANGES, CUSTODY, EVENTS, HISTORY, OFFICES, STATED
from .examination import Examination, are_dates, fields_of, parse_event, parts_of

_PAGE = 500

# Verbs of events that concern the minter, though they record no changes, or have them in an archive.
_OF_MINTER = frozenset((b"config", b"note", b"token new", b"token revoke", b"dbcreate"))


def _check_events(examination: Examination) -> None:
    expected = 1
    suspects: dict[int, frozenset[bytes]] = {}
    unread: dict[bytes, tuple[Event, int]] = {}
    for key, packed in examination.items(EVENTS):
        number = int.from_bytes(key, "big")
        if len(key) != NUMBER_SIZE:
            examination.report(f"event {printable(key[:40])!r} has no number: restore a backup, or compare with one")
            continue
        if number != expected:
            missing = f"event {expected} is" if number == expected + 1 else f"events {expected} to {number - 1} are"
            examination.report(f"{missing} missing, and with them a part of the history: compare with a backup")
        expected = number + 1
        event = parse_event(number, packed)
        if event is None:
            examination.report(f"event {number} is damaged: restore a backup, or compare with one")
            continue
        if event.archive and examination.archives is not None and examination.archives.whole(event) is event:
            first, count = unread.get(event.archive, (event, 0))
            unread[event.archive] = first, count + 1
        strangers = {change.of for change in event.changes} - {b"", *event.ids}
        if strangers:
            examination.report(f"event {number} changes {examination.name(min(strangers))}, but says that it concerns "
                               "others: restore a backup, or compare with one")
        if _is_of_minter(event):
            examination.of_minter.append(number)
        if _check_index_of(examination, event):
            suspects[number] = frozenset(event.ids)
    if suspects:
        _report_superfluous(examination, suspects)
    for first, count in unread.values():
        others = f" and {count - 1} others" if count > 1 else ""
        examination.report(f"what event {first.number}{others} changed is not known: {printable(first.details[-1])}; "
                           "put the file back, or into the folder of the minter")


def _check_index_of(examination: Examination, event: Event) -> bool:
    """Check that an event is found from each identifier that it concerns; returns whether it is found from others."""
    ids = list(dict.fromkeys(event.ids))
    found = 0
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        indexed = index_entries(examination.reader, event.number, page)
        found += len(indexed)
        for identifier in page:
            if identifier not in indexed:
                report_missing_entry(examination, identifier, event.number)
    rows, changed = examination.changes.get(event.number, (0, 0))
    if rows != (event.bulk or 0):
        examination.report(f"event {event.number} changed {event.bulk or 0} bindings, but {rows} of these changes are "
                           "stored: restore a backup, or compare with one")
        return False  # an identifier whose changes are lost would look like one that the event does not concern
    # What an archived event concerns is not known here.
    more = examination.indexed[event.number] - found - changed if examination.indexed and not event.archive else 0
    if event.tally is not None and examination.indexed:
        _check_tally(examination, event, event.tally.minted, more)
        return False
    return more > 0 and not event.is_imported


def _check_tally(examination: Examination, event: Event, minted: int, indexed: int) -> None:
    """Whether each identifier of a minting still refers to it: by its record, or since a later one by the index."""
    known = examination.pointed[event.number] + indexed
    if known != minted:
        fault = "circulation records are missing" if known < minted else "that is too many"
        examination.report(f"event {event.number} minted {minted} identifiers, but {known} refer to it: {fault}, so "
                           "restore a backup, or compare with one")


def _is_of_minter(event: Event) -> bool:
    """Whether an event concerns the minter and no identifier, or what may not be known of both, as an import."""
    if event.ids or event.tally is not None or event.bulk is not None:
        return False
    return bool(event.changes) or event.is_imported or event.verb in _OF_MINTER


def index_entries(reader: Reader, number: int, identifiers: list[bytes]) -> set[bytes]:
    """Those of the identifiers whose index of events has this event."""
    key = number_key(number)
    found = reader.get_many([(HISTORY, pair(identifier, key)) for identifier in identifiers])
    return {identifier for identifier, value in zip(identifiers, found, strict=True) if value is not None}


def report_missing_entry(examination: Examination, identifier: bytes, number: int) -> None:
    examination.report(f"event {number} is missing in the history of {examination.name(identifier)}",
                       partial(_mend_index, identifier, number))


def _mend_index(identifier: bytes, number: int, writer: Writer) -> bool:
    if writer.get(HISTORY, pair(identifier, number_key(number))) is not None:
        return False
    index_event(writer, identifier, number)
    return True


def _report_superfluous(examination: Examination, events: dict[int, frozenset[bytes]]) -> None:
    """Name the identifiers in whose history one of these events is, although it does not concern them."""
    for key, _ in examination.reader.scan(HISTORY):
        identifier, rest = parts_of(key) or (b"", b"")
        number = int.from_bytes(rest, "big")
        concerned = events.get(number)
        if concerned is None or identifier in concerned or changes_to(examination.reader, number, identifier):
            continue
        examination.report(f"the history of {examination.name(identifier)} has event {number}, which does not concern "
                           "it", partial(_mend_superfluous, identifier, number))


def _mend_superfluous(identifier: bytes, number: int, writer: Writer) -> bool:
    event = read_event(writer, number)
    if event is None or identifier in event.ids or changes_to(writer, number, identifier):
        return False
    return writer.delete(HISTORY, pair(identifier, number_key(number)))


def _check_index(examination: Examination) -> None:
    for key, _ in examination.items(HISTORY):
        parts = parts_of(key)
        if parts is None or len(parts[1]) != NUMBER_SIZE:
            examination.report(f"the entry {printable(key[:60])!r} of the index of events is damaged: compare with a "
                               "backup")
            continue
        number = int.from_bytes(parts[1], "big")
        examination.indexed.add(number)
        examination.check_event(number, f"the history of {examination.name(parts[0])}")


def _check_names_of_events(examination: Examination) -> None:
    for name, number in event_names(examination.reader):
        if number is None:
            examination.report(f"the name {printable(name)!r} refers to an event, but the number of it is damaged: "
                               "compare with a backup")
        else:
            examination.check_event(number, f"the name {printable(name)!r}")


def _check_custodians(examination: Examination) -> None:
    rows = ((count, *row) for table, count in ((CUSTODY, 4), (OFFICES, 5)) for row in examination.items(table))
    for count, key, packed in rows:
        parts, fields = parts_of(key), fields_of(packed, count)
        if parts is None or len(parts[1]) != NUMBER_SIZE or fields is None or not are_dates(fields[2:4]):
            examination.report_damaged("the custodian", key)
        else:
            examination.check_event(int.from_bytes(parts[1], "big"),
                                    f"a custodian of {examination.name(parts[0] or b'the minter')}")


def _check_statements(examination: Examination) -> None:
    for key, packed in examination.items(STATED):
        parts, fields = parts_of(key), fields_of(packed, 5)
        if (parts is None or parts_of(parts[1]) is None or fields is None or not fields[4].isdigit()
                or not are_dates(fields[2:4])):
            examination.report_damaged("the statement", key)
        else:
            examination.check_event(int(fields[4]),
                                    f"a statement about {examination.name(parts[0] or b'the minter')}")


# -- bulk changes ------------------------------------------------------------------------------------------------------


def _check_changes(examination: Examination) -> None:
    """The rows are in the order of their events, and of each event in the order of the identifiers."""
    for number, keys in groupby(_rows(examination), key=lambda row: row[0]):
        rows = indexed = 0
        page: list[bytes] = []
        for _, identifier in keys:
            rows += 1
            if not page or page[-1] != identifier:
                if len(page) >= _PAGE:
                    indexed += _check_page(examination, number, page)
                    page = []
                page.append(identifier)
        examination.changes[number] = rows, indexed + _check_page(examination, number, page)


def _rows(examination: Examination) -> Iterator[tuple[int, bytes]]:
    """The number of the event and the identifier of each row, which is empty if it is damaged."""
    for key, packed in examination.items(CHANGES):
        number = int.from_bytes(key[:NUMBER_SIZE], "big")
        if not examination.has_event(number):
            examination.report(f"a change belongs to event {number}, which does not exist: compare with a backup")
            continue
        parts = parts_of(key[NUMBER_SIZE:])
        if parts is None or not parts[0] or not _is_sound_change(key[NUMBER_SIZE:], packed):
            examination.report(f"a change of event {number} is damaged: compare with a backup")
        yield number, b"" if parts is None else parts[0]


def _is_sound_change(place: bytes, packed: bytes) -> bool:
    try:
        return fields_of(packed, 2) is not None and bool(RecordedEdit.unpacked(place, packed).key)
    except (ValueError, IndexError):
        return False


def _check_page(examination: Examination, number: int, page: list[bytes]) -> int:
    """Whether the event is found from each of these identifiers; returns how many have an entry in the index.

    An identifier that was recorded by the event needs none: its circulation record refers to it.
    """
    identifiers = [identifier for identifier in page if identifier]
    entries = index_entries(examination.reader, number, identifiers)
    missing = [identifier for identifier in identifiers if identifier not in entries]
    for identifier, record in zip(missing, find_many(examination.reader, missing), strict=True):
        if record is None or record.event != number:
            report_missing_entry(examination, identifier, number)
    return len(entries)


# The index and the rows of bulk changes first, because the events are compared with what these refer to.
CHECKS = (_check_changes, _check_index, _check_events, _check_names_of_events, _check_custodians, _check_statements)
