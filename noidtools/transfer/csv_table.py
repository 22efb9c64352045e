"""CSV: a table with the columns id, element and value, or with a column for each element.

RFC 4180 in UTF-8, fields separated by commas; when reading also by semicolons or tabs, as the first line decides.  The
table has a row for each binding if its columns are called id, element and value, in any order.  An element of one of
these names has its column under that name in base64, as below.

A spreadsheet computes what begins with `=`, `+`, `-` or `@`.  So an apostrophe is written before such a value, as
spreadsheets do to mark text, and is taken off when reading.  A value that begins like that without an apostrophe is
refused, because it is a formula, unless it is a number.  What is not text is written as `'base64:…`.
"""

from __future__ import annotations

import binascii
import csv
import re
from collections.abc import Iterator
from io import StringIO

from ..errors import printable
from ..minter.importing import ImportRow
from . import LONGEST_VALUE, BadLineError, InputFile, ensure_length

LONG_FORM = (b"id", b"element", b"value")
_ELEMENT, _VALUE = "element", "value"
_MOST_COLUMNS = 10_000
# The name of the column of identifiers: here and usually, and in EZID.
_EZID_ID = "_id"
_ID_COLUMNS = ("id", _EZID_ID)
_RESERVED = frozenset((*_ID_COLUMNS, _ELEMENT, _VALUE))
_SEPARATORS = (",", ";", "\t")
# Characters of the first line of a table, if line breaks in quotes make it several.
_LONGEST_HEADER = 1 << 20
_BASE64 = b"'base64:"
_FORMULA = (b"=", b"+", b"-", b"@", b"\t", b"\r")
# Some spreadsheets pass over a line feed, and some take the wide forms of these characters for them.
_GUARDED = (*_FORMULA, b"'", b"\n", *(character.encode() for character in "\uff1d\uff0b\uff0d\uff20"))
# What needs quotes: the separators, quotes, line breaks, and blanks at the ends, which some programs strip.
_SPECIAL = re.compile(rb'[,;\t"\r\n]|^ | $')
# Numbers, also those of telephones, and a hyphen that stands for nothing.
_NUMBER = re.compile(r"[+-][\d\s.,()/%-]*(?:[eE][+-]?\d+)?$")


# -- writing ---------------------------------------------------------------------------------------------------------


def write_row(cells: list[bytes]) -> bytes:
    return b",".join(map(_cell, cells)) + b"\r\n"


def write_header(elements: tuple[bytes, ...]) -> bytes:
    """The first line of a table with a column for each of the elements, or without any with a row for each binding."""
    if not elements:
        return write_row(list(LONG_FORM))
    return b",".join((LONG_FORM[0], *map(_column, elements))) + b"\r\n"


def _column(name: bytes) -> bytes:
    """The name of a column; blanks around it would be lost, and some names would mean something else."""
    text = name.decode("utf-8", "replace")
    plain = text.isprintable() and text.strip() == text and text.lower() not in _RESERVED
    return _cell(name) if plain else _base64(name)


def _base64(value: bytes) -> bytes:
    return _BASE64 + binascii.b2a_base64(value, newline=False)


def guarded(value: bytes) -> bytes:
    """The value as text that a spreadsheet does not compute."""
    if b"\0" in value or not _is_text(value):
        return _base64(value)
    return b"'" + value if value.startswith(_GUARDED) else value


def _cell(value: bytes) -> bytes:
    value = guarded(value)
    return b'"' + value.replace(b'"', b'""') + b'"' if _SPECIAL.search(value) else value


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


# -- reading ---------------------------------------------------------------------------------------------------------


class Header:
    """What the first line says.

    separator  between the cells
    cells      the names of the columns as written
    names      of the columns
    place      of the column of identifiers; -1 if there is none
    element, value   the places of the columns of this name in a table with a row for each binding; else -1
    ezid       whether the table is EZID's
    """

    __slots__ = ("separator", "cells", "names", "place", "element", "value", "ezid")

    def __init__(self, separator: str, cells: list[str]) -> None:
        words = [cell.lower() for cell in cells]
        self.separator = separator
        self.cells = cells
        self.place = next((place for place, word in enumerate(words) if word in _ID_COLUMNS), -1)
        self.ezid = self.place >= 0 and words[self.place] == _EZID_ID
        self.element = self.value = -1
        if _ELEMENT in words and _VALUE in words:
            self.element, self.value = words.index(_ELEMENT), words.index(_VALUE)
        self._ensure_unambiguous(cells, words)
        self.names = [_value(1, cell) for cell in cells]
        elements = self.elements
        if len(set(elements)) < len(elements):
            twice = next(name for place, name in enumerate(elements) if name in elements[:place])
            raise BadLineError(1, f"there are two columns {printable(twice[:60])!r}")

    @property
    def elements(self) -> list[bytes]:
        """The names of the other columns."""
        return [name for place, name in enumerate(self.names) if place != self.place]

    def _ensure_unambiguous(self, cells: list[str], words: list[str]) -> None:
        others = [cell for cell, word in zip(cells, words, strict=True) if word in _ID_COLUMNS][1:]
        if others:
            raise BadLineError(1, f"the columns {cells[self.place][:60]!r} and {others[0][:60]!r} could both be that "
                               "of the identifiers: rename one")
        if self.element >= 0 and len(cells) > len(LONG_FORM):
            other = next(cell for cell, word in zip(cells, words, strict=True) if word not in _RESERVED)
            raise BadLineError(1, "a table with the columns element and value has a row for each binding, and no other "
                               f"columns such as {other[:60]!r}: remove that, or rename the others")


