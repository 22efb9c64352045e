"""Answers of commands: records, which can be written as text (ANVL) or as JSON.

A command returns an `Answer`, which is a sequence of records.  A record has `lines` for text and `data` for JSON.  The
labels and the layout of the lines are those of the original noid, because scripts parse them.
"""

from __future__ import annotations

from ..codec import encode_text
from ..errors import NoidError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..minter.bindings import FetchedName

    # Label, value, and the width to which label and colon are padded; an empty label is a bare value.
    Line = tuple[bytes, bytes, int]

# In place of a width: the label is the name of an element, which may be any bytes; or every line break inside the value
# is followed by a space, so that the next line that begins without one is another value.
ELEMENT_LABEL, FOLDED = -1, -2

# The labels of commands.  Where clients parse lines by their labels, an element of such a name is escaped.
_OWN_LABELS = frozenset((
    b"id", b"Id", b"iderr", b"Circ", b"State", b"note", b"error", b"bulk", b"ok", b"Element", b"Bind", b"Status",
))


class Record:
    """A part of an answer; the base of all records."""

    __slots__ = ()

    # Whether its text may begin with an empty line, which separates it from the values before it.
    separates_values = False

    def lines(self) -> Iterable[Line]:
        """The record as text: labels, values and widths."""
        return ()

    @property
    def size(self) -> int:
        """About how many bytes it will be when it is written."""
        return sum(len(value) for _, value, _ in self.lines())

    def data(self) -> list[dict[str, object]]:
        """The record for JSON: one dictionary for each thing it is about.  Values may be bytes: see `json_ready`."""
        return [{label.decode("utf-8", "surrogateescape"): value} for label, value, _ in self.lines()]

    def without_peppers(self) -> Record:
        """This record as it may be stored; itself if it holds no pepper."""
        return self

    @property
    def errors(self) -> tuple[str, ...]:
        """Messages about what could not be answered; where there is a standard error, they go there instead."""
        return ()


class PreparedRecord(Record):
    """A record of which the lines and the data are given."""

    __slots__ = ("_lines", "_data")

    def __init__(self, lines: list[Line], data: list[dict[str, object]]) -> None:
        self._lines = lines
        self._data = data

    def lines(self) -> Iterable[Line]:
        return self._lines

    def data(self) -> list[dict[str, object]]:
        return self._data


class Ids(Record):
    """Identifiers, one a line; with `peppered` each has its pepper after an exclamation mark."""

    __slots__ = ("ids", "_peppered")

    def __init__(self, ids: list[bytes], *, peppered: bool = False) -> None:
        self.ids = ids
        self._peppered = peppered

    def lines(self) -> Iterable[Line]:
        return [(b"id", identifier, 0) for identifier in self.ids]

    def data(self) -> list[dict[str, object]]:
        return [{"id": identifier} for identifier in self.ids]

    def without_peppers(self) -> Record:
        return Ids([identifier.rpartition(b"!")[0] for identifier in self.ids]) if self._peppered else self


class FileChunk(Record):
    """Some bytes of an answer that is a file."""

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    def lines(self) -> Iterable[Line]:
        return [(b"", line, 0) for line in self.content.splitlines()]

    def data(self) -> list[dict[str, object]]:
        return [{"content": self.content}]


