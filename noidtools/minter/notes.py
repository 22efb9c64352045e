"""Notes that administrators keep with a minter."""

from __future__ import annotations

from ..errors import InvalidError
from .events import Change, record_event
from .tables import NOTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from .events import Actor

_LONGEST_NAME = 400


def put_note(writer: Writer, actor: Actor, name: bytes, text: bytes) -> None:
    """Store a note, in place of one with the same name, of which the event keeps the text."""
    if not name or len(name) > _LONGEST_NAME or b"\n" in name:
        raise InvalidError(f"the name of a note is one line of 1 to {_LONGEST_NAME} bytes")
    before = writer.get(NOTES, name)
    writer.put(NOTES, name, text)
    record_event(writer, actor, b"note", changes=[Change(name, before, text)])


def all_notes(reader: Reader) -> list[tuple[bytes, bytes]]:
    """Names and texts, in the order of the names."""
    return list(reader.scan(NOTES))
