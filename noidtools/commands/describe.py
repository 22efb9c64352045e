"""The command that describes a minter or an identifier as RDF."""

from __future__ import annotations

from ..description.formats import RDF_FORMATS, ensure_rdf_format
from ..minter.access import READ
from .answers import Answer, Record
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .answers import Line
    from .call import Call


class DocumentRecord(Record):
    """A document of several lines, written without labels."""

    __slots__ = ("_form", "_text")

    def __init__(self, form: str, text: bytes) -> None:
        self._form = form
        self._text = text

    def lines(self) -> Iterable[Line]:
        # Each line is a value, because writers indent all lines of a value but the first.
        return [(b"", line, 0) for line in self._text.removesuffix(b"\n").split(b"\n")]

    def data(self) -> list[dict[str, object]]:
        return [{"format": RDF_FORMATS[self._form], "document": self._text}]


def _describe(call: Call) -> Answer:
    form = ensure_rdf_format(call.option("format") or "turtle")
    from ..description import gatherer, minter_gatherer, rdf

    minter = call.minter
    if not call.words:
        facts = call.read(lambda reader: minter_gatherer.gather_minter(minter, reader))
        return Answer(DocumentRecord(form, rdf.minter_document(facts, form)))
    name_facts = call.read(lambda reader: gatherer.gather_text(minter, reader, call.words[0]))
    return Answer(DocumentRecord(form, rdf.name_document(name_facts, form)))


COMMANDS = (
    Command(
        "describe", "the identifier system this minter is, or all about one identifier, as RDF",
        Form("[Id] [--format turtle|json-ld|xml]", _describe, READ,
             too_many="describe takes one identifier, or none for the minter"),
        options=(Option("--format turtle|json-ld|xml", "turtle, unless given"),),
        see="citing-verifying-describing.md#describe",
        about="""\
Uses the terms of the Identifier Systems ontology. Elements whose names begin with _ and values of more than a megabyte
are left out. Needs the extra noidtools[rdf].
""",
        example="""\
$ noid describe 13030/kt4x551 | grep noid:value
    noid:value "On the origin of species" .
    noid:value "1859" .
    noid:value "Darwin" .
""",
    ),
)
