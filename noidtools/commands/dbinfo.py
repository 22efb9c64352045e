"""Commands about the minter itself: its properties, its present state, and the notes of administrators."""

from __future__ import annotations

from ..errors import printable
from ..minter.access import ADMIN, EVERYTHING, READ
from ..minter.notes import all_notes, put_note
from .answers import Answer
from .command import Command, Form
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _brief(call: Call) -> Answer:
    return _info(call)


def _full(call: Call) -> Answer:
    from ..minter.report import internals

    minter = call.minter
    return _info(call, minter.read(lambda reader: internals(minter, reader)))


def _info(call: Call, more: list[tuple[str, bytes]] | None = None) -> Answer:
    from ..minter import report

    minter = call.minter
    fields = report.properties(minter) + minter.read(lambda reader: report.status(minter, reader))
    if call.session.view == EVERYTHING:
        fields += report.database_status(minter)
    fields += more or []
    notes = (Fields(("Note", printable(name).encode() + b": " + text)) for name, text in minter.read(all_notes))
    return Answer(Fields(*fields), *notes, spaced=True)


def _dump(call: Call) -> Answer:
    from ..minter.report import dump

    return Answer(stream=(Fields(pair) for pair in dump(call.minter)), spaced=True)


def _note(call: Call) -> Answer:
    name, text = call.words
    call.minter.write(lambda writer: put_note(writer, call.actor, name, text))
    return Answer(Fields(("ok", b"note " + name + b" kept")), spaced=True)


COMMANDS = (
    Command(
        "dbinfo", "what the minter is and where it stands",
        Form("[brief]", _brief, READ),
        Form("full", _full, ADMIN, writes=False),
        Form("dump", _dump, ADMIN, writes=False, streams=True),
        see="tutorial.md#notes-and-the-state-of-the-minter",
        about="""\
full adds the state of the generator and of the store. dump prints every record of the database but the digests of
peppers and the replies to requests with an Idempotency-Key.
""",
        example="""\
$ noid dbinfo | grep -E 'Drawn|Held|Queued|Note'
Drawn: 4
Held: 4
Queued: 0
Note: owner: digital collections
""",
    ),
    Command(
        "note", "keep a note with the minter, shown by dbinfo",
        Form("Name Text", _note, ADMIN), see="tutorial.md#notes-and-the-state-of-the-minter",
        about="""\
A note of the same name is replaced.
""",
        example="""\
$ noid note owner 'digital collections'
ok: note owner kept

""",
    ),
)
