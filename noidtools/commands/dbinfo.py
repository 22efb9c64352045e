"""Commands about the minter itself: what it is and where it stands, and the administrators' notes."""

from __future__ import annotations

from ..errors import UsageError, printable
from ..minter.notes import all_notes, put_note
from .answers import Answer, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call


def dbinfo(call: Call) -> Answer:
    from ..minter import report

    args = call.need(0, 1, "dbinfo [brief|full|dump]")
    level = args[0] if args else b"brief"
    minter = call.minter
    if level == b"dump":
        return Answer(stream=(Fields(pair) for pair in report.dump(minter)), spaced=True)
    if level not in (b"brief", b"full"):
        raise UsageError(f"dbinfo {level.decode('utf-8', 'backslashreplace')!r}? say brief, full or dump")
    fields = report.properties(minter) + minter.read(lambda reader: report.standing(minter, reader))
    if level == b"full":
        fields += minter.read(lambda reader: report.internals(minter, reader))
    notes = minter.read(all_notes)
    shown = (Fields(("Note", printable(name).encode() + b": " + text)) for name, text in notes)
    return Answer(Fields(*fields), *shown, spaced=True)


def note(call: Call) -> Answer:
    name, text = call.need(2, 2, "note Name Text")
    call.minter.write(lambda writer: put_note(writer, call.actor, name, text))
    return Answer(Fields(("ok", b"note " + name + b" kept")), spaced=True)
