"""Import of identifiers and their bindings from a file into a minter that exists.

The file is read and checked before anything is written, and set aside in a temporary file.  It is then written in one
transaction.  A file that is too large for one is written in batches, between which others can write; if one of its
lines is refused then, or if the process ends, what was written stays, and the same import goes on: what is there
already is left as it is.  An identifier that was not issued here is recorded as one of foreign origin: it is held, and
is never minted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from ..errors import ForbiddenError, InvalidError, NoidError, UsageError, printable
from ..minter import Minter, identifiers
from ..minter.changes import Applied, BulkEvent, fills_batch, fits_at_once
from ..minter.circulation import PrefetchedReader
from ..minter.events import Actor
from ..minter.importing import REFUSED, ImportPage, ImportRow
from ..minter.namespace import RULE_MARK
from ..spool import Spool
from ..store import Reader, Writer
from . import BadLineError, InputFile, anvl
from .anvl import read_anvl
from .arklet import read_arklet
from .csv_table import read_csv
from .jsonl import read_jsonl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from ..console import Progress

    Fields = tuple[int, int, bytes, bytes]
    ReadEntries = Callable[[InputFile], Iterator[ImportRow | BadLineError]]


def read_ezid(file: InputFile) -> Iterator[ImportRow | BadLineError]:
    """The entries of a batch download of EZID, which is ANVL or, with columns, CSV."""
    return read_anvl(file) if file.first_line().startswith(b"::") else read_csv(file)


READERS = {"csv": read_csv, "jsonl": read_jsonl, "anvl": read_anvl, "arklet": read_arklet, "ezid": read_ezid}
CONFLICTS = ("refuse", "keep", "replace")

# How many elements one record may have: all are bound in one transaction.
MOST_ELEMENTS = 10_000

# How many entries are read and looked up in one read transaction.
_PAGE = 500
_MOST_PAGE_BYTES = 4 << 20


@dataclass(slots=True, kw_only=True)
class ImportOptions:
    """How an import is done.

    verb         of its event
    on_conflict  what is done about an element that has another value already: one of CONFLICTS
    keep_going   whether lines that are refused are left out, in place of refusing the whole file
    known_only   whether identifiers that are not known here are refused
    dry_run      whether nothing is changed
    target       the element that holds targets here; EZID's is another
    """

    verb: bytes = b"import"
    on_conflict: str = "refuse"
    keep_going: bool = False
    known_only: bool = False
    dry_run: bool = False
    target: bytes = b"_t"

    def __post_init__(self) -> None:
        if self.on_conflict not in CONFLICTS:
            raise UsageError(f"on-conflict is one of {', '.join(CONFLICTS)}, not {self.on_conflict[:60]!r}")


class ImportReport:
    """What an import did.

    lines     for each record of the file: its line, the identifier as written in answers, what was done
    records, added   how many records were imported, and how many identifiers of them were not known before
    minted, again   how many were minted for records without one, and how many of these had got theirs before
    bound, same, kept   how many bindings were made, were there already, or were kept in spite of the file
    refused   how many records were refused
    partial   how many were imported without their alias or their tombstone
    repeated  how many bindings of an earlier line were replaced by those of a later one
    left_out  whether the file had something that only a whole minter can have
    number    of the event, 0 if nothing was changed
    """

    def __init__(self) -> None:
        self.lines = Spool(3)
        self.number = 0
        self.left_out = False
        self.clear()

    def clear(self) -> None:
        """Forget what was done, because the transaction begins anew."""
        self.lines.clear()
        self.records = self.added = self.bound = self.same = self.kept = self.refused = self.partial = 0
        self.repeated = self.minted = self.again = 0

    @property
    def identifiers(self) -> int:
        """How many identifiers the records have; several may be of one."""
        return self.lines.count_distinct(1, unless=2, start=REFUSED)

    def add(self, page: ImportPage) -> None:
        for row in page.rows:
            self.lines.add(row.line, row.display, row.status)
        self.records += len(page.rows) - page.refused
        self.added += page.added
        self.bound += page.changed
        self.same += page.same
        self.kept += page.kept
        self.refused += page.refused
        self.partial += page.partial
        self.repeated += page.repeated
        self.minted += page.minted
        self.again += page.again


class _DryRunError(Exception):
    """Raised at the end of a transaction that is to be rolled back."""


class Importer:
    """Imports a file into a minter."""

    def __init__(self, minter: Minter, actor: Actor, options: ImportOptions, progress: Progress | None = None) -> None:
        self._minter = minter
        self._actor = actor
        self._options = options
        self._progress = progress
        self._event = BulkEvent(minter, actor, options.verb)
        self._report = ImportReport()
        self._rows = Spool(4)
        self._weight = self._size = 0
        self._file: InputFile

    def run(self, form: str, file: IO[bytes], source: bytes = b"") -> ImportReport:
        """Import a file in one of the formats of READERS; `source` is its name, for the event.

        Raises BadLineError, which names the line, if the file cannot be read; then nothing is imported.  With
        `keep_going` the report has the lines that were refused; after one that makes the rest unreadable it ends.
        """
        if form not in READERS:
            raise UsageError(f"a file is imported as {', '.join(READERS)}, not as {form[:60]!r}")
        return self._run(form, READERS[form], file, source)

    def _run(self, form: str, read: ReadEntries, file: IO[bytes], source: bytes) -> ImportReport:
        self._event.details = (form.encode(), *([b"from " + source] if source else []))
        self._file = InputFile(file)
        try:
            self._read_all(read(self._file))
            self._prepare()
            if fits_at_once(self._weight, self._size):
                self._write_at_once()
            else:
                self._write_batches()
        except KeyboardInterrupt:
            raise NoidError(self._interrupted()) from None
        finally:
            self._rows.close()
            if self._progress:
                self._progress(1, 1, "")
        self._report.number = 0 if self._options.dry_run else self._event.number
        self._report.left_out = self._file.left_out
        return self._report

    # -- writing ---------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Look at the file as a whole, before anything is written."""

    def _before(self, writer: Writer, batches: Iterator[list[Fields]]) -> None:
        """Called at the beginning of a transaction, possibly repeated, that writes these rows."""

    def _commit(self) -> None:
        """Called after a transaction."""

    def _write_at_once(self) -> None:
        def work(writer: Writer, number: int) -> Applied:
            self._report.clear()
            whole = Applied()
            for rows in self._batches():
                page = self._write(writer, number, rows)
                self._add(page)
                whole.changed += page.changed
                whole.recorded += page.recorded
                whole.added += page.added
            if self._options.dry_run:
                raise _DryRunError
            return whole

        with suppress(_DryRunError):
            self._event.write(work, lambda writer: self._before(writer, self._batches()))
            self._commit()

    def _write_batches(self) -> None:
        for rows in self._batches():
            try:
                self._add(self._write_batch(rows))
            except NoidError as error:
                if self._event.number:
                    error.message += (
                        f"; the file is too large for one transaction, so the {self._report.records} records "
                        f"before were imported (event {self._event.number}): import the file again to go on, or run "
                        f"'noid undo {self._event.number}' to restore what was bound")
                raise

    def _write_batch(self, rows: list[Fields]) -> ImportPage:
        """Write some rows in a transaction of their own, which is rolled back in a dry run."""
        written: list[ImportPage] = []

        def work(writer: Writer, number: int) -> ImportPage:
            written.append(self._write(writer, number, rows))
            if self._options.dry_run:
                raise _DryRunError
            return written[-1]

        with suppress(_DryRunError):
            self._event.write(work, lambda writer: self._before(writer, iter([rows])))
            self._commit()
        return written[-1]

    def _write(self, writer: Writer, number: int, rows: list[Fields]) -> ImportPage:
        page = ImportPage(self._minter, self._actor, self._options.on_conflict, keep_going=self._options.keep_going,
                          known_only=self._options.known_only)
        self._write_rows(writer, number, page, [ImportRow.from_fields(*row) for row in rows])
        return page

    def _write_rows(self, writer: Writer, number: int, page: ImportPage, rows: list[ImportRow]) -> None:
        page.write(writer, number, rows)

    def _batches(self) -> Iterator[list[Fields]]:
        """The rows of the file, as many at a time as a batch has."""
        batch: list[Fields] = []
        weight = size = 0
        for row in self._rows:
            batch.append(row)
            weight += row[1]
            size += len(row[3])
            if fills_batch(weight, size):
                yield batch
                batch, weight, size = [], 0, 0
        if batch:
            yield batch

    def _add(self, page: ImportPage) -> None:
        self._report.add(page)
        if self._progress:
            self._progress(len(self._report.lines), len(self._rows) + 1, "records written")

    def _interrupted(self) -> str:
        if not self._event.number:
            return ("interrupted: nothing was imported, unless it was complete just now; 'noid log' has the event in "
                    "that case")
        return (f"interrupted after {self._report.records} records or a few more: import the file again to go on, "
                f"or run 'noid undo {self._event.number}' to restore what was bound")

    # -- reading ---------------------------------------------------------------------------------------

    def _read_all(self, entries: Iterator[ImportRow | BadLineError]) -> None:
        """Read the file to its end, and set its rows aside."""
        page: list[ImportRow | BadLineError] = []
        size = 0
        try:
            for entry in entries:
                page.append(entry)
                if isinstance(entry, ImportRow):
                    size += sum(len(value) for _, value in entry.pairs)
                if len(page) >= _PAGE or size >= _MOST_PAGE_BYTES:
                    self._set_aside(page)
                    page, size = [], 0
        except BadLineError as fatal:
            fatal.reason += "; the rest of the file was not read"
            page.append(fatal)
        self._set_aside(page)

    def _set_aside(self, page: list[ImportRow | BadLineError]) -> None:
        """Find the identifiers of this minter that names in the file mean; a bad line raises, unless it is left out."""
        for row in self._resolve_page(page):
            if isinstance(row, BadLineError):
                if not self._options.keep_going:
                    raise row
                bad = ImportRow(row.line, b"")
                bad.refuse(row.reason)
                self._rows.add(*bad.fields())
                continue
            self._rows.add(*row.fields())
            self._weight += row.weight
            self._size += row.size
        self._file.show(self._progress)

    def _resolve_page(self, page: list[ImportRow | BadLineError]) -> list[ImportRow | BadLineError]:
        def work(reader: Reader) -> list[ImportRow | BadLineError]:
            texts = [entry.display for entry in page if isinstance(entry, ImportRow)]
            known = PrefetchedReader(reader, map(self._minter.namespace.literal_key, texts))
            return [entry if isinstance(entry, BadLineError) else self._resolve(known, entry) for entry in page]

        return self._minter.read(work)

    def _resolve(self, reader: Reader, entry: ImportRow) -> ImportRow | BadLineError:
        try:
            return self._row(reader, entry)
        except (InvalidError, ForbiddenError, UsageError) as error:
            return BadLineError(entry.line, error.message)

    def _row(self, reader: Reader, entry: ImportRow) -> ImportRow:
        text = entry.display
        if text.startswith(RULE_MARK):
            raise InvalidError("rules are not imported: bind them one by one")
        if len(entry.pairs) > MOST_ELEMENTS:
            raise InvalidError(f"the record has more than {MOST_ELEMENTS} elements: divide it into several records of "
                               "the same identifier")
        ref = identifiers.identify(self._minter, reader, text)
        if ref.key == identifiers.NEW and not ref.known:
            raise InvalidError("new is not an identifier: mint one, and write it in place of new")
        controls = any(byte < 0x20 or byte == 0x7F for byte in text)
        # A name that is known here is accepted as it is, but not with a line break around it.
        if controls and (not ref.known or text.strip() != text.strip(b" ")):
            raise InvalidError(f"{printable(text[:200])} has a control character, so it is not a name")
        identifiers.ensure_not_mistyped(self._minter, reader, ref, text)
        identifiers.ensure_pepper(reader, ref)
        self._adopt_ezid(entry)
        # A new row: the transaction may be run again, and then reads the name as the file has it.
        return replace(entry, key=ref.key, display=ref.display)

    def _adopt_ezid(self, entry: ImportRow) -> None:
        """In a record of EZID, bind the target as resolvers here expect it, and take over its status as the state."""
        if not entry.ezid:
            return
        values = dict(entry.pairs)
        status, _, reason = values.pop(anvl.EZID_STATUS, b"public").partition(b"|")
        target = values.get(anvl.EZID_TARGET)
        if target is not None and values.pop(self._options.target, target) != target:
            raise InvalidError(f"{anvl.EZID_TARGET.decode()} becomes {printable(self._options.target)} here, but that "
                               "has another value: remove one of them")
        # A bar would separate several targets here.
        entry.pairs = [(self._options.target, value.replace(b"|", b"%7C")) if element == anvl.EZID_TARGET else
                       (element, value) for element, value in values.items()]
        if status.strip() == b"unavailable":
            entry.state, entry.reason = "unavailable", reason.strip()
        elif status.strip() != b"public":
            entry.state = "reserved"
