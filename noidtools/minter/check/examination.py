"""What the checks of a minter's database share: the transaction in which they read, and the faults that they find."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...codec import pack, split_pair, unpack
from ...errors import printable
from ...schemes import Generator
from ...store import Reader, Writer
from .. import Minter
from ..events import KINDS, NUMBER_SIZE, Event, newest_number, number_key
from ..schema import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...console import Progress
    from ..history import Archives

    # Mends one fault if it is still there, in a write transaction; returns whether it was there.
    Mend = Callable[[Writer], bool]

# Faults that are kept in memory; of more only the number is known, until these are mended.
_MOST_FAULTS = 1000

# Items between two reports of progress.
_EVERY = 5000
_MOST_EVENTS = 100_000

# Numbers up to which references are counted, in a few bytes each.
_MOST_COUNTED = 1 << 26
_DATE_DIGITS = 14

# The bytes of a circulation record without letters.
SMALLEST_RECORD = 12


@dataclass(slots=True)
class Fault:
    """Something that is wrong in the database.

    sentence  what it is, and what can be done about it
    mend      mends it; None if it is neither a counter nor an index that follows from other records
    """

    sentence: str
    mend: Mend | None = None


@dataclass(slots=True)
class Result:
    """What an examination found.

    items   how many items there are
    faults  the first of the faults
    more    how many there are besides
    """

    items: int = 0
    faults: list[Fault] = field(default_factory=list)
    more: int = 0


class References:
    """How many items of a table refer to each event, by its number."""

    __slots__ = ("_counts",)

    def __init__(self, newest: int) -> None:
        """`newest` is the greatest number; where it is too great to be true, nothing is counted."""
        self._counts = array("I", bytes(4 * (newest + 1 if newest < _MOST_COUNTED else 0)))

    def __bool__(self) -> bool:
        """Whether references are counted."""
        return len(self._counts) > 0

    def __getitem__(self, number: int) -> int:
        return self._counts[number]

    def add(self, number: int) -> None:
        if number < len(self._counts):
            self._counts[number] += 1


class Examination:
    """One examination, in a read transaction.

    pointed, indexed  how many circulation records, and how many entries of the index of events, refer to each event
    changes           how many rows each bulk event has, and how many identifiers of these have the event in their index
    misplaced         identifiers that are in the queue, but not where its index says
    imported          whether the minter was made of one of another program, as its first event says, or may have been
    of_minter         the numbers of the events that concern the minter and no identifier
    archives          files to which events were moved; None if they are not examined
    """

    def __init__(
        self, minter: Minter, reader: Reader, progress: Progress | None, archives: Archives | None = None
    ) -> None:
        self.minter = minter
        self.reader = reader
        self.archives = archives
        self.result = Result()
        self.generator: Generator | None = None
        self.misplaced: set[bytes] = set()
        first = parse_event(1, reader.get(EVENTS, number_key(1)) or b"")
        self.imported = first is None or first.is_imported
        self.of_minter: list[int] = []
        newest = newest_number(reader)
        self.changes: dict[int, tuple[int, int]] = {}
        self.pointed, self.indexed = References(newest), References(newest)
        self._progress = progress
        # Numbers of events that are known to exist, so that they are looked up once.
        self._events: set[int] = set()

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All items of a table, counted."""
        result = self.result
        for item in self.reader.scan(table):
            result.items += 1
            if not result.items % _EVERY and self._progress is not None:
                self._progress(result.items, 0, "items examined")
            yield item

    def report(self, sentence: str, mend: Mend | None = None) -> None:
        """Add a fault."""
        if len(self.result.faults) < _MOST_FAULTS:
            self.result.faults.append(Fault(sentence, mend))
        else:
            self.result.more += 1

    def name(self, identifier: bytes) -> str:
        """An identifier for a sentence."""
        return printable(identifier[:200]) or "(an empty name)"

    def report_damaged(self, what: str, key: bytes) -> None:
        """Add the fault that what is stored under a key is damaged."""
        self.report(f"{what} under {printable(key[:60])!r} is damaged: compare with a backup")

    def check_event(self, number: int, what: str) -> None:
        """Add a fault if there is no event of this number, to which something refers."""
        if not self.has_event(number):
            self.report(f"{what} refers to event {number}, which does not exist: compare with a backup")

    def has_event(self, number: int) -> bool:
        """Whether an event of this number exists."""
        if number in self._events:
            return True
        found = 0 < number < 1 << 8 * NUMBER_SIZE and self.reader.get(EVENTS, number_key(number)) is not None
        if found and len(self._events) < _MOST_EVENTS:
            self._events.add(number)
        return found


def fields_of(packed: bytes, count: int | None = None) -> list[bytes] | None:
    """The fields of a packed value; None if it is damaged, or if it has another number of fields."""
    try:
        fields = unpack(packed)
    except IndexError:
        return None
    return fields if pack(fields) == packed and count in (None, len(fields)) else None


def parse_event(number: int, packed: bytes) -> Event | None:
    """An event; None if it is damaged."""
    fields = fields_of(packed)
    if fields is None or len(fields) < 4 or not is_date(fields[0]):
        return None
    if not all(part and part[0] in KINDS for part in fields[4:]):
        return None
    try:
        return Event(number, packed)
    except (ValueError, IndexError):
        return None


def is_date(field: bytes) -> bool:
    """Whether a field is a date of fourteen digits."""
    return len(field) == _DATE_DIGITS and field.isdigit()


def are_dates(fields: list[bytes]) -> bool:
    """Whether each field is a date, or empty."""
    return all(not field or is_date(field) for field in fields)


def parts_of(key: bytes) -> tuple[bytes, bytes] | None:
    """The two strings of a key that is a pair; None if it is none."""
    try:
        return split_pair(key)
    except (ValueError, IndexError):
        return None
