"""Holds: an identifier that is held is not minted, and not queued for minting."""

from __future__ import annotations

from . import queueing, subjects
from .circulation import HELD, Circulation, add_to_held_count, find, save
from .events import record as record_event
from .exceptions import ConflictError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import Actor
    from .minter import Minter
    from .store import Writer


def place(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> tuple[int, list[bytes]]:
    """Hold each identifier; returns how many holds are new, and which identifiers left the queue for it."""
    found = [subjects.to_change(minter, writer, name) for name in given]
    event = record_event(writer, actor, b"hold set", *(identifier for identifier, _ in found))
    placed = 0
    unqueued = []
    for identifier, _ in found:
        record = find(writer, identifier) or Circulation()
        if record.queued:
            record = queueing.take_out(minter, writer, identifier, record, event)
            unqueued.append(identifier)
        if not record.held:
            record.flags |= HELD
            placed += 1
        save(writer, identifier, record)
    add_to_held_count(writer, placed)
    return placed, unqueued


def release(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> int:
    """Let each identifier go; returns how many were held."""
    found = [subjects.to_change(minter, writer, name) for name in given]
    record_event(writer, actor, b"hold release", *(identifier for identifier, _ in found))
    released = 0
    for identifier, _ in found:
        record = find(writer, identifier)
        if record is None or not record.held:
            continue
        record.flags &= ~HELD
        released += 1
        save(writer, identifier, record)
    add_to_held_count(writer, -released)
    return released


def ensure_not_held(identifier: bytes, record: Circulation | None) -> None:
    if record is not None and record.held:
        shown = identifier.decode("utf-8", "backslashreplace")
        raise ConflictError(f"{shown} is on hold and cannot be queued: release it first with 'noid hold release'")
