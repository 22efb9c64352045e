"""The commands that take in what other programs have stored, and values from a table."""

from __future__ import annotations

import os
from contextlib import contextmanager

from ..errors import NoidError, StoreError, UsageError, printable
from ..minter.access import ADMIN
from .answers import Answer, Record
from .command import LOGGED, Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from ..minter.perl.noid4php import Noid4PhpSource
    from ..minter.perl.source import DumpSource
    from ..transfer.importer import ImportOptions, ImportReport
    from .answers import Line
    from .call import Call


def _perl(call: Call) -> Answer:
    from ..minter.perl.source import DumpSource

    name = call.words[1]
    return _import_original(call, DumpSource(None if name == b"-" else os.fsdecode(name), call.session.progress))


def _noid4php(call: Call) -> Answer:
    from ..minter.perl.noid4php import Noid4PhpSource

    return _import_original(call, Noid4PhpSource(os.fsdecode(call.words[1])))


def _import_original(call: Call, source: DumpSource | Noid4PhpSource) -> Answer:
    """Make a minter from the database of the original, or of its translation into PHP."""
    from ..minter.perl.importer import import_perl

    name = call.words[1]
    progress = call.session.progress
    dry_run = call.flag("dry-run")
    try:
        with _complete_or_not(call):
            done = import_perl(call.session.dbdir, source.read, call.actor, source=b"" if name == b"-" else name,
                               dry_run=dry_run, skip_rules=call.flag("skip-rules"), zone=call.option("zone") or "",
                               address=call.option("store") or "",
                               progress=progress)
    finally:
        source.close()
        if progress is not None:
            progress(1, 1, "")
    note = b"nothing was made, this is what would have been imported" if dry_run else b"imported"
    fields = [("Template", (done.settings["template"] or "none").encode()), ("Term", done.settings["term"].encode())]
    fields += [(label, b"unlimited" if count is None else b"%d" % count) for label, count in done.counts]
    remarks = [("note", remark.encode("utf-8", "replace")) for remark in done.remarks]
    return Answer(Fields(("ok", note), *fields, *remarks), spaced=True)


class ImportedLine(Record):
    """What was done about one record of the file; `line` is the number of its first line."""

    __slots__ = ("_line", "_identifier", "_status")

    def __init__(self, line: bytes, identifier: bytes, status: bytes) -> None:
        self._line = line
        self._identifier = identifier
        self._status = status

    def lines(self) -> Iterable[Line]:
        # A name of others may have line breaks, which would look like lines of this report.
        name = b" " + printable(self._identifier).encode() if self._identifier else b""
        return [(b"line", b"%b%b: %b" % (self._line, name, self._status), 0)]

    def data(self) -> list[dict[str, object]]:
        return [{"line": int(self._line), "id": self._identifier or None, "status": self._status}]


def _import(call: Call) -> Answer:
    from ..minter import location_of
    from ..store import exists

    form = call.words[0].decode()
    with _opened(call, 1) as file:
        if call.session.local and not exists(location_of(call.session.dbdir)):
            return _create(call, form, file)
        if call.option("store"):
            raise UsageError("--store is for a minter that is made from a complete export: there is one here already")
        return _run_import(call, form, file, _options(call, b"import", call.option("on-conflict") or "refuse"))


def _rebind(call: Call) -> Answer:
    with _opened(call, 0) as file:
        return _run_import(call, "csv", file, _options(call, b"rebind", "replace"))


def _options(call: Call, verb: bytes, on_conflict: str) -> ImportOptions:
    from ..resolution import target_element
    from ..transfer.importer import ImportOptions

    return ImportOptions(verb, on_conflict=on_conflict, keep_going=call.flag("keep-going"),
                         dry_run=call.flag("dry-run"), known_only=verb == b"rebind",
                         target=call.minter.read(target_element))


