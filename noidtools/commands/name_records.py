"""Records of answers about names: with folders, bound, fetched, not bound, validated.

Apart from the module `answers`, because a process that mints needs none of them.
"""

from __future__ import annotations

from .answers import ELEMENT_LABEL, Ids, Record
from .records import Blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter.bindings import BindResult
    from ..minter.identifier_folders import IdentifierFolder
    from ..minter.tombstones import Tombstone
    from .answers import Line

_BIND_WIDTH, _FETCH_WIDTH = 9, 7
# About how long the lines of a binding are without identifier and element.
_STATUS_SIZE = 60


class IdsWithFolders(Record):
    """Identifiers with the folders that were made for them; a note tells of a folder that was there already."""

    __slots__ = ("_ids", "_folders", "_peppered")

    def __init__(self, ids: list[bytes], folders: list[IdentifierFolder], *, peppered: bool) -> None:
        self._ids = ids
        self._folders = folders
        self._peppered = peppered

    def lines(self) -> Iterable[Line]:
        for identifier, folder in zip(self._ids, self._folders, strict=True):
            yield b"id", identifier, 0
            yield b"folder", folder.path, 0
            if folder.status == "emptied":
                yield b"note", b"the folder was there already, without files, and was emptied", 0
            elif folder.status == "kept":
                yield b"note", b"the folder was there already, with files, and was left as it is", 0

    def data(self) -> list[dict[str, object]]:
        return [{"id": identifier, "folder": folder.path, "status": folder.status}
                for identifier, folder in zip(self._ids, self._folders, strict=True)]

    def without_peppers(self) -> Record:
        return Ids(self._ids, peppered=self._peppered).without_peppers()


class BindRecord(Record):
    """The result of one binding."""

    __slots__ = ("_bound",)

    def __init__(self, bound: BindResult) -> None:
        self._bound = bound

    def lines(self) -> Iterable[Line]:
        bound = self._bound
        return [
            (b"Id", bound.identifier, _BIND_WIDTH),
            (b"Element", bound.element, _BIND_WIDTH),
            (b"Bind", bound.how, _BIND_WIDTH),
            (b"Status", bound.status, _BIND_WIDTH),
        ]

    @property
    def size(self) -> int:
        return len(self._bound.identifier) + len(self._bound.element) + _STATUS_SIZE

    def data(self) -> list[dict[str, object]]:
        bound = self._bound
        return [{"id": bound.identifier, "element": bound.element, "bind": bound.how, "status": bound.status,
                 "written": bound.written, "before": bound.before,
                 **({"items": bound.items} if bound.items else {})}]

    def without_peppers(self) -> Record:
        bound = self._bound
        if bound.how != b"peppermint":
            return self
        identifier = bound.identifier.rpartition(b"!")[0]
        return BindRecord(type(bound)(identifier, bound.element, bound.how, bound.written, bound.before))


class FetchedRecord(Record):
    """An identifier with its circulation and its elements; `computed` names those that came from a rule.

    The text names the state only if it is not published, and the target of an alias only for an alias.  A withdrawn
    identifier has its tombstone in place of elements.
    """

    __slots__ = ("_identifier", "_held", "_circulation", "_elements", "_computed", "_state", "_alias", "_tombstone")

    def __init__(self, identifier: bytes, held: bool, circulation: bytes,
                 elements: list[tuple[bytes, bytes]], computed: dict[bytes, bytes],
                 *, state: str | None = None, alias: bytes | None = None, tombstone: Tombstone | None = None) -> None:
        self._identifier = identifier
        self._held = held
        self._circulation = circulation
        self._elements = elements
        self._computed = computed
        self._state = state
        self._alias = alias
        self._tombstone = tombstone_fields(tombstone) if tombstone else []

    def lines(self) -> Iterable[Line]:
        yield b"id", self._identifier + (b" hold" if self._held else b""), _FETCH_WIDTH
        yield b"Circ", self._circulation, _FETCH_WIDTH
        if self._state not in (None, "published"):
            yield b"State", self._state.encode(), _FETCH_WIDTH
        if self._alias is not None:
            yield b"Alias", self._alias, _FETCH_WIDTH
        yield from ((label.encode(), value, 0) for label, value in self._tombstone)
        for element, value in self._elements:
            yield element, value, ELEMENT_LABEL
            if element in self._computed:
                yield b"note", element + b" was computed by the rule :idmap/" + self._computed[element], 0

    def data(self) -> list[dict[str, object]]:
        return [{
            "id": self._identifier, "hold": self._held, "circ": self._circulation, "state": self._state,
            **({"alias": self._alias} if self._alias is not None else {}),
            **{label.lower(): value for label, value in self._tombstone},
            "elements": [
                {"name": name, "value": value, **({"rule": self._computed[name]} if name in self._computed else {})}
                for name, value in self._elements
            ],
        }]


def tombstone_fields(tombstone: Tombstone) -> list[tuple[str, bytes]]:
    """Labels and values of a tombstone; empty values are left out."""
    fields = [("Withdrawn", tombstone.date), ("Reason", tombstone.reason), ("Successor", tombstone.successor)]
    return [(label, value) for label, value in fields if value]


class ValueBreak(Blank):
    """An empty line between the values of one answer."""

    __slots__ = ()

    separates_values = True


class Unbound(Record):
    """The elements that were requested and are not bound, each with its message."""

    __slots__ = ("_elements", "_after_values")

    separates_values = True

    def __init__(self, elements: list[tuple[bytes, str]], *, after_values: bool = False) -> None:
        """With `after_values` an empty line separates the messages from the values in front of them."""
        self._elements = elements
        self._after_values = after_values

    def lines(self) -> Iterable[Line]:
        if self._after_values:
            yield from ValueBreak().lines()
        for message in self.errors:
            yield b"error", message.encode("utf-8", "surrogateescape"), 0

    def data(self) -> list[dict[str, object]]:
        return [{"name": name, "error": message} for name, message in self._elements]

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(message for _, message in self._elements)


class Verdicts(Record):
    """The result of `validate`: each identifier, and what is wrong with it, None if nothing is."""

    __slots__ = ("verdicts",)

    def __init__(self, verdicts: list[tuple[bytes, str | None]]) -> None:
        self.verdicts = verdicts

    def lines(self) -> Iterable[Line]:
        for identifier, fault in self.verdicts:
            yield (b"id", identifier, 0) if fault is None else (b"iderr", fault.encode(), 0)

    def data(self) -> list[dict[str, object]]:
        return [{"id": identifier, "valid": fault is None, **({"fault": fault.encode()} if fault else {})}
                for identifier, fault in self.verdicts]
