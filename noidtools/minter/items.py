"""Identifiers for items: a function from items to identifiers, which gives an item the same one whenever it is asked.

An item is any bytes that name it.  Which identifier it has is stored in the transaction that mints the identifier, so
that two processes that ask at the same time get the same one, and a process that is killed leaves either both or none.
The item is also bound to the identifier, for people and for searches.

Where identifiers can be given again (from the queue, or because the minter starts over), an item keeps its identifier
only as long as nobody else has got it.
"""

from __future__ import annotations

from hashlib import sha256

from ..codec import pack, unpack
from ..errors import InvalidError
from . import circulation, minting
from .minting import MintOptions
from .schema import META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

# The element that has the item.
ITEM_ELEMENT = b"item"
LONGEST_ITEM = 10_000
_ITEM = b"item "


def ensure_item(item: bytes) -> None:
    """Raise InvalidError for what cannot name an item."""
    if not item or len(item) > LONGEST_ITEM:
        raise InvalidError(f"the name of an item has 1 to {LONGEST_ITEM} bytes, not {len(item)}")


def identifier_of(reader: Reader, item: bytes) -> bytes | None:
    """The identifier of an item, as stored; None if it has none."""
    packed = reader.get(META, _place(item))
    if packed is None:
        return None
    identifier, issues = unpack(packed)
    return identifier if _issues(reader, identifier) == issues else None


def stored_items(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """The digest of each item that has an identifier, and what is stored for it."""
    for place, packed in reader.scan(META, _ITEM):
        yield place.removeprefix(_ITEM), packed


def identify_item(minter: Minter, writer: Writer, actor: Actor, item: bytes) -> tuple[bytes, bool]:
    """The identifier of an item, as written in answers, and whether it is new.

    Raises InvalidError for what cannot name an item, ExhaustedError if no identifier is left.
    """
    ensure_item(item)
    known = identifier_of(writer, item)
    if known is not None:
        return minter.namespace.display(known), False
    ((display,),) = minting.mint(minter, actor, 1, MintOptions(elements={ITEM_ELEMENT: item}))
    identifier = minter.namespace.literal_key(display)
    writer.put(META, _place(item), pack([identifier, _issues(writer, identifier)]))
    return display, True


def _issues(reader: Reader, identifier: bytes) -> bytes:
    """How often an identifier was given."""
    record = circulation.find(reader, identifier)
    return b"%d" % (record.history.count(b"i") if record is not None else 0)


def _place(item: bytes) -> bytes:
    return _ITEM + sha256(item).hexdigest().encode()
