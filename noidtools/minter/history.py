"""What happened: to one identifier, and to a minter as a whole.

The events of an identifier are those in its index, and the one its circulation
record points to.  So an identifier that was only minted costs nothing here.
"""

from __future__ import annotations

from ..errors import NotFoundError, printable
from .events import Event, indexed_numbers, packed_events, read_event, read_events
from .identifiers import identify
from .records import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..clock import Clock
    from ..store import Reader
    from . import Minter

_PAGE = 500
_MANY = 20

# How often one who follows the record looks for something new, in nanoseconds: a person does not notice, and one
# look is a few microseconds.
_PAUSE = 250_000_000

# The first fourteen bytes behind the length of the first field are an event's date.
_DATE = slice(1, 15)


def numbers_of(reader: Reader, identifier: bytes) -> list[int]:
    """The events that concern an identifier, by their numbers, oldest first."""
    found = indexed_numbers(reader, identifier)
    record = find(reader, identifier)
    if record is not None and record.event:
        found.add(record.event)
    return sorted(found)


def events_of(reader: Reader, identifier: bytes) -> Iterator[Event]:
    for happened in read_events(reader, numbers_of(reader, identifier)):
        yield _narrowed(happened, identifier)


def history_of(minter: Minter, reader: Reader, text: bytes) -> list[Event]:
    """The events of a name in any spelling, or of a rule, oldest first.  Raises NotFoundError if there are none."""
    found = list(events_of(reader, identify(minter, reader, text).key))
    if not found:
        raise NotFoundError(f"nothing is recorded about {printable(text)}")
    return found


def _narrowed(happened: Event, identifier: bytes) -> Event:
    """Of a command about very many identifiers only what it did to this one."""
    others = len(happened.ids) - 1
    if others >= _MANY:
        happened.ids = [identifier]
        happened.changes = [change for change in happened.changes if change.of in (b"", identifier)]
        happened.details.append(b"and %d other identifiers" % others)
    return happened


def stream(minter: Minter, *, after: int = 0, since: bytes = b"") -> Iterator[Event]:
    """All events past a number, and not before a date."""
    for number, packed in _rows(minter, after):
        # The clock may have been set back, so that later events can have earlier dates: each is looked at.
        if packed[_DATE] >= since:
            yield Event(number, packed)


def follow(minter: Minter, clock: Clock, *, after: int = 0, since: bytes = b"") -> Iterator[Event]:
    """As `stream`, and then whatever happens, until the caller has enough.

    An event of minting is given again when more was counted to it; its number tells.
    """
    growing: dict[int, int] = {}
    while True:
        quiet = True
        for number, packed in _rows(minter, after):
            after, quiet = number, False
            if packed[_DATE] < since:
                continue
            happened = Event(number, packed)
            if happened.tally and happened.tally.made < happened.tally.asked:
                growing[number] = happened.tally.made
            yield happened
        for grown in _grown(minter, growing):
            quiet = False
            yield grown
        if quiet:
            clock.sleep(_PAUSE)


def _grown(minter: Minter, growing: dict[int, int]) -> list[Event]:
    """Those of the events to which something was added since; `growing` is brought up to date."""
    if not growing:
        return []
    seen = minter.read(lambda reader: [read_event(reader, number) for number in growing])
    newest = max(growing)
    found = []
    for happened in seen:
        if happened is None or happened.tally is None:
            continue
        number, tally = happened.number, happened.tally
        if tally.made != growing[number]:
            growing[number] = tally.made
            found.append(happened)
        # Only the newest mintings can still be under way: old ones that came to less than was asked are let go.
        if tally.made >= tally.asked or number < newest - _PAGE:
            del growing[number]
    return found


def _rows(minter: Minter, after: int) -> Iterator[tuple[int, bytes]]:
    """Numbers and packed events behind a number, read page by page."""
    def page(reader: Reader, after: int | None) -> tuple[list[tuple[int, bytes]], int | None]:
        rows = list(packed_events(reader, after=after or 0, limit=_PAGE))
        return rows, rows[-1][0] if rows else None

    return minter.read_pages(page, after)
