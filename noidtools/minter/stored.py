"""All that is stored about one identifier after the other, and about a minter as a whole, to be written elsewhere.

An export reads it, and an import of a whole minter writes it.  Every table is in one of the lists below, so that none
is forgotten; those in NOT_EXPORTED stay where they are, because they hold what gives access, or only last for a day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from operator import itemgetter

from ..codec import pair, pair_end, pair_prefix, split_pair
from ..times import timestamp
from . import schema
from .changes import keys_of_bulk
from .circulation import Circulation, in_circulation
from .events import CONTINUED, NUMBER_SIZE, PACKED_DATE, Event, number_key, packed_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter

    Rows = list[tuple[bytes, bytes]]

# Tables with one value for each identifier, and those with several, whose keys are pairs that begin with it.
_ONE = {
    "circulation": schema.IDS, "alias": schema.ALIASES, "queue": schema.QUEUED, "pepper": schema.PEPPERS,
    "tombstone": schema.TOMBSTONES, "verified": schema.VERIFIED, "abstract": schema.ABSTRACT,
}
_SEVERAL = {
    "elements": schema.ELEMENTS, "relations": schema.RELATIONS, "claims": schema.CLAIMS, "custody": schema.CUSTODY,
    "offices": schema.OFFICES, "stated": schema.STATED, "events": schema.HISTORY,
}
# Those of them in which the empty identifier stands for the minter.
OF_MINTER = {"custody": schema.CUSTODY, "offices": schema.OFFICES, "stated": schema.STATED}
# Tables of the minter as a whole, by the names under which they are exported.
WHOLE = {"meta": schema.META, "config": schema.CONFIG, "note": schema.NOTES, "rule": schema.RULES}
# Tables that follow from others, or are read by functions of their own; and tables that stay in the minter.
OTHERS = (schema.QUEUE, schema.EVENTS, schema.CHANGES)
NOT_EXPORTED = (schema.REPLIES, schema.SECRETS, schema.TOKENS)

# What a new minter has from its settings.
_CREATED = (b"format", b"settings")


@dataclass(slots=True)
class StoredName:
    """What is stored about an identifier: of each table what follows the identifier in the key, and the value.

    key          the identifier as stored
    circulation, alias, queue, pepper, tombstone, verified, abstract   values, None where there is none
    elements, relations, claims, custody, offices, stated, events   the rest of each key, and its value
    """

    key: bytes
    circulation: bytes | None = None
    alias: bytes | None = None
    queue: bytes | None = None
    pepper: bytes | None = None
    tombstone: bytes | None = None
    verified: bytes | None = None
    abstract: bytes | None = None
    elements: Rows = field(default_factory=list)
    relations: Rows = field(default_factory=list)
    claims: Rows = field(default_factory=list)
    custody: Rows = field(default_factory=list)
    offices: Rows = field(default_factory=list)
    stated: Rows = field(default_factory=list)
    events: Rows = field(default_factory=list)

    @property
    def record(self) -> Circulation | None:
        return None if self.circulation is None else Circulation.unpacked(self.circulation)

    @property
    def is_known(self) -> bool:
        """Whether commands know it as a name of this minter: it was minted, held, bound or made an alias."""
        return self.circulation is not None or bool(self.elements) or self.alias is not None

    def event_numbers(self) -> list[int]:
        """The numbers of its events, the one to which its circulation record points included."""
        numbers = {int.from_bytes(rest, "big") for rest, _ in self.events}
        record = self.record
        if record is not None and record.event:
            numbers.add(record.event)
        return sorted(numbers)


def stored_names(
    reader: Reader, prefix: bytes = b"", *, after: bytes = b"", only: frozenset[str] | None = None
) -> Iterator[StoredName]:
    """All identifiers that begin with `prefix` and have anything stored, or those after one of them, in the order of
    their bytes.

    With `only` no other attributes of StoredName are read than these.
    """
    tables = [_items(reader, name, table, prefix, after) for name, table in (_ONE | _SEVERAL).items()
              if only is None or name in only]
    for key, items in groupby(merge(*tables, key=itemgetter(0)), key=itemgetter(0)):
        found = StoredName(key)
        for _, name, rest, value in items:
            if name in _ONE:
                setattr(found, name, value)
            else:
                getattr(found, name).append((rest, value))
        yield found


def count_names(reader: Reader) -> int:
    """How many identifiers commands know as names of this minter (`StoredName.is_known`)."""
    keys = [(key for key, _ in reader.scan(table)) for table in (schema.IDS, schema.ALIASES)]
    bound = (key for key, _ in groupby(split_pair(place)[0] for place, _ in reader.scan(schema.ELEMENTS)))
    return sum(1 for _ in groupby(merge(*keys, bound)))


def read_name(reader: Reader, key: bytes, *, only: frozenset[str]) -> StoredName:
    """What is stored about an identifier; of other attributes of StoredName than these nothing is read."""
    found = StoredName(key)
    for attribute in only:
        if attribute in _ONE:
            setattr(found, attribute, reader.get(_ONE[attribute], key))
        else:
            rows = reader.scan(_SEVERAL[attribute], pair_prefix(key))
            setattr(found, attribute, [(split_pair(place)[1], value) for place, value in rows])
    return found


def _items(
    reader: Reader, name: str, table: bytes, prefix: bytes, after: bytes
) -> Iterator[tuple[bytes, str, bytes, bytes]]:
    """The rows of a table: identifier, attribute of StoredName, rest of the key, value."""
    if name in _ONE:
        for key, value in reader.scan(table, prefix, after=after or None):
            yield key, name, b"", value
        return
    # The identifier in a pair has its NUL bytes escaped.  What is stored about the minter itself is left out.
    start = prefix.replace(b"\0", b"\0\xff")
    for key, value in reader.scan(table, start, after=None if start and not after else pair_end(after)):
        identifier, rest = split_pair(key)
        yield identifier, name, rest, value


def put_name(writer: Writer, name: StoredName) -> None:
    """Write all that is stored about an identifier into a store that has nothing about it."""
    for attribute, table in _ONE.items():
        value = getattr(name, attribute)
        if value is not None:
            writer.put(table, name.key, value)
    for attribute, table in _SEVERAL.items():
        for rest, value in getattr(name, attribute):
            writer.put(table, pair(name.key, rest), value)
    if name.queue is not None:
        writer.put(schema.QUEUE, name.queue, name.key)


# -- the minter as a whole -------------------------------------------------------------------------------------------


def whole_rows(reader: Reader, kind: str) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of one of the tables in WHOLE, but for what follows from the settings."""
    for key, value in reader.scan(WHOLE[kind]):
        if kind != "meta" or key not in _CREATED:
            yield key, value


