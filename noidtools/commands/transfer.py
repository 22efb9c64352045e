"""Commands that move data in and out of a minter or change many targets: import, rebind, export, retarget, undo."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import chain

from ..errors import InvalidError, NoidError, UsageError, printable
from ..minter import location_of
from ..minter.changes import LeftAlone
from ..minter.folder import MinterFolder
from ..minter.perl import import_perl
from ..minter.perl.dump import dumped_items, noid4php_items
from ..minter.policies import ADMIN
from ..preservation.site import export_site
from ..resolution import maps, target_element
from ..store import exists
from ..times import display_day
from ..transfer import open_input
from ..transfer.exporter import FORMS, Export, Selection
from ..transfer.importer import Importer, ImportOptions
from ..transfer.mint_table import MintTableOptions, mint_table
from ..transfer.retarget import Retargeting, undo
from ..transfer.whole_import import import_whole
from .answers import Answer, Fields, FileChunk, PreparedRecord, Record, Refusals, counted
from .command import LOGGED, Command, Form, Option, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import IO

    from ..minter import Minter
    from ..minter.perl.dump import Items
    from ..spool import Spool
    from ..transfer.importer import ImportReport
    from ..transfer.retarget import BulkReport
    from .call import Call


# -- import and rebind -----------------------------------------------------------------------------------------------


def _import_perl(call: Call) -> Answer:
    name = call.words[1]
    return _import_original(call, dumped_items(None if name == b"-" else os.fsdecode(name), call.session.progress))


def _import_noid4php(call: Call) -> Answer:
    return _import_original(call, noid4php_items(os.fsdecode(call.words[1])))


def _import_original(call: Call, source: AbstractContextManager[Items]) -> Answer:
    """Make a minter from the database of the original, or of its translation into PHP."""
    name = call.words[1]
    dry_run = call.flag("dry-run")
    with _complete_or_not(call), source as items:
        done = import_perl(call.session.dbdir, items, call.actor, source=b"" if name == b"-" else name,
                           dry_run=dry_run, skip_rules=call.flag("skip-rules"), zone=call.option("zone") or "",
                           address=call.option("store") or "", progress=call.session.progress)
    note = b"nothing was made, this is what would have been imported" if dry_run else b"imported"
    fields = [("Template", (done.settings["template"] or "none").encode()), ("Term", done.settings["term"].encode())]
    fields += [(label, b"unlimited" if count is None else b"%d" % count) for label, count in done.counts]
    remarks = [("note", remark.encode("utf-8", "replace")) for remark in done.remarks]
    return Answer(Fields(("ok", note), *fields, *remarks), spaced=True)


def _imported_line(line: int, identifier: bytes, status: bytes) -> Record:
    """What was done about one record of the file; `line` is the number of its first line."""
    # A name of others may have line breaks, which would look like lines of this report.
    name = b" " + printable(identifier).encode() if identifier else b""
    return PreparedRecord([(b"line", b"%d%b: %b" % (line, name, status), 0)],
                          [{"line": line, "id": identifier or None, "status": status}])


def _import(call: Call) -> Answer:
    form = call.words[0].decode()
    with _opened(call, 1) as file:
        if call.session.local and not exists(location_of(call.session.dbdir)):
            return _create_by_import(call, file)
        if call.option("store"):
            raise UsageError("--store is for a minter that is made from a complete export: there is one here already")
        options = _import_options(call, b"import", call.option("on-conflict") or "refuse")
        return _run_import(call, form, file, options, 1)


def _mint_table(call: Call) -> Answer:
    """Mint identifiers for the rows of a table, and give the table back."""
    options = MintTableOptions(
        reserved=True if call.flag("reserve") else None, name=call.text("name"),
        keep_going=call.flag("keep-going"), dry_run=call.flag("dry-run"),
        most=None if call.session.local else _mint_limit(call))
    with _opened(call, 1) as file:
        table = mint_table(call.minter, call.actor, file, options, source=_source_name(call, 1),
                           progress=call.session.progress)
    report, output = table.report, call.option("output")
    if report.again:
        call.actor.clock.notify(f"{report.again} of the rows had got their identifiers before, from "
                                f"{display_day(table.since.encode())} on: no others were minted for them")
    if options.dry_run:
        return Answer(stream=_import_records(report, dry_run=True), spaced=True, failed=report.refused > 0)
    if output is not None:
        table.write_to(output)
        return Answer(stream=_import_records(report), spaced=True, failed=report.refused > 0)
    refused = (Refusals([InvalidError(f"line {line}: {reason}")]) for line, reason in table.refused())
    stream = chain(refused, map(FileChunk, table.chunks()))
    return Answer(stream=stream, failed=report.refused > 0, media_type=FORMS["csv"], file_name="minted.csv")


def _mint_limit(call: Call) -> int:
    """How many identifiers one request may mint: what the minter allows, or less by its token."""
    policy = call.minter.access_policy()
    return (call.actor.token.policy(policy) if call.actor.token is not None else policy).mint_limit


def _rebind(call: Call) -> Answer:
    with _opened(call, 0) as file:
        return _run_import(call, "csv", file, _import_options(call, b"rebind", "replace"), 0)


def _import_options(call: Call, verb: bytes, on_conflict: str) -> ImportOptions:
    return ImportOptions(verb=verb, on_conflict=on_conflict, keep_going=call.flag("keep-going"),
                         dry_run=call.flag("dry-run"), known_only=verb == b"rebind",
                         target=call.minter.read(target_element))


def _run_import(call: Call, form: str, file: IO[bytes], options: ImportOptions, place: int) -> Answer:
    source = _source_name(call, place)
    report = Importer(call.minter, call.actor, options, call.session.progress).run(form, file, source)
    return Answer(stream=_import_records(report, dry_run=options.dry_run), spaced=True,
                  failed=report.refused + report.partial > 0)


def _import_records(report: ImportReport, *, dry_run: bool = False) -> Iterator[Record]:
    for line, identifier, status in report.lines:
        yield _imported_line(line, identifier, status)
    counts = [(report.bound, b"bound"), (report.same, b"unchanged"), (report.kept, b"kept as they were")]
    bindings = b", ".join(b"%d %b" % count for count in counts if count[0]) or b"none"
    done = b"this is what would be done, and nothing was" if dry_run else b"done"
    minted = [("Minted", b"%d" % (report.minted - report.again))] if report.minted else []
    yield Fields(("ok", done), ("Identifiers", b"%d" % report.identifiers), ("New", b"%d" % report.added), *minted,
                 ("Bindings", bindings), ("Refused", b"%d" % report.refused))
    if report.repeated:
        yield Fields(("note", b"%d of the bindings were given twice in the file, with different values: the last of "
                              b"them is bound" % report.repeated))
    if report.partial:
        yield Fields(("note", b"%d of the identifiers were imported without their alias or their tombstone: their "
                              b"lines say why" % report.partial))
    if report.left_out:
        yield Fields(("note", b"rules, history, queue, peppers, relations and custodians of the other minter were left "
                              b"out: only a whole minter has them, made where there is none yet"))
    if report.number:
        yield Fields(("event", b"%d" % report.number))
    if report.number and report.bound:
        stay = b"; the new identifiers stay recorded as foreign" if report.added else b""
        yield Fields(("note", b"'noid undo %d' takes the bindings back%b" % (report.number, stay)))


def _create_by_import(call: Call, file: IO[bytes]) -> Answer:
    """Make a minter from a complete export."""
    if call.flag("dry-run"):
        raise UsageError("--dry-run is for an import into a minter: there is none here")
    with _complete_or_not(call):
        minter, identifiers = import_whole(file, call.session.dbdir, call.session.progress,
                                           address=call.option("store") or "")
    minter.close()
    return Answer(Fields(("ok", b"a minter was made from the export"), ("Identifiers", b"%d" % identifiers)),
                  spaced=True)


@contextmanager
def _complete_or_not(call: Call) -> Iterator[None]:
    """If the making of a minter is interrupted, say whether it is there."""
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
    return open_input(os.fsdecode(call.words[place]))


def _source_name(call: Call, place: int) -> bytes:
    """The name of the file that `_opened` opens; empty if it has none."""
    return call.words[place] if len(call.words) > place and call.words[place] != b"-" else b""


_NOTHING = "no minter was made"
_IMPORT_DRY_RUN = Option("--dry-run", "print what would be imported, and change nothing")
_KEEP_GOING = Option("--keep-going", "leave out lines that are refused, instead of importing all or nothing")


# -- export ----------------------------------------------------------------------------------------------------------


def _export_of(call: Call) -> Export:
    selection = Selection(
        prefix=call.beginning("prefix"),
        elements=tuple(element.encode() for element in call.values("element")),
        since=call.start("changed-since"), state=call.option("state") or "", history=call.flag("history"))
    return Export(call.minter, call.words[0].decode(), selection, call.actor.now())


def _export(call: Call) -> Answer:
    export, form = _export_of(call), call.words[0].decode()
    chunks = export.chunks(call.session.progress)
    return Answer(stream=map(FileChunk, chunks), media_type=FORMS[form], file_name=f"export.{form}")


def _export_to(call: Call) -> Answer:
    export = _export_of(call)
    export.write_to(os.fsdecode(call.words[1]), call.session.progress)
    text = counted(export.count, b"identifier") + b" written to " + call.words[1]
    return Answer(Fields(("ok", text)), spaced=True)


def _export_map(call: Call) -> Answer:
    form, elements = call.option("map") or "", call.values("element")
    if form not in maps.FORMS:
        raise UsageError(f"--map is one of {', '.join(maps.FORMS)}, not {form!r}")
    file = as_text(call.words[0], "the file name")
    written, left_out = maps.export(call.minter, form, file, elements[-1].encode() if elements else None)
    fields = [("ok", counted(written, b"target") + b" written")]
    if left_out:
        fields.append(("note", b"%d left out, because the form has no room for them or they cannot be followed"
                       % left_out))
    return Answer(Fields(*fields), spaced=True)


def _export_site(call: Call) -> Answer:
    fields, failed = _site_fields(call, call.minter, call.option("site") or "")
    if failed:
        raise failed
    return Answer(Fields(*fields), spaced=True)


def _export_sites(call: Call) -> Answer:
    minters, folder = MinterFolder(call.option("minters") or ""), call.option("site") or ""
    records: list[Record] = []
    failed = False
    for name, dbdir in minters.dbdirs():
        try:
            fields, error = _site_fields(call, minters.open(dbdir, name), os.path.join(folder, name))
        except NoidError as refused:
            fields, error = [], refused
        records.append(Fields(("minter", name), *fields, *([("error", error.message)] if error else [])))
        failed = failed or error is not None
    return Answer(*(records or [Fields(("note", "there is no minter"))]), spaced=True, failed=failed)


def _site_fields(call: Call, minter: Minter, folder: str) -> tuple[list[tuple[str, str]], NoidError | None]:
    """What was done about the site of a minter, or why nothing could be done."""
    try:
        done = export_site(minter, folder, call.actor.now(), git=call.flag("git"), progress=call.session.progress)
    except NoidError as error:
        return [], error
    fields = [("ok", f"{done.names} name{'' if done.names == 1 else 's'} in {folder}"), ("Written", str(done.written)),
              ("Removed", str(done.removed))]
    if call.flag("git"):
        fields.append(("Commit", "made" if done.commit else "not needed"))
    if done.left_out:
        fields.append(("note", f"{done.left_out} left out of the maps of web servers, which cannot express them: they "
                               "have pages"))
    return fields, None


_NOT_WRITTEN = "the file is as it was, unless the export was complete just now"
_SITE_NOT_WRITTEN = "the folder is as it was, unless the export was complete just now: the same command finishes it"
_SELECTION = "[--prefix Prefix] [--element Element…] [--changed-since Date] [--state State] [--history]"


# -- retarget and undo -----------------------------------------------------------------------------------------------


def _retarget(call: Call) -> Answer:
    minter = call.minter
    change = Retargeting(minter, call.text("from"), call.text("to"),
                         call.text("element") or minter.read(target_element), call.beginning("prefix"))
    if call.flag("dry-run"):
        return Answer(stream=_differences(minter, change), spaced=True)
    report = change.run(call.actor, name=call.text("name"), progress=call.session.progress)
    return Answer(stream=_retarget_records(minter, report, change), spaced=True)


def _differences(minter: Minter, change: Retargeting) -> Iterator[Record]:
    count = 0
    for found in change.preview():
        if isinstance(found, LeftAlone):
            yield _left_record(minter, found.key, found.element, found.reason.encode())
            continue
        count += 1
        values = (("element", found.element), ("before", found.before), ("after", found.after))
        yield Fields(("id", minter.namespace.display(found.key)),
                     *((label, value) for label, value in values if value is not None))
    yield from _about_rest(change)
    yield Fields(("ok", counted(count, b"binding") + b" would be changed"))


def _retarget_records(minter: Minter, report: BulkReport, change: Retargeting) -> Iterator[Record]:
    yield from _left_records(minter, report.left)
    yield from _about_rest(change)
    yield Fields(("ok", counted(report.changed, b"binding") + b" changed"))
    if report.number:
        yield Fields(("event", b"%d" % report.number))
        yield Fields(("note", b"'noid undo %d' takes it back" % report.number))


def _left_records(minter: Minter, left: Spool) -> Iterator[Record]:
    """The bindings that were left as they are."""
    for key, element, reason in left:
        yield _left_record(minter, key, element, reason)


def _left_record(minter: Minter, key: bytes, element: bytes, reason: bytes) -> Record:
    return Fields(("left", b"%b %b: %b" % (minter.namespace.display(key), element, reason)))


def _about_rest(change: Retargeting) -> Iterator[Record]:
    """What is left as it is."""
    if change.is_extension:
        yield Fields(("note", b"targets that began with the new address already are left as they are"))
    rules = change.rules()
    if rules:
        text = b"1 rule contains that address, too, and is left as it is"
        if rules > 1:
            text = b"%d rules contain that address, too, and are left as they are" % rules
        yield Fields(("note", text))


def _undo(call: Call) -> Answer:
    minter, dry_run = call.minter, call.flag("dry-run")
    report = undo(minter, call.actor, call.words[0], dry_run=dry_run, progress=call.session.progress)

    def records() -> Iterator[Record]:
        yield from _left_records(minter, report.left)
        what = b"would be taken back" if dry_run else b"taken back"
        fields = [("ok", counted(report.changed, b"change") + b" " + what)]
        if report.left:
            fields.append(("note", b"%d left as %b" % (
                len(report.left), b"it is" if len(report.left) == 1 else b"they are")))
        if report.number:
            fields.append(("event", b"%d" % report.number))
        yield Fields(*fields)

    return Answer(stream=records(), spaced=True)


_RETARGET_DRY_RUN = Option("--dry-run", "change nothing, but list what would be changed")


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "import", "read identifiers from a file, or a whole minter",
        Form("csv|jsonl|anvl|arklet|ezid [--on-conflict refuse|keep|replace] [--keep-going] [--dry-run]", _import,
             ADMIN, streams=True, takes_file=True, interrupted=LOGGED),
        Form("csv|jsonl|anvl|arklet|ezid File [--on-conflict refuse|keep|replace] [--keep-going] [--dry-run] "
             "[--store Address]", _import, shell_only=True, takes_file=True, interrupted=LOGGED),
        Form("csv --mint [--reserve] [--name Name] [--dry-run]", _mint_table, ADMIN, streams=True, takes_file=True,
             gives_file=True, interrupted=LOGGED),
        Form("csv [File] --mint [--reserve] [--name Name] [--output File] [--keep-going] [--dry-run]", _mint_table,
             shell_only=True, takes_file=True, gives_file=True, interrupted=LOGGED),
        Form("perl Source [--dry-run] [--skip-rules] [--zone Zone] [--store Address]", _import_perl, shell_only=True,
             interrupted=_NOTHING),
        Form("noid4php Source [--dry-run] [--skip-rules] [--zone Zone] [--store Address]", _import_noid4php,
             shell_only=True, interrupted=_NOTHING),
        options=(
            Option("--on-conflict refuse|keep|replace", "what to do where an element has another value already; "
                   "refuse, unless given"),
            _KEEP_GOING,
            _IMPORT_DRY_RUN,
            Option("--mint", "csv: mint an identifier for each row without one, and print the table with them"),
            Option("--reserve", "with --mint: reserve the new identifiers instead of publishing them"),
            Option("--name Name", "with --mint: a name for this run; the same table under another name gets other "
                   "identifiers"),
            Option("--output File", "with --mint: write the table to File, and print what was done with each line"),
            Option("--skip-rules", "perl, noid4php: store rules that cannot be used here as notes, instead of "
                   "refusing them"),
            Option("--store Address", "perl, noid4php, and jsonl where there is no minter yet: put the minter into the "
                   "database server at this address"),
            Option("--zone Zone", "perl, noid4php: the time zone of the original's dates, such as Europe/Paris; they "
                   "become UTC"),
        ),
        fails="a line was left out", also=("export", "rebind", "undo"), see="moving.md",
        about="""\
