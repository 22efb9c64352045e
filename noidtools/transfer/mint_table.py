"""Identifiers for the rows of a table: CSV in, the same table with identifiers out.

The table has a column for each element, and may have a column id.  A row without an identifier gets a new one, to which
its cells are bound; a row with one is imported as any other.  As in any import, the table is checked before anything is
written, it is written in one transaction or in batches, and others can mint meanwhile.  A row keeps its identifier
however often the same table is sent (see minter/mint_runs.py).

The table comes back as it was, with its separator, its line ends and its byte order mark.  A row that was refused has
no identifier.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from ..errors import ForbiddenError, InvalidError, NoidError, StoreError, printable
from ..minter.circulation import ensure_element, find
from ..minter.importing import ImportPage, ImportRow, refusal_of
from ..minter.mint_runs import MintRun
from ..minter.minting import MintOptions
from ..spool import Spool
from ..store import Reader, Writer
from ..store.folders import replace_file
from . import BYTE_ORDER_MARK, LONGEST_VALUE, BadLineError, InputFile
from .csv_table import Header, guarded, read_header, read_rows, row_entry, text_lines
from .importer import Importer, ImportOptions, ImportReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from ..console import Progress
    from ..minter import Minter
    from ..minter.events import Actor
    from .importer import Fields

_ID = "id"
_PIECE = 1 << 16


@dataclass(slots=True, kw_only=True)
class MintTableOptions:
    """How identifiers are minted for a table.

    reserved    whether they are reserved in place of published; None for what the minter's policy says
    name        of the run: the same table under another name gets other identifiers
    keep_going  whether rows that are refused are left out, in place of refusing the whole table
    dry_run     whether nothing is changed
    most        how many identifiers may be minted; None for any number
    """

    reserved: bool | None = None
    name: bytes = b""
    keep_going: bool = False
    dry_run: bool = False
    most: int | None = None


class MintedTable:
    """A table with its identifiers: `chunks()` has its bytes, `write_to(path)` writes it.

    minted     how many identifiers were minted just now
    again      how many rows had got theirs before, from the same table
    since      when the same table was first sent, in fourteen digits; empty if it is new
    event      the number of the event of the bindings, by which they can be undone; 0 if nothing was bound
    report     what was done about each row
    """

    def __init__(self, table: _Table, report: ImportReport, since: bytes) -> None:
        self._table = table
        self.report = report
        self.minted = report.minted - report.again
        self.again = report.again
        self.since = since.decode()
        self.event = report.number

    def refused(self) -> Iterator[tuple[int, str]]:
        """The rows that were left out: the number of the line, and why."""
        for line, _, status in self.report.lines:
            reason = refusal_of(status)
            if reason is not None:
                yield line, reason.decode("utf-8", "replace")

    def chunks(self) -> Iterator[bytes]:
        """The table in CSV, as bytes; may be asked for again."""
        waiting: list[bytes] = []
        size = 0
        for row in self._table.written(self.report):
            waiting.append(row)
            size += len(row)
            if size > _PIECE:
                yield b"".join(waiting)
                waiting, size = [], 0
        yield b"".join(waiting)

    def write_to(self, path: str) -> None:
        """Write the table to a file, which takes the place of an older one when it is complete and on disk."""
        def write(fresh: str) -> None:
            with open(fresh, "xb") as file:
                os.fchmod(file.fileno(), 0o600)  # it has what is not public
                for piece in self.chunks():
                    file.write(piece)

        try:
            replace_file(path, write)
        except OSError as error:
            raise StoreError(f"{path} could not be written ({error.strerror}): the identifiers were minted, so send "
                             "the same table again to get it") from None


def mint_table(
    minter: Minter, actor: Actor, file: IO[bytes], options: MintTableOptions, *, source: bytes = b"",
    progress: Progress | None = None,
) -> MintedTable:
    """Mint identifiers for the rows of a table that have none, and bind what the table has; `source` is the name of
    the file, for the event.

    Raises BadLineError, which names the line, if a row is refused and not left out; ConflictError if the run of that
    name was with another table; ExhaustedError if the minter has not as many identifiers left.
    """
    table = _Table()
    importer = _TableImporter(minter, actor, options, table, progress)
    report = importer.mint(file, source)
    return MintedTable(table, report, importer.since)


class _Table:
    """The rows of a table as they were read.

    header  what the first line says, once it was read
    wanted  how many rows need an identifier
    fault   why the table could not be read to its end, if so
    """

    def __init__(self) -> None:
        self.header: Header
        self.wanted = 0
        self.fault: BadLineError | None = None
        self._rows = Spool(2)
        self._start = b""
        self._line_end = "\n"

    def read(self, file: InputFile) -> Iterator[ImportRow | BadLineError]:
        """The entries of the table, and what is wrong with rows that cannot be understood.

        The name of an entry is empty where an identifier is to be minted.  Raises BadLineError if the table as a whole
        cannot be understood.
        """
        try:
            yield from self._entries(file)
        except BadLineError as fault:
            self.fault = fault
            raise

    def _entries(self, file: InputFile) -> Iterator[ImportRow | BadLineError]:
        csv.field_size_limit(LONGEST_VALUE)
        lines = self._noting_line_end(text_lines(file))
        self.header = read_header(lines, needs_id=False)
        self._ensure_columns()
        self._start = BYTE_ORDER_MARK if file.marked else b""
        for line, row in read_rows(file, lines, self.header):
            self._rows.add(line, json.dumps(row).encode())
            try:
                entry = row_entry(line, row, self.header, needs_id=False)
            except BadLineError as bad:
                yield bad
                continue
            if entry is not None:
                entry.display = entry.display.strip()
                self.wanted += not entry.display
                yield entry

    def _noting_line_end(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            if line.endswith("\r\n"):
                self._line_end = "\r\n"
            yield line
            break
        yield from lines

    def _ensure_columns(self) -> None:
        header = self.header
        if header.ezid:
            raise BadLineError(1, "the column of identifiers is called _id, as in EZID: call it id", fatal=True)
        if header.element >= 0:
            raise BadLineError(1, "a table with the columns element and value has a row for each binding, and here "
                               "each row gets an identifier: make a column for each element", fatal=True)
        for element in header.elements:
            try:
                ensure_element(element)
            except NoidError as error:
                raise BadLineError(1, error.message, fatal=True) from None

    def written(self, report: ImportReport) -> Iterator[bytes]:
        """The lines of the table, with the identifiers that the report has."""
        yield self._start + self._row(self._head())
        place, width = self.header.place, len(self.header.cells)
        given = iter(report.lines)
        line, display = 0, b""
        for number, packed in self._rows:
            cells = json.loads(packed)
            if not any(cells):
                yield self._line_end.encode()
                continue
            while line < number and (following := next(given, None)) is not None:
                line, display, _ = following
            fresh = guarded(display).decode() if line == number else ""
            cells = cells[:width] + [""] * (width - len(cells)) if not any(cells[width:]) else cells
            if place < 0:
                cells.insert(0, fresh)
            elif not cells[place].strip():
                cells[place] = fresh
            yield self._row(cells)

    def _head(self) -> list[str]:
        return [_ID, *self.header.cells] if self.header.place < 0 else self.header.cells

    def _row(self, cells: list[str]) -> bytes:
        text = StringIO(newline="")
        csv.writer(text, delimiter=self.header.separator, lineterminator=self._line_end).writerow(cells)
        return text.getvalue().encode()


class _TableImporter(Importer):
    """An import of which the rows without an identifier get one."""

    def __init__(
        self, minter: Minter, actor: Actor, options: MintTableOptions, table: _Table, progress: Progress | None
    ) -> None:
        super().__init__(minter, actor, ImportOptions(keep_going=options.keep_going, dry_run=options.dry_run), progress)
        self._minting = options
        self._table = table
        self._mint_run: MintRun
        # The lines for which the transaction that is under way mints.
        self._fresh: set[int] = set()

    @property
    def since(self) -> bytes:
        return self._mint_run.since

    def mint(self, file: IO[bytes], source: bytes) -> ImportReport:
        return self._run("csv", self._table.read, file, source)

    def _prepare(self) -> None:
        if self._table.fault is not None:
            raise self._table.fault  # a table that was cut off is not given back, whatever may be left out
        options, wanted = self._minting, self._table.wanted
        mint_options = MintOptions(reserved=options.reserved, unbound=tuple(self._table.header.elements))
        self._mint_run = MintRun(self._minter, self._actor, options.name, self._file.digest(), wanted, mint_options)
        self._minter.read(self._mint_run.find)
        if options.most is not None and wanted > options.most and not self.since:
            raise ForbiddenError(f"the table needs {wanted} identifiers, and {options.most} may be minted at once "
                                 f"here: divide it, or ask an administrator for a mint-limit of {wanted}")
        self._minter.read(self._mint_run.ensure_enough_left)

    def _row(self, reader: Reader, entry: ImportRow) -> ImportRow:
        if not entry.display:
            return entry
        row = super()._row(reader, entry)
        _ensure_never_minted(reader, row)
        return row

    def _before(self, writer: Writer, batches: Iterator[list[Fields]]) -> None:
        """Mint first: the history of an identifier begins with its minting."""
        run = self._mint_run
        run.begin()
        self._fresh = set()
        for fields in batches:
            rows = (ImportRow.from_fields(*packed) for packed in fields)
            lines = [row.line for row in rows if _is_wanting(row)]
            fresh = [line for line, known in zip(lines, run.known(writer, lines), strict=True) if known is None]
            self._fresh.update(fresh)
            if not self._options.dry_run:
                run.mint(writer, fresh)

    def _commit(self) -> None:
        self._mint_run.commit()

    def _write_rows(self, writer: Writer, number: int, page: ImportPage, rows: list[ImportRow]) -> None:
        wanting = [row for row in rows if _is_wanting(row)]
        fresh = [row for row in wanting if row.line in self._fresh]
        for row, key in zip(wanting, self._mint_run.known(writer, [row.line for row in wanting]), strict=True):
            if key is not None:
                row.key, row.display = key, self._minter.with_label(key)
            if row.line not in self._fresh:
                row.status = b"minted before"
            elif key is None:
                row.status = b"%d bound" % len(row.pairs) if row.pairs else b"nothing to bind"
                page.changed += len(row.pairs)  # of a dry run
        page.write(writer, number, rows)
        for row in fresh:
            row.status = b"minted, " + row.status
        page.minted, page.again = len(wanting), len(wanting) - len(fresh)


def _is_wanting(row: ImportRow) -> bool:
    """Whether an identifier is to be minted for it."""
    return not row.key and not row.status


def _ensure_never_minted(reader: Reader, row: ImportRow) -> None:
    """Raise InvalidError for an identifier that another row of the table might get."""
    record = find(reader, row.key)
    if record is None or record.queued or not (record.was_issued or record.held or record.withdrawn):
        raise InvalidError(f"{printable(row.display)} was neither minted here nor imported: leave the cell empty to "
                           "have an identifier minted, or import the row by itself, without minting")
