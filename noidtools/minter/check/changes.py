"""Checks of the rows of bulk changes: the events to which they belong, and whether the index of events has these."""

from __future__ import annotations

from itertools import groupby

from ..changes import RecordedEdit
from ..circulation import find_many
from ..events import NUMBER_SIZE
from ..schema import CHANGES
from .examination import fields_of, parts_of
from .history import index_entries, report_missing_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .examination import Examination

_PAGE = 500


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
        if parts is None or not parts[0] or not _is_sound(key[NUMBER_SIZE:], packed):
            examination.report(f"a change of event {number} is damaged: compare with a backup")
        yield number, b"" if parts is None else parts[0]


def _is_sound(place: bytes, packed: bytes) -> bool:
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


CHECKS = (_check_changes,)
