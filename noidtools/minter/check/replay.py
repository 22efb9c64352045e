"""The events of each name, replayed, oldest first, beside what is stored about it.

The newest change of each property and of each element is what the records must say.  A rule is a name whose elements
are what it computes; the minter itself is the empty name, whose properties are its settings, notes and tokens.

Of some events only date and verb are known, because they are in an archive, or were made of what another program had
stored.  What such an event may have changed is unknown until a later event says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import merge
from itertools import groupby
from operator import itemgetter

from ...codec import pair_prefix
from ...store import Reader
from .. import schema
from ..bindings import all_rules
from ..changes import RecordedEdit
from ..circulation import Circulation
from ..events import NUMBER_SIZE, Change, Digest, Event, number_key
from ..namespace import RULE_MARK
from ..qualities import STATABLE
from .examination import SMALLEST_RECORD, Examination, parse_event, parts_of

# Tables with one row for a name, and those of the minter.
_ONE = (schema.IDS, schema.ALIASES, schema.TOMBSTONES, schema.ABSTRACT)
_OF_MINTER = (schema.CONFIG, schema.NOTES, schema.TOKENS)
MINTER = b""

# Names and bytes that are read together, and events that are kept in memory.
_PAGE, _PAGE_BYTES = 500, 4 << 20
_MOST_EVENTS = 5000

HOLD, STATE, PEPPER = b"hold", b"state", b"pepper"
_BINDING = b"bind "
_CUSTODIAN, _CLEAR = b"custodian", b"clear"
_STATING = (b"quality", b"quality remove", _CLEAR)
_TOKEN = (b"token new", b"token revoke")
_IMPORT = b"import"
_QUALITIES = frozenset(quality.encode() for quality in STATABLE)


# -- what is stored --------------------------------------------------------------------------------------------------


class StoredRows:
    """What is stored about a name.

    rows     of each table the rest of the keys, and the values
    record   the circulation record; None if there is none, or if it is too short to be one
    numbers  the numbers of the events that concern it, in order
    """

    __slots__ = ("key", "numbers", "record", "rows")

    def __init__(self, key: bytes, rows: dict[bytes, dict[bytes, bytes]]) -> None:
        self.key = key
        self.rows = rows
        packed = self.one(schema.IDS)
        self.record = Circulation.unpacked(packed) if packed and len(packed) >= SMALLEST_RECORD else None
        numbers = {int.from_bytes(rest, "big") for rest in self.several(schema.HISTORY)}
        if self.record is not None and self.record.event:
            numbers.add(self.record.event)
        self.numbers = sorted(numbers)

    def several(self, table: bytes) -> dict[bytes, bytes]:
        return self.rows.get(table) or {}

    def one(self, table: bytes) -> bytes | None:
        found = self.rows.get(table)
        return found[b""] if found else None


def stored_pages(examination: Examination) -> Iterator[list[StoredRows]]:
    """All names of which anything is stored, in the order of their bytes, some at a time."""
    page: list[StoredRows] = []
    size = 0
    for key, items in groupby(_all_rows(examination), key=itemgetter(0)):
        rows: dict[bytes, dict[bytes, bytes]] = {}
        for _, table, rest, value in items:
            rows.setdefault(table, {})[rest] = value
            size += len(value)
        page.append(StoredRows(key, rows))
        if len(page) >= _PAGE or size >= _PAGE_BYTES:
            yield page
            page, size = [], 0
    yield page


def _all_rows(examination: Examination) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """The rows of all tables in the order of names: name, table, rest of the key, value."""
    reader = examination.reader
    of_minter = [(MINTER, schema.HISTORY, number_key(number), b"") for number in examination.of_minter]
    of_minter += [(MINTER, table, key, value) for table in _OF_MINTER for key, value in reader.scan(table)]
    rules = sorted((RULE_MARK + pattern, schema.ELEMENTS, element, value)
                   for element, pattern, value in all_rules(reader))
    tables = [_single_rows(reader, table) for table in _ONE] + [_pair_rows(reader, table) for table in schema.BY_PAIR]
    return merge(of_minter, rules, *tables, key=itemgetter(0))


def _single_rows(reader: Reader, table: bytes) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    for key, value in reader.scan(table):
        yield key, table, b"", value


def _pair_rows(reader: Reader, table: bytes) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    for key, value in reader.scan(table):
        parts = parts_of(key)
        if parts is not None:  # a damaged key is reported elsewhere
            yield parts[0], table, parts[1], value


# -- events ----------------------------------------------------------------------------------------------------------


class Events:
    """The events of the names of one page after the other."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[int, Event | None] = {}
        # The changes of events, by number and by the name to which they belong: an event may concern very many names.
        self._changes: dict[int, dict[bytes, list[Change]]] = {}
        # What bulk events changed of the names of a page, by the number of the event and the name.
        self._edits: dict[tuple[int, bytes], list[RecordedEdit]] = {}

    def load(self, page: list[StoredRows]) -> None:
        """Read what is needed for the names of a page."""
        if len(self._known) > _MOST_EVENTS:
            self._known.clear()
            self._changes.clear()
        self._read(sorted({number for name in page for number in name.numbers[:_PAGE]}))
        spans: dict[int, tuple[bytes, bytes]] = {}
        for name in page:
            for number in name.numbers:
                event = self[number]
                if event is not None and event.bulk is not None:
                    spans[number] = (spans[number][0] if number in spans else name.key, name.key)
        self._edits.clear()
        for number, (first, last) in spans.items():
            self._read_edits(number, first, last)

    def __getitem__(self, number: int) -> Event | None:
        """An event; None if it is missing or damaged."""
        if number not in self._known:
            self._read([number])
        return self._known[number]

    def changes_of(self, event: Event, name: bytes) -> list[Change]:
        """What an event changed of a name, or of all its names."""
        by_name = self._changes.get(event.number)
        if by_name is None:
            by_name = self._changes[event.number] = {}
            for change in event.changes:
                by_name.setdefault(change.of, []).append(change)
        found = by_name.get(b"", [])
        return found + by_name.get(name, []) if name else found

    def edits(self, number: int, name: bytes) -> list[RecordedEdit]:
        return self._edits.get((number, name), [])

    def _read(self, numbers: list[int]) -> None:
        missing = [number for number in numbers if number not in self._known]
        found = self._reader.get_many([(schema.EVENTS, number_key(number)) for number in missing])
        for number, packed in zip(missing, found, strict=True):
            self._known[number] = None if packed is None else parse_event(number, packed)

    def _read_edits(self, number: int, first: bytes, last: bytes) -> None:
        """Read what an event changed of the names from the first to the last: its rows are in the order of names."""
        event = number_key(number)
        # No row has this key; those of the first name follow it.
        before_first = event + pair_prefix(first)[:-1]
        for key, packed in self._reader.scan(schema.CHANGES, event, after=before_first):
            parts = parts_of(key[NUMBER_SIZE:])
            if parts is not None and parts[0] > last:
                return
            try:
                edit = RecordedEdit.unpacked(key[NUMBER_SIZE:], packed)
            except (ValueError, IndexError):
                continue  # reported elsewhere
            self._edits.setdefault((number, edit.key), []).append(edit)


