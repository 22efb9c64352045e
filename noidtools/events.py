"""The record of who did what, written in the same transaction as the deed."""

from __future__ import annotations

from .clock import stamp, system_clock
from .fields import pack, unpack
from .tables import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Clock
    from .store import Reader, Writer

_NUMBER = 5


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


class Event:
    __slots__ = ("number", "date", "who", "door", "verb", "details")

    def __init__(self, number: int, packed: bytes) -> None:
        self.number = number
        self.date, self.who, self.door, self.verb, *self.details = unpack(packed)


def record(writer: Writer, actor: Actor, verb: bytes, *details: bytes) -> int:
    """Write one event; returns its number, by which other records refer to it."""
    newest = writer.last(EVENTS)
    number = 1 + (int.from_bytes(newest[0], "big") if newest else 0)
    fields = (stamp(actor.now()), actor.who, actor.door, verb, *details)
    writer.put(EVENTS, number.to_bytes(_NUMBER, "big"), pack(fields))
    return number


def event(reader: Reader, number: int) -> Event | None:
    packed = reader.get(EVENTS, number.to_bytes(_NUMBER, "big"))
    return None if packed is None else Event(number, packed)


def amend(writer: Writer, number: int, *details: bytes) -> None:
    """Add what became known only after the event was written, in the same transaction."""
    key = number.to_bytes(_NUMBER, "big")
    writer.put(EVENTS, key, (writer.get(EVENTS, key) or b"") + pack(details))


def forget(writer: Writer, number: int) -> None:
    """Take back an event of this transaction in which, after all, nothing happened."""
    writer.delete(EVENTS, number.to_bytes(_NUMBER, "big"))
