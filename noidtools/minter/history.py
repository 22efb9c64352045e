"""The events of one identifier, and those of a minter as a whole.

The events of an identifier are those in its index and the one that its circulation record points to.  An identifier
that was only minted therefore needs no entry in the index.
"""

from __future__ import annotations

from ..errors import NotFoundError, printable
from .archive import Archives
from .changes import changes_to
from .circulation import find
from .events import Digest, Event, indexed_numbers, packed_events, read_event, read_events
from .relations.abstract import identify_with_abstract
from .visibility import hides, sees_everything

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader
    from ..times import Clock
    from . import Minter

# How many events are read in one transaction.
_PAGE = 500

# An event about more other identifiers than this is shortened in the history of one of them.
_MANY = 20

# How often `follow` looks for new events, in nanoseconds.  Looking takes a few microseconds.
_PAUSE = 250_000_000

# Where the date is in a packed event: the first field, after the byte that holds its length.
_DATE = slice(1, 15)


def numbers_of(reader: Reader, identifier: bytes) -> list[int]:
    """The numbers of the events that concern an identifier, oldest first."""
    numbers = indexed_numbers(reader, identifier)
    record = find(reader, identifier)
    if record is not None and record.event:
        numbers.add(record.event)
    return sorted(numbers)


def events_of(reader: Reader, identifier: bytes, archives: Archives | None = None) -> Iterator[Event]:
    """The events that concern an identifier, oldest first; those in archives without their changes, unless given."""
    for stored in read_events(reader, numbers_of(reader, identifier)):
        event = stored if archives is None else archives.whole(stored)
        if event.bulk is not None:
            event.ids, event.changes = [identifier], changes_to(reader, event.number, identifier)
        yield _shortened(event, identifier)


def history_of(minter: Minter, reader: Reader, text: bytes) -> list[Event]:
    """The events of a name in any spelling, or of a rule, oldest first; without names that the reader may not see.

    Raises NotFoundError if there are none.
    """
    # To find an event in an archive means to read a file of any length, which is not done for just anybody.
    archives = Archives(minter.dbdir, reader) if sees_everything(reader) else None
    events = list(events_of(reader, identify_with_abstract(minter, reader, text)[0].key, archives))
    if archives is not None:
        archives.close()
    if not events:
        raise NotFoundError(f"nothing is recorded about {printable(text)}")
    if not sees_everything(reader):
        for event in events:
            _leave_out_hidden(minter, reader, event)
    return events


def _leave_out_hidden(minter: Minter, reader: Reader, event: Event) -> None:
    """Take out of an event all names that are not public: it may concern several names, and name others."""
    def hidden(value: bytes | Digest | None) -> bool:
        return isinstance(value, bytes) and hides(reader, minter.namespace.literal_key(value))

    if event.archive:
        event.details.append(b"the rest is in an archive, and shown to those who may do more than read")
    event.ids = [identifier for identifier in event.ids if not hides(reader, identifier)]
    event.changes = [change for change in event.changes if not (change.of and hides(reader, change.of))]
    for change in event.changes:
        if not change.element:
            change.before = None if hidden(change.before) else change.before
            change.after = None if hidden(change.after) else change.after
    if event.tally and (hidden(event.tally.first) or hidden(event.tally.last)):
        event.tally = None


def _shortened(event: Event, identifier: bytes) -> Event:
    """The event; if it concerns very many identifiers, only its changes to this one, and how many others there were."""
    others = len(event.ids) - 1
    if others >= _MANY:
        event.ids = [identifier]
        event.changes = [change for change in event.changes if change.of in (b"", identifier)]
        event.details.append(b"and %d other identifiers" % others)
    return event


def stream(minter: Minter, *, after: int = 0, since: bytes = b"") -> Iterator[Event]:
    """The events of a minter with numbers greater than `after` and dates not before `since`, in order."""
    archives = minter.read(lambda reader: Archives(minter.dbdir, reader))
    for number, packed in _rows(minter, after):
        # Every date is compared: if the clock was set back, a later event may have an earlier date.
        if packed[_DATE] >= since:
            yield archives.whole(Event(number, packed))


def follow(minter: Minter, clock: Clock, *, after: int = 0, since: bytes = b"") -> Iterator[Event]:
    """As `stream`, and then new events as they are recorded, without end.

    A minting event is yielded again, under the same number, whenever its tally has grown.
    """
    # Minting events that may still grow: how many identifiers each had when it was last yielded, by number.
    growing: dict[int, int] = {}
    archives = minter.read(lambda reader: Archives(minter.dbdir, reader))
    while True:
        quiet = True
        for number, packed in _rows(minter, after):
            after, quiet = number, False
            if packed[_DATE] < since:
                continue
            event = archives.whole(Event(number, packed))
            if event.tally and event.tally.minted < event.tally.requested:
                growing[number] = event.tally.minted
            yield event
        for event in _grown(minter, growing):
            quiet = False
            yield event
        if quiet:
            clock.sleep(_PAUSE)


def _grown(minter: Minter, growing: dict[int, int]) -> list[Event]:
    """Those of the events whose tally has grown; `growing` is brought up to date."""
    if not growing:
        return []
    current = minter.read(lambda reader: [read_event(reader, number) for number in growing])
    newest = max(growing)
    grown = []
    for event in current:
        if event is None or event.tally is None:
            continue
        number, tally = event.number, event.tally
        if tally.minted != growing[number]:
            growing[number] = tally.minted
            grown.append(event)
        # An old event that never reached the number requested is of a command that failed, and will not grow.
        if tally.minted >= tally.requested or number < newest - _PAGE:
            del growing[number]
    return grown


def _rows(minter: Minter, after: int) -> Iterator[tuple[int, bytes]]:
    """Numbers and packed events with numbers greater than `after`, each page in a transaction of its own."""
    def page(reader: Reader, after: int | None) -> tuple[list[tuple[int, bytes]], int | None]:
        rows = list(packed_events(reader, after=after or 0, limit=_PAGE))
        return rows, rows[-1][0] if rows else None

    return minter.read_pages(page, after)