csv, jsonl, anvl, arklet and ezid read File, or standard input; on the web, the body of a POST. CSV has the columns id,
element and value, or id and a column for each element. JSON lines and ANVL are as export writes them, or as eggnog
writes ANVL. arklet is the table of ARKs of an arklet database, as CSV or JSON; ezid is a batch download of EZID, as
ANVL or CSV.

The whole file is imported or nothing, unless you give --keep-going; what was done with each line is printed. A file of
more than 200,000 names and bindings is checked first and imported in batches: if that is interrupted, run the same
command again to continue, or undo to reverse it. Identifiers that were not minted here are recorded as foreign and put
on hold, so that they are never minted. Without a minter, import jsonl creates one from a complete export (export jsonl
--history).

csv --mint reads a table with a column for each element. It has no column id, or empty cells in it: each such row gets a
new identifier, its cells are bound to it, and the table is printed with the identifiers. A row keeps its identifier
however often you import the same file: after a crash, the same command continues and prints the same table.

perl creates the minter in Dbdir from a minter of the original Perl noid: template, term, counters, circulation records
with dates and contacts, holds, queue, bindings, rules and notes. It then mints the identifiers that the original would
have minted next. Source is the output of db_dump for its noid.bdb, or a hyphen for standard input; or noid.bdb itself,
or its folder, if the package db5.3-util is installed. A dump that is truncated, damaged or from another program is
refused, and no minter is made. noid4php does the same with a minter of Noid4Php: Source is its noid.lmdb or noid.xml,
or their folder.
""",
        example="""\
