"""The circulation record of an identifier: issued, queued, held.

The history is a string of letters, newest first: `i` issued, `q` queued, `u`
taken out of the queue.  When and by whom the newest letter was written stands
in the event the record points to, so that a million identifiers minted by one
command share one event.
"""

from __future__ import annotations

from .events import event
from .tables import IDS, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .store import Reader, Writer

HELD, PEPPERED, WITHDRAWN = 1, 2, 8

_EVENT = slice(1, 6)
_NUMBER = slice(6, 12)
_HISTORY = slice(12, None)


class Circulation:
    """`number` is how many identifiers the minter had drawn at the time of the newest letter."""

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
    def issued(self) -> bool:
        """It is out there: it was issued, and not given back to the queue since."""
        return b"i" in self.history and not self.queued

    @property
    def queued(self) -> bool:
        return self.history.startswith(b"q")

    def packed(self) -> bytes:
        return record_head(self.flags, self.event) + self.number.to_bytes(6, "big") + self.history

    @classmethod
    def unpacked(cls, packed: bytes) -> Circulation:
        return cls(packed[0], int.from_bytes(packed[_EVENT], "big"), int.from_bytes(packed[_NUMBER], "big"),
                   packed[_HISTORY])


def record_head(flags: int, event: int) -> bytes:
    """What all records of one act have in common."""
    return bytes((flags,)) + event.to_bytes(5, "big")


def find(reader: Reader, identifier: bytes) -> Circulation | None:
    packed = reader.get(IDS, identifier)
    return None if packed is None else Circulation.unpacked(packed)


def save(writer: Writer, identifier: bytes, record: Circulation) -> None:
    if record.history or record.flags:
        writer.put(IDS, identifier, record.packed())
    else:
        writer.delete(IDS, identifier)


def line(reader: Reader, record: Circulation | None) -> bytes:
    """The record as the original writes it: history, date, contact and number between bars."""
    if record is None or not record.history:
        return b"uncirculated"
    made = event(reader, record.event)
    date, who = (made.date, made.who) if made else (b"", b"")
    return b"|".join((record.history, date, who, b"%d" % record.number))


def held_count(reader: Reader) -> int:
    return int(reader.get(META, b"held") or b"0")


def add_to_held_count(writer: Writer, change: int) -> None:
    if change:
        writer.put(META, b"held", b"%d" % (held_count(writer) + change))
