"""Answers of commands: records, which can be written as text (ANVL) or as JSON.

A command returns an `Answer`, which is a sequence of records.  A record has `lines` for text and `data` for JSON.  The
labels and the layout of the lines are those of the original noid, because scripts parse them.

records.py and name_records.py have the records that a mint does not answer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        """The record for JSON: one dictionary for each thing it is about.  Values may be bytes: see json_data.py."""
        return [{label.decode("utf-8", "surrogateescape"): value} for label, value, _ in self.lines()]

    def without_peppers(self) -> Record:
        """This record as it may be stored; itself if it holds no pepper."""
        return self

    @property
    def errors(self) -> tuple[str, ...]:
        """Messages about what could not be answered; where there is a standard error, they go there instead."""
        return ()


class Ids(Record):
    """Identifiers, one a line; with `peppered` each has its pepper behind an exclamation mark."""

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

    records  in order.  Iterating may do the next part of the work, and may raise a NoidError
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
        else:
            line = (_escape_label(label) if width == ELEMENT_LABEL and indent else label) + b": " + value
        out.append(line.replace(b"\n", b"\n ") if indent or width == FOLDED else line)
    out.append(b"")
    return b"\n".join(out)


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
