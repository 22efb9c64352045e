"""Commands that look after minters: backup, restore, copy, check, doctor, sql, status."""

from __future__ import annotations

import os

from ..deployment.doctor import diagnose
from ..errors import NoidError, UsageError
from ..minter import copying, location_of
from ..minter.check import examine, examine_and_repair
from ..minter.copying import copy_minter
from ..minter.folder import MinterFolder, SingleMinter
from ..minter.report import VIEW_ROLES, VIEWS, backup_warning, minter_figures, size_text
from ..preservation.bundle import is_bundle, restore_bundle
from ..resolution.settings import wrong_canaries
from ..store import ensure_readable
from ..store.sql_tables import ROLES, TABLES
from ..times import SECOND, iso_datetime, parse_duration
from ..verification.http import UnreachableError, text_at
from .answers import Answer, Fields, Text
from .command import Command, Form, Option, as_count
from .serving import findings_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.check.examination import Result
    from .answers import Record
    from .call import Call


# -- backup and restore ----------------------------------------------------------------------------------------------


def _backup(call: Call) -> Answer:
    destination = os.fsdecode(call.words[0])
    ensure_readable(location_of(call.session.dbdir))
    items = copying.back_up(call.minter, destination)
    return Answer(Fields(("ok", b"%d items in %b" % (items, call.words[0]))), spaced=True)


def _backup_all(call: Call) -> Answer:
    keep = call.option("keep")
    seconds = None if keep is None else parse_duration(keep)
    if keep is not None and seconds is None:
        raise UsageError(f"backups are kept for a time such as 14d or 48h, not {keep!r}")
    folder, destination = call.option("minters") or "", os.fsdecode(call.words[0])
    records: list[Record] = []
    failed = False
    for done in copying.back_up_all(folder, destination, call.actor.now(), seconds):
        fields = [("minter", done.name)]
        if done.items:
            fields.append(("ok", f"{done.items} items in {done.path}"))
        if done.removed:
            fields.append(("removed", f"{done.removed} older {'backup' if done.removed == 1 else 'backups'}"))
        if done.error:
            fields.append(("error", done.error))
            failed = True
        records.append(Fields(*fields))
    return Answer(*(records or [Fields(("note", "there is no minter"))]), spaced=True, failed=failed)


def _restore(call: Call) -> Answer:
    skip = as_count((call.option("skip") or "0").encode())
    source = os.fsdecode(call.words[0])
    restore = restore_bundle if is_bundle(source) else copying.restore
    done = restore(call.session.dbdir, source, call.actor, skip)
    fields = [("ok", b"restored from %b" % call.words[0]), ("Drawn", b"%d" % done.drawn)]
    if done.aside is not None:
        fields.append(("Replaced", os.fsencode(done.aside)))
    fields.append(("note", _about_drawn(done, skip)))
    if done.tokens:
        note = "tokens that may have been revoked since are valid again, and have to be revoked anew: "
        fields.append(("note", (note + ", ".join(done.tokens)).encode()))
    return Answer(Fields(*fields), spaced=True)


def _about_drawn(done: copying.Restored, skip: int) -> bytes:
    if done.timed:
        return b"labels are made from the time, which has moved on: nothing needs to be skipped"
    were = b" was" if done.skipped == 1 else b"s were"
    note = b"%d identifier%b skipped and will not be minted" % (done.skipped, were)
    if done.skipped < skip:
        return note + b"; no more are left"
    if done.lost:
        more = b"the minter that was replaced had drawn %d more, which it will mint again: restore again with --skip %d"
        return (note + b"; " if skip else b"") + more % (done.lost, done.lost + skip)
    return note if skip else (b"what was minted after the backup is not known here and will be minted again: if "
                              b"anything was, restore again with --skip N")


# -- copy ------------------------------------------------------------------------------------------------------------