class Answer:
    """The answer to a command.

    records  in order.  Of a command that streams, iterating does the next part of the work and may raise a NoidError
    spaced   whether the text ends with an empty line, as in the original
    failed   whether the command was carried out with the result no, as when an identifier is not valid; to be looked at
             after the records
    media_type, file_name   for an answer that is a file: its records are FileChunks, and are written as they are
    """

    __slots__ = ("records", "spaced", "failed", "media_type", "file_name")

    def __init__(self, *records: Record, stream: Iterator[Record] | None = None, spaced: bool = False,
                 failed: bool = False, media_type: str = "", file_name: str = "") -> None:
        self.records: Iterable[Record] = stream if stream is not None else records
        self.spaced = spaced
        self.failed = failed
        self.media_type = media_type
        self.file_name = file_name

    def complete(self) -> tuple[list[Record], NoidError | None]:
        """Do all the work; returns the records, and the refusal that ended them if there was one.

        The answer may still be iterated over.  A refusal before the first record is raised.
        """
        records: list[Record] = []
        refusal: NoidError | None = None
        try:
            for record in self.records:
                records.append(record)
        except NoidError as error:
            if not records:
                raise
            refusal = error
        self.records = records if refusal is None else refused(records, refusal)
        return records, refusal


def refused(records: list[Record], refusal: NoidError) -> Iterator[Record]:
    """These records, and then the refusal."""
    yield from records
    raise refusal


def anvl(record: Record, *, indent: bool = False) -> bytes:
    """The record as text.  With `indent` every line break inside a value is followed by a space, and misleading names
    of elements are escaped, so that a value cannot be mistaken for a labelled line."""
    if isinstance(record, FileChunk):
        return record.content
    out = []
    for label, value, width in record.lines():
        if not label:
            line = value
        elif width > 0:
            line = (label + b":").ljust(width) + value
        elif width == ELEMENT_LABEL:
            line = _escape_label(label) + b": " + value if indent else label + b": " + _indent_labels(value)
        else:
            line = label + b": " + value
        out.append(line.replace(b"\n", b"\n ") if indent or width == FOLDED else line)
    out.append(b"")
    return b"\n".join(out)


def _indent_labels(value: bytes) -> bytes:
    """The value, with a space before each further line that has a colon, so that it is not taken for an element.

    Other lines are written as they are, because the original writes them so.
    """
    first, *others = value.splitlines(keepends=True) or [b""]
    return first + b"".join(b" " + line if b":" in line else line for line in others)


def mark_break(record: Record, text: bytes) -> bytes:
    """The text of a record in a bulk answer, where an empty line ends the answer to a command: the blank lines that
    separate values hold a space."""
    return b" " + text if record.separates_values and text[:1] == b"\n" else text


def _escape_label(element: bytes) -> bytes:
    """The name of an element, percent-encoded where it could be mistaken for a label of _OWN_LABELS or end the line."""
    if element in _OWN_LABELS:
        return b"%%%02X" % element[0] + element[1:]
    if element.isalnum():
        return element
    return b"".join(b"%%%02X" % octet if octet < 0x20 or octet in b"%:\x7f" else b"%c" % octet for octet in element)


def json_ready(value: object) -> object:
    """The value as JSON can hold it: bytes as text, and what is not UTF-8 as an object with its base64."""
    if isinstance(value, str) and not value.isascii():
        value = encode_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            import base64

            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: json_ready(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_ready(item) for item in value]
    return value


# -- records of several commands -------------------------------------------------------------------------------------


class Fields(Record):
    """Labelled values, in order; in JSON one dictionary, with labels in lower case."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: tuple[str, bytes | str]) -> None:
        self._fields = [(label, encode_text(value) if isinstance(value, str) else value) for label, value in fields]

    def lines(self) -> Iterable[Line]:
        return [(label.encode(), value, 0) for label, value in self._fields]

    def data(self) -> list[dict[str, object]]:
        return [{label.lower(): value for label, value in self._fields}]


def filled(fields: Iterable[tuple[str, bytes]] | Iterable[tuple[str, str]]) -> Fields:
    """The fields that have a value."""
    return Fields(*(field for field in fields if field[1]))


def counted(number: int, noun: bytes) -> bytes:
    """A number of things: `1 hold`, `2 holds`."""
    return b"%d %b%b" % (number, noun, b"" if number == 1 else b"s")


class Blank(PreparedRecord):
    """An empty line between records; nothing in JSON."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__([(b"", b"", 0)], [])