def read_csv(file: InputFile) -> Iterator[ImportRow | BadLineError]:
    """The entries of a table, and what is wrong with lines that cannot be understood.

    Raises BadLineError if the table as a whole cannot be.
    """
    csv.field_size_limit(LONGEST_VALUE)
    lines = text_lines(file)
    header = read_header(lines)
    for start, row in read_rows(file, lines, header):
        try:
            entry = row_entry(start, row, header)
        except BadLineError as bad:
            yield bad
            continue
        if entry is not None:
            entry.ezid = header.ezid
            yield entry


def read_rows(file: InputFile, lines: Iterator[str], header: Header) -> Iterator[tuple[int, list[str]]]:
    """The rows after the header, each with the number of its first line."""
    rows = csv.reader(lines, delimiter=header.separator, strict=True)
    while True:
        start = file.number + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadLineError(start, _csv_message(str(error)), fatal=True) from None
        yield start, row


def text_lines(file: InputFile) -> Iterator[str]:
    """The lines as text; raises BadLineError for a NUL byte, and for what is not UTF-8."""
    for line in file.lines():
        if b"\0" in line:
            raise BadLineError(file.number, "it has a NUL byte, so this is not CSV", fatal=True)
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise BadLineError(file.number, f"the byte {line[error.start]:#04x} at {error.start + 1} is not UTF-8: "
                               "save the file as CSV in UTF-8", fatal=True) from None


def read_header(lines: Iterator[str], *, needs_id: bool = True) -> Header:
    """What the first line says; raises BadLineError if it cannot be understood."""
    try:
        return _header(lines, needs_id=needs_id)
    except BadLineError as bad:
        bad.fatal = True
        raise


def _header(lines: Iterator[str], *, needs_id: bool) -> Header:
    text = next(lines, None)
    if text is None:
        raise BadLineError(1, "the file is empty: its first line must name the columns, one of them id")
    # The name of a column may have line breaks, in quotes.
    while text.count('"') % 2 and len(text) < _LONGEST_HEADER and (following := next(lines, None)) is not None:
        text += following
    found = [(separator, _cells(text, separator)) for separator in _SEPARATORS]
    # The separator that yields a column of identifiers, else the one that yields the most columns.
    separator, cells = max(found, key=lambda both: (_has_id(both[1]), len(both[1])))
    if not _has_id(cells) and "\r" in text.rstrip("\r\n"):
        raise BadLineError(1, "no column is called id, and there are carriage returns without line feeds: save the "
                           "file with the line ends of Unix or Windows")
    if needs_id and not _has_id(cells):
        raise BadLineError(1, "no column is called id: the first line must name the columns, as in id,element,value or "
                           "id,_t,title")
    if len(cells) > _MOST_COLUMNS:
        raise BadLineError(1, f"there are {len(cells)} columns, and at most {_MOST_COLUMNS} are read")
    while cells and not cells[-1]:
        cells.pop()  # spreadsheets write empty columns after the last
    if not cells:
        raise BadLineError(1, "the first line is empty: it must name the columns")
    if "" in cells:
        raise BadLineError(1, f"column {cells.index('') + 1} has no name")
    return Header(separator, cells)


def _has_id(cells: list[str]) -> bool:
    return any(cell.lower() in _ID_COLUMNS for cell in cells)


def _cells(text: str, separator: str) -> list[str]:
    try:
        rows = csv.reader(StringIO(text, newline="\n"), delimiter=separator, strict=True)
        return [name.strip() for name in next(rows)]
    except (csv.Error, StopIteration):
        return []


def _csv_message(message: str) -> str:
    if "field larger" in message:
        return f"a value is longer than {LONGEST_VALUE >> 20} MB, or a quote is not closed"
    if "end of data" in message:
        return "a quote is opened and not closed before the end of the file"
    return f"the quotes are wrong ({message})"


def row_entry(line: int, row: list[str], header: Header, *, needs_id: bool = True) -> ImportRow | None:
    """What a row states; None for an empty one.  Raises BadLineError."""
    if not any(row):
        return None  # an empty line
    columns = len(header.names)
    if len(row) > columns and any(row[columns:]):
        raise BadLineError(line, f"there are {len(row)} values for {columns} columns")
    values = [_value(line, cell) for cell in row]
    name = values[header.place] if 0 <= header.place < len(values) else b""
    if needs_id and not name.strip():
        raise BadLineError(line, "the column id is empty")
    if header.element < 0:
        pairs = [(column, value) for place, (column, value) in enumerate(zip(header.names, values, strict=False))
                 if value and place != header.place]
        return ImportRow(line, name, pairs)
    if len(values) < len(LONG_FORM):
        raise BadLineError(line, "there are fewer than three values: id, element and value")
    element, value = values[header.element], values[header.value]
    if not element:
        if value:
            raise BadLineError(line, "there is a value, but no element")
        return ImportRow(line, name, [])
    return ImportRow(line, name, [(element, value)])


def _value(line: int, cell: str) -> bytes:
    value = cell.encode()
    ensure_length(line, value)
    if value.startswith(_FORMULA) and not _NUMBER.match(cell):
        raise BadLineError(line, f"{cell[:40]!r} looks like a formula: write an apostrophe before it if you mean "
                           "it literally")
    if value.startswith(_BASE64):
        try:
            return binascii.a2b_base64(value[len(_BASE64) :], strict_mode=True)
        except (binascii.Error, ValueError):
            raise BadLineError(line, "a value is not valid base64, although it begins with 'base64:") from None
    if value[:1] == b"'" and value[1:].startswith(_GUARDED):
        return value[1:]
    return value
