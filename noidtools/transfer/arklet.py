"""The table of ARKs in a database of arklet, as CSV or as JSON.

CSV has a first line with the names of the columns, as `\\copy ark_ark to FILE csv header` of psql writes it.  JSON is a
list of objects, or a line for each: with the columns as keys, or as `manage.py dumpdata` writes them, which may have
other tables as well.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..minter.importing import ImportRow
from . import LONGEST_VALUE, BadLineError, InputFile, ensure_length
from .anvl import EZID_TARGET
from .csv_table import text_lines

_TABLE = "ark.ark"
# The columns of which a name consists, and those with which nothing is done.
_NAMING = ("ark", "naan", "shoulder", "assigned_name")
_LEFT_OUT = frozenset((*_NAMING, "id", "pk"))


def read_arklet(file: InputFile) -> Iterator[ImportRow | BadLineError]:
    """The entries of a file, and what is wrong with lines that cannot be understood.

    Raises BadLineError if the file as a whole cannot be.
    """
    lines = text_lines(file)
    first = next(lines, "")
    rows = _json_rows(file, first, lines) if first.lstrip()[:1] in ("[", "{") else _csv_rows(file, first, lines)
    for line, row in rows:
        try:
            entry = _entry(line, row)
        except BadLineError as bad:
            yield bad
            continue
        if entry is not None:
            yield entry


def _csv_rows(file: InputFile, first: str, lines: Iterator[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    csv.field_size_limit(LONGEST_VALUE)
    columns = [name.strip().lower() for name in next(csv.reader([first]), [])]
    if "ark" not in columns and not {"naan", "assigned_name"} <= set(columns):
        raise BadLineError(1, "the first line names no column ark: write the table of ARKs with the names of its "
                           "columns, as CSV or JSON", fatal=True)
    rows = csv.reader(lines, strict=True)
    while True:
        line = file.number + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadLineError(line, f"the quotes are wrong ({error})", fatal=True) from None
        if row:
            yield line, dict(zip(columns, row, strict=False))


def _json_rows(file: InputFile, first: str, lines: Iterator[str]) -> Iterator[tuple[int, Any]]:
    if first.lstrip().startswith("["):
        for row in _parsed(1, first + "".join(lines)):
            yield 1, row
        return
    yield 1, _parsed(1, first)
    for line in lines:
        if line.strip():
            yield file.number, _parsed(file.number, line)


def _parsed(line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLineError(line, f"this is not JSON: {error}", fatal=True) from None


def _entry(line: int, row: Any) -> ImportRow | None:
    """What a row states; None for one of another table."""
    if isinstance(row, dict) and isinstance(row.get("fields"), dict):
        if row.get("model") != _TABLE:
            return None
        row = {"ark": row.get("pk"), **row["fields"]}
    if not isinstance(row, dict):
        raise BadLineError(line, "a row is an object with the columns of the table")
    values = {name: "" if value is None else value for name, value in row.items()}
    wrong = next((name for name, value in values.items()
                  if name not in _LEFT_OUT and not isinstance(value, str)), None)
    if wrong is not None:
        raise BadLineError(line, f"the value of {wrong[:60]!r} is no text")
    pairs = [(EZID_TARGET if name == "url" else name.encode("utf-8", "replace"), value.encode("utf-8", "replace"))
             for name, value in values.items() if value and name not in _LEFT_OUT]
    for _, value in pairs:
        ensure_length(line, value)
    # The importer knows EZID's name of the target, and binds it under ours.
    return ImportRow(line, _name(line, values), pairs, ezid=True)


def _name(line: int, values: Mapping[str, Any]) -> bytes:
    """The name of a row: its column ark, which has no label, or the parts of the name."""
    ark, naan, shoulder, assigned = (str(values.get(name, "")).strip() for name in _NAMING)
    if "/" not in ark:
        if not naan or not assigned:
            raise BadLineError(line, "there is no ark, and no naan with an assigned_name")
        ark = f"{naan}/{shoulder.lstrip('/')}{assigned}"
    return b"ark:/" + ark.removeprefix("ark:").lstrip("/").encode("utf-8", "replace")