def _run_import(call: Call, form: str, file: IO[bytes], options: ImportOptions) -> Answer:
    from ..transfer.importer import Importer

    report = Importer(call.minter, call.actor, options, call.session.progress).run(form, file, _source(call))
    return Answer(stream=_report_records(report, options), spaced=True, failed=report.refused + report.partial > 0)


def _report_records(report: ImportReport, options: ImportOptions) -> Iterator[Record]:
    for line, identifier, status in report.lines:
        yield ImportedLine(line, identifier, status)
    counts = [(report.bound, b"bound"), (report.same, b"unchanged"), (report.kept, b"kept as they were")]
    bindings = b", ".join(b"%d %b" % count for count in counts if count[0]) or b"none"
    done = b"this is what would be done, and nothing was" if options.dry_run else b"done"
    yield Fields(("ok", done), ("Identifiers", b"%d" % report.identifiers), ("New", b"%d" % report.added),
                 ("Bindings", bindings), ("Refused", b"%d" % report.refused))
    if report.partial:
        yield Fields(("note", b"%d of the identifiers were imported without their alias or their tombstone: their "
                              b"lines say why" % report.partial))
    if report.left_out:
        yield Fields(("note", b"rules, history, queue, peppers, relations and custodians of the other minter were left "
                              b"out: only a whole minter has them, made where there is none yet"))
    if report.continued and not options.dry_run:
        yield Fields(("note", b"an import that was interrupted was continued"))
    if report.number:
        yield Fields(("event", b"%d" % report.number))
    if report.number and report.bound:
        stay = b"; the new identifiers stay recorded as foreign" if report.added else b""
        yield Fields(("note", b"'noid undo %d' takes the bindings back%b" % (report.number, stay)))


def _create(call: Call, form: str, file: IO[bytes]) -> Answer:
    """Make a minter from a complete export."""
    from ..transfer.input_file import BadLineError, InputFile
    from ..transfer.jsonl import read_header
    from ..transfer.whole_import import WholeImport

    source = InputFile(file)
    lines = source.lines()
    first = next(lines, b"")
    header = read_header(first) if form == "jsonl" else None
    if header is None or not header.get("complete"):
        raise StoreError(f"there is no minter in {call.session.dbdir}, and only a complete export can make one (export "
                         "jsonl --history): make one with 'noid dbcreate' first")
    if call.flag("dry-run"):
        raise UsageError("--dry-run is for an import into a minter: there is none here")
    whole = WholeImport(source, first, header, lines)
    try:
        with _complete_or_not(call):
            whole.create(call.session.dbdir, call.session.progress, address=call.option("store") or "").close()
    except BadLineError as error:
        error.message += " (no minter was made)"
        raise
    return Answer(Fields(("ok", b"a minter was made from the export"), ("Identifiers", b"%d" % whole.identifiers)),
                  spaced=True)


@contextmanager
def _complete_or_not(call: Call) -> Iterator[None]:
    """Say of a minter that is made, if that is interrupted, whether it is there."""
    from ..minter import location_of
    from ..store import exists

    try:
        yield
    except KeyboardInterrupt:
        made = exists(location_of(call.session.dbdir))
        raise NoidError(f"interrupted: {'the minter is there, and complete' if made else _NOTHING}") from None


def _opened(call: Call, place: int) -> IO[bytes]:
    """The file that a word names, or the one that the interface has opened."""
    if len(call.words) <= place or call.words[place] == b"-":
        if call.file is None:
            raise UsageError("no file was given: name one, or send it to standard input")
        return call.file
    path = os.fsdecode(call.words[place])
    try:
        return open(path, "rb")
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None


def _source(call: Call) -> bytes:
    return call.words[-1] if call.form.shell_only and call.words[-1] != b"-" else b""


