"""Records of answers that many commands give: labelled fields, values, text."""

from __future__ import annotations

from .answers import FOLDED, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .answers import Line


class Fields(Record):
    """Labelled values, in order; in JSON one dictionary, with labels in lower case."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: tuple[str, bytes]) -> None:
        self._fields = fields

    def lines(self) -> Iterable[Line]:
        return [(label.encode(), value, 0) for label, value in self._fields]

    def data(self) -> list[dict[str, object]]:
        return [{label.lower(): value for label, value in self._fields}]


class Blank(Record):
    """An empty line between records; nothing in JSON."""

    __slots__ = ()

    def lines(self) -> Iterable[Line]:
        return [(b"", b"", 0)]

    def data(self) -> list[dict[str, object]]:
        return []


class Values(Record):
    """Values without labels, as `get` prints them; in JSON with their names."""

    __slots__ = ("_elements",)

    def __init__(self, elements: list[tuple[bytes, bytes]]) -> None:
        self._elements = elements

    def lines(self) -> Iterable[Line]:
        return [(b"", value, 0) for _, value in self._elements]

    def data(self) -> list[dict[str, object]]:
        return [{"name": name, "value": value} for name, value in self._elements]


class ItemValues(Record):
    """The items of the list that an element holds, one a line; a line break inside an item is followed by a space."""

    __slots__ = ("_name", "_items")

    def __init__(self, name: bytes, items: list[bytes]) -> None:
        self._name = name
        self._items = items

    def lines(self) -> Iterable[Line]:
        return [(b"", item, FOLDED) for item in self._items]

    def data(self) -> list[dict[str, object]]:
        return [{"name": self._name, "items": self._items}]


class Text(Record):
    """Prose, such as help."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def lines(self) -> Iterable[Line]:
        return [(b"", line.encode(), 0) for line in self._text.splitlines()]

    def data(self) -> list[dict[str, object]]:
        return [{"text": self._text.encode()}]
