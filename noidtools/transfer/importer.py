"""Import of identifiers and their bindings from a file into a minter that exists.

The file is read and checked before anything is written.  A small one is then written in one transaction, a larger one
in many, which are taken back if one fails (see import_steps.py); with `keep_going` only lines that fail are left out.
An identifier that was not issued here is recorded as one of foreign origin: it is held, and is never minted.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from itertools import chain

from ..codec import pack
from ..errors import ConflictError, ForbiddenError, InvalidError, NoidError, UsageError, printable
from ..minter import identifiers
from ..minter.bulk_changes import BulkEvent, ChunkSize
from ..minter.importing import ImportPage, ImportRow
from ..minter.namespace import RULE_MARK
from . import anvl
from .anvl import read_anvl
from .csv_table import read_csv
from .import_steps import ImportSteps, pages
from .input_file import BadLineError, Entry, InputFile
from .jsonl import read_jsonl
from .spooled_rows import SpooledRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from hashlib import _Hash as Hash
    from typing import IO

    from ..minter import Minter
    from ..minter.events import Actor
    from ..store import Reader, Writer

    Progress = Callable[[int, int, str], None]

READERS = {"csv": read_csv, "jsonl": read_jsonl, "anvl": read_anvl}
CONFLICTS = ("refuse", "keep", "replace")

# How many names and bindings, and bytes, are written in one transaction, for which others wait a tenth of a second.
AT_ONCE = 2000
AT_ONCE_BYTES = 2 << 20

# What may be, if it is more than bindings.  Others wait for it, and are refused after half a minute: so much is written
# within a few seconds, also on a busy machine.  Its pages are in memory until it is committed.
MOST_BINDINGS = 200_000
MOST_BYTES = 128 << 20

# How many elements one record may have: all are bound in one transaction.
MOST_ELEMENTS = 10_000

# How many entries are read and looked up in one read transaction.
_PAGE = 500
_MOST_PAGE_BYTES = 4 << 20


class ImportOptions:
    """How an import is done.

    verb         of its event
    on_conflict  what is done about an element that has another value already: one of CONFLICTS
    keep_going   whether lines that are refused are left out, in place of refusing the whole file
    known_only   whether identifiers that are not known here are refused
    dry_run      whether all is undone at the end
    target       the element that holds targets here; EZID's is another
    """

    __slots__ = ("verb", "on_conflict", "keep_going", "known_only", "dry_run", "target")

    def __init__(
        self, verb: bytes = b"import", *, on_conflict: str = "refuse", keep_going: bool = False,
        known_only: bool = False, dry_run: bool = False, target: bytes = b"_t",
    ) -> None:
        if on_conflict not in CONFLICTS:
            raise UsageError(f"--on-conflict is one of {', '.join(CONFLICTS)}, not {on_conflict[:60]!r}")
        self.verb = verb
        self.on_conflict = on_conflict
        self.keep_going = keep_going
        self.known_only = known_only
        self.dry_run = dry_run
        self.target = target


class ImportReport:
    """What an import did.

    lines     for each record of the file: its line, the identifier as written in answers, what was done
    identifiers, added    how many identifiers there were, and how many of them were not known before
    bound, same, kept   how many bindings were made, were there already, or were kept in spite of the file
    refused   how many records were refused
    partial   how many were imported without their alias or their tombstone
    left_out  whether the file had something that only a whole minter can have
    continued whether an import of the same file that was interrupted was continued
    number    of the event, 0 if nothing was changed
    """

    def __init__(self) -> None:
        self.lines = SpooledRows()
        self.identifiers = self.added = self.bound = self.same = self.kept = self.refused = self.number = 0
        self.partial = 0
        self.left_out = self.continued = False

    def clear(self) -> None:
        """Forget what was done, because the transaction begins anew; what was refused before it stays so."""
        self.lines.clear()
        self.identifiers = self.added = self.bound = self.same = self.kept = 0

    def add(self, page: ImportPage) -> None:
        for row in page.rows:
            self.lines.add((b"%d" % row.line, row.display, row.status))
        self.identifiers += len(page.rows) - page.refused
        self.added += page.added
        self.bound += page.changed
        self.same += page.same
        self.kept += page.kept
        self.refused += page.refused
        self.partial += page.partial

    def refuse(self, error: BadLineError) -> None:
        self.refused += 1
        self.lines.add((b"%d" % error.line, b"", b"refused: " + error.reason.encode("utf-8", "surrogateescape")))


class _DryRunError(Exception):
    """Raised at the end of a transaction that is to be undone."""


class Importer:
    """Imports a file into a minter."""

    def __init__(self, minter: Minter, actor: Actor, options: ImportOptions, progress: Progress | None = None) -> None:
        self._minter = minter
        self._actor = actor
        self._options = options
        self._progress = progress
        self._event = BulkEvent(minter, actor, options.verb)
        self._report = ImportReport()
        self._file: InputFile

    def run(self, form: str, file: IO[bytes], source: bytes = b"") -> ImportReport:
        """Import a file in one of the formats of READERS; `source` is its name, for the event.

        Raises BadLineError, which names the line, and then nothing is imported.  With `keep_going` nothing is raised,
        and the report has the lines that were refused; behind one that makes the rest unreadable it ends.
        """
        self._event.details = (form.encode(), *([b"from " + source] if source else []))
        self._file = InputFile(file)
        entries = READERS[form](self._file)
        try:
            if self._options.keep_going:
                self._run_in_chunks(entries)
            else:
                self._run_whole(entries)
        except KeyboardInterrupt:
            raise NoidError(self._interrupted()) from None
        finally:
            if self._progress:
                self._progress(1, 1, "")
        self._report.number = 0 if self._options.dry_run else self._event.number
        self._report.left_out = self._file.left_out
        return self._report

    # -- all or nothing --------------------------------------------------------------------------------

    def _run_whole(self, entries: Iterator[Entry | BadLineError]) -> None:
        spool = SpooledRows()
        digest = hashlib.sha256(pack((self._options.verb, self._options.on_conflict.encode())))
        weight = size = 0
        related = False
        for page in self._resolved(entries, digest=digest):
            for row in page:
                if isinstance(row, BadLineError):
                    raise row
                spool.add(row.fields())
                weight += row.weight
                size += row.size
                related = related or row.is_related
            if related and max(weight / MOST_BINDINGS, size / MOST_BYTES) > 1:
                raise ConflictError(
                    f"the file has aliases or withdrawn names, and more than {MOST_BINDINGS} bindings or "
                    f"{MOST_BYTES >> 20} MB, which would keep others from writing too long: import these in a file of "
                    "their own, or say --keep-going, which imports it in small steps"
                )
            self._file.show(self._progress)
        if related or (weight <= AT_ONCE and size <= AT_ONCE_BYTES):
            self._run_at_once(spool)
        else:
            self._run_in_steps(spool, digest.digest())

    def _run_in_steps(self, spool: SpooledRows, digest: bytes) -> None:
        steps = ImportSteps(self._minter, self._actor, self._event, digest, spool, self._new_page, self._progress)
        if not self._options.dry_run:
            self._report.continued = steps.is_continued()
        steps.rehearse(self._report.add)
        if not self._options.dry_run:
            self._report.clear()
            steps.run(self._report.add)

    def _run_at_once(self, spool: SpooledRows) -> None:
        def work(writer: Writer, number: int) -> ImportPage:
            self._report.clear()
            whole = self._new_page()
            for rows, _ in pages(map(ImportRow.from_fields, spool), lambda: _PAGE):
                page = self._new_page()
                page.write(writer, number, rows)
                self._report.add(page)
                whole.changed += page.changed
                whole.added += page.added
                whole.recorded += page.recorded
            if self._options.dry_run:
                raise _DryRunError
            return whole

        with suppress(_DryRunError):
            self._event.write(work)

    def _new_page(self) -> ImportPage:
        """A page; with `keep_going` rows are refused one by one, else the first refusal is raised."""
        return ImportPage(self._minter, self._actor, self._options.on_conflict, keep_going=self._options.keep_going,
                          known_only=self._options.known_only, reversible=bool(self._event.parameters))

    # -- small transactions ----------------------------------------------------------------------------

    def _run_in_chunks(self, entries: Iterator[Entry | BadLineError]) -> None:
        size = ChunkSize()
        for page in self._readable(self._resolved(entries, size)):
            rows = [row for row in page if not isinstance(row, BadLineError)]
            if rows:
                applied = self._write_chunk(rows)
                size.adapt(applied.weight, applied.seconds)
                self._report.add(applied)
            for row in page:
                if isinstance(row, BadLineError):
                    self._report.refuse(row)
            self._file.show(self._progress)

    def _write_chunk(self, rows: list[ImportRow]) -> ImportPage:
        """Write some rows in a transaction of their own, which is undone in a dry run."""
        written: list[ImportPage] = []

        def work(writer: Writer, number: int) -> ImportPage:
            written.append(self._new_page())
            written[-1].write(writer, number, rows)
            if self._options.dry_run:
                raise _DryRunError
            return written[-1]

        with suppress(_DryRunError):
            self._event.write(work)
        return written[-1]

    def _readable(self, pages: Iterator[list[ImportRow | BadLineError]]) -> Iterator[list[ImportRow | BadLineError]]:
        """The pages up to a line behind which nothing can be understood, which is reported."""
        try:
            yield from pages
        except BadLineError as fatal:
            fatal.reason += "; the rest of the file was not read"
            self._report.refuse(fatal)

    # -- reading ---------------------------------------------------------------------------------------

    def _resolved(
        self, entries: Iterator[Entry | BadLineError], size: ChunkSize | None = None, digest: Hash | None = None
    ) -> Iterator[list[ImportRow | BadLineError]]:
        """The entries, page by page, with the identifiers of this minter that their names mean.

        What they say, as it stands in the file, is added to `digest`.
        """
        page: list[Entry | BadLineError] = []
        weight = total = 0
        fatal: BadLineError | None = None
        while fatal is None:
            try:
                entry = next(entries, None)
            except BadLineError as error:
                fatal = error
                break
            if entry is None:
                break
            page.append(entry)
            if isinstance(entry, Entry):
                if digest is not None:
                    digest.update(pack((entry.name, entry.state.encode(), *chain.from_iterable(entry.pairs))))
                weight += 1 + len(entry.pairs)
                total += sum(len(value) for _, value in entry.pairs)
            if weight >= (size.size if size else _PAGE) or total >= _MOST_PAGE_BYTES or len(page) >= _PAGE:
                yield self._resolve_page(page)
                page, weight, total = [], 0, 0
        if page:
            yield self._resolve_page(page)
        if fatal is not None:
            raise fatal

    def _resolve_page(self, page: list[Entry | BadLineError]) -> list[ImportRow | BadLineError]:
        def work(reader: Reader) -> list[ImportRow | BadLineError]:
            return [entry if isinstance(entry, BadLineError) else self._resolve(reader, entry) for entry in page]

        return self._minter.read(work)

    def _resolve(self, reader: Reader, entry: Entry) -> ImportRow | BadLineError:
        try:
            return self._row(reader, entry)
        except (InvalidError, ForbiddenError, UsageError) as error:
            return BadLineError(entry.line, error.message)

    def _row(self, reader: Reader, entry: Entry) -> ImportRow:
        text = entry.name
        if text.startswith(RULE_MARK):
            raise InvalidError("rules are not imported: bind them one by one")
        if len(entry.pairs) > MOST_ELEMENTS:
            raise InvalidError(f"the record has more than {MOST_ELEMENTS} elements: divide it into several records of "
                               "the same identifier")
        ref = identifiers.identify(self._minter, reader, text)
        controls = any(byte < 0x20 or byte == 0x7F for byte in text)
        # A name that is known here is accepted as it is, but not with a line break around it.
        if controls and (not ref.known or text.strip() != text.strip(b" ")):
            raise InvalidError(f"{printable(text[:200])} has a control character, and is therefore no name")
        if ref.record is None and not ref.well_formed:
            fault = identifiers.typing_fault(self._minter, reader, self._minter.namespace.parse(text))
            if fault is not None:
                raise InvalidError(fault)
        identifiers.ensure_pepper(reader, ref)
        self._adopt_ezid(entry)
        display = self._minter.namespace.display(ref.key)
        return ImportRow(entry.line, ref.key, display, entry.pairs, entry.state, entry.reason, entry.successor,
                         entry.alias)

    def _adopt_ezid(self, entry: Entry) -> None:
        """In a record of EZID, bind the target as resolvers here expect it, and keep reserved what is not public."""
        if not entry.ezid:
            return
        values = dict(entry.pairs)
        target = values.get(anvl.EZID_TARGET)
        if target is not None and values.pop(self._options.target, target) != target:
            raise InvalidError(f"{anvl.EZID_TARGET.decode()} becomes {printable(self._options.target)} here, but that "
                               "has another value: remove one of them")
        entry.pairs = [(self._options.target if element == anvl.EZID_TARGET else element, value)
                       for element, value in values.items()]
        if not values.get(anvl.EZID_STATUS, b"public").strip().startswith(b"public"):
            entry.state = "reserved"

    def _interrupted(self) -> str:
        if not self._options.keep_going:
            if self._event.number:
                return "interrupted: what was imported was taken back"
            return "interrupted: nothing was imported, unless it was done just now; import the file again to be sure"
        if not self._event.number:
            return "interrupted before the second step: import the file again to go on"
        return (f"interrupted after {self._event.changed} bindings or a few more: import the file again to go on, or "
                f"say 'noid undo {self._event.number}' to take them back")
