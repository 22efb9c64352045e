"""The events of one identifier and of a minter as a whole, and archives, to which old events are moved.

The events of an identifier are those in its index and the one that its circulation record points to.  An identifier
that was only minted therefore needs no entry in the index.

An archive is a file with one JSON object a line for each event, in the order of their numbers: what `log --json`
prints, and the event as it was stored (`packed`, in base64).  What is left in the database is the event's date, actor,
interface and verb, the entries in the index, and the number of the archive; so whatever refers to an event still finds
it.  The settings `archive/1`, `archive/2` and so on are the paths of the files.
"""

from __future__ import annotations

import base64
import json
import os
from functools import partial
from itertools import groupby

from ..errors import ConflictError, NotFoundError, StoreError, UsageError, printable
from ..store.folders import sync_folder
from . import config
from .changes import changes_to
from .circulation import find
from .events import (
    PACKED_DATE,
    Digest,
    Event,
    indexed_numbers,
    newest_number,
    number_key,
    packed_events,
    read_event,
    read_events,
    record_event,
)
from .policies import hides, sees_all_names
from .relations.abstract import identify_with_abstract
from .schema import CONFIG, EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..store import Reader, Writer
    from ..times import Clock
    from . import Minter
    from .events import Actor

    # Writes an event for people, as a dictionary for JSON.
    Describe = Callable[[Event], dict[str, object]]


# -- archives of events ----------------------------------------------------------------------------------------------

_SETTING = "archive"
_PAGE = 500

# The events of a transaction, by their numbers.
_CHUNK = 1000

# What an event that is moved leaves behind is about as long as this; moving a shorter one would gain nothing.
_LEFT = 100


# -- moving events to a file -----------------------------------------------------------------------------------------


def archive(minter: Minter, actor: Actor, before: bytes, path: str, describe: Describe) -> tuple[int, int]:
    """Move what events before a date say to a new file; returns how many there were, and how many bytes were freed.

    The file is complete and on disk before the database is changed.  Events stay whole that other commands need: the
    last one, mintings, changes of a state, and changes that can be undone.  Raises ConflictError if the file exists,
    UsageError if no event is to be moved, StoreError if the file cannot be written.
    """
    path = os.path.abspath(path)
    if os.path.lexists(path):
        raise ConflictError(f"{path} exists: choose the name of a new file, so that no archive is lost")
    new = f"{path}.new"
    try:
        count = _write_file(minter, before, new, describe)
        if not count:
            os.unlink(new)
            raise UsageError("no event before that date has anything to move: nothing was done")
        os.link(new, path)  # unlike a rename this never replaces a file
        os.unlink(new)
        sync_folder(os.path.dirname(path))
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"the archive {path} cannot be written: {reason}; nothing was moved") from None
    number = minter.write(lambda writer: _enter(writer, actor, path, count))
    return count, _shorten(minter, path, number)


def _write_file(minter: Minter, before: bytes, path: str, describe: Describe) -> int:
    count = 0
    if os.path.lexists(path):
        os.unlink(path)  # left by a process that was killed, or made by somebody who would read what we write
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
    with open(descriptor, "w", encoding="utf-8") as file:
        for event, packed in _movable(minter, before):
            line = {**describe(event), "packed": base64.b64encode(packed).decode()}
            file.write(json.dumps(line) + "\n")
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _movable(minter: Minter, before: bytes) -> Iterator[tuple[Event, bytes]]:
    newest = minter.read(newest_number)
    for number, packed in _rows(minter, 0):
        if len(packed) > _LEFT and number < newest:
            event = Event(number, packed)
            if event.date < before and _may_move(event):
                yield event, packed


def _may_move(event: Event) -> bool:
    """Whether nothing but the history of its identifiers needs what an event says."""
    if event.archive or event.tally is not None or event.bulk is not None:
        return False
    return not any(change.what == b"state" and not change.element for change in event.changes)


def _enter(writer: Writer, actor: Actor, path: str, count: int) -> bytes:
    """Make the archive known to the minter; returns its number."""
    number = str(len(config.values(writer, _SETTING)) + 1)
    writer.put(CONFIG, f"{_SETTING}/{number}".encode(), os.fsencode(path))
    record_event(writer, actor, b"log archive", b"%d events" % count, os.fsencode(path))
    return number.encode()


