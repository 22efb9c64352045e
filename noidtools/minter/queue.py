"""The queue: identifiers waiting to be minted before the generator makes new ones."""

from __future__ import annotations

from ..clock import timestamp, timestamp_after
from ..errors import ConflictError, NotFoundError, UsageError, printable
from . import identifiers, meta
from .events import Change, record_event
from .records import HELD, Circulation, advanced, alias_target, ensure_not_withdrawn, find, save
from .tables import QUEUE, QUEUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor
    from .identifiers import NameRef


# Sorts before every date, so that it is always ripe and always first.
_NO_DATE = b"00000000000000"

# Wide enough that numbers of different lengths sort by value.
_PADDED = 40
_UNITS = {b"d": 86400, b"s": 1}
QUEUE_HOWS = "now, first, lvf, delete, or a delay such as 30d or 3600s"


def ensure_allowed(minter: Minter) -> None:
    if minter.scheme.queue_refusal:
        raise ConflictError(f"nothing can be queued here: {minter.scheme.queue_refusal}")


def enqueue(minter: Minter, writer: Writer, actor: Actor, how: bytes, given: list[bytes]) -> list[bytes]:
    ensure_allowed(minter)
    date = _due_date(how, actor.now())
    found = [identifiers.identify_for_change(minter, writer, text) for text in given]
    for ref in found:
        ensure_not_withdrawn(ref.display, ref.record, "queued")
    changes = [Change(b"queue", None, date, ref.key) for ref in found]
    event = record_event(writer, actor, b"queue " + how, ids=_keys(found), changes=changes)
    drawn = meta.generator_of(minter.scheme, writer).drawn
    queued = []
    for identifier in (ref.key for ref in found):
        # Looked up again here, so that one named twice is refused the second time.
        record = find(writer, identifier) or Circulation()
        _ensure_can_wait(identifier, record)
        sequence = 0 if how == b"lvf" else meta.next_queue_number(writer)
        padded = minter.scheme.without_prefix(identifier).rjust(_PADDED, b"0")
        # What is alike when padded, such as 5 and 05, still has a place of its own.
        key = date + sequence.to_bytes(6, "big") + padded + b"\0" + identifier
        writer.put(QUEUE, key, identifier)
        writer.put(QUEUED, identifier, key)
        save(writer, identifier, advanced(writer, identifier, record, b"q", event, drawn))
        queued.append(identifier)
    return queued


def dequeue(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> list[bytes]:
    ensure_allowed(minter)
    found = [identifiers.identify_for_change(minter, writer, text) for text in given]
    changes = [Change(b"queue", b"queued", None, ref.key) for ref in found]
    event = record_event(writer, actor, b"queue delete", ids=_keys(found), changes=changes)
    deleted = []
    for identifier in (ref.key for ref in found):
        record = find(writer, identifier)
        if record is None or not record.queued:
            raise NotFoundError(f"{printable(identifier)} is not in the queue")
        save(writer, identifier, take_from_queue(minter, writer, identifier, record, event))
        deleted.append(identifier)
    return deleted


def take_from_queue(minter: Minter, writer: Writer, identifier: bytes, record: Circulation, event: int) -> Circulation:
    """Remove an identifier from the queue; returns its record with that in its history, for the caller to save."""
    key = writer.get(QUEUED, identifier)
    if key is not None:
        writer.delete(QUEUE, key)
        writer.delete(QUEUED, identifier)
    drawn = meta.generator_of(minter.scheme, writer).drawn
    return advanced(writer, identifier, record, b"u", event, drawn)


def queue_length(reader: Reader) -> int:
    return sum(1 for _ in reader.scan(QUEUE))


def take_due(
    writer: Writer, now: int, count: int, passed_over: Callable[[bytes, Circulation], bool]
) -> Iterator[tuple[bytes, Circulation]]:
    """Remove up to `count` identifiers whose time has come, first in line first; those passed over stay."""
    today = timestamp(now)
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


def _keys(found: list[NameRef]) -> list[bytes]:
    """The keys of these names, each once."""
    return list(dict.fromkeys(ref.key for ref in found))


def _due_date(how: bytes, now: int) -> bytes:
    if how in (b"first", b"lvf"):
        return _NO_DATE
    if how == b"now":
        return timestamp(now)
    number, unit = (how[:-1], how[-1:]) if how[-1:] in _UNITS else (how, b"s")
    if not number.isdigit() or len(number) > 15:
        raise UsageError(f"queue {printable(how)!r}? say {QUEUE_HOWS}")
    return timestamp_after(now, int(number) * _UNITS[unit])


def _ensure_can_wait(identifier: bytes, record: Circulation) -> None:

    ensure_not_held(identifier, record)
    if record.queued:
        raise ConflictError(f"{printable(identifier)} is in the queue already")


# -- Holds: an identifier that is held is not minted, and not queued for minting -------------------------------------



def place_holds(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> tuple[int, list[bytes]]:
    """Hold each identifier; returns how many holds are new, and which identifiers left the queue for it."""
    found = [identifiers.identify_for_change(minter, writer, text) for text in given]
    for ref in found:
        ensure_not_withdrawn(ref.display, ref.record, "held")
    event = _record_holds(writer, actor, b"hold set", found, b"held")
    placed = 0
    unqueued = []
    for identifier in (ref.key for ref in found):
        record = find(writer, identifier) or Circulation()
        if record.queued:
            record = take_from_queue(minter, writer, identifier, record, event)
            unqueued.append(identifier)
        if not record.held:
            record.flags |= HELD
            placed += 1
        save(writer, identifier, record)
    meta.add_to_held_count(writer, placed)
    return placed, unqueued


def release_holds(minter: Minter, writer: Writer, actor: Actor, given: list[bytes]) -> int:
    """Let each identifier go; returns how many were held."""
    found = [identifiers.identify_for_change(minter, writer, text) for text in given]
    for ref in found:
        ensure_not_withdrawn(ref.display, ref.record, "released")
        name = printable(ref.display)
        if alias_target(writer, ref.key) is not None:
            raise ConflictError(f"{name} is an alias and must not be minted: take that back first with "
                                f"'noid alias --remove {name}'")
        if ref.record is not None and ref.record.reserved and not ref.record.was_issued:
            raise ConflictError(f"{name} is reserved and was never issued: publish it first, or minting might give it "
                                "to somebody else")
    _record_holds(writer, actor, b"hold release", found, None)
    released = 0
    for identifier in (ref.key for ref in found):
        record = find(writer, identifier)
        if record is None or not record.held:
            continue
        record.flags &= ~HELD
        released += 1
        save(writer, identifier, record)
    meta.add_to_held_count(writer, -released)
    return released


def _record_holds(
    writer: Writer, actor: Actor, verb: bytes, found: list[NameRef], after: bytes | None
) -> int:
    """An event about what the command is to change; none where all are as wanted already."""
    changes = []
    for identifier, record in {ref.key: ref.record for ref in found}.items():
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
        shown = printable(identifier)
        raise ConflictError(f"{shown} is on hold and cannot be queued: release it first with 'noid hold release'")
