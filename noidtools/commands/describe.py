"""The command that describes a minter or an identifier as RDF."""

from __future__ import annotations

from ..description.formats import RDF_FORMATS, ensure_rdf_format
from ..errors import UsageError
from .answers import Answer, Record
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..minter import Minter
    from .answers import Line
    from .session import Call


class DocumentRecord(Record):
    """A whole document, its lines written as they are."""

    __slots__ = ("_form", "_text")

    def __init__(self, form: str, text: bytes) -> None:
        self._form = form
        self._text = text

    def lines(self) -> Iterable[Line]:
        # One by one, because writers indent the lines after the first of a value.
        return [(b"", line, 0) for line in self._text.removesuffix(b"\n").split(b"\n")]

    def data(self) -> list[dict[str, object]]:
        return [{"format": RDF_FORMATS[self._form], "document": self._text}]


def describe(call: Call) -> Answer:
    options, words = take_options(call.args, ("format",))
    if len(words) > 1:
        raise UsageError("describe takes one identifier, or none for the minter: say describe [Id] [--format turtle]")
    form = ensure_rdf_format(options.get("format", ["turtle"])[-1])
    text = describe_name(call.minter, words[0], form) if words else describe_minter(call.minter, form)
    return Answer(DocumentRecord(form, text))


def describe_minter(minter: Minter, form: str) -> bytes:
    """The description of a minter in a format of RDF."""
    from ..description import gatherer, rdf

    return rdf.minter_document(minter.read(lambda reader: gatherer.gather_minter(minter, reader)), form)


def describe_name(minter: Minter, text: bytes, form: str) -> bytes:
    """The description, in a format of RDF, of the name that a text spells; raises NotFoundError if it is unknown."""
    from ..description import gatherer, rdf

    return rdf.name_document(minter.read(lambda reader: gatherer.gather_text(minter, reader, text)), form)