def _copy(call: Call) -> Answer:
    source, target = (os.fsdecode(word) for word in call.words)
    done = copy_minter(source, target, call.actor, address=call.address("store"), read=call.address("read"),
                       move=call.flag("move"), progress=call.session.progress)
    if done.finished:
        return Answer(Fields(("ok", b"a move that was interrupted was finished: %b has the minter" % call.words[1])),
                      spaced=True)
    fields = [("ok", b"%d items copied and compared" % done.items)]
    if done.aside is not None:
        fields.append(("Moved", os.fsencode(done.aside)))
        note = b"nothing uses the minter there any more: remove it when you are content with the copy"
    else:
        note = (b"both are the same minter now, and what both mint is minted twice: mint from one of them only, or use "
                b"--move")
    return Answer(Fields(*fields, ("note", note)), spaced=True)


# -- check -----------------------------------------------------------------------------------------------------------


def _check(call: Call) -> Answer:
    ensure_readable(location_of(call.session.dbdir))
    result = examine(call.minter, call.session.progress)
    records: list[Record] = [Fields(("error", fault.sentence)) for fault in result.faults]
    mendable = sum(fault.mend is not None for fault in result.faults)
    if mendable:
        records.append(Fields(("note", b"%d of these can be mended with 'noid check --repair'" % mendable)))
    return Answer(*records, _check_summary(result), spaced=True, failed=bool(result.faults))


def _repair(call: Call) -> Answer:
    ensure_readable(location_of(call.session.dbdir))
    result, mended = examine_and_repair(call.minter, call.actor, call.session.progress)
    records: list[Record] = [Fields(("mended", fault.sentence)) for fault in mended]
    records += [Fields(("error", fault.sentence)) for fault in result.faults]
    return Answer(*records, _check_summary(result), spaced=True, failed=bool(result.faults))


def _check_summary(result: Result) -> Fields:
    found = len(result.faults) + result.more
    if not found:
        return Fields(("ok", b"%d items examined, nothing is wrong" % result.items))
    more = b", of which the first %d are listed" % len(result.faults) if result.more else b""
    return Fields(("faults", b"%d in %d items%b" % (found, result.items, more)))


# -- doctor ----------------------------------------------------------------------------------------------------------


def _doctor(call: Call) -> Answer:
    return findings_answer(diagnose(call.session.dbdir, minters=call.option("minters") or "",
                                    url=call.option("url") or "", progress=call.session.progress))


# -- sql -------------------------------------------------------------------------------------------------------------


_STATEMENTS = {b"tables": TABLES, b"views": VIEWS, b"roles": ROLES + VIEW_ROLES}


def _sql(call: Call) -> Answer:
    return Answer(Text(_STATEMENTS[call.words[0]].rstrip()))


# -- status ----------------------------------------------------------------------------------------------------------


def _status(call: Call) -> Answer:
    folder, now = call.option("minters"), call.actor.now() / SECOND
    minters = MinterFolder(folder) if folder else SingleMinter(call.session.dbdir)
    records: list[Record] = []
    failed = False
    for name, path in minters.dbdirs():
        try:
            minter = minters.open(path, name)
            wrong = len(wrong_canaries(minter))
            lines = _figure_lines(minter_figures(minter), wrong, now)
            failed = failed or wrong > 0
        except NoidError as error:
            lines, failed = [("error", error.message)], True
        records.append(Fields(("minter", name), *lines))
    if not records:
        records = [Fields(("note", "there is no minter"))]
    url = call.option("url")
    if url is not None:
        ready, lines = _service_lines(url)
        records.append(Fields(("service", url), *lines))
        failed = failed or not ready
    return Answer(*records, spaced=True, failed=failed)


def _service_lines(url: str) -> tuple[bool, list[tuple[str, str]]]:
    """Whether the service at an address is ready, by its /readyz and /metrics, and labels and texts about it."""
    try:
        text_at(url, "readyz")
        counts = [line for line in text_at(url, "metrics").splitlines() if line.startswith("noid_requests_total")]
    except UnreachableError as error:
        return False, [("error", f"the service is not ready: {error.reason}")]
    return True, [("ready", "yes"), ("requests", str(sum(int(float(line.rpartition(" ")[2])) for line in counts)))]


