"""The command that describes a minter or an identifier for machines that reason."""

from __future__ import annotations

from ..description import documents
from ..errors import UsageError
from .answers import Answer, Record
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .answers import Line
    from .session import Call



class DocumentRecord(Record):
    """A text that is a whole by itself: its lines as they are."""

    __slots__ = ("_form", "_text")

    def __init__(self, form: str, text: bytes) -> None:
        self._form = form
        self._text = text

    def lines(self) -> Iterable[Line]:
        # Line by line, so that no writer thinks of a line break as part of a value and indents what follows.
        return [(b"", line, 0) for line in self._text.removesuffix(b"\n").split(b"\n")]

    def data(self) -> list[dict[str, object]]:
        return [{"format": documents.MEDIA_TYPES[self._form], "document": self._text}]


def describe(call: Call) -> Answer:
    options, words = take_options(call.args, ("format",))
    if len(words) > 1:
        raise UsageError("describe takes one identifier, or none for the minter: say describe [Id] [--format turtle]")
    form = documents.ensure_format(options.get("format", ["turtle"])[-1])
    if words:
        text = documents.describe_identifier(call.minter, words[0], form)
    else:
        text = documents.describe_minter(call.minter, form)
    return Answer(DocumentRecord(form, text))
