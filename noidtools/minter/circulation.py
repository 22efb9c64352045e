"""Circulation records of identifiers (issued, queued, held; reserved, unavailable, withdrawn), aliases and elements.

The history in a circulation record is a string of letters, newest first: `i` issued, `q` queued, `u` taken out of the
queue, `f` of foreign origin: imported, or bound or held although this minter could not make it.  The record points to
the event in which its newest letter was written, which has the date and the actor.  So a million identifiers minted by
one command share one event, and need no entries in the index of events.
"""

from __future__ import annotations

from itertools import islice

from ..codec import pair, pair_end, pair_prefix, split_pair
from ..errors import ConflictError, InvalidError, UsageError, printable
from . import schema
from .events import Change, date_and_actor, index_event
from .schema import ALIASES, CLAIMS, ELEMENTS, IDS, RELATIONS, STATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..store import Reader, Writer

HELD, PEPPERED, RESERVED, WITHDRAWN, UNAVAILABLE = 1, 2, 4, 8, 16

# The flags of names that resolvers do not answer for.
NOT_PUBLIC = RESERVED | WITHDRAWN | UNAVAILABLE

# The letter in the history of an identifier that was made elsewhere.
FOREIGN = b"f"

_EVENT = slice(1, 6)
_NUMBER = slice(6, 12)
_HISTORY = slice(12, None)


class Circulation:
    """The circulation record of an identifier.

    flags    HELD, PEPPERED, RESERVED, WITHDRAWN and UNAVAILABLE, combined
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
    def unavailable(self) -> bool:
        return bool(self.flags & UNAVAILABLE)

    @property
    def unusual(self) -> bool:
        """Whether it is reserved, unavailable or withdrawn."""
        return bool(self.flags & NOT_PUBLIC)

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
        """Whether it was made elsewhere: it is never minted."""
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
            f"{name} was withdrawn for good and cannot be {done}", "mint another identifier, "
            f"and name it as the one to use instead with 'noid tombstone {name} --successor …'"
        )


def foreign_record(writer: Writer, event: int) -> Circulation:
    """The record of an identifier that this minter could not make, for the caller to put on hold and save: it comes
    from elsewhere and is never minted, even if the mask grows to its length."""
    schema.note_foreign(writer)
    return Circulation(0, event, 0, FOREIGN)


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


# -- aliases -----------------------------------------------------------------------------------------------------------

# How many identifiers are looked up at once.
_PAGE = 500
_LONGEST_ELEMENT = 65536

# The words of `bind` in place of an element (see commands/lines.py); they are no names, either.
INPUT_MARKS = (b":", b":-")


def alias_target(reader: Reader, identifier: bytes) -> bytes | None:
    """The target of an alias, as written in answers; None if the identifier is no alias."""
    return reader.get(ALIASES, identifier)


def all_aliases(reader: Reader, *, after: bytes | None = None) -> Iterator[bytes]:
    """All identifiers that are aliases, or those after one of them, in the order of their bytes."""
    for identifier, _ in reader.scan(ALIASES, after=after):
        yield identifier


# -- bound elements ----------------------------------------------------------------------------------------------------


def value_of(reader: Reader, identifier: bytes, element: bytes) -> bytes | None:
    """The value of an element of an identifier, None if nothing is bound."""
    return reader.get(ELEMENTS, pair(identifier, element))


def ensure_element(element: bytes) -> None:
    """Raise UsageError for an empty name of an element, InvalidError for one that is too long."""
    if not element:
        raise UsageError("the element name is empty")
    if element in INPUT_MARKS:
        raise UsageError(f"no element can be named {element.decode()!r}: it stands for what is read from the input")
    if len(element) > _LONGEST_ELEMENT:
        raise InvalidError(f"an element name may have at most {_LONGEST_ELEMENT} bytes, this one has {len(element)}")


def bind_minted(writer: Writer, identifier: bytes, element: bytes, value: bytes) -> None:
    """Bind a value to an identifier that was minted in this transaction; replaces what is bound, records no event."""
    ensure_element(element)
    writer.put(ELEMENTS, pair(identifier, element), value)


def clear_bindings(writer: Writer, identifier: bytes) -> list[Change]:
    """Remove all bindings of an identifier.  Returns the changes, for the caller to record in an event."""
    changes = [
        Change(element, value, None, identifier, element=True) for element, value in elements_of(writer, identifier)
    ]
    for change in changes:
        writer.delete(ELEMENTS, pair(identifier, change.what))
    return changes


def bindings_after(
    reader: Reader, element: bytes, *, prefix: bytes = b"", after: bytes | None = None
) -> Iterator[tuple[bytes, bytes, bytes | None]]:
    """The values of an element under the identifiers that begin with `prefix`, in their order, after a place.

    Yields the place, the identifier, and the value, which is None for another element: so a caller can end early.
    """
    # The identifier of a key has its NUL bytes escaped, and so must a part of it.
    for key, value in reader.scan(ELEMENTS, prefix.replace(b"\0", b"\0\xff"), after=after):
        identifier, name = split_pair(key)
        yield key, identifier, value if name == element else None


def elements_of(reader: Reader, identifier: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The elements bound to an identifier: names and values, in the order of the names."""
    for key, value in reader.scan(ELEMENTS, pair_prefix(identifier)):
        yield split_pair(key)[1], value


