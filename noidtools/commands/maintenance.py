"""Commands that look after the database: backup, restore, copy, check, sql."""

from __future__ import annotations

import os

from ..minter import backup
from ..minter.check import examine, repair
from ..minter.copying import copy_minter
from ..minter.sql_views import VIEW_ROLES, VIEWS
from ..store.sql_tables import ROLES, TABLES
from .answers import Answer, Fields, Text
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.check.examination import Result
    from .answers import Record
    from .call import Call


# -- backup and restore ----------------------------------------------------------------------------------------------


def _backup(call: Call) -> Answer:
    destination = os.fsdecode(call.words[0])
    items = backup.back_up(call.minter, destination)
    return Answer(Fields(("ok", b"%d items in %b" % (items, call.words[0]))), spaced=True)


def _restore(call: Call) -> Answer:
    skip = as_count((call.option("skip") or "0").encode())
    done = backup.restore(call.session.dbdir, os.fsdecode(call.words[0]), call.actor, skip)
    fields = [("ok", b"restored from %b" % call.words[0]), ("Drawn", b"%d" % done.drawn)]
    if done.aside is not None:
        fields.append(("Replaced", os.fsencode(done.aside)))
    fields.append(("note", _about_drawn(done, skip)))
    if done.tokens:
        note = b"tokens that may have been revoked since are valid again, and have to be revoked anew: "
        fields.append(("note", note + b", ".join(done.tokens)))
    return Answer(Fields(*fields), spaced=True)


def _about_drawn(done: backup.Restored, skip: int) -> bytes:
    if done.timed:
        return b"labels are made from the time, which has moved on: nothing needs to be skipped"
    were = b" was" if done.skipped == 1 else b"s were"
    note = b"%d identifier%b skipped and will not be minted" % (done.skipped, were)
    if done.skipped < skip:
        return note + b"; no more are left"
    if done.lost:
        more = b"the minter that was replaced had drawn %d more, which will be minted again: say restore with --skip %d"
        return (note + b"; " if skip else b"") + more % (done.lost, done.lost + skip)
    return note if skip else (b"what was minted after the backup is not known here and will be minted again: if "
                              b"anything was, say restore with --skip N")


# -- copy ------------------------------------------------------------------------------------------------------------


def _copy(call: Call) -> Answer:
    source, target = (os.fsdecode(word) for word in call.words)
    progress = call.session.progress
    try:
        done = copy_minter(source, target, call.actor, address=call.address("store"),
                           read=call.address("read"), move=call.flag("move"), progress=progress)
    finally:
        if progress is not None:
            progress(1, 1, "")
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
    result = _examined(call)
    records: list[Record] = [Fields(("error", _sentence(fault.sentence))) for fault in result.faults]
    mendable = sum(fault.mend is not None for fault in result.faults)
    if mendable:
        records.append(Fields(("note", b"%d of these can be mended with 'noid check --repair'" % mendable)))
    return Answer(*records, _check_summary(result), spaced=True, failed=bool(result.faults))


def _repair(call: Call) -> Answer:
    """Examine the database and mend what can be mended, again and again as long as that finds more."""
    records: list[Record] = []
    while True:
        result = _examined(call)
        mended = repair(call.minter, call.actor, result)
        records += [Fields(("mended", _sentence(fault.sentence))) for fault in mended]
        if not mended:
            break
    records += [Fields(("error", _sentence(fault.sentence))) for fault in result.faults]
    return Answer(*records, _check_summary(result), spaced=True, failed=bool(result.faults))


def _examined(call: Call) -> Result:
    progress = call.session.progress
    try:
        return examine(call.minter, progress)
    finally:
        if progress is not None:
            progress(1, 1, "")


def _check_summary(result: Result) -> Fields:
    found = len(result.faults) + result.more
    if not found:
        return Fields(("ok", b"%d items examined, nothing is wrong" % result.items))
    more = b", of which the first %d are listed" % len(result.faults) if result.more else b""
    return Fields(("faults", b"%d in %d items%b" % (found, result.items, more)))