def _figure_lines(found: dict[str, float], wrong: int, now: float) -> list[tuple[str, str]]:
    """Labels and texts for one minter, from its figures (see minter/report.py) and the number of its wrong canaries;
    `now` is in seconds since 1970."""
    lines = [("drawn", f"{found['drawn']:.0f}"), ("left", _left_text(found)), ("held", f"{found['held']:.0f}"),
             ("queued", f"{found['queued']:.0f}")]
    if "size_bytes" in found:
        room = f", {size_text(found['free_bytes'])} left on its disk" if "free_bytes" in found else ""
        lines.append(("database", size_text(found["size_bytes"]) + room))
    if "readers" in found:
        oldest = found["oldest_reader_seconds"]
        since = f", the oldest for {oldest:.0f} s" if oldest >= 1 else ""
        lines.append(("readers", f"{found['readers']:.0f}{since}"))
    if "replica_lag_seconds" in found:
        lines.append(("replica", f"{found['replica_lag_seconds']:.1f} s behind"))
    lines.append(("backup", _backup_text(found, now)))
    if warning := backup_warning("this minter", found.get("last_backup"), now):
        lines.append(("warning", f"{warning}: run 'noid backup'"))
    if wrong:
        lines.append(("error", f"{wrong} canaries lead to the wrong target: run 'noid canary'"))
    return lines


def _left_text(found: dict[str, float]) -> str:
    if "left" not in found:
        return "unlimited"
    return f"{found['left']:.0f} of {found['total']:.0f} ({100 * found['left'] / max(1, found['total']):.1f} %)"


