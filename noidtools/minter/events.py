"""Events: the log of all changes to a minter, each written in the transaction that makes the change.

An event holds its date, the actor, the interface (shell, web, python), a verb, the identifiers concerned, and for each
changed property its value before and after.  Events are never deleted or changed once their command has ended; but
what an old one says may be moved to a file, and then date, actor and verb are left, and the archive (see history.py).

A minting of any number of identifiers is one event, to which the circulation records of the identifiers point.  Every
other event is indexed under each identifier that it concerns.  history.py combines both.
"""

from __future__ import annotations

import grp
import os
import pwd

from ..codec import pack, pair, pair_prefix, split_pair, unpack
from ..times import SECOND, system_clock, timestamp
from .schema import EVENTS, HISTORY, ensure_not_departed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from ..store import Reader, Writer
    from ..times import Clock
    from .tokens import Token

NUMBER_SIZE = 5

# Where the date is in a packed event: the first field, after the byte that holds its length.
PACKED_DATE = slice(1, 15)

# A value up to this length is stored whole; of a longer one only its length and its digest.
LONGEST_VALUE = 4096

# The first byte of a packed part of an event: its kind.
KINDS = b"icendba"
ID, CHANGE, ELEMENT, TALLY, DETAIL, BULK, ARCHIVE = KINDS
_ID_MARK, _DETAIL_MARK, _BULK_MARK, _ARCHIVE_MARK = (bytes((kind,)) for kind in (ID, DETAIL, BULK, ARCHIVE))

# What can be done with a minter whose names were handed over: it is kept running, but nothing is said of its names.
_AFTER_DEPARTURE = frozenset((
    b"config", b"note", b"copy", b"restore", b"verify", b"check repair", b"log archive", b"token new", b"token revoke",
))

# The first byte of a packed value before or after a change: its form.  An absent value is packed as no bytes.
_IS_WHOLE, _IS_DIGEST = b"=", b"#"


class Actor:
    """Who changes a minter, and through which interface.

    who        user and group as in alice/staff, or user and address as in alice@192.0.2.1
    interface  shell, web or python
    clock      the clock by which events are dated and labels are made
    token      the token by which it is done, which may limit what is minted; None if there is none
    """

    __slots__ = ("who", "interface", "clock", "token")

    def __init__(self, who: bytes, interface: bytes, clock: Clock = system_clock) -> None:
        # A separator or a line break in a name would forge a circulation record.
        self.who = who.translate(_SAFE) or b"unknown"
        self.interface = interface
        self.clock = clock
        self.token: Token | None = None

    def date(self) -> bytes:
        """The time in fourteen digits."""
        return timestamp(self.clock())

    def now(self) -> int:
        """The time in nanoseconds since 1970."""
        return self.clock()


_UNSAFE = bytes(range(0x20)) + b"|\x7f"
_SAFE = bytes.maketrans(_UNSAFE, b"_" * len(_UNSAFE))


def process_owner() -> bytes:
    """The account that runs this process: user and group, as in alice/staff; numbers where they have no names."""
    uid, gid = os.getuid(), os.getgid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return f"{user}/{group}".encode()


class Digest:
    """The length and the digest of a value that is too long to be stored in an event."""

    __slots__ = ("size", "sha256")

    def __init__(self, size: int, sha256: bytes) -> None:
        self.size = size
        self.sha256 = sha256


class Change:
    """The change of one property, or of one bound element, by an event.

    what           the name of the property, or of the element
    before, after  its values; None for no value
    of             the identifier it belongs to; empty if the event has only one, or if it applies to all of them
    element        whether `what` names an element
    """

    __slots__ = ("what", "before", "after", "of", "element")

    def __init__(
        self, what: bytes, before: bytes | Digest | None, after: bytes | Digest | None, of: bytes = b"",
        *, element: bool = False,
    ) -> None:
        self.what = what
        self.before = before
        self.after = after
        self.of = of
        self.element = element

    def packed(self) -> bytes:
        kind = ELEMENT if self.element else CHANGE
        return bytes((kind,)) + pack((self.of, self.what, pack_value(self.before), pack_value(self.after)))

    @classmethod
    def unpacked(cls, packed: bytes) -> Change:
        of, what, before, after = unpack(packed[1:])
        return cls(what, unpack_value(before), unpack_value(after), of, element=packed[0] == ELEMENT)


def property_changes(
    of: bytes, before: Mapping[str, bytes], after: Mapping[str, bytes], *, always: Container[str] = ()
) -> list[Change]:
    """The changes of the properties of an identifier, by their names; an empty value is no value.

    Those in `always` are also listed with a value that has not changed.
    """
    changes = []
    for what in dict.fromkeys((*before, *after)):
        old, new = before.get(what) or None, after.get(what) or None
        if old != new or (new is not None and what in always):
            changes.append(Change(what.encode(), old, new, of))
    return changes


