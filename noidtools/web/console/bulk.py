"""What jobs do: mint for the rows of a table, bind what a table says, change many targets, and undo a change.

Each kind is checked without changing anything, which also finds what would be left out; then it is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from ...codec import decode_text, encode_text
from ...errors import NoidError
from ...minter.changes import Edit
from ...minter.identifiers import identify_beginning
from ...minter.importing import refusal_of
from ...resolution import target_element
from ...transfer import BadLineError, InputFile, open_input
from ...transfer.csv_table import read_csv, read_header, read_rows, text_lines, write_row
from ...transfer.importer import Importer, ImportOptions, ImportReport
from ...transfer.mint_table import MintTableOptions, mint_table
from ...transfer.retarget import BulkReport, Retargeting, preview_undo, undo
from ..access import MinterAccess, classes_of
from .jobs import PROBLEMS, RESULT, UPLOAD, Job

_MOST_SHOWN = 100
_ROWS_SHOWN = 10
COLUMNS_SHOWN = 30
_LONGEST_CELL = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: what it is called, the command that it is, and what does it, or with `dry_run` checks it.

    verb     what the button says that does it
    counted  which of its facts says to how many
    """

    title: str
    verb: str
    counted: str
    command: tuple[str, ...]
    work: Callable[[MinterAccess, Job, bool], None]


# -- tables ----------------------------------------------------------------------------------------------------------


def _mint(access: MinterAccess, job: Job, dry_run: bool) -> None:
    if not dry_run and job.record.facts.get("given"):
        # A row with an identifier is imported, which may be that of anything.
        access.ensure("import", *classes_of("import", "csv", "--mint"))
    state = job.record.settings.get("state", "")
    options = MintTableOptions(
        reserved=state == "reserved" if state else None, name=job.number.encode(), keep_going=True, dry_run=dry_run,
        most=access.mint_limit)
    with open_input(job.path(UPLOAD)) as file:
        table = mint_table(access.minter, access.actor, file, options, source=_source(job), progress=job.progress())
    _note_import(job, table.report)
    job.record.facts |= {"minted": table.report.minted, "given": table.report.identifiers - table.report.minted}
    if not dry_run:
        table.write_to(job.path(RESULT))


def _rebind(access: MinterAccess, job: Job, dry_run: bool) -> None:
    options = ImportOptions(verb=b"rebind", on_conflict="replace", known_only=True, keep_going=True, dry_run=dry_run,
                            target=access.minter.read(target_element))
    with open_input(job.path(UPLOAD)) as file:
        report = Importer(access.minter, access.actor, options, job.progress()).run("csv", file, _source(job))
    _note_import(job, report)


def _source(job: Job) -> bytes:
    return encode_text(job.record.settings.get("file", ""))


def _note_import(job: Job, report: ImportReport) -> None:
    job.record.facts = {"rows": len(report.lines), "names": report.identifiers, "bound": report.bound,
                        "same": report.same, "refused": report.refused, "event": report.number}
    _note_problems(job, ("line", "reason"), (
        (_line_name(line), decode_text(reason)) for line, _, status in report.lines
        if (reason := refusal_of(status)) is not None))


def _line_name(line: int) -> str:
    """What a line of a table is called."""
    return f"line {line}"


def _note_problems(job: Job, columns: tuple[str, str], problems: Iterable[tuple[str, str]]) -> None:
    """Keep the first of what is left out, and all of it in a file."""
    first: list[tuple[str, str]] = []
    with open(job.path(PROBLEMS), "wb") as file:
        file.write(write_row([column.encode() for column in columns]))
        for what, why in problems:
            file.write(write_row([encode_text(what), encode_text(why)]))
            if len(first) < _MOST_SHOWN:
                first.append((what.encode("utf-8", "replace").decode(), why.encode("utf-8", "replace").decode()))
    job.record.problems = first
    if not first:
        os.unlink(job.path(PROBLEMS))


# -- many targets, and back ------------------------------------------------------------------------------------------