def is_bound(reader: Reader, identifier: bytes) -> bool:
    """Whether any element is bound to an identifier."""
    return next(reader.scan(ELEMENTS, pair_prefix(identifier), limit=1), None) is not None


def bound_among(reader: Reader, identifiers: list[bytes], elements: tuple[bytes, ...]) -> set[bytes]:
    """Those of the identifiers to which one of the elements is bound."""
    if not elements:
        return set()
    places = [(identifier, element) for identifier in identifiers for element in elements]
    values = reader.get_many([(ELEMENTS, pair(identifier, element)) for identifier, element in places])
    return {identifier for (identifier, _), value in zip(places, values, strict=True) if value is not None}


def bound_identifiers(reader: Reader, *, after: bytes | None = None) -> Iterator[bytes]:
    """All identifiers to which something is bound, or those after one of them, in the order of their bytes."""
    last = None
    for key, _ in reader.scan(ELEMENTS, after=None if after is None else pair_end(after)):
        identifier = split_pair(key)[0]
        if identifier != last:
            last = identifier
            yield identifier


def public_values(reader: Reader, element: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The values of one element, of all identifiers that are no aliases and that resolvers answer for."""
    items = ((identifier, value) for _, identifier, value in bindings_after(reader, element) if value is not None)
    while page := list(islice(items, _PAGE)):
        found = reader.get_many([place for identifier, _ in page
                                 for place in ((ALIASES, identifier), (IDS, identifier))])
        for (identifier, value), alias, packed in zip(page, found[::2], found[1::2], strict=True):
            if alias is None and (packed is None or not packed[0] & NOT_PUBLIC):
                yield identifier, value


# -- several tables in one read ----------------------------------------------------------------------------------------


def is_known(reader: Reader, identifier: bytes) -> bool:
    """Whether anything at all is stored about an identifier."""
    return find_known(reader, identifier)[0]


def is_claimed(reader: Reader, name: bytes) -> bool:
    """Whether anything was claimed about a name: a relation or a quality."""
    start = pair_prefix(name)
    return any(next(reader.scan(table, start, limit=1), None) is not None for table in (RELATIONS, CLAIMS, STATED))


def is_beginning(reader: Reader, beginning: bytes) -> bool:
    """Whether an identifier of which anything is known begins so."""
    # The identifier of a pair has its NUL bytes escaped, and so must a part of it.
    places = ((IDS, beginning), (ALIASES, beginning), (ELEMENTS, beginning.replace(b"\0", b"\0\xff")))
    return any(next(reader.scan(table, start, limit=1), None) is not None for table, start in places)


def find_known(reader: Reader, identifier: bytes) -> tuple[bool, Circulation | None, bytes | None]:
    """Whether anything at all is stored about an identifier; its circulation record, and the target of an alias."""
    packed, alias = reader.get_many(((IDS, identifier), (ALIASES, identifier)))
    if packed is not None:
        return True, Circulation.unpacked(packed), alias
    return alias is not None or is_bound(reader, identifier), None, alias


class PrefetchedReader:
    """A reader that has read in one round trip what `find_known` reads first of each of these identifiers."""

    def __init__(self, reader: Reader, identifiers: Iterable[bytes]) -> None:
        places = [(table, identifier) for identifier in identifiers for table in (IDS, ALIASES)]
        self._known = dict(zip(places, reader.get_many(places), strict=True))
        self._reader = reader
        self.scan = reader.scan

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return self.get_many(((table, key),))[0]

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        known = self._known
        return [known[place] for place in places] if all(map(known.__contains__, places)) \
            else self._reader.get_many(places)


def look_up(reader: Reader, identifier: bytes, element: bytes) -> tuple[bytes | None, int, bytes | None]:
    """What resolution needs, in one round trip: the target of an alias, the flags, and the value of an element."""
    alias, packed, value = reader.get_many(
        ((ALIASES, identifier), (IDS, identifier), (ELEMENTS, pair(identifier, element)))
    )
    return alias, packed[0] if packed else 0, value
