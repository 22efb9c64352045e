"""The record of who did what, written in the same transaction as the deed.

An event says when, who, through which door, what, on which identifiers, and
for each thing changed what it was before and after.  Nothing is ever taken out
of the record.  A minting of any size is one event: the circulation records of
the identifiers point to it.  Every other event is indexed under each
identifier it concerns, and history.py puts both together.
"""

from __future__ import annotations

from ..clock import SECOND, system_clock, timestamp
from ..codec import pack, pair, pair_prefix, split_pair, unpack
from .tables import EVENTS, HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..clock import Clock
    from ..store import Reader, Writer

NUMBER_SIZE = 5

# How many events are read at once.
_PAGE = 500

# A value up to this length is kept whole; of a longer one its length and digest, by which it can be recognised.
LONGEST_VALUE = 4096

# An event of minting may be continued this long, so that its date is right for all it made, give or take.
_CONTINUED = 60 * SECOND

# What a part of an event is, by its first byte.
_ID, _CHANGE, _ELEMENT, _TALLY, _DETAIL = b"icend"

# How a value before or after a change is kept, likewise; nothing at all is no value.
_IS_WHOLE, _IS_DIGEST = b"=#"


class Actor:
    """Who acts, and through which door."""

    __slots__ = ("who", "door", "clock")

    def __init__(self, who: bytes, door: bytes, clock: Clock = system_clock) -> None:
        # A separator or a line break in a name would forge a circulation record.
        self.who = who.translate(_SAFE) or b"unknown"
        self.door = door
        self.clock = clock

    def now(self) -> int:
        return self.clock()
_SAFE = bytes(0x5F if byte < 0x20 or byte in (0x7C, 0x7F) else byte for byte in range(256))


def process_owner() -> bytes:
    """The account that runs this process: user and group, as in alice/staff."""
    import grp
    import os
    import pwd

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
    """What is kept of a value too long to keep."""

    __slots__ = ("size", "sha256")

    def __init__(self, size: int, sha256: bytes) -> None:
        self.size = size
        self.sha256 = sha256


class Change:
    """What became of one thing: `what` names a property, or with `element` a bound element; `of` is the identifier
    it belongs to, empty where the event concerns only one, or all alike.  None is the absence of a value."""

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
        kind = _ELEMENT if self.element else _CHANGE
        return bytes((kind,)) + pack((self.of, self.what, _pack_value(self.before), _pack_value(self.after)))

    @classmethod
    def unpacked(cls, packed: bytes) -> Change:
        of, what, before, after = unpack(packed[1:])
        return cls(what, _unpack_value(before), _unpack_value(after), of, element=packed[0] == _ELEMENT)


def _pack_value(value: bytes | Digest | None) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        if len(value) <= LONGEST_VALUE:
            return bytes((_IS_WHOLE,)) + value
        import hashlib

        value = Digest(len(value), hashlib.sha256(value).digest())
    return bytes((_IS_DIGEST,)) + value.size.to_bytes(8, "big") + value.sha256


def _unpack_value(kept: bytes) -> bytes | Digest | None:
    if not kept:
        return None
    if kept[0] == _IS_WHOLE:
        return kept[1:]
    return Digest(int.from_bytes(kept[1:9], "big"), kept[9:])


class Tally:
    """How many identifiers were made, of how many that were asked for; the first and the last of them."""

    __slots__ = ("made", "asked", "first", "last")

    def __init__(self, made: int, asked: int, first: bytes, last: bytes) -> None:
        self.made = made
        self.asked = asked
        self.first = first
        self.last = last


class Event:
    __slots__ = ("number", "date", "who", "door", "verb", "ids", "changes", "tally", "details")

    def __init__(self, number: int, packed: bytes) -> None:
        self.number = number
        self.date, self.who, self.door, self.verb, *parts = unpack(packed)
        self.ids = _parts(parts, _ID)
        self.changes = [Change.unpacked(part) for part in parts if part[0] in (_CHANGE, _ELEMENT)]
        self.details = _parts(parts, _DETAIL)
        self.tally: Tally | None = None
        for part in _parts(parts, _TALLY):
            made, asked, first, last = unpack(part)
            self.tally = Tally(int(made), int(asked), first, last)

    def subject(self, change: Change) -> bytes:
        """The identifier that a change of this event belongs to; empty where it is the minter's, or that of several."""
        return change.of or (self.ids[0] if len(self.ids) == 1 else b"")


