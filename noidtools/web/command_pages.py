"""Pages for people who give commands by URL in a browser: answers, refusals and help.  What is asked before a change is
in confirmation.py; programs get text or JSON (see `Request.wants_page`)."""

from __future__ import annotations

from itertools import groupby, islice
from urllib.parse import quote

from ..codec import decode_text, encode_text
from ..commands.answers import Blank, FetchedRecord
from ..commands.help import Explanation, by_task
from ..commands.history import EventRecord
from ..errors import NoidError
from .rendering import renderer_of
from .response import http_error, public_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..commands.answers import Answer, Record
    from ..commands.command import Command
    from ..minter.folder import MinterFolder
    from .request import Request
    from .response import HttpError, Response

# More of an answer is for programs.
_MOST_RECORDS = 1000
_TITLES = {401: "A login is needed", 403: "Not allowed", 404: "Not found", 410: "Withdrawn", 503: "Busy"}


def refusal_page(minters: MinterFolder, request: Request, refusal: HttpError) -> Response:
    """Why a command was refused."""
    values = {"title": _TITLES.get(refusal.status, "Not done"), "message": refusal.message,
              "commands": commands_path(request) if request.header("QUERY_STRING") else ""}
    return renderer_of(minters).page(request, "refusal.html", values, status=refusal.status, headers=refusal.headers)


# -- answers ---------------------------------------------------------------------------------------------------------


def help_page(minters: MinterFolder, request: Request, commands: Iterable[Command]) -> Response:
    """The commands that can be given by URL, by task."""
    groups = {task: [command for command in group if not command.shell_only]
              for task, group in by_task(commands).items()}
    return renderer_of(minters).page(request, "commands.html", {"groups": groups})


def answer_page(minters: MinterFolder, request: Request, answer: Answer) -> Response:
    """What a command that only reads has answered; raises NoidError for a refusal before the first record."""
    refusal, records = "", []
    stream = iter(answer.records)
    try:
        for record in islice(stream, _MOST_RECORDS):
            records.append(record)
    except NoidError as error:
        if not records:
            raise
        refusal = public_message(http_error(error, ""))
    if records and isinstance(records[0], Explanation):
        explained = {"help": records[0], "commands": commands_path(request)}
        return renderer_of(minters).page(request, "command.html", explained)
    values = {"words": [decode_text(word) for word in request.words], "blocks": list(_blocks(records)),
              "refusal": refusal, "link": identifier_link, "commands": commands_path(request),
              "is_cut": len(records) == _MOST_RECORDS and next(stream, None) is not None}
    return renderer_of(minters).page(request, "answer.html", values)


def _blocks(records: Iterable[Record]) -> Iterator[tuple[str, Any]]:
    """The records by how they are shown: events, text, elements (of one identifier), ids, rows or facts."""
    for kind, group in groupby((record for record in records if not isinstance(record, Blank)), _kind):
        if kind == "events":
            yield kind, [record.event for record in group if isinstance(record, EventRecord)]
            continue
        shown = [[(decode_text(label), value) for label, value, _ in record.lines()] for record in group]
        lines = [line for record in shown for line in record]
        if kind == "id" and all(label == "id" for label, _ in lines):
            yield "ids", lines
        elif kind == "id" and len(shown) > 1:
            yield "rows", _rows(shown)
        elif kind == "text":
            yield kind, lines
        else:
            for each in shown:
                yield "facts" if kind == "id" else kind, each


def _kind(record: Record) -> str:
    if isinstance(record, EventRecord):
        return "events"
    if isinstance(record, FetchedRecord):
        return "elements"
    first = next(iter(record.lines()), (b"", b"", 0))[0]
    return "text" if not first else "id" if first == b"id" else "facts"


def _rows(records: list[list[tuple[str, bytes]]]) -> tuple[list[str], list[list[list[bytes]]]]:
    """Labels of columns, and for each record the values of each label."""
    labels = list(dict.fromkeys(label for record in records for label, _ in record))
    return labels, [[[value for label, value in record if label == column] for column in labels] for record in records]


def commands_path(request: Request) -> str:
    """The address of the minter's commands, without a query."""
    return quote(request.path.encode("utf-8", "surrogateescape"), safe="/:@!$&'()*+,;=~")


def identifier_link(identifier: str | bytes, start: str = "?fetch+") -> str:
    """A link that shows an identifier; what follows it, a pepper or the word hold, is no part of it."""
    name = encode_text(identifier) if isinstance(identifier, str) else identifier
    return start + quote(name.partition(b" ")[0].partition(b"!")[0], safe="/:")
