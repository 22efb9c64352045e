"""Names of events, and what is stored of bulk changes that run or were interrupted (see bulk_changes.py)."""

from __future__ import annotations

from ..errors import printable
from .schema import META, sound_number, stored_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Reader, Writer

_EVENT_NAME, _OPEN = b"event name ", b"open change "
_RECORD_BEFORE = b"open record "


def named_event(reader: Reader, name: bytes) -> int:
    """The number of the event of that name, 0 if there is none."""
    stored = stored_number(reader.get(META, _EVENT_NAME + name))
    return sound_number(stored, f"the name {printable(name)!r} of an event")


def name_event(writer: Writer, name: bytes, number: int) -> None:
    writer.put(META, _EVENT_NAME + name, b"%d" % number)


def forget_event_name(writer: Writer, name: bytes) -> None:
    writer.delete(META, _EVENT_NAME + name)


def open_change(reader: Reader, parameters: bytes) -> int:
    """The number of the event of the command with these parameters, if that runs or was interrupted; else 0."""
    stored = reader.get(META, _OPEN + parameters)
    if stored is None:
        return 0
    return sound_number(stored_number(stored.partition(b" ")[0]), "what is stored about an interrupted change")


def save_open_change(writer: Writer, parameters: bytes, number: int) -> None:
    """Store that the command with these parameters has not come to its end."""
    # Earlier versions stored how far it came behind the space.
    writer.put(META, _OPEN + parameters, b"%d " % number)


def open_changes(reader: Reader) -> list[tuple[bytes, int]]:
    """All commands that run or were interrupted: their parameters, and the numbers of their events."""
    return [(key.removeprefix(_OPEN), stored_number(stored.partition(b" ")[0]) or 0)
            for key, stored in reader.scan(META, _OPEN)]


def close_change(writer: Writer, parameters: bytes) -> None:
    writer.delete(META, _OPEN + parameters)


def close_changes_of(writer: Writer, number: int) -> None:
    """Forget that the command of an event was interrupted, because the event is taken back."""
    mark = b"%d " % number
    for key, stored in list(writer.scan(META, _OPEN)):
        if stored.startswith(mark):
            writer.delete(META, key)


def save_record_before(writer: Writer, number: int, key: bytes, packed: bytes) -> None:
    """Store the circulation record that an identifier had before an event, until the event comes to its end."""
    writer.put(META, b"%b%d %b" % (_RECORD_BEFORE, number, key), packed)


def record_before(reader: Reader, number: int, key: bytes) -> bytes | None:
    return reader.get(META, b"%b%d %b" % (_RECORD_BEFORE, number, key))


def forget_records_before(writer: Writer, number: int) -> None:
    writer.delete_prefix(META, b"%b%d " % (_RECORD_BEFORE, number))


def event_references(reader: Reader) -> Iterator[tuple[str, int | None]]:
    """Everything here that refers to an event: in words, and the number of the event; None if that is damaged."""
    for key, stored in reader.scan(META, _EVENT_NAME):
        yield f"the name {printable(key.removeprefix(_EVENT_NAME))!r}", stored_number(stored)
    for _, stored in reader.scan(META, _OPEN):
        yield "a change that was interrupted", stored_number(stored.partition(b" ")[0])
