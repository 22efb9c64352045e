"""The queue: identifiers waiting to be minted before the generator makes new ones."""

from __future__ import annotations

from . import subjects
from .circulation import Circulation, ensure_not_withdrawn, find, moved_on, save
from .clock import later_stamp, stamp
from .events import Change
from .events import record as record_event
from .exceptions import ConflictError, NotFoundError, UsageError, said
from .tables import META, QUEUE, QUEUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .events import Actor
    from .minter import Minter
    from .store import Writer

# Sorts before every date, so that it is always ripe and always first.
_NO_DATE = b"00000000000000"
# Wide enough that numbers of different lengths sort by value.
_PADDED = 40
_UNITS = {b"d": 86400, b"s": 1}
HOWS = "now, first, lvf, delete, or a delay such as 30d or 3600s"


def ensure_allowed(minter: Minter) -> None:
    if minter.scheme.no_queue:
        raise ConflictError(f"nothing can be queued here: {minter.scheme.no_queue}")


def put_in(minter: Minter, writer: Writer, actor: Actor, how: bytes, given: list[bytes]) -> list[bytes]:
    ensure_allowed(minter)
    date = _date(how, actor.now())
    found = [subjects.to_change(minter, writer, name) for name in given]
    for identifier, known in found:
        ensure_not_withdrawn(minter.shown(identifier), known, "queued")
    changes = [Change(b"queue", None, date, identifier) for identifier, _ in found]
    event = record_event(writer, actor, b"queue " + how, ids=dict(found), changes=changes)
    drawn = minter.scheme.generator(writer.get(META, b"state")).drawn
    queued = []
    for identifier, _ in found:
        # Looked up again here, so that one named twice is refused the second time.
        record = find(writer, identifier) or Circulation()
        _ensure_can_wait(identifier, record)
        sequence = 0 if how == b"lvf" else _next_sequence(writer)
        padded = minter.scheme.own_part(identifier).rjust(_PADDED, b"0")
        # What is alike when padded, such as 5 and 05, still has a place of its own.
        key = date + sequence.to_bytes(6, "big") + padded + b"\0" + identifier
        writer.put(QUEUE, key, identifier)
        writer.put(QUEUED, identifier, key)
        save(writer, identifier, moved_on(writer, identifier, record, b"q", event, drawn))
        queued.append(identifier)
    return queued


def delete(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> list[bytes]:
    ensure_allowed(minter)
    found = [subjects.to_change(minter, writer, name) for name in given]
    changes = [Change(b"queue", b"queued", None, identifier) for identifier, _ in found]
    event = record_event(writer, actor, b"queue delete", ids=dict(found), changes=changes)
    deleted = []
    for identifier, _ in found:
        record = find(writer, identifier)
        if record is None or not record.queued:
            raise NotFoundError(f"{said(identifier)} is not in the queue")
        save(writer, identifier, take_out(minter, writer, identifier, record, event))
        deleted.append(identifier)
    return deleted


def take_out(minter: Minter, writer: Writer, identifier: bytes, record: Circulation, event: int) -> Circulation:
    """Remove an identifier from the queue; returns its record with that in its history, for the caller to save."""
    key = writer.get(QUEUED, identifier)
    if key is not None:
        writer.delete(QUEUE, key)
        writer.delete(QUEUED, identifier)
    drawn = minter.scheme.generator(writer.get(META, b"state")).drawn
    return moved_on(writer, identifier, record, b"u", event, drawn)


def take_ripe(
    writer: Writer, now: int, count: int, passed_over: Callable[[bytes, Circulation], bool]
) -> Iterator[tuple[bytes, Circulation]]:
    """Remove up to `count` identifiers whose time has come, first in line first; those passed over stay."""
    today = stamp(now)
    ripe: list[tuple[bytes, bytes, Circulation]] = []
    for key, identifier in writer.scan(QUEUE):
        if len(ripe) == count or key[:14] > today:
            break
        record = find(writer, identifier) or Circulation()
        if not passed_over(identifier, record):
            ripe.append((key, identifier, record))
    for key, identifier, record in ripe:
        writer.delete(QUEUE, key)
        writer.delete(QUEUED, identifier)
        # Withdrawing takes a name out of the queue; should one be left in it, it is not given out all the same.
        if not record.withdrawn:
            yield identifier, record


def _date(how: bytes, now: int) -> bytes:
    if how in (b"first", b"lvf"):
        return _NO_DATE
    if how == b"now":
        return stamp(now)
    number, unit = (how[:-1], how[-1:]) if how[-1:] in _UNITS else (how, b"s")
    if not number.isdigit() or len(number) > 15:
        raise UsageError(f"queue {said(how)!r}? say {HOWS}")
    return later_stamp(now, int(number) * _UNITS[unit])


def _ensure_can_wait(identifier: bytes, record: Circulation) -> None:
    from .holds import ensure_not_held

    ensure_not_held(identifier, record)
    if record.queued:
        raise ConflictError(f"{said(identifier)} is in the queue already")


def _next_sequence(writer: Writer) -> int:
    number = int(writer.get(META, b"queue sequence") or b"0") + 1
    writer.put(META, b"queue sequence", b"%d" % number)
    return number
