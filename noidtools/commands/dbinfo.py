"""Commands about the minter itself: what it is and where it stands, and the administrators' notes."""

from __future__ import annotations

from ..errors import InvalidError, UsageError
from ..minter.tables import NOTES
from .answers import Answer, Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .session import Call

_LONGEST_NOTE_NAME = 400


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
    notes = minter.read(report.notes)
    shown = (Fields(("Note", name.encode() + b": " + text)) for name, text in notes)
    return Answer(Fields(*fields), *shown, spaced=True)


def note(call: Call) -> Answer:
    name, text = call.need(2, 2, "note Name Text")
    if not name or len(name) > _LONGEST_NOTE_NAME or b"\n" in name:
        raise InvalidError(f"the name of a note is one line of 1 to {_LONGEST_NOTE_NAME} bytes")

    def work(writer: Writer) -> None:
        from ..minter.events import Change, record_event

        before = writer.get(NOTES, name)
        writer.put(NOTES, name, text)
        record_event(writer, call.actor, b"note", changes=[Change(name, before, text)])

    call.minter.write(work)
    return Answer(Fields(("ok", b"note " + name + b" kept")), spaced=True)