$ printf 'id,_t,title\\n13030/kt4x551,https://example.org/7,One\\n' > one.csv
$ noid import csv one.csv --on-conflict replace --dry-run | grep ok
ok: this is what would be done, and nothing was
$ mkdir moved
$ noid -f moved import perl - < /dev/null
error: the dump is empty: run 'db_dump -p noid.bdb > FILE', and import FILE
""",
    ),
    Command(
        "rebind", "replace values of known identifiers, from a table",
        Form("[--keep-going] [--dry-run]", _rebind, ADMIN, streams=True, takes_file=True, interrupted=LOGGED),
        Form("File [--keep-going] [--dry-run]", _rebind, shell_only=True, takes_file=True, interrupted=LOGGED),
        options=(_KEEP_GOING, _IMPORT_DRY_RUN), fails="a line was left out",
        also=("import", "undo"), see="moving.md#from-a-spreadsheet",
        about="""\
Reads CSV as import does, such as export csv --element _t writes, from File or standard input; on the web, from the body
of a POST. Every value replaces the one that is bound. The identifiers must be known here. The whole file is applied or
nothing, unless you give --keep-going. It is one event, which undo reverses.
""",
        example="""\
$ printf 'id,title\\n13030/kt4x551,Another title\\n' | noid rebind --dry-run | grep Bindings
Bindings: 1 bound
""",
    ),
    Command(
        "export", "write identifiers and bindings to a file, or a static site of all names",
        Form(f"jsonl|csv|anvl {_SELECTION}", _export, ADMIN, writes=False, streams=True, gives_file=True),
        Form(f"jsonl|csv|anvl File {_SELECTION}", _export_to, shell_only=True, interrupted=_NOT_WRITTEN),
        Form("--map txt|dbm|nginx File [--element Element]", _export_map, shell_only=True,
             interrupted=_NOT_WRITTEN),
        Form("--site Dir [--git]", _export_site, shell_only=True, interrupted=_SITE_NOT_WRITTEN),
        Form("--site Dir --minters Dir [--git]", _export_sites, shell_only=True, interrupted=_SITE_NOT_WRITTEN),
        options=(
            Option("--prefix Prefix", "only identifiers that begin with this, however it is spelled"),
            Option("--element Element", "only this element, and identifiers that have it; may be repeated (in CSV a "
                   "column each). For a map: the element that holds the targets"),
            Option("--changed-since Date", "only identifiers that were changed on this date or later"),
            Option("--state State", "only identifiers that are reserved, published or withdrawn"),
            Option("--history", "also all events, in jsonl; without another option, the export is complete"),
            Option("--map txt|dbm|nginx", "txt and dbm are for Apache, nginx is for nginx"),
            Option("--site Dir", "write everything that a host of static files needs to keep links alive"),
            Option("--minters Dir", "with --site: the sites of all minters in the folders of Dir, each in a folder of "
                   "its name"),
            Option("--git", "with --site: commit the folder, which is in a work tree of git; nothing is pushed"),
        ),
        also=("import", "list", "backup"), see="moving.md#out", fails="with --minters a site could not be made",
        about="""\
