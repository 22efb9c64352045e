"""Old events, moved out of the database to files.

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

from ..errors import ConflictError, StoreError, UsageError
from ..store.folders import sync_folder
from . import config
from .events import Event, newest_number, number_key, packed_events, record_event
from .schema import CONFIG, EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

    # Writes an event for people, as a dictionary for JSON.
    Describe = Callable[[Event], dict[str, object]]

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

    def page(reader: Reader, after: int | None) -> tuple[list[tuple[int, bytes]], int | None]:
        rows = list(packed_events(reader, after=after or 0, limit=_PAGE))
        return rows, rows[-1][0] if rows else None

    for number, packed in minter.read_pages(page):
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
    for part, rows in groupby(_rows(path), key=lambda row: row[0] // _CHUNK):
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


def _rows(path: str) -> Iterator[tuple[int, bytes]]:
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
            self._open[event.archive] = _rows(self._path(event.archive))
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

    def close(self) -> None:
        self._open.clear()