def pack_value(value: bytes | Digest | None, *, whole: bool = False) -> bytes:
    """A value before or after a change as it is stored; a long one as its digest, unless it must be `whole`."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        if whole or len(value) <= LONGEST_VALUE:
            return _IS_WHOLE + value
        import hashlib

        value = Digest(len(value), hashlib.sha256(value).digest())
    return _IS_DIGEST + value.size.to_bytes(8, "big") + value.sha256


def unpack_value(stored: bytes) -> bytes | Digest | None:
    if not stored:
        return None
    if stored[:1] == _IS_WHOLE:
        return stored[1:]
    return Digest(int.from_bytes(stored[1:9], "big"), stored[9:])


class Tally:
    """How many identifiers an event minted, of how many requested; the first and the last of them."""

    __slots__ = ("minted", "requested", "first", "last")

    def __init__(self, minted: int, requested: int, first: bytes, last: bytes) -> None:
        self.minted = minted
        self.requested = requested
        self.first = first
        self.last = last

    def packed(self) -> bytes:
        return bytes((TALLY,)) + pack((b"%d" % self.minted, b"%d" % self.requested, self.first, self.last))


def record_event(
    writer: Writer, actor: Actor, verb: bytes, *details: bytes,
    ids: Iterable[bytes] = (), changes: Iterable[Change] = (),
) -> int:
    """Write one event and index it under each of `ids`, which are given as stored.

    `details` are further words.  Returns the number of the event, by which other records refer to it.
    """
    if verb not in _AFTER_DEPARTURE:
        ensure_not_departed(writer)
    number = newest_number(writer) + 1
    ids = list(ids)
    for identifier in ids:
        index_event(writer, identifier, number)
    packed = packed_event(actor.date(), actor.who, actor.interface, verb, *details, ids=ids, changes=changes)
    writer.put(EVENTS, number_key(number), packed)
    return number


def packed_event(
    date: bytes, who: bytes, interface: bytes, verb: bytes, *details: bytes, ids: Iterable[bytes] = (),
    changes: Iterable[Change] = (), tally: Tally | None = None, bulk: int | None = None, archive: bytes = b"",
) -> bytes:
    """An event as it is stored; see `Event`."""
    fields = [date, who, interface, verb, *(_ID_MARK + identifier for identifier in ids)]
    fields += [change.packed() for change in changes]
    fields += [_DETAIL_MARK + detail for detail in details]
    if tally is not None:
        fields.append(tally.packed())
    if bulk is not None:
        fields.append(_BULK_MARK + b"%d" % bulk)
    if archive:
        fields.append(_ARCHIVE_MARK + archive)
    return pack(fields)


def number_key(number: int) -> bytes:
    """An event's number as a key, and as a part of other keys."""
    return number.to_bytes(NUMBER_SIZE, "big")


def newest_number(reader: Reader) -> int:
    """The number of the last event, 0 if there is none."""
    for key, _ in reader.scan(EVENTS, limit=1, reverse=True):
        return int.from_bytes(key, "big")
    return 0


def index_event(writer: Writer, identifier: bytes, number: int) -> None:
    """Enter an event in the index of the events of an identifier."""
    writer.put(HISTORY, pair(identifier, number_key(number)), b"")


def date_and_actor(reader: Reader, number: int) -> tuple[bytes, bytes]:
    """The date and the actor of an event, empty if there is none; unpacks no more, because an event may be long."""
    packed = reader.get(EVENTS, number_key(number))
    if packed is None:
        return b"", b""
    date, who = unpack(packed, most=2)
    return date, who


def event_head(reader: Reader, number: int) -> bytes:
    """Date, actor, interface and verb of an event, packed; empty if there is none.  They outlive its archiving."""
    packed = reader.get(EVENTS, number_key(number))
    return b"" if packed is None else pack(unpack(packed, most=4))


def discard_event(writer: Writer, number: int) -> None:
    """Delete an event that was recorded in this transaction and turned out to have changed nothing."""
    writer.delete(EVENTS, number_key(number))


# -- reading events, and those of long commands and of other programs ------------------------------------------------

# How many events are read at once.
_PAGE = 500

# For so long after its date a minting event may be extended by the next transaction of the same command.  It keeps its
# date, which is therefore never wrong by more than this.
CONTINUED = 60 * SECOND


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
        return packed_event(self.date, self.who, self.interface, self.verb, *self.details, ids=self.ids,
                            changes=self.changes, tally=self.tally, bulk=self.bulk, archive=self.archive)

    def packed_for(self, archive: bytes) -> bytes:
        """What is left of the event in the database when the rest is in an archive."""
        return packed_event(self.date, self.who, self.interface, self.verb, archive=archive)

    @property
    def is_imported(self) -> bool:
        """Whether it was made of what another program had stored: it does not say what it concerns."""
        return self.interface == b"perl" or self.verb == b"import perl"

    def subject(self, change: Change) -> bytes:
        """The identifier that a change of this event belongs to; empty if it concerns the minter, or several."""
        return change.of or (self.ids[0] if len(self.ids) == 1 else b"")


def _parts(parts: list[bytes], kind: int) -> list[bytes]:
    return [part[1:] for part in parts if part[0] == kind]


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
    return event is not None and event.date >= timestamp(actor.now() - CONTINUED)


def add_to_bulk(writer: Writer, number: int, changed: int) -> None:
    """Add to the number of bindings that an event changed as rows of the table of changes; 0 makes it such an event."""
    event = read_event(writer, number)
    if event is not None:
        event.bulk = (event.bulk or 0) + changed
        writer.put(EVENTS, number_key(number), event.packed())


def add_to_tally(writer: Writer, number: int, tally: Tally) -> None:
    """Add to the tally of a minting event what a transaction minted.

    `tally.requested` is how many identifiers the command still had to mint when that transaction began.
    """
    event = read_event(writer, number)
    if event is not None:
        before = event.tally
        event.tally = tally if before is None else Tally(
            tally.minted + before.minted, tally.requested + before.minted, before.first, tally.last)
        writer.put(EVENTS, number_key(number), event.packed())