def _sentence(sentence: str) -> bytes:
    return sentence.encode("utf-8", "surrogateescape")


# -- sql -------------------------------------------------------------------------------------------------------------


def _sql_tables(call: Call) -> Answer:
    return Answer(Text(TABLES.rstrip()))


def _sql_views(call: Call) -> Answer:
    return Answer(Text(VIEWS.rstrip()))


def _sql_roles(call: Call) -> Answer:
    return Answer(Text((ROLES + VIEW_ROLES).rstrip()))


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "backup", "write a copy of the minter, while others use it",
        Form("Dest", _backup),
        shell_only=True, see="operations.md#back-up",
        about="""\
Makes the folder Dest, which must not exist yet, with a copy of the minter as it was at one moment. It appears complete
and on disk, after it was read to its end, or not at all. Minting goes on meanwhile.
""",
        example="""\
$ noid backup backup-1 > /dev/null
$ ls backup-1 | head -1
README
""",
    ),
    Command(
        "restore", "put a backup in the place of the minter",
        Form("Source [--skip N]", _restore),
        options=(Option("--skip N", "draw N identifiers and drop them, for those that were minted after the backup"),),
        shell_only=True, see="operations.md#restore",
        about="""\
Source is a folder that backup made, or the data file of a minter. It is copied and read to its end; then, when nobody
writes, the copy takes the place of the folder NOID in one step, and all running servers and noidr go on with it. The
folder that was replaced is kept beside it, under the name that is printed. Where there is no minter yet, one is made.

A restored minter does not know what was minted after the backup, and would mint it again. With --skip N the next N
identifiers are never minted: give at least as many as were minted since; more do no harm. How many that are is printed
if the minter that was replaced can be read. Tokens that were revoked since the backup are valid again, and are listed.
""",
        example="""\
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
            Option("--move", "take the minter away from where it was, so that nothing is minted there any more"),
        ),
        shell_only=True, see="moving.md#to-another-machine",
        about="""\
From and To are folders with a minter, as -f names them; To is made if it does not exist. Others may use the minter
meanwhile. The copy is compared with it from beginning to end, and appears complete or not at all. If To is the same as
From, the copy takes the place of the minter, which is kept beside it: so a minter moves to a database server and back,
and all that resolves names with it goes on with the copy.
""",
        example="""\
$ noid copy . ../kt6 | grep -E 'ok|note'
ok: … items copied and compared
note: both are the same minter now, and what both mint is minted twice: mint from one of them only, or use --move
""",
    ),
    Command(
        "check", "whether the database is sound, and mend it",
        Form("", _check, streams=True),
        Form("--repair", _repair, streams=True),
        options=(
            Option("--repair", "mend counters and indexes, which follow from other records"),
        ),
        shell_only=True, see="operations.md#check-the-database", fails="something is wrong, and not mended",
        about="""\
Reads the whole database as it is at one moment, while others go on using it, and compares: every value can be unpacked,
every index agrees with what it is an index of, counters with circulation records, the queue with its index, each event
with the identifiers that it minted or changed, and every reference leads somewhere. What is wrong is told in a sentence
each. --repair mends counters and indexes, which follow from other records, and leaves the rest.
""",
        example="""\
$ noid check | tail -2
ok: … items examined, nothing is wrong

""",
    ),
    Command(
        "sql", "print SQL statements for minters in a database server",
        Form("tables", _sql_tables), Form("views", _sql_views), Form("roles", _sql_roles),
        shell_only=True, see="scale.md",
        about="""\
tables makes the tables, which dbcreate does itself if it may. views makes views that decode identifiers, bindings,
aliases and events, for people with psql. roles makes the roles noid_writer, noid_reader (for resolvers) and
noid_viewer, which sees the views alone.
""",
        example="""\
$ noid sql roles | head -1
CREATE ROLE noid_reader;
""",
    ),
)
