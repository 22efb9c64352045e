"""Records of identifiers: circulation (issued, queued, held; reserved, withdrawn) and bound elements.

The history in a circulation record is a string of letters, newest first: `i` issued, `q` queued, `u`
taken out of the queue.  When and by whom the newest letter was written stands in the event the record
points to, so that a million identifiers minted by one command share one event and need no entry of
their own in any index.
"""

from __future__ import annotations

from ..codec import pair, pair_prefix, split_pair
from ..errors import ConflictError, printable
from .events import date_and_actor, index_event
from .tables import ALIASES, ELEMENTS, IDS, META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer


# Identifiers that begin so are patterns of rules, which compute elements.
RULE_MARK = b":idmap/"
HELD, PEPPERED, RESERVED, WITHDRAWN = 1, 2, 4, 8
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
    def reserved(self) -> bool:
        return bool(self.flags & RESERVED)

    @property
    def withdrawn(self) -> bool:
        return bool(self.flags & WITHDRAWN)

    @property
    def unusual(self) -> bool:
        """Whether it is not simply for the public: reserved or withdrawn."""
        return bool(self.flags & (RESERVED | WITHDRAWN))

    @property
    def issued(self) -> bool:
        """It is out there: it was issued, and not given back to the queue since."""
        return b"i" in self.history and not self.queued

    @property
    def was_issued(self) -> bool:
        return b"i" in self.history

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


def advanced(
    writer: Writer, identifier: bytes, record: Circulation, letter: bytes, event: int, number: int
) -> Circulation:
    """The record with one letter more, for the caller to save; the event it pointed to is found in the index now."""
    if record.event:
        index_event(writer, identifier, record.event)
    return Circulation(record.flags, event, number, letter + record.history)


def circulation_line(reader: Reader, record: Circulation | None) -> bytes:
    """The record as the original writes it: history, date, contact and number between bars."""
    if record is None or not record.history:
        return b"uncirculated"
    date, who = date_and_actor(reader, record.event)
    return b"|".join((record.history, date, who, b"%d" % record.number))


def ensure_not_withdrawn(shown: bytes, record: Circulation | None, done: str) -> None:
    """Refuse to do anything more to an identifier that was withdrawn."""
    if record is not None and record.withdrawn:
        name = printable(shown)
        raise ConflictError(
            f"{name} was withdrawn for good and cannot be {done}: mint another identifier, "
            f"and name it as the one to use instead with 'noid withdraw {name} --successor …'"
        )


def held_count(reader: Reader) -> int:
    return int(reader.get(META, b"held") or b"0")


def add_to_held_count(writer: Writer, change: int) -> None:
    if change:
        writer.put(META, b"held", b"%d" % (held_count(writer) + change))


def is_known(reader: Reader, identifier: bytes) -> bool:
    """Whether anything at all is kept about an identifier."""
    if reader.get(IDS, identifier) is not None or reader.get(ALIASES, identifier) is not None:
        return True
    return next(elements_of(reader, identifier), None) is not None


def is_bound(reader: Reader, key: bytes) -> bool:
    return next(reader.scan(ELEMENTS, pair_prefix(key)), None) is not None


# -- bound elements ----------------------------------------------------------------------------------------------------



def value_of(reader: Reader, identifier: bytes, element: bytes) -> bytes | None:
    return reader.get(ELEMENTS, pair(identifier, element))


def elements_of(reader: Reader, identifier: bytes) -> Iterator[tuple[bytes, bytes]]:
    for key, value in reader.scan(ELEMENTS, pair_prefix(identifier)):
        yield split_pair(key)[1], value
