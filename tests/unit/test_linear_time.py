"""Whatever parses or writes text from outside takes time in proportion to its length."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from noidtools import codec, dates
from noidtools.commands import Invocation
from noidtools.commands.answers import FetchedRecord, Fields, Values
from noidtools.commands.bulk import parse_lines
from noidtools.commands.lines import LineSource, read_elements, read_one_element, split_words
from noidtools.errors import InvalidError, NoidError, printable
from noidtools.minter.bindings import FetchedName
from noidtools.minter.identifiers import validate_form
from noidtools.names import citation, cuts, parse, spellings, targets
from noidtools.rules import parse_replacement
from noidtools.schemes.base import pairtree_path
from noidtools.transfer import InputFile
from noidtools.transfer.importer import READERS
from noidtools.transfer.jsonl import read_line
from noidtools.web import accept
from noidtools.web.query import query_words
from noidtools.web.request import Request, Trust
from noidtools.web.writers import JsonWriter, TextWriter
from support.growth import growth, maker, random_texts, texts

pytestmark = [pytest.mark.slow, pytest.mark.long]  # they measure time

LABELS = (b"https://n2t.example/ark:/13030/", b"hdl:10.1/")


class _Lines(LineSource):
    def __init__(self, text: bytes) -> None:
        self._file = io.BytesIO(text)

    def read_line(self) -> bytes:
        return self._file.readline()


def _names(text: bytes) -> None:
    name = parse(text, LABELS)
    spellings(name, LABELS)
    for _ in cuts(name, LABELS):
        pass


def _targets(text: bytes) -> None:
    for target in targets.parse(text):
        targets.location(target.url)
    targets.extended(b"http://a.example/${suffix}/b", targets.TemplateValues(text))
    targets.extended(text, targets.TemplateValues(b"/a"))
    targets.extended(text.replace(b"/", b"$"), targets.TemplateValues(b"/a"))
    targets.stays(text, bytes(len(text)))
    targets.stays(text, b"\1\0" * (len(text) // 2) + b"\1" * (len(text) % 2))
    targets.one_line(text)


def _codec(text: bytes) -> None:
    codec.percent_encode(text), codec.percent_decode(text)
    codec.split_pair(codec.pair(text, text))
    codec.unpack(codec.pack([text, *text.split(b"a")]))


def _request(text: bytes) -> None:
    value = text.decode("latin-1")
    headers = dict.fromkeys(("HTTP_X_FORWARDED_FOR", "HTTP_ORIGIN", "HTTP_REFERER", "HTTP_HOST", "PATH_INFO"), value)
    request = Request({**headers, "REMOTE_ADDR": "192.0.2.1", "HTTP_IDEMPOTENCY_KEY": value},
                      Trust(proxies=("192.0.2.1", "1.1.1.1")))
    request.contact, request.why_not_write(), request.path  # noqa: B018
    request.idempotency_key  # noqa: B018


def _accept(text: bytes) -> None:
    value = text.decode("latin-1")
    accept.prefers_json("application/json," + value)
    accept.preferred(value, ("text/plain", "text/html", "application/json"))


def _written(text: bytes) -> None:
    elements = [(text[:100], text), (text, b"")]
    name = FetchedName(text, text, circulation=text)
    name.elements = elements
    for record in (Fields(("a", text)), Values(elements), FetchedRecord(name)):
        TextWriter().record(record), JsonWriter().record(record)


def _cited(text: bytes) -> None:
    citation.representations(text, labels=LABELS)
    citation.same(text, text + b"x", labels=LABELS)


def _imported(text: bytes) -> None:
    quoted = text.replace(b'"', b"'")
    for form, head in (("csv", b"id,a\nx,"), ("csv", b"id,"), ("anvl", b":: x\na: b\n"), ("jsonl", b'{"id": "')):
        for _ in READERS[form](InputFile(io.BytesIO(head + quoted + b'"}\n'))):
            pass
    for form, file in (("csv", b'id,a\nx,"' + text + b'"\n'), ("anvl", text), ("jsonl", text + b"\n"),
                       ("jsonl", b'{"id": "x", "elements": {"a": [' + b'"",' * text.count(b"a") + b'""]}}\n')):
        for _ in READERS[form](InputFile(io.BytesIO(file))):
            pass


def _dates(text: bytes) -> None:
    spelled = text.decode("latin-1")
    for date in (spelled, "2026-11-17T" + spelled, "2026-" + spelled):
        for parse_date in (dates.first_second, dates.last_second, dates.to_utc):
            with contextlib.suppress(NoidError, ValueError):
                parse_date(date)
    with contextlib.suppress(NoidError, ValueError):
        dates.to_utc("+0100")(text)


PARSERS: dict[str, Callable[[bytes], Any]] = {
    "words": split_words,
    "quoted words": lambda text: split_words(b'"' + text + b'"'),
    "elements": lambda text: read_elements(io.BytesIO(b"a: b\n" + text).readline),
    "one element": lambda text: read_one_element(io.BytesIO(b"a: b\n" + text).readline),
    "bulk": lambda text: list(parse_lines(None, _Lines(b"bind set x :\na: b\n" + text))),  # type: ignore[arg-type]
    "query": query_words,
    "invocations": lambda text: [Invocation([name, *text.split()]).options for name in (b"mint", b"bind", b"verify")],
    "imported lines": _imported,
    "dates": _dates,
    "names": _names,
    "targets": _targets,
    "replacements": parse_replacement,
    "codec": _codec,
    "headers": _request,
    "accept": _accept,
    "answers": _written,
    "messages": printable,
    "citations": _cited,
    "paths": pairtree_path,
    "labels of a template": lambda text: validate_form("kt.zdk", [text, b"kt" + text]),
    "labels without limit": lambda text: validate_form(".zd", [text]),
    "labels of ibi": lambda text: validate_form("ibi", [text]),
    "labels of ibip": lambda text: validate_form("ibip", [text]),
    "labels of pilin": lambda text: validate_form("pilin", [text]),
    "templates": lambda text: validate_form(text.decode("latin-1") + ".zdk", [text]),
    "masks": lambda text: validate_form(".z" + text.decode("latin-1"), [text]),
}


@pytest.mark.parametrize("further", [4, pytest.param(64, marks=pytest.mark.long)])
@pytest.mark.parametrize("parser", PARSERS)
def test_time_grows_in_proportion_to_the_length(parser: str, further: int) -> None:
    def run(text: bytes) -> None:
        with contextlib.suppress(NoidError):
            PARSERS[parser](text)

    # Citations are written in a dozen forms, each by functions that the others are made of too.
    step = 4 if parser == "citations" else 1
    tried = [*texts(), *random_texts(parser, further)][::step]
    assert not {text: ratio for text in tried if (ratio := growth(run, maker(*text)))}


def test_a_name_that_is_given_twice_at_the_end_of_a_line_of_json_is_found_in_proportion_to_its_length() -> None:
    def run(line: bytes) -> None:
        with pytest.raises(InvalidError, match="given twice"):
            read_line(line)

    def line(size: int) -> bytes:
        names = [*range(size // 8), size // 8 - 1]
        return b"{%b}" % b",".join(b'"%d":1' % name for name in names)

    assert not growth(run, line)


def test_the_measurement_notices_the_square() -> None:
    def rest_again(text: bytes) -> None:
        for place in range(0, len(text), 64):
            max(text[place:])

    assert growth(rest_again, maker(b"", b"a", b"")) > 7
