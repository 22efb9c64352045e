"""The command that copies a minter to another folder or engine."""

from __future__ import annotations

import os

from .answers import Answer
from .command import Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _copy(call: Call) -> Answer:
    from ..minter.copying import copy_minter

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


COMMANDS = (
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
)
