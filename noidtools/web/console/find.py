"""Finding and listing identifiers: by words, element, target, state, date and prefix; and what is shown as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...codec import encode_text
from ...description.bibliography import title_of
from ...description.facts import FoundName
from ...errors import NoidError
from ...minter.lifecycle import STATES
from ...search import is_address
from ...times import first_second
from ...transfer.csv_table import write_header, write_row
from ..access import MinterAccess
from ..json_api.types import json_text
from ..response import Response, public_message
from .visit import Visit, link

_PAGE = 50
_EXPORT_PAGE = 1000
_PARAMETERS = ("q", "minter", "element", "words", "target", "state", "since", "prefix", "columns")
# Columns that are no elements.
_ID, _TITLE, _STATE, _TARGET, _MINTER = "id", "title", "state", "target", "minter"
_USUAL = (_ID, _TITLE, _STATE, _TARGET)
_MOST_COLUMNS = 30


def show(visit: Visit) -> Response:
    """The form, and the names that fit it."""
    found: list[tuple[MinterAccess, FoundName]] = []
    cursor, problem = "", ""
    columns = _columns(visit)
    try:
        found, cursor = visit.minters.find(visit.request, visit.value("minter"), limit=_PAGE,
                                           cursor=visit.value("cursor"), **_query(visit))
    except NoidError as error:
        problem = public_message(error)
    given = {name: visit.value(name) for name in _PARAMETERS}
    rows = [(access, name, [_cell(access, name, column) for column in columns]) for access, name in found]
    return visit.page(
        "find", given=given, rows=rows, columns=columns, states=STATES, problem=problem,
        known_columns=_known_columns(found, columns),
        following=link("find", **given, cursor=cursor) if cursor else "",
        first=link("find", **given) if visit.value("cursor") else "",
        csv=link("find.csv", **given), jsonl=link("find.jsonl", **given))


def _query(visit: Visit) -> dict[str, Any]:
    target, since, words = visit.text("target"), visit.text("since"), visit.text("words")
    of_target = {"target" if is_address(target) else "host": target} if target else {}
    return {
        "words": visit.text("q"), "elements": {visit.text("element") or _TITLE: words} if words else {},
        "prefix": visit.text("prefix"), "state": visit.choice("state", *STATES),
        "changed_since": first_second(since) if since else b"", **of_target,
    }


def _columns(visit: Visit) -> list[str]:
    """The columns to show: those chosen, by commas, in this order."""
    chosen = [name.strip() for name in visit.value("columns").split(",") if name.strip()]
    return [_ID, *(name for name in dict.fromkeys(chosen) if name != _ID)][:_MOST_COLUMNS] if chosen else list(_USUAL)


def _known_columns(found: list[tuple[MinterAccess, FoundName]], columns: list[str]) -> list[str]:
    """What can be chosen: the usual columns, and the elements of the names on the page."""
    elements = {element: None for _, name in found for element in name.elements}
    return list(dict.fromkeys([*_USUAL, _MINTER, *columns, *elements]))[: 2 * _MOST_COLUMNS]


def _cell(access: MinterAccess, name: FoundName, column: str) -> str:
    if column == _TITLE and _TITLE not in name.elements:
        return title_of(name.elements)
    fixed = {_ID: name.identifier, _STATE: name.state or "", _TARGET: name.target, _MINTER: access.name}
    return fixed[column] if column in fixed else name.elements.get(column, "")


# -- files -----------------------------------------------------------------------------------------------------------


def export_csv(visit: Visit) -> Response:
    """All names that fit, as CSV, so that it can be edited and uploaded: with the elements of the columns of the page.

    The state is among them only if it was chosen, because it would be taken for an element.
    """
    chosen = bool(visit.value("columns").strip())
    columns = [column for column in _columns(visit) if chosen or column != _STATE]
    found = _all(visit)

    def lines() -> Iterator[bytes]:
        header = b""
        for access, name in found:
            if not header:
                elements = [access.target if column == _TARGET else column for column in columns[1:]]
                header = write_header(tuple(map(encode_text, elements)))
                yield header
            yield write_row([encode_text(name.elements.get(column, "") if column == _TITLE else
                                         _cell(access, name, column)) for column in columns])

    return _file("csv", "text/csv; charset=utf-8", lines())


def export_jsonl(visit: Visit) -> Response:
    """All names that fit, with all their elements, as a line of JSON each."""
    found = _all(visit)

    def lines() -> Iterator[bytes]:
        for access, name in found:
            elements = {json_text(element): json_text(value) for element, value in name.elements.items()}
            data = {"id": json_text(name.identifier), "minter": access.name, "state": name.state, "elements": elements}
            yield json.dumps(data, ensure_ascii=False).encode() + b"\n"

    return _file("jsonl", "application/jsonl", lines())


def _file(ending: str, media_type: str, lines: Iterator[bytes]) -> Response:
    return Response(200, media_type, lines, [("Content-Disposition", f'attachment; filename="identifiers.{ending}"')])


def _all(visit: Visit) -> Iterator[tuple[MinterAccess, FoundName]]:
    """All names that fit, read page by page; raises at once what is wrong with the question."""
    minter, query = visit.value("minter"), _query(visit)
    first, following = visit.minters.find(visit.request, minter, limit=_EXPORT_PAGE, **query)

    def rest() -> Iterator[tuple[MinterAccess, FoundName]]:
        found, cursor = first, following
        yield from found
        while cursor:
            found, cursor = visit.minters.find(visit.request, minter, limit=_EXPORT_PAGE, cursor=cursor, **query)
            yield from found

    return rest()