# -- the replay ------------------------------------------------------------------------------------------------------


def fingerprint(value: bytes | Digest | None) -> bytes | None:
    """Equal for equal values, of which a long one may be recorded as its digest."""
    if value is None:
        return None
    return value.sha256 if isinstance(value, Digest) else sha256(value).digest()


@dataclass(slots=True)
class Recorded:
    """What the newest event about something says: the value, and the number of that event, 0 if there is none.

    others  values that may be newer all the same.  A bulk change is made in several transactions if it is large, so
            that a part of it may be newer than an event with a greater number
    """

    after: bytes | Digest | None
    number: int = 0
    others: set[bytes | None] = field(default_factory=set)

    def allows(self, value: bytes | None) -> bool:
        found = fingerprint(value)
        return found == fingerprint(self.after) or found in self.others


class Replay:
    """What the events of a name say.

    elements    the newest value of each element
    custodians  the custodians that were named, by the number of the event
    statements  the qualities that are stated, by quality and authority
    mintings    how often it was minted
    complete    whether all its events are known
    """

    def __init__(self, name: StoredRows, events: Events, *, long_term: bool, imported: bool) -> None:
        """`imported` is whether the minter was made of one of another program, which says nothing of some names."""
        self.elements: dict[bytes, Recorded] = {}
        self.custodians: dict[int, Recorded] = {}
        self.statements: dict[tuple[bytes, bytes], Recorded] = {}
        self.mintings = 0
        self.complete = True
        self._properties: dict[bytes, Recorded] = {}
        self._known = {"elements": True, "state": True, "others": True}
        origin = name.record.event if name.record is not None and name.record.foreign else 0
        if imported and not name.numbers:
            self._forget(None)
        for number in name.numbers:
            event = events[number]
            if event is None or event.is_imported or event.archive:
                self._forget(event)
                continue
            if event.tally is not None:
                self._mint(event, long_term=long_term)
            if number == origin:
                self._adopt(event)
            self._change(name.key, event, events.changes_of(event, name.key))
            edits = events.edits(number, name.key)
            if edits and event.verb == _IMPORT and self._is_new:
                self._properties[HOLD] = Recorded(b"held", number)
            for edit in edits:
                self._bind(edit.element, edit.after, number, bulk=True)

    def recorded(self, what: bytes) -> Recorded | None:
        """What the events say of a property; None if that is unknown."""
        known = self._known["state" if what == STATE else "others"]
        return self._properties.get(what) or (Recorded(None) if known else None)

    def names(self) -> list[bytes]:
        """The properties of which an event says something."""
        return list(self._properties)

    @property
    def knows_elements(self) -> bool:
        """Whether an element of which no event says anything is not bound."""
        return self._known["elements"]

    def _forget(self, event: Event | None) -> None:
        """Go on after an event that may have changed anything; one that binds has changed elements only, and one that
        changes a state is never moved to an archive."""
        self.complete = False
        state = self._properties.get(STATE)
        self.elements.clear()
        self.statements.clear()
        self._known["elements"] = False
        if event is not None and event.archive and event.verb.startswith(_BINDING):
            return
        self._properties.clear()
        self._known["others"] = False
        if event is not None and event.archive:
            if state is not None:
                self._properties[STATE] = state
        else:
            self._known["state"] = False

    def _mint(self, event: Event, *, long_term: bool) -> None:
        self.mintings += 1
        state = self._properties.get(STATE)
        if state is None or state.after == b"reserved":
            self._properties[STATE] = Recorded(None, event.number)
        self._properties[PEPPER] = Recorded(b"peppered" if event.verb == b"peppermint" else None, event.number)
        if long_term:
            self._properties[HOLD] = Recorded(b"held", event.number)

    @property
    def _is_new(self) -> bool:
        """Whether nobody has got the name so far, as far as the events tell, so that an import holds it."""
        return self.complete and not self.mintings and STATE not in self._properties

    def _adopt(self, event: Event) -> None:
        """The name was recorded as one of foreign origin, which holds it; it may be reserved from the beginning."""
        self._properties[HOLD] = Recorded(b"held", event.number)
        self._known["state"] = False

    def _change(self, name: bytes, event: Event, changes: list[Change]) -> None:
        number = event.number
        for change in changes:
            if change.element:
                self._bind(change.what, change.after, number)
                continue
            # Settings and notes of the minter may have the same names.
            what = event.verb + b" " + change.what if name == MINTER else change.what
            self._properties[what] = Recorded(change.after, number)
            if change.what == _CUSTODIAN and change.after is not None:
                self.custodians[number] = Recorded(change.after, number)
        if event.verb in _STATING:
            self._state(event, {change.what: change for change in changes})
        elif name == MINTER and event.verb in _TOKEN and event.details:
            terms = b" ".join(event.details[1:]) if event.verb == _TOKEN[0] else None
            self._properties[b"token " + event.details[0]] = Recorded(terms, number)

    def _state(self, event: Event, changes: dict[bytes, Change]) -> None:
        """Record what an authority states, or states no longer; a name that is minted again has no statements."""
        if event.verb == _CLEAR:
            self.statements.clear()
            return
        by = changes.get(b"authority")
        authority = by.after or by.before if by is not None else None
        for quality in changes.keys() & _QUALITIES:
            if isinstance(authority, bytes):
                self.statements[quality, authority] = Recorded(changes[quality].after, event.number)

    def _bind(self, element: bytes, after: bytes | Digest | None, number: int, *, bulk: bool = False) -> None:
        before = self.elements.get(element)
        recorded = self.elements[element] = Recorded(after, number, before.others if before else set())
        if bulk:
            recorded.others.add(fingerprint(after))

