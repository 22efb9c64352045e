"""What a user may see of a minter: one decision, for every command and every interface.

    everything  the shell, and whoever may do more than read: names that are not public, too
    published   who may only read: all about names that are published or withdrawn.  A reserved name, and one that is
                only held or queued, is answered for as if nothing were known of it
    targets     who may not read: where names lead, and the tombstones of those that were withdrawn; nothing else

Access rules decide which of the three holds for a user (`AccessPolicy.view`).  In a transaction, `lifecycle.reader_in`
gives the reader through which a user's commands see the minter: what reads through it need not know of views.
"""

from __future__ import annotations

from itertools import islice

from ..codec import split_pair
from .schema import (
    ALIASES,
    CLAIMS,
    CUSTODY,
    ELEMENTS,
    HISTORY,
    IDS,
    OFFICES,
    PEPPERS,
    QUEUED,
    RELATIONS,
    STATED,
    TOMBSTONES,
    VERIFIED,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..store import Reader

# Tables whose keys are identifiers, and tables whose keys are pairs that begin with one.
_BY_IDENTIFIER = frozenset((IDS, ALIASES, TOMBSTONES, PEPPERS, VERIFIED, QUEUED))
_BY_PAIR = frozenset((ELEMENTS, HISTORY, RELATIONS, CLAIMS, CUSTODY, OFFICES, STATED))


class PublishedReader:
    """A reader of a store in which nothing is stored about names that are not public.

    everything  the reader that sees them
    """

    __slots__ = ("everything", "_is_public", "_judged")

    def __init__(self, everything: Reader, is_public: Callable[[Reader, bytes], bool]) -> None:
        self.everything = everything
        self._is_public = is_public
        self._judged: dict[bytes, bool] = {}

    def hides(self, identifier: bytes) -> bool:
        """Whether an identifier, as stored, is one that is not public."""
        hidden = self._judged.get(identifier)
        if hidden is None:
            hidden = self._judged[identifier] = not self._is_public(self.everything, identifier)
        return hidden

    def version(self) -> object | None:
        return self.everything.version()

    def get(self, table: bytes, key: bytes) -> bytes | None:
        return None if self._hides_item(table, key) else self.everything.get(table, key)

    def get_many(self, places: Sequence[tuple[bytes, bytes]]) -> list[bytes | None]:
        found = self.everything.get_many(places)
        # Nothing is asked about names of which nothing is stored.
        return [None if value is None or self._hides_item(table, key) else value
                for (table, key), value in zip(places, found, strict=True)]

    def scan(
        self, table: bytes, prefix: bytes = b"", *, after: bytes | None = None, limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[bytes, bytes]]:
        items = self.everything.scan(table, prefix, after=after, reverse=reverse)
        return islice((item for item in items if not self._hides_item(table, item[0])), limit)

    def _hides_item(self, table: bytes, key: bytes) -> bool:
        if table in _BY_IDENTIFIER:
            return self.hides(key)
        if table in _BY_PAIR:
            # In the table of custodians, the empty string stands for the minter.
            identifier = split_pair(key)[0]
            return bool(identifier) and self.hides(identifier)
        return False


def sees_everything(reader: Reader) -> bool:
    """Whether the user of a reader may see all names."""
    return everything(reader) is reader


def hides(reader: Reader, identifier: bytes) -> bool:
    """Whether the user of a reader may not see an identifier, because it is not public."""
    return isinstance(reader, PublishedReader) and reader.hides(identifier)


def everything(reader: Reader) -> Reader:
    """The reader that sees all names: for decisions that must not depend on the user, such as where a name leads."""
    return reader.everything if isinstance(reader, PublishedReader) else reader
