"""Holds: an identifier that is held is not minted, and not queued for minting."""

from __future__ import annotations

from . import queueing, subjects
from .circulation import HELD, Circulation, add_to_held_count, ensure_not_withdrawn, find, save
from .events import Change
from .events import record as record_event
from .exceptions import ConflictError, said
from .tables import ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import Actor
    from .minter import Minter
    from .store import Writer


def place(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> tuple[int, list[bytes]]:
    """Hold each identifier; returns how many holds are new, and which identifiers left the queue for it."""
    found = [subjects.to_change(minter, writer, name) for name in given]
    for identifier, known in found:
        ensure_not_withdrawn(minter.shown(identifier), known, "held")
    event = _record(writer, actor, b"hold set", found, b"held")
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
    for identifier, known in found:
        ensure_not_withdrawn(minter.shown(identifier), known, "released")
        if writer.get(ALIASES, identifier) is not None:
            shown = minter.shown(identifier).decode("utf-8", "backslashreplace")
            raise ConflictError(f"{shown} is an alias and must not be minted: take that back first with "
                                f"'noid alias --remove {shown}'")
        if known is not None and known.reserved and not known.was_issued:
            raise ConflictError(f"{said(minter.shown(identifier))} is reserved and was never issued: publish it first, "
                                "or minting might give it to somebody else")
    _record(writer, actor, b"hold release", found, None)
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


def _record(
    writer: Writer, actor: Actor, verb: bytes, found: list[tuple[bytes, Circulation | None]], after: bytes | None
) -> int:
    """An event about what the command is to change; none where all are as wanted already."""
    changes = []
    for identifier, record in dict(found).items():
        before = b"held" if record is not None and record.held else None
        if before != after:
            changes.append(Change(b"hold", before, after, identifier))
        if after is not None and record is not None and record.queued:
            changes.append(Change(b"queue", b"queued", None, identifier))
    if not changes:
        return 0
    return record_event(writer, actor, verb, ids=dict.fromkeys(change.of for change in changes), changes=changes)


def ensure_not_held(identifier: bytes, record: Circulation | None) -> None:
    if record is not None and record.held:
        shown = said(identifier)
        raise ConflictError(f"{shown} is on hold and cannot be queued: release it first with 'noid hold release'")