_NOTHING = "no minter was made"
_DRY_RUN = Option("--dry-run", "do all but the last step: print what would be imported, and make nothing")
_KEEP_GOING = Option("--keep-going", "leave out lines that are refused, in place of importing all or nothing")
COMMANDS = (
    Command(
        "import", "take in identifiers and bindings from a file, or a whole minter",
        Form("csv|jsonl|anvl [--on-conflict refuse|keep|replace] [--keep-going] [--dry-run]", _import, ADMIN,
             streams=True, takes_file=True, interrupted=LOGGED),
        Form("csv|jsonl|anvl File [--on-conflict refuse|keep|replace] [--keep-going] [--dry-run] [--store Address]",
             _import, shell_only=True, takes_file=True, interrupted=LOGGED),
        Form("perl Source [--dry-run] [--skip-rules] [--zone Zone] [--store Address]", _perl, shell_only=True,
             interrupted=_NOTHING),
        Form("noid4php Source [--dry-run] [--skip-rules] [--zone Zone] [--store Address]", _noid4php, shell_only=True,
             interrupted=_NOTHING),
        options=(
            Option("--on-conflict refuse|keep|replace", "what to do where an element has another value already; "
                   "refuse, unless given"),
            _KEEP_GOING,
            _DRY_RUN,
            Option("--skip-rules", "perl, noid4php: store rules that cannot be used here as notes, in place of "
                   "refusing them"),
            Option("--store Address", "perl, noid4php, and jsonl where there is no minter yet: put the minter into the "
                   "database server at this address"),
            Option("--zone Zone", "perl, noid4php: the time zone of the original's dates, such as Europe/Paris; they "
                   "become UTC"),
        ),
        fails="a line was left out", see="moving.md",
        about="""\
import csv, jsonl and anvl read File, or the standard input; on the web, the body of a POST. CSV has the columns id,
element and value, or id and a column for each element. JSON lines and ANVL are as export writes them; ANVL also as the
batch download of EZID and as eggnog. All of the file is imported or nothing, unless --keep-going is given; what was
done about each line is printed. A large file is imported in small steps: if the process is killed, the same import goes
on, and undo takes back what was done. An identifier that was not minted here is recorded as one of foreign origin, is
held, and is never minted. Where there is no minter yet, import jsonl makes one from a complete export (export jsonl
--history).

import perl makes the minter in Dbdir equal to one of the original noid, a Perl program: template, term, counters,
circulation records with dates and contacts, holds, queue, bindings, rules and notes. The next identifiers are those
that the original would have minted, to the end of its namespace. Source is what db_dump, with -p or without, wrote of
its noid.bdb, or a hyphen for the standard input; or noid.bdb itself, or a folder with it, where the package db5.3-util
is installed. The minter appears complete, or not at all: a dump that is cut off, damaged or of another program is
refused. import noid4php does the same with a minter of Noid4Php: Source is its noid.lmdb or noid.xml, or a folder with
it.
""",
        example="""\
$ printf 'id,_t,title\\n13030/kt4x551,https://example.org/7,One\\n' > one.csv
$ noid import csv one.csv --on-conflict replace --dry-run | grep ok
ok: this is what would be done, and nothing was
$ mkdir moved
$ noid -f moved import perl - < /dev/null
error: the dump is empty: say db_dump -p noid.bdb > FILE, and import FILE
""",
    ),
    Command(
        "rebind", "bind other values to known identifiers, from a table",
        Form("[--keep-going] [--dry-run]", _rebind, ADMIN, streams=True, takes_file=True, interrupted=LOGGED),
        Form("File [--keep-going] [--dry-run]", _rebind, shell_only=True, takes_file=True, interrupted=LOGGED),
        options=(_KEEP_GOING, _DRY_RUN), fails="a line was left out", see="moving.md#from-a-spreadsheet",
        about="""\
File, the standard input, or on the web the body of a POST, is CSV as for import: export csv --element _t makes such a
table. Every value in it takes the place of the one that is bound. Identifiers must be known here. All of the file is
done or nothing, unless --keep-going is given. It is one event, which undo takes back.
""",
        example="""\
$ printf 'id,title\\n13030/kt4x551,Another title\\n' | noid rebind --dry-run | grep Bindings
Bindings: 1 bound
""",
    ),
)
