"""The command that describes names and minters, in RDF or for people."""

from __future__ import annotations

import os
from contextlib import closing

from ..codec import encode_text
from ..description import RDF_FORMATS, comparison, ensure_rdf_format, formats, gatherer, missing, rdf
from ..minter import Minter
from ..minter.policies import READ
from .answers import ELEMENT_LABEL, Answer, Fields, PreparedRecord
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..store import Reader
    from .answers import Line
    from .call import Call


def _describe(call: Call) -> Answer:
    form = ensure_rdf_format(call.option("format") or "turtle")
    if call.words:
        text = rdf.name_document(call.look(gatherer.gather_text, call.words[0]), form)
    else:
        text = rdf.minter_document(call.look(gatherer.gather_minter), form)
    # Each line is a value, because writers indent all lines of a value but the first.
    lines = [(b"", line, 0) for line in text.removesuffix(b"\n").split(b"\n")]
    return Answer(PreparedRecord(lines, [{"format": RDF_FORMATS[form], "document": text}]))


def _describe_text(call: Call) -> Answer:
    """What `describe` writes as RDF, for people."""
    if not call.words:
        return Answer(Fields(*((name, ", ".join(values)) for name, values in _own_properties(call).items())),
                      spaced=True)
    facts = call.look(gatherer.gather_text, call.words[0])
    elements, support = formats.displayed_elements(facts), formats.support_pairs(facts)
    lines: list[Line] = [(encode_text(name), encode_text(missing.readable(value)), ELEMENT_LABEL)
                         for name, value in elements.items()]
    lines += [(encode_text(name), encode_text(value), 0) for name, value in support]
    return Answer(PreparedRecord(lines, [{"elements": elements, **dict(support)}]), spaced=True)


def _own_properties(call: Call) -> dict[str, tuple[str, ...]]:
    return _properties_of(call.minter, call.read)


def _properties_of(minter: Minter, read: Callable[[Callable[[Reader], object]], Any]) -> dict[str, tuple[str, ...]]:
    facts = read(lambda reader: gatherer.gather_minter(minter, reader))
    return comparison.system_properties(rdf.describe_minter(facts), "the minter")


def _compare(call: Call) -> Answer:
    """What differs between this minter and another one, or a system that a file of RDF describes."""
    here, other = _own_properties(call), call.option("compare") or ""
    if os.path.isdir(other):
        with closing(Minter(other)) as minter:
            there = _properties_of(minter, minter.read)
    else:
        there = comparison.system_properties(comparison.read_graph(other), other)
    found = comparison.compare(here, there)
    lines = [("same", ", ".join(found.same))] if found.same else []
    for name, sides in found.differs.items():
        lines += [("differs", name), *((where, ", ".join(values)) for where, values in sides.items() if values)]
    for label, only in (("only here", found.only_here), ("only there", found.only_there)):
        lines += [(label, f"{name}: {', '.join(values)}") for name, values in only.items()]
    return Answer(PreparedRecord([(label.encode(), encode_text(text), 0) for label, text in lines],
                                 [found._asdict()]), spaced=True)


COMMANDS = (
    Command(
        "describe", "describe an identifier or the minter in RDF or for people",
        Form("[Id] [--format turtle|json-ld|xml]", _describe, READ,
             too_many="describe takes one identifier, or none for the minter"),
        Form("[Id] --text", _describe_text, READ),
        Form("--compare Other", _compare, shell_only=True),
        options=(Option("--format turtle|json-ld|xml", "turtle, unless given"),
                 Option("--text", "for people: the properties in words"),
                 Option("--compare Other", "what differs between the minter and another one, or the system that a file "
                                           "of RDF describes")),
        also=("fetch", "relations"), see="citing-verifying-describing.md#describe",
        about="""\
The terms are those of the Identifier Systems ontology. Elements whose names begin with _ and values of more than a
megabyte are left out. Needs the extra noidtools[rdf].

With --text the properties are printed in words: whose names they are, what is promised, what can be done. --compare
compares them with those of another minter, which is a folder, or of any system that a file describes in the terms of
the ontology: which are the same, which differ, and which only one of the two has.
""",
        example="""\
$ noid describe 13030/kt4x551 | grep noid:value
    noid:value "On the origin of species" .
    noid:value "1859" .
    noid:value "Darwin" .
""",
    ),
)
