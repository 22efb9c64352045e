"""Circulation records of identifiers: issued, queued, held; reserved, withdrawn.

The history in a circulation record is a string of letters, newest first: `i` issued, `q` queued, `u` taken out of the
queue, `f` imported, because it is of foreign origin.  The record points to the event in which its newest letter was
written, which has the date and the actor.  So a million identifiers minted by one command share one event, and need no
entries in the index of events.
"""

from __future__ import annotations

from ..errors import ConflictError, printable
from .events import date_and_actor, index_event
from .tables import IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer

HELD, PEPPERED, RESERVED, WITHDRAWN = 1, 2, 4, 8

# The letter in the history of an identifier that was made elsewhere and imported.
FOREIGN = b"f"

_EVENT = slice(1, 6)
_NUMBER = slice(6, 12)
_HISTORY = slice(12, None)


class Circulation:
    """The circulation record of an identifier.

    flags    HELD, PEPPERED, RESERVED and WITHDRAWN, combined
    event    the number of the event in which the newest letter was written
    number   how many identifiers the generator had drawn by then
    history  letters, newest first
    """

    __slots__ = ("flags", "event", "number", "history")

    def __init__(self, flags: int = 0, event: int = 0, number: int = 0, history: bytes = b"") -> None:
        self.flags = flags
        self.event = event
        self.number = number
        self.history = history

    @property
    def held(self) -> bool:
        return bool(self.flags & HELD)

    @property
    def reserved(self) -> bool:
        return bool(self.flags & RESERVED)

    @property
    def withdrawn(self) -> bool:
        return bool(self.flags & WITHDRAWN)

    @property
    def unusual(self) -> bool:
        """Whether it is reserved or withdrawn."""
        return bool(self.flags & (RESERVED | WITHDRAWN))

    @property
    def issued(self) -> bool:
        """Whether it was issued, and not queued since."""
        return b"i" in self.history and not self.queued

    @property
    def was_issued(self) -> bool:
        """Whether it was ever issued."""
        return b"i" in self.history

    @property
    def foreign(self) -> bool:
        """Whether it was imported, and not made here: it is never minted."""
        return FOREIGN in self.history

    @property
    def queued(self) -> bool:
        return self.history.startswith(b"q")

    def packed(self) -> bytes:
        return _head(self.flags, self.event) + self.number.to_bytes(6, "big") + self.history

    @classmethod
    def unpacked(cls, packed: bytes) -> Circulation:
        return cls(packed[0], int.from_bytes(packed[_EVENT], "big"), int.from_bytes(packed[_NUMBER], "big"),
                   packed[_HISTORY])


def _head(flags: int, event: int) -> bytes:
    """The first bytes of a packed record, equal for identifiers that were minted together."""
    return bytes((flags,)) + event.to_bytes(5, "big")


def find(reader: Reader, identifier: bytes) -> Circulation | None:
    """The circulation record of an identifier, None if it has none."""
    packed = reader.get(IDS, identifier)
    return None if packed is None else Circulation.unpacked(packed)


def save(writer: Writer, identifier: bytes, record: Circulation) -> None:
    """Write a circulation record; one without history and flags is deleted."""
    if record.history or record.flags:
        writer.put(IDS, identifier, record.packed())
    else:
        writer.delete(IDS, identifier)


def advanced(
    writer: Writer, identifier: bytes, record: Circulation, letter: bytes, event: int, number: int
) -> Circulation:
    """The record with one more letter, for the caller to save; the event it pointed to before is added to the index."""
    if record.event:
        index_event(writer, identifier, record.event)
    return Circulation(record.flags, event, number, letter + record.history)


def circulation_line(reader: Reader, record: Circulation | None) -> bytes:
    """The record as the original noid prints it: history, date, contact and number, separated by bars."""
    if record is None or not record.history:
        return b"uncirculated"
    date, who = date_and_actor(reader, record.event)
    return b"|".join((record.history, date, who, b"%d" % record.number))


def ensure_not_withdrawn(display: bytes, record: Circulation | None, done: str) -> None:
    """Raise ConflictError if the identifier was withdrawn.

    `display` is the identifier as written in answers, `done` the participle for the message: it cannot be `done`.
    """
    if record is not None and record.withdrawn:
        name = printable(display)
        raise ConflictError(
            f"{name} was withdrawn for good and cannot be {done}: mint another identifier, "
            f"and name it as the one to use instead with 'noid tombstone {name} --successor …'"
        )


def find_many(reader: Reader, identifiers: list[bytes]) -> list[Circulation | None]:
    """The circulation records of many identifiers, in their order, in one round trip."""
    found = reader.get_many([(IDS, identifier) for identifier in identifiers])
    return [None if packed is None else Circulation.unpacked(packed) for packed in found]


def save_issued(writer: Writer, flags: int, event: int, drawn: list[tuple[bytes, int]]) -> None:
    """Write the records of identifiers that had none: identifiers and the numbers at which they were drawn."""
    head = _head(flags, event)
    writer.put_many(IDS, sorted((identifier, head + number.to_bytes(6, "big") + b"i") for identifier, number in drawn))


def in_circulation(reader: Reader, *, after: bytes | None = None) -> Iterator[tuple[bytes, Circulation]]:
    """All identifiers that have a circulation record, or those after one of them, in the order of their bytes."""
    for identifier, packed in reader.scan(IDS, after=after):
        yield identifier, Circulation.unpacked(packed)