def _shorten(minter: Minter, path: str, number: bytes) -> int:
    """Replace the events in the database by what is left of them; returns how many bytes that freed."""
    freed = 0
    for part, rows in groupby(_archived_rows(path), key=lambda row: row[0] // _CHUNK):
        freed += minter.write(partial(_shorten_part, first=part * _CHUNK, moved=dict(rows), number=number))
    return freed


def _shorten_part(writer: Writer, first: int, moved: dict[int, bytes], number: bytes) -> int:
    """The same for the events of one transaction, those with the numbers from `first` on.

    All events of the part are taken out and put in again: an engine that keeps many events in a page then fills its
    pages anew, and whole ones are left over.  A shorter value in its old place would only leave gaps, which nothing
    can fill, since no event is ever put between two others.
    """
    items, freed = [], 0
    for which, packed in list(packed_events(writer, after=max(first - 1, 0), limit=_CHUNK)):
        if which >= first + _CHUNK:
            break
        # One that was changed meanwhile would stay as it is; but events do not change.
        left = Event(which, packed).packed_for(number) if moved.get(which) == packed else packed
        freed += len(packed) - len(left)
        items.append((number_key(which), left))
    for key, _ in items:
        writer.delete(EVENTS, key)
    writer.put_many(EVENTS, items)
    return freed


# -- reading ---------------------------------------------------------------------------------------------------------


def _archived_rows(path: str) -> Iterator[tuple[int, bytes]]:
    """Numbers and packed events of a file."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            yield int(entry["event"]), base64.b64decode(entry["packed"])


class Archives:
    """The archives of a minter.  Events are asked for in the order of their numbers, so that a file is read once."""

    def __init__(self, dbdir: str, reader: Reader) -> None:
        self._dbdir = dbdir
        self._paths = {name.encode(): os.fsdecode(path) for name, path in config.values(reader, _SETTING).items()}
        self._open: dict[bytes, Iterator[tuple[int, bytes]]] = {}
        self._last: dict[bytes, tuple[int, bytes]] = {}
        self._faults: dict[bytes, str] = {}

    def whole(self, event: Event) -> Event:
        """The event with what was moved; if that cannot be read, the event as it is, with a word about it."""
        if not event.archive:
            return event
        try:
            packed = self._find(event)
        except (OSError, ValueError, KeyError) as error:
            self._faults[event.archive] = getattr(error, "strerror", None) or "it is damaged"
            packed = None
        if packed is not None:
            return Event(event.number, packed)
        name = os.path.basename(self._paths.get(event.archive, ""))
        why = self._faults.get(event.archive, "it does not have this event")
        event.details.append(os.fsencode(f"the rest is in the archive {name}, which cannot be read here ({why})"))
        return event

    def _find(self, event: Event) -> bytes | None:
        """The packed event; None if the file does not have it."""
        number, packed = self._last.get(event.archive, (0, b""))
        if number > event.number:
            self._open.pop(event.archive, None)  # asked for out of order: the file is read again
            number = 0
        if event.archive not in self._open:
            self._open[event.archive] = _archived_rows(self._path(event.archive))
            number = 0
        while number < event.number:
            following = next(self._open[event.archive], None)
            if following is None:
                del self._open[event.archive]
                self._last.pop(event.archive, None)
                return None
            number, packed = self._last[event.archive] = following
        return packed if number == event.number else None

    def _path(self, archive: bytes) -> str:
        """Where the file is: where it was made, or after a move of the minter in its folder."""
        made = self._paths.get(archive, "")
        beside = os.path.join(self._dbdir, os.path.basename(made))
        return beside if not os.path.exists(made) and os.path.exists(beside) else made


# -- the history of an identifier ------------------------------------------------------------------------------------

# An event about more other identifiers than this is shortened in the history of one of them.
_MANY = 20

# How often `follow` looks for new events, in nanoseconds.  Looking takes a few microseconds.
_PAUSE = 250_000_000


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
        event.who = stored.who  # the archive has it also for a reader that may not see it
        if event.bulk is not None:
            event.ids, event.changes = [identifier], changes_to(reader, event.number, identifier)
        yield _shortened(event, identifier)


def history_of(minter: Minter, reader: Reader, text: bytes) -> list[Event]:
    """The events of a name in any spelling, or of a rule, oldest first; without names that the reader may not see.

    Raises NotFoundError if there are none.
    """
    # To find an event in an archive means to read a file of any length, which is not done for just anybody.
    archives = Archives(minter.dbdir, reader) if sees_all_names(reader) else None
    events = list(events_of(reader, identify_with_abstract(minter, reader, text)[0].key, archives))
    if not events:
        raise NotFoundError(f"nothing is recorded about {printable(text)}")
    if not sees_all_names(reader):
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
        if packed[PACKED_DATE] >= since:
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
            if packed[PACKED_DATE] < since:
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
