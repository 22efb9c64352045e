"""Events: the log of all changes to a minter, each written in the transaction that makes the change.

An event holds its date, the actor, the interface (shell, web, python), a verb, the identifiers concerned, and for each
changed property its value before and after.  Events are never deleted or changed once their command has ended; but
what an old one says may be moved to a file, and then date, actor and verb are left, and the archive (see archive.py).

A minting of any number of identifiers is one event, to which the circulation records of the identifiers point.  Every
other event is indexed under each identifier that it concerns.  history.py combines both.

Here is what every change needs; event_log.py reads events and writes those of long commands and of other programs.
"""

from __future__ import annotations

from ..codec import pack, pair, unpack
from ..times import SECOND, system_clock, timestamp
from .tables import EVENTS, HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..store import Reader, Writer
    from ..times import Clock

NUMBER_SIZE = 5

# A value up to this length is stored whole; of a longer one only its length and its digest.
LONGEST_VALUE = 4096

# The first byte of a packed part of an event: its kind.
ID, CHANGE, ELEMENT, TALLY, DETAIL, BULK, ARCHIVE = b"icendba"
_ID_MARK, _DETAIL_MARK = bytes((ID,)), bytes((DETAIL,))

# The first byte of a packed value before or after a change: its form.  An absent value is packed as no bytes.
_IS_WHOLE, _IS_DIGEST = b"=", b"#"


class Actor:
    """Who changes a minter, and through which interface.

    who        user and group as in alice/staff, or user and address as in alice@192.0.2.1
    interface  shell, web or python
    clock      the clock by which events are dated and labels are made
    """

    __slots__ = ("who", "interface", "clock", "_dated")

    def __init__(self, who: bytes, interface: bytes, clock: Clock = system_clock) -> None:
        # A separator or a line break in a name would forge a circulation record.
        self.who = who.translate(_SAFE) or b"unknown"
        self.interface = interface
        self.clock = clock
        # The second that was asked for last, and how it is written.
        self._dated: tuple[int | None, bytes] = (None, b"")

    def date(self) -> bytes:
        """The time in fourteen digits."""
        now = self.clock()
        second, date = self._dated
        if now // SECOND != second:
            date = timestamp(now)
            self._dated = now // SECOND, date
        return date

    def now(self) -> int:
        """The time in nanoseconds since 1970."""
        return self.clock()


_UNSAFE = bytes(range(0x20)) + b"|\x7f"
_SAFE = bytes.maketrans(_UNSAFE, b"_" * len(_UNSAFE))


def process_owner() -> bytes:
    """The account that runs this process: user and group, as in alice/staff; numbers where they have no names."""
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
    number = newest_number(writer) + 1
    fields = [actor.date(), actor.who, actor.interface, verb]
    for identifier in ids:
        fields.append(_ID_MARK + identifier)
        index_event(writer, identifier, number)
    for change in changes:
        fields.append(change.packed())
    for detail in details:
        fields.append(_DETAIL_MARK + detail)
    writer.put(EVENTS, number_key(number), pack(fields))
    return number


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


def put_tally(writer: Writer, number: int, tally: Tally) -> None:
    """Write the tally of a minting event that has none yet."""
    key = number_key(number)
    # Packed fields are joined without a mark between them, so that one can be put behind the others.
    writer.put(EVENTS, key, (writer.get(EVENTS, key) or b"") + pack((tally.packed(),)))


def discard_event(writer: Writer, number: int) -> None:
    """Delete an event that was recorded in this transaction and turned out to have changed nothing."""
    writer.delete(EVENTS, number_key(number))