def put_whole_row(writer: Writer, kind: str, key: bytes, value: bytes) -> None:
    writer.put(WHOLE[kind], key, value)


def minter_rows(reader: Reader, kind: str) -> Iterator[tuple[bytes, bytes]]:
    """What one of the tables in OF_MINTER has about the minter: the rest of each key, and its value."""
    for key, value in reader.scan(OF_MINTER[kind], pair_prefix(b"")):
        yield split_pair(key)[1], value


def put_minter_row(writer: Writer, kind: str, rest: bytes, value: bytes) -> None:
    writer.put(OF_MINTER[kind], pair(b"", rest), value)


def event_rows(reader: Reader) -> Iterator[tuple[int, bytes]]:
    """Numbers of all events, in order, and the events as stored."""
    for key, packed in reader.scan(schema.EVENTS):
        yield int.from_bytes(key, "big"), packed


def put_event(writer: Writer, number: int, packed: bytes) -> None:
    writer.put(schema.EVENTS, number_key(number), packed)


def change_rows(reader: Reader) -> Iterator[tuple[int, bytes, bytes]]:
    """The rows of the table of changes: number of the event, place and value."""
    for key, packed in reader.scan(schema.CHANGES):
        yield int.from_bytes(key[:NUMBER_SIZE], "big"), key[NUMBER_SIZE:], packed


def put_change(writer: Writer, number: int, place: bytes, packed: bytes) -> None:
    writer.put(schema.CHANGES, number_key(number) + place, packed)


# -- what changed since ----------------------------------------------------------------------------------------------


class ChangedSince:
    """Which identifiers have an event that is not older than a date of fourteen digits."""

    __slots__ = ("_reader", "_date", "_first")

    def __init__(self, reader: Reader, date: bytes) -> None:
        self._reader = reader
        self._date = date
        # Events of later numbers may have earlier dates, if the clock was set back: they are looked at one by one.
        self._first = next((key for key, packed in reader.scan(schema.EVENTS) if packed[PACKED_DATE] >= date), None)

    def __contains__(self, name: object) -> bool:
        if self._first is None or not isinstance(name, StoredName):
            return False
        numbers = [rest for rest, _ in name.events if rest >= self._first]
        if name.circulation is not None and name.circulation[1:6] >= self._first:
            numbers.append(name.circulation[1:6])
        return any(packed is not None and packed[PACKED_DATE] >= self._date
                   for packed in self._reader.get_many([(schema.EVENTS, number) for number in numbers]))


@dataclass(slots=True)
class ChangedNames:
    """The identifiers that events concern.

    number    the number of the last of these events
    keys      the identifiers that they name
    mintings  the numbers of those that bound something to more identifiers than they name
    """

    number: int
    keys: set[bytes] = field(default_factory=set)
    mintings: set[int] = field(default_factory=set)


# How many events are looked at for what was changed; after more of them it is quicker to look at all names.
_MOST_EVENTS = 100_000


def changed_names(minter: Minter, reader: Reader, after: int, now: int) -> ChangedNames | None:
    """What was changed by the events with greater numbers than `after`; None if they cannot tell.

    A minting that goes on is left for the next time, with all that follows.
    """
    found = ChangedNames(after)
    for number, packed in packed_events(reader, after=after, limit=_MOST_EVENTS):
        event = Event(number, packed)
        if event.archive or number == after + _MOST_EVENTS:
            return None
        if event.tally is not None and any(change.element for change in event.changes):
            ends = (event.tally.first, event.tally.last)
            found.keys.update(minter.namespace.literal_key(name) for name in ends)
            if event.tally.minted > len(ends):
                found.mintings.add(number)
            if event.tally.minted < event.tally.requested and event.date >= timestamp(now - CONTINUED):
                break
        found.keys.update(event.ids, (change.of for change in event.changes if change.of))
        if event.bulk:
            found.keys |= keys_of_bulk(reader, number)
        found.number = number
    return found


def names_of_events(reader: Reader, numbers: set[int]) -> set[bytes]:
    """The identifiers whose circulation records point to one of these events."""
    return {key for key, record in in_circulation(reader) if record.event in numbers}
