"""Finding and listing identifiers: by words, element, target, state, date and prefix; and what is shown as a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...codec import encode_text
from ...dates import first_second, last_second
from ...description.bibliography import title_element, title_of
from ...description.facts import FoundName
from ...errors import NoidError
from ...minter.lifecycle import STATES
from ...search import is_address
from ...transfer.csv_table import write_header, write_row
from ..access import MinterAccess
from ..json_bodies import json_text
from ..response import Response, public_message
from .visit import Visit, link

_PAGE = 50
_EXPORT_PAGE = 1000
_PARAMETERS = ("q", "minter", "element", "words", "target", "state", "since", "until", "prefix", "columns")
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
    given = {name: visit.value(name) for name in _PARAMETERS} | {"columns": ",".join(_chosen(columns))}
    rows = [(access, name, [_cell(access, name, column) for column in columns]) for access, name in found]
    return visit.page(
        "find", given=given, rows=rows, columns=columns, states=STATES, problem=problem,
        known_columns=_known_columns(found, columns),
        following=link("find", **given, cursor=cursor) if cursor else "",
        first=link("find", **given) if visit.value("cursor") else "",
        csv=link("find.csv", **given), jsonl=link("find.jsonl", **given))


def _query(visit: Visit) -> dict[str, Any]:
    target, words = visit.text("target"), visit.text("words")
    since, until = visit.text("since"), visit.text("until")
    of_target = {"target" if is_address(target) else "host": target} if target else {}
    return {
        "words": visit.text("q"), "elements": {visit.text("element") or _TITLE: words} if words else {},
        "prefix": visit.text("prefix"), "state": visit.choice("state", *STATES),
        "changed_since": first_second(since) if since else b"",
        "changed_until": last_second(until) if until else b"", **of_target,
    }


def _columns(visit: Visit) -> list[str]:
    """The columns to show: those chosen, one in each field or with commas between, in this order."""
    chosen = [name.strip() for name in ",".join(visit.values("columns")).split(",") if name.strip()]
    return [_ID, *(name for name in dict.fromkeys(chosen) if name != _ID)][:_MOST_COLUMNS] if chosen else list(_USUAL)


def _chosen(columns: list[str]) -> list[str]:
    """The columns if they are not the usual ones, else none."""
    return columns if columns != list(_USUAL) else []


def _known_columns(found: list[tuple[MinterAccess, FoundName]], columns: list[str]) -> list[str]:
    """What can be chosen: the usual columns, and the elements of the names on the page."""
    elements = {element: None for _, name in found for element in name.elements}
    return list(dict.fromkeys([*columns[1:], *_USUAL[1:], _MINTER, *elements]))[:_MOST_COLUMNS]


def _cell(access: MinterAccess, name: FoundName, column: str) -> str:
    if column == _TITLE and _TITLE not in name.elements:
        return title_of(name.elements)
    fixed = {_ID: name.identifier, _STATE: name.state or "", _TARGET: name.target, _MINTER: access.name}
    return fixed[column] if column in fixed else name.elements.get(column, "")


# -- files -----------------------------------------------------------------------------------------------------------


def export_csv(visit: Visit) -> Response:
    """All names that fit, as CSV, so that it can be edited and uploaded: with the elements of the columns of the page.

    Titles are in the columns of the elements that have them.  The state is among the columns only if it was chosen,
    because it would be taken for an element.
    """
    columns = _columns(visit)
    chosen = bool(_chosen(columns))
    first, found = _all(visit)
    target = first[0][0].target if first else _TARGET
    titles = list(dict.fromkeys(filter(None, (title_element(name.elements) for _, name in first)))) or [_TITLE]
    # For each header of the file the column of the page that it stands for.
    headers: dict[str, str] = {}
    for column in columns[1:]:
        if chosen or column != _STATE:
            for header in titles if column == _TITLE else [target] if column == _TARGET else [column]:
                headers.setdefault(header, column)

    def lines() -> Iterator[bytes]:
        yield write_header(tuple(map(encode_text, headers))) if headers else write_row([_ID.encode()])
        for access, name in found:
            cells = [_cell(access, name, column) if column in (_STATE, _TARGET, _MINTER)
                     else name.elements.get(header, "") for header, column in headers.items()]
            yield write_row([encode_text(cell) for cell in (name.identifier, *cells)])

    return _file("csv", "text/csv; charset=utf-8", lines())


def export_jsonl(visit: Visit) -> Response:
    """All names that fit, as a line of JSON each, with the elements that were chosen as columns, else with all."""
    chosen = _chosen(_columns(visit))
    _, found = _all(visit)

    def lines() -> Iterator[bytes]:
        for access, name in found:
            shown = {access.target if column == _TARGET else title_element(name.elements) if column == _TITLE
                     else column for column in chosen} or name.elements
            elements = {json_text(element): json_text(value) for element, value in name.elements.items()
                        if element in shown}
            data = {"id": json_text(name.identifier), "minter": access.name, "state": name.state, "elements": elements}
            yield json.dumps(data, ensure_ascii=False).encode() + b"\n"

    return _file("jsonl", "application/jsonl", lines())


def _file(ending: str, media_type: str, lines: Iterator[bytes]) -> Response:
    return Response(200, media_type, lines, [("Content-Disposition", f'attachment; filename="identifiers.{ending}"')])


def _all(visit: Visit) -> tuple[list[tuple[MinterAccess, FoundName]], Iterator[tuple[MinterAccess, FoundName]]]:
    """The first names that fit, and all, read page by page; raises at once what is wrong with the question."""
    minter, query = visit.value("minter"), _query(visit)
    first, following = visit.minters.find(visit.request, minter, limit=_EXPORT_PAGE, **query)

    def rest() -> Iterator[tuple[MinterAccess, FoundName]]:
        found, cursor = first, following
        yield from found
        while cursor:
            found, cursor = visit.minters.find(visit.request, minter, limit=_EXPORT_PAGE, cursor=cursor, **query)
            yield from found

    return first, rest()