Writes a consistent snapshot, sorted by identifier, while minting goes on. Without File it writes to standard output;
File is replaced once the export is complete. From a complete export (jsonl with --history) import makes the same
minter, except for tokens, secrets of web forms, and stored answers to requests with an Idempotency-Key.

--map writes all stored targets as a map for Apache or nginx, and replaces an older map in one step. Rules, passthrough,
codes and the fallback are not in it.

--site writes a folder that keeps links alive without this program (see persistence.md): a page for each published name,
with its redirect or its tombstone, its description and how to cite it; files for Apache, nginx and hosts of static
pages; all descriptions; digests; and a README for whoever takes over. If the folder already has a site of this minter,
only what changed is written.
""",
        example="""\
$ noid export csv --element _t | head -2
id,_t
13030/kt4x551,https://library.example/kt4x551
$ noid export --map txt kt5.txt
ok: 1 target written

""",
    ),
    Command(
        "retarget", "change the address with which many targets begin",
        Form("--from Address --to Address [--prefix Prefix] [--element Element] [--name Name]", _retarget, ADMIN,
             streams=True, interrupted=LOGGED),
        Form("--from Address --to Address [--prefix Prefix] [--element Element] --dry-run", _retarget, ADMIN,
             writes=False, streams=True),
        options=(
            Option("--from Address", "what the targets begin with now"),
            Option("--to Address", "what they begin with afterwards"),
            Option("--prefix Prefix", "only under identifiers that begin with this, in any spelling of names"),
            Option("--element Element", "the element that holds the targets, in place of the minter's own choice"),
            Option("--name Name", "a name for the event, by which undo finds it"),
            _RETARGET_DRY_RUN,
        ),
        also=("rebind", "undo"), see="moving.md#our-repository-got-a-new-address",
        about="""\
All changes are one event, which undo reverses. Up to 200,000 are made in one transaction, more in batches; if that is
interrupted, run the same command again to continue. An address that ends with a host name applies to that host only.
Identifiers that were withdrawn or have a pepper are left as they are, and listed.
""",
        example="""\
$ noid retarget --from https://example.org/ --to https://new.example.org/ | grep ok
ok: … changed
""",
    ),
    Command(
        "undo", "undo the changes that an event made to bindings",
        Form("Event", _undo, ADMIN, streams=True, interrupted=LOGGED),
        Form("Event --dry-run", _undo, ADMIN, writes=False, streams=True),
        options=(_RETARGET_DRY_RUN,), also=("log", "history"), see="moving.md#take-it-back",
        about="""\
Event is the number that log prints, or the name of the event. Every binding that it changed gets its former value,
unless it was changed again since; those are left as they are, and listed. Only changes of bindings can be undone: those
of bind, retarget, rebind, import and undo itself. If it is interrupted, run the same command again to continue.
""",
        example="""\
$ noid bind set 13030/kt4x551 title Tilte > /dev/null
$ noid undo $(noid log | sed -n 's/^event: //p' | tail -1) | grep ok
ok: 1 change taken back
""",
    ),
)