def _parts(parts: list[bytes], kind: int) -> list[bytes]:
    return [part[1:] for part in parts if part[0] == kind]


def record_event(
    writer: Writer, actor: Actor, verb: bytes, *details: bytes,
    ids: Iterable[bytes] = (), changes: Iterable[Change] = (),
) -> int:
    """Write one event; returns its number, by which other records refer to it.

    It is indexed under each of `ids`, which are as stored.  `details` are further words, without a name.
    """
    number = newest_number(writer) + 1
    fields = [timestamp(actor.now()), actor.who, actor.door, verb]
    for identifier in ids:
        fields.append(bytes((_ID,)) + identifier)
        index_event(writer, identifier, number)
    fields += [change.packed() for change in changes]
    fields += [bytes((_DETAIL,)) + detail for detail in details]
    writer.put(EVENTS, _key(number), pack(fields))
    return number


def _key(number: int) -> bytes:
    return number.to_bytes(NUMBER_SIZE, "big")


def read_events(reader: Reader, numbers: list[int]) -> Iterator[Event]:
    """The events of these numbers, as far as they exist, in this order."""
    for start in range(0, len(numbers), _PAGE):
        page = numbers[start : start + _PAGE]
        found = reader.get_many([(EVENTS, _key(number)) for number in page])
        for number, packed in zip(page, found, strict=True):
            if packed is not None:
                yield Event(number, packed)


def packed_events(reader: Reader, *, after: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Numbers and packed events behind a number, in the order of the numbers."""
    for key, packed in reader.scan(EVENTS, after=_key(after), limit=limit):
        yield int.from_bytes(key, "big"), packed


def indexed_numbers(reader: Reader, identifier: bytes) -> set[int]:
    """The numbers of the events that are indexed under an identifier."""
    keys = reader.scan(HISTORY, pair_prefix(identifier))
    return {int.from_bytes(split_pair(key)[1], "big") for key, _ in keys}


def newest_number(reader: Reader) -> int:
    """The number of the last event, 0 if there is none."""
    for key, _ in reader.scan(EVENTS, limit=1, reverse=True):
        return int.from_bytes(key, "big")
    return 0


def index_event(writer: Writer, identifier: bytes, number: int) -> None:
    """Make an event found among those of an identifier."""
    writer.put(HISTORY, pair(identifier, _key(number)), b"")


def read_event(reader: Reader, number: int) -> Event | None:
    packed = reader.get(EVENTS, _key(number))
    return None if packed is None else Event(number, packed)


def date_and_actor(reader: Reader, number: int) -> tuple[bytes, bytes]:
    """When and by whom, without reading what may be a long list of identifiers."""
    packed = reader.get(EVENTS, _key(number))
    if packed is None:
        return b"", b""
    date, who = unpack(packed, most=2)
    return date, who


def may_continue(reader: Reader, number: int, actor: Actor) -> bool:
    """Whether an event of minting is so recent that more may be counted to it."""
    begun = read_event(reader, number)
    return begun is not None and begun.date >= timestamp(actor.now() - _CONTINUED)


def add_to_tally(writer: Writer, number: int, made: int, asked: int, first: bytes, last: bytes) -> None:
    """Add to an event what was made in this transaction, of so many that were asked for yet."""
    key = _key(number)
    fields = unpack(writer.get(EVENTS, key) or b"")
    for place, part in enumerate(fields):
        if place > 3 and part[0] == _TALLY:
            before, _, first, _ = unpack(part[1:])
            made, asked = made + int(before), asked + int(before)
            del fields[place]
            break
    fields.append(bytes((_TALLY,)) + pack((b"%d" % made, b"%d" % asked, first, last)))
    writer.put(EVENTS, key, pack(fields))


def discard_event(writer: Writer, number: int) -> None:
    """Take back an event of this transaction in which, after all, nothing happened."""
    writer.delete(EVENTS, _key(number))
