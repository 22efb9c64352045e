"""The log of events as it is read, and what long commands and imports write to it beside `record_event`.

Apart from events.py, because a process that makes one change reads no event.
"""

from __future__ import annotations

from ..codec import pack, pair_prefix, split_pair, unpack
from ..times import SECOND, timestamp
from .events import ARCHIVE, BULK, CHANGE, DETAIL, ELEMENT, ID, TALLY, Change, Tally, number_key
from .tables import EVENTS, HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from .events import Actor

# How many events are read at once.
_PAGE = 500

# For so long after its date a minting event may be extended by the next transaction of the same command.  It keeps its
# date, which is therefore never wrong by more than this.
_CONTINUED = 60 * SECOND


class Event:
    """An event as read from the database.

    number   its number, from 1 on
    date     when it was recorded, in fourteen digits
    who, interface   see Actor
    verb     the command, such as mint or bind set
    ids      the identifiers concerned, as stored
    changes  what changed
    tally    for a minting, how many identifiers; else None
    bulk     how many bindings it changed, if these are rows of the table of changes (see changes.py); else None
    details  further words, such as the template of a new minter
    archive  the number of the archive to which all but date, who, interface and verb was moved; empty if it is here
    """

    __slots__ = ("number", "date", "who", "interface", "verb", "ids", "changes", "tally", "bulk", "details", "archive")

    def __init__(self, number: int, packed: bytes) -> None:
        self.number = number
        self.date, self.who, self.interface, self.verb, *parts = unpack(packed)
        self.ids = _parts(parts, ID)
        self.changes = [Change.unpacked(part) for part in parts if part[0] in (CHANGE, ELEMENT)]
        self.details = _parts(parts, DETAIL)
        self.bulk = next((int(part) for part in _parts(parts, BULK)), None)
        self.archive = next(iter(_parts(parts, ARCHIVE)), b"")
        self.tally: Tally | None = None
        for part in _parts(parts, TALLY):
            minted, requested, first, last = unpack(part)
            self.tally = Tally(int(minted), int(requested), first, last)

    def packed(self) -> bytes:
        """The event as it is stored."""
        fields = [self.date, self.who, self.interface, self.verb]
        fields += [bytes((ID,)) + identifier for identifier in self.ids]
        fields += [change.packed() for change in self.changes]
        fields += [bytes((DETAIL,)) + detail for detail in self.details]
        if self.tally is not None:
            fields.append(self.tally.packed())
        if self.bulk is not None:
            fields.append(bytes((BULK,)) + b"%d" % self.bulk)
        if self.archive:
            fields.append(bytes((ARCHIVE,)) + self.archive)
        return pack(fields)

    def packed_for(self, archive: bytes) -> bytes:
        """What is left of the event in the database when the rest is in an archive."""
        return pack([self.date, self.who, self.interface, self.verb, bytes((ARCHIVE,)) + archive])

    def subject(self, change: Change) -> bytes:
        """The identifier that a change of this event belongs to; empty if it concerns the minter, or several."""
        return change.of or (self.ids[0] if len(self.ids) == 1 else b"")


def _parts(parts: list[bytes], kind: int) -> list[bytes]:
    return [part[1:] for part in parts if part[0] == kind]


def packed_event(
    date: bytes, who: bytes, interface: bytes, verb: bytes, *details: bytes, tally: Tally | None = None
) -> bytes:
    """An event that another program recorded, for `put_events`."""
    fields = [date, who, interface, verb, *(bytes((DETAIL,)) + detail for detail in details)]
    return pack(fields if tally is None else (*fields, tally.packed()))


def put_events(writer: Writer, first: int, packed: list[bytes]) -> None:
    """Write events under the numbers from `first` on."""
    writer.put_many(EVENTS, [(number_key(number), event) for number, event in enumerate(packed, first)])


def read_events(reader: Reader, numbers: list[int]) -> Iterator[Event]:
    """The events with these numbers, in this order; numbers without an event are skipped."""
    for start in range(0, len(numbers), _PAGE):
        page = numbers[start : start + _PAGE]
        found = reader.get_many([(EVENTS, number_key(number)) for number in page])
        for number, packed in zip(page, found, strict=True):
            if packed is not None:
                yield Event(number, packed)


def packed_events(reader: Reader, *, after: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Up to `limit` events with numbers greater than `after`, in order: numbers and packed events."""
    for key, packed in reader.scan(EVENTS, after=number_key(after), limit=limit):
        yield int.from_bytes(key, "big"), packed


def indexed_numbers(reader: Reader, identifier: bytes) -> set[int]:
    """The numbers of the events that are indexed under an identifier."""
    keys = reader.scan(HISTORY, pair_prefix(identifier))
    return {int.from_bytes(split_pair(key)[1], "big") for key, _ in keys}


def read_event(reader: Reader, number: int) -> Event | None:
    """The event with this number, None if there is none."""
    packed = reader.get(EVENTS, number_key(number))
    return None if packed is None else Event(number, packed)


def may_continue(reader: Reader, number: int, actor: Actor) -> bool:
    """Whether a minting event is recent enough that further identifiers may be added to it."""
    event = read_event(reader, number)
    return event is not None and event.date >= timestamp(actor.now() - _CONTINUED)


def add_to_bulk(writer: Writer, number: int, changed: int) -> None:
    """Add to the number of bindings that an event changed as rows of the table of changes; 0 makes it such an event."""
    key = number_key(number)
    fields = unpack(writer.get(EVENTS, key) or b"")
    for place, part in enumerate(fields):
        if place > 3 and part[0] == BULK:
            changed += int(part[1:])
            del fields[place]
            break
    fields.append(bytes((BULK,)) + b"%d" % changed)
    writer.put(EVENTS, key, pack(fields))


def add_to_tally(writer: Writer, number: int, tally: Tally) -> None:
    """Add to the tally of a minting event what another transaction minted.

    `tally.requested` is how many identifiers the command still had to mint when that transaction began.
    """
    key = number_key(number)
    fields = unpack(writer.get(EVENTS, key) or b"")
    for place, part in enumerate(fields):
        if place > 3 and part[0] == TALLY:
            before, _, first, _ = unpack(part[1:])
            tally = Tally(tally.minted + int(before), tally.requested + int(before), first, tally.last)
            del fields[place]
            break
    fields.append(tally.packed())
    writer.put(EVENTS, key, pack(fields))