def _backup_text(found: dict[str, float], now: float) -> str:
    if "last_backup" not in found:
        return "none is known"
    hours = (now - found["last_backup"]) / 3600
    age = f"{hours / 24:.0f} days ago" if hours >= 48 else f"{max(0.0, hours):.1f} hours ago"
    return f"{iso_datetime(int(found['last_backup'])).decode()}, {age}"


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "backup", "back up the minter while it is in use",
        Form("Dest", _backup),
        Form("--minters Dir Dest [--keep Time]", _backup_all),
        options=(
            Option("--minters Dir", "all minters in the folders of Dir: that in Dir/NAME goes to Dest/NAME/TIME"),
            Option("--keep Time", "remove older backups of a minter, as in 14d or 48h, once its new one is complete"),
        ),
        shell_only=True,
        also=("restore", "export", "status"), see="operations.md#back-up", fails="a minter could not be backed up",
        about="""\
Writes a copy of the minter as it is at one moment to the new folder Dest, while minting goes on. The copy is read back
before it appears under that name.

With --minters each minter of a folder is backed up to a new folder in Dest. If one fails, the others are still backed
up, and its older backups are kept.
""",
        example="""\
$ noid backup backup-1 > /dev/null
$ ls backup-1 | head -1
README
""",
    ),
    Command(
        "restore", "replace the minter by a backup",
        Form("Source [--skip N]", _restore),
        options=(Option("--skip N", "skip N identifiers, for those that were minted after the backup"),),
        shell_only=True, also=("backup",), see="operations.md#restore",
        about="""\
Source is a folder that backup made, the data file of a minter, or a bundle. It is copied and read to its end; then it
replaces the folder NOID in one step, and running servers continue with it. The old folder is kept beside it, under the
name that is printed. If there is no minter yet, one is made.

A restored minter does not know what was minted after the backup, and would mint it again. --skip N skips the next N
identifiers for good: give at least as many as were minted since; more do no harm. If the old minter can be read, the
number is printed. If the old minter has departed, so has the restored one. Tokens that were revoked since the backup
are valid again, and are listed.
""",
        example="""\
$ noid backup backup-1 > /dev/null
$ noid restore backup-1 --skip 100 | grep note
note: 100 identifiers were skipped and will not be minted
""",
    ),
    Command(
        "copy", "copy a minter to another folder or engine",
        Form("From To [--store Address] [--read Address] [--move]", _copy,
             interrupted="there is no copy, unless it was complete just now; the same command finishes a move "
                         "that was begun"),
        options=(
            Option("--store Address", "put the copy into the database server at this address; "
                                      "without it, into a folder"),
            Option("--read Address", "with --store: where resolvers may read, such as a standby"),
            Option("--move", "move the minter, so that nothing more is minted in the old place"),
        ),
        shell_only=True, also=("backup", "export"), see="moving.md#to-another-machine",
        about="""\
From and To are folders of minters, as for -f; To is made if it does not exist. The minter may be in use meanwhile. The
copy is compared with it before it appears. If To is the same as From, the copy replaces the minter, which is kept
beside it: this is how a minter moves to a database server and back, and whatever resolves names continues with the
copy.
""",
        example="""\
$ noid copy . ../kt6 | grep -E 'ok|note'
ok: … items copied and compared
note: both are the same minter now, and what both mint is minted twice: mint from one of them only, or use --move
""",
    ),
    Command(
        "check", "check the database, and repair it",
        Form("", _check, streams=True),
        Form("--repair", _repair, streams=True),
        options=(
            Option("--repair", "repair counters, indexes, and lost holds and withdrawals"),
        ),
        shell_only=True,
        also=("doctor", "verify"), see="operations.md#check-the-database",
        fails="something is wrong and was not repaired",
        about="""\
Reads the whole database as it is at one moment, while it is in use. It checks that every value can be decoded, that
indexes, counters and the queue agree with the records, that every reference leads somewhere, and that replaying all
events gives what is stored. Each fault is one sentence. --repair corrects counters and indexes, restores lost holds and
withdrawals that the events record, and leaves the rest to you.
""",
        example="""\
$ noid check | tail -2
ok: … items examined, nothing is wrong

""",
    ),
    Command(
        "doctor", "check the set-up, database, canaries and backups",
        Form("[--minters Dir] [--url Url]", _doctor, streams=True),
        options=(
            Option("--minters Dir", "all minters in the folders of Dir"),
            Option("--url Url", "where their resolver is, if no configuration says so"),
        ),
        shell_only=True, also=("setup", "check", "canary", "backup"), see="operations.md#watch",
        fails="an error was found",
        about="""\
Examines the minter in Dbdir and, if noid setup has set up this machine, the whole set-up with all its minters; this
needs root. Each line is ok, a warning or an error, with the remedy. It includes what setup check, check and canary
find, and the age of the last backup. Nothing is changed.
""",
        example="""\
$ noid doctor
ok: the database of the minter is sound: … items examined
warning: no backup of the minter is known: run 'noid backup Dest'

""",
    ),
    Command(
        "sql", "print SQL statements for minters in PostgreSQL",
        Form("tables", _sql), Form("views", _sql), Form("roles", _sql),
        shell_only=True, also=("dbcreate", "copy"), see="scale.md",
        about="""\
tables creates the tables; dbcreate does so itself if it has the rights. views creates views of identifiers, bindings,
aliases and events for people who use psql. roles creates the roles noid_writer, noid_reader (for resolvers) and
noid_viewer, which sees only the views.
""",
        example="""\
$ noid sql roles | head -1
CREATE ROLE noid_reader;
""",
    ),
    Command(
        "status", "show how the minter is doing",
        Form("[--minters Dir] [--url Url]", _status, writes=False),
        options=(
            Option("--minters Dir", "all minters in the folders of Dir"),
            Option("--url Url", "also whether the service at this address is ready, and how many requests it has "
                   "answered"),
        ),
        shell_only=True, also=("check", "backup", "dbinfo"), see="operations.md#watch",
        fails="a minter or the service cannot be read, or a canary leads to the wrong target",
        about="""\
Prints what is left, the size of the database, the last backup and canaries. drawn counts the identifiers that were
minted or skipped: because they are on hold, or by restore --skip. The figures of a service come from its
/metrics, which anyone must be able to read.
""",
        example="""\
$ noid status | grep -E '^(drawn|left|backup)'
drawn: 3
left: 2438897 of 2438900 (100.0 %)
backup: none is known
""",
    ),
)
