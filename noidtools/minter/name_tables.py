"""The tables of names besides their circulation: aliases and bound elements; and reads of several tables at once."""

from __future__ import annotations

from itertools import islice

from ..codec import pair, pair_end, pair_prefix, split_pair
from .circulation import RESERVED, WITHDRAWN, Circulation
from .tables import ALIASES, ELEMENTS, IDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer

_NOT_PUBLIC = RESERVED | WITHDRAWN

# How many identifiers are looked up at once.
_PAGE = 500


# -- aliases -----------------------------------------------------------------------------------------------------------


def alias_target(reader: Reader, identifier: bytes) -> bytes | None:
    """The target of an alias, as written in answers; None if the identifier is no alias."""
    return reader.get(ALIASES, identifier)


def put_alias(writer: Writer, identifier: bytes, target: bytes) -> None:
    writer.put(ALIASES, identifier, target)


def delete_alias(writer: Writer, identifier: bytes) -> None:
    writer.delete(ALIASES, identifier)


def all_aliases(reader: Reader, *, after: bytes | None = None) -> Iterator[bytes]:
    """All identifiers that are aliases, or those after one of them, in the order of their bytes."""
    for identifier, _ in reader.scan(ALIASES, after=after):
        yield identifier


# -- bound elements ----------------------------------------------------------------------------------------------------


def value_of(reader: Reader, identifier: bytes, element: bytes) -> bytes | None:
    """The value of an element of an identifier, None if nothing is bound."""
    return reader.get(ELEMENTS, pair(identifier, element))


def put_value(writer: Writer, identifier: bytes, element: bytes, value: bytes) -> None:
    writer.put(ELEMENTS, pair(identifier, element), value)


def delete_value(writer: Writer, identifier: bytes, element: bytes) -> None:
    writer.delete(ELEMENTS, pair(identifier, element))


def bindings_after(
    reader: Reader, element: bytes, *, prefix: bytes = b"", after: bytes | None = None
) -> Iterator[tuple[bytes, bytes, bytes | None]]:
    """The values of an element under the identifiers that begin with `prefix`, in their order, behind a place.

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
    """The values of one element, of all identifiers that are neither aliases nor reserved nor withdrawn."""
    items = (item for item in _values_of_all(reader, element))
    while page := list(islice(items, _PAGE)):
        found = reader.get_many([place for identifier, _ in page
                                 for place in ((ALIASES, identifier), (IDS, identifier))])
        for (identifier, value), alias, packed in zip(page, found[::2], found[1::2], strict=True):
            if alias is None and (packed is None or not packed[0] & _NOT_PUBLIC):
                yield identifier, value


def _values_of_all(reader: Reader, element: bytes) -> Iterator[tuple[bytes, bytes]]:
    for key, value in reader.scan(ELEMENTS):
        identifier, name = split_pair(key)
        if name == element:
            yield identifier, value


# -- several tables in one read ----------------------------------------------------------------------------------------


def is_known(reader: Reader, identifier: bytes) -> bool:
    """Whether anything at all is stored about an identifier."""
    return find_known(reader, identifier)[0]


def is_beginning(reader: Reader, beginning: bytes) -> bool:
    """Whether an identifier of which anything is known begins so."""
    # The identifier of a pair has its NUL bytes escaped, and so must a part of it.
    places = ((IDS, beginning), (ALIASES, beginning), (ELEMENTS, beginning.replace(b"\0", b"\0\xff")))
    return any(next(reader.scan(table, start, limit=1), None) is not None for table, start in places)


def find_known(reader: Reader, identifier: bytes) -> tuple[bool, Circulation | None]:
    """Whether anything at all is stored about an identifier; and its circulation record, if it has one."""
    packed, alias = reader.get_many(((IDS, identifier), (ALIASES, identifier)))
    if packed is not None:
        return True, Circulation.unpacked(packed)
    return alias is not None or is_bound(reader, identifier), None


def look_up(reader: Reader, identifier: bytes, element: bytes) -> tuple[bytes | None, int, bytes | None]:
    """What resolution needs, in one round trip: the target of an alias, the flags, and the value of an element."""
    alias, packed, value = reader.get_many(
        ((ALIASES, identifier), (IDS, identifier), (ELEMENTS, pair(identifier, element)))
    )
    return alias, packed[0] if packed else 0, value