def separated(records: Iterable[Record]) -> Answer:
    """An answer of several records, with an empty line between them."""
    listed: list[Record] = []
    for record in records:
        listed += [record, Blank()]
    return Answer(*listed[:-1], spaced=True)


class JsonLines(Record):
    """A record as JSON, one object a line."""

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        self._record = record

    def lines(self) -> Iterable[Line]:
        import json  # which few commands need

        return [(b"", json.dumps(json_ready(data)).encode(), 0) for data in self._record.data()]

    def data(self) -> list[dict[str, object]]:
        return self._record.data()


class Values(PreparedRecord):
    """Values without labels, as `get` prints them; in JSON with their names."""

    __slots__ = ()

    def __init__(self, elements: list[tuple[bytes, bytes]]) -> None:
        super().__init__([(b"", value, 0) for _, value in elements],
                         [{"name": name, "value": value} for name, value in elements])


class ItemValues(PreparedRecord):
    """The items of the list that an element holds, one a line; a line break inside an item is followed by a space."""

    __slots__ = ()

    def __init__(self, name: bytes, items: list[bytes]) -> None:
        super().__init__([(b"", item, FOLDED) for item in items], [{"name": name, "items": items}])


class Text(PreparedRecord):
    """Prose, such as help."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__([(b"", line.encode(), 0) for line in text.splitlines()], [{"text": text.encode()}])


# -- records of identifiers and elements -----------------------------------------------------------------------------

_FETCH_WIDTH = 7


class FetchedRecord(Record):
    """An identifier with its circulation and its elements.

    The text names the state only if it is not published, and the target of an alias only for an alias.  A withdrawn
    identifier has its tombstone in place of elements.
    """

    __slots__ = ("_name", "_tombstone")

    def __init__(self, name: FetchedName) -> None:
        self._name = name
        tombstone = name.tombstone
        fields = [] if tombstone is None else [
            ("Withdrawn", tombstone.date), ("Reason", tombstone.reason), ("Successor", tombstone.successor)
        ]
        self._tombstone = [(label, value) for label, value in fields if value]

    def lines(self) -> Iterable[Line]:
        name = self._name
        yield b"id", name.display + (b" hold" if name.held else b""), _FETCH_WIDTH
        yield b"Circ", name.circulation, _FETCH_WIDTH
        if name.state not in (None, "published"):
            yield b"State", name.state.encode(), _FETCH_WIDTH
        if name.alias is not None:
            yield b"Alias", name.alias, _FETCH_WIDTH
        yield from ((label.encode(), value, 0) for label, value in self._tombstone)
        if not name.elements and not self._tombstone and name.alias is None:
            yield b"note", b"no elements bound under " + name.display + b".", 0
        for element, value in name.elements:
            yield element, value, ELEMENT_LABEL
            if element in name.computed:
                yield b"note", element + b" was computed by the rule :idmap/" + name.computed[element], 0

    def data(self) -> list[dict[str, object]]:
        name = self._name
        return [{
            "id": name.display, "hold": name.held, "circ": name.circulation, "state": name.state,
            **({"alias": name.alias} if name.alias is not None else {}),
            **{label.lower(): value for label, value in self._tombstone},
            "elements": [
                {"name": element, "value": value,
                 **({"rule": name.computed[element]} if element in name.computed else {})}
                for element, value in name.elements
            ],
        }]


class Refusals(Record):
    """Refusals of single identifiers, in the answer to a command that was carried out for others."""

    __slots__ = ("_refused",)

    def __init__(self, refused: list[NoidError]) -> None:
        self._refused = refused

    def lines(self) -> Iterable[Line]:
        return [(b"error", encode_text(message), 0) for message in self.errors]

    def data(self) -> list[dict[str, object]]:
        return [{"error": {"kind": error.kind, "message": error.message}} for error in self._refused]

    @property
    def errors(self) -> tuple[str, ...]:
        return tuple(error.message for error in self._refused)
