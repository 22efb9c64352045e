"""The commands that back a minter up and restore it."""

from __future__ import annotations

import os

from ..minter import backup
from .answers import Answer
from .command import Command, Form, Option, as_count
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


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
)