def _retarget(access: MinterAccess, job: Job, dry_run: bool) -> None:
    change = _retargeting(access, job)
    _note_changes(access, job, change.dry_run() if dry_run else change.run(
        access.actor, name=b"console " + job.number.encode(), progress=job.progress()))


def _retargeting(access: MinterAccess, job: Job) -> Retargeting:
    """The change of targets that a job is."""
    settings, minter = job.record.settings, access.minter
    prefix = encode_text(settings.get("prefix", ""))
    beginning = minter.read(lambda reader: identify_beginning(minter, reader, prefix)) if prefix else b""
    return Retargeting(minter, encode_text(settings["old"]), encode_text(settings["new"]),
                       minter.read(target_element), beginning)


def _undo(access: MinterAccess, job: Job, dry_run: bool) -> None:
    _note_changes(access, job, undo(access.minter, access.actor, encode_text(job.record.settings["event"]),
                                    dry_run=dry_run, progress=job.progress()))


def _note_changes(access: MinterAccess, job: Job, report: BulkReport) -> None:
    display = access.minter.namespace.display
    job.record.facts = {"changed": report.changed, "left": len(report.left), "event": report.number}
    _note_problems(job, ("id", "reason"), (
        (f"{decode_text(display(key))} {decode_text(element)}", decode_text(reason))
        for key, element, reason in report.left))


KINDS = {
    "mint": Kind("Mint for a table", "Mint", "minted", ("bind", "mint", "new", "ELEMENT", "VALUE"), _mint),
    "change": Kind("Change what a table says", "Change", "bound", ("rebind",), _rebind),
    "retarget": Kind("Change many targets", "Change", "changed", ("retarget", "--from", "A", "--to", "B"), _retarget),
    "undo": Kind("Undo a change", "Undo", "changed", ("undo", "1"), _undo),
}


# -- what is shown before --------------------------------------------------------------------------------------------


def first_rows(job: Job, name: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The columns of a table, one of the files of a job, and the first cells of its first rows, each with its line;
    nothing if it cannot be read."""
    try:
        with open_input(job.path(name)) as source:
            file = InputFile(source)
            lines = text_lines(file)
            header = read_header(lines, needs_id=False)
            rows = list(islice(read_rows(file, lines, header), _ROWS_SHOWN))
    except NoidError:
        return [], []
    width = min(len(header.cells), COLUMNS_SHOWN)
    return header.cells, [(_line_name(line), [cell[:_LONGEST_CELL] for cell in row[:width]] + [""] * (width - len(row)))
                          for line, row in rows]


def first_changes(access: MinterAccess, job: Job) -> list[tuple[str, str, str | None, str | None]]:
    """The first changes that a job would make: name, element, value before and after."""
    if job.record.kind in ("retarget", "undo"):
        found = _retargeting(access, job).preview() if job.record.kind == "retarget" else \
            preview_undo(access.minter, encode_text(job.record.settings["event"]))
        edits = (edit for edit in found if isinstance(edit, Edit))
        display = access.minter.namespace.display
        return [(decode_text(display(edit.key)), decode_text(edit.element), _text(edit.before), _text(edit.after))
                for edit in islice(edits, _ROWS_SHOWN)]
    if job.record.kind == "change":
        return list(islice(_table_changes(access, job), _ROWS_SHOWN))
    return []


def _table_changes(access: MinterAccess, job: Job) -> Iterable[tuple[str, str, str | None, str | None]]:
    api = access.python()
    try:
        with open_input(job.path(UPLOAD)) as source:
            for entry in islice(read_csv(InputFile(source)), 20 * _ROWS_SHOWN):
                if isinstance(entry, BadLineError):
                    continue
                try:
                    record = api.fetch(entry.display)
                except NoidError:
                    continue  # it is among the problems
                for element, value in entry.pairs:
                    name, after = decode_text(element), decode_text(value)
                    before = record.elements.get(name)
                    if before != after:
                        yield record.identifier, name, before, after
    except BadLineError:
        return


def _text(value: bytes | None) -> str | None:
    return None if value is None else decode_text(value)
