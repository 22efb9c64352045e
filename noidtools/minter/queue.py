"""The queue and the holds: identifiers to be minted before new ones, and identifiers not to be minted.

An identifier in the queue is minted, once its date has come, before the generator makes new ones.  An identifier on
hold is neither minted nor queued.
"""

from __future__ import annotations

from itertools import islice

from ..errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, UsageError, printable
from ..times import timestamp, timestamp_after
from . import schema
from .circulation import (
    HELD,
    Circulation,
    advanced,
    alias_target,
    ensure_not_withdrawn,
    find,
    foreign_record,
    in_circulation,
    save,
)
from .events import Change, record_event
from .identifiers import ensure_well_formed, identify_for_change
from .schema import QUEUE, QUEUED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..errors import NoidError
    from ..schemes import Scheme
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor
    from .identifiers import NameRef


# Sorts before every date: such an identifier is always due, and comes first.
_NO_DATE = b"00000000000000"
_DATE_SIZE = len(_NO_DATE)

# Wide enough that numbers of different lengths sort by value.
_PADDED = 40
_UNITS = {b"d": 86400, b"s": 1}
QUEUE_HOWS = "now, first, lvf, delete, or a delay such as 30d or 3600s"


def ensure_queue_allowed(minter: Minter) -> None:
    """Raise ConflictError if the scheme of the minter has no queue."""
    if minter.scheme.queue_refusal:
        raise ConflictError(f"nothing can be queued here: {minter.scheme.queue_refusal}")


def enqueue(
    minter: Minter, writer: Writer, actor: Actor, how: bytes, texts: list[bytes], *, partly: bool = False
) -> tuple[list[bytes], list[NoidError]]:
    """Put identifiers into the queue; `how` is one of QUEUE_HOWS but delete.

    Returns their keys, and with `partly` the refusals of those that cannot be queued: they are withdrawn, on hold or
    queued already.  Without it, the first of these is raised.
    """
    ensure_queue_allowed(minter)
    date = _due_date(how, actor.now())
    seen: set[bytes] = set()

    def examine(text: bytes) -> NameRef:
        ref = identify_for_change(minter, writer, text)
        ensure_not_withdrawn(ref.display, ref.record, "queued")
        if ref.record is not None and ref.record.unavailable:
            raise ConflictError(f"{printable(ref.display)} is unavailable, and its tombstone is shown: publish it "
                                "before you queue it")
        ensure_not_foreign(ref)
        ensure_not_held(ref.display, ref.record)
        if ref.key in seen or (ref.record is not None and ref.record.queued):
            raise ConflictError(f"{printable(ref.display)} is in the queue already")
        seen.add(ref.key)
        return ref

    refs, refused = _examined(texts, examine, partly)
    changes = [Change(b"queue", None, date, ref.key) for ref in refs]
    event = record_event(writer, actor, b"queue " + how, ids=_keys(refs), changes=changes)
    drawn = schema.generator_of(minter.scheme, writer).drawn
    for ref in refs:
        sequence = 0 if how == b"lvf" else schema.next_queue_number(writer)
        key = queue_key(minter.scheme, date, sequence, ref.key)
        writer.put(QUEUE, key, ref.key)
        writer.put(QUEUED, ref.key, key)
        save(writer, ref.key, advanced(writer, ref.key, ref.record or Circulation(), b"q", event, drawn))
    return _keys(refs), refused


def _examined(
    texts: list[bytes], examine: Callable[[bytes], NameRef], partly: bool
) -> tuple[list[NameRef], list[NoidError]]:
    """The names that `examine` does not refuse, and with `partly` the refusals of the others.

    Raises the first refusal without `partly`, and if there is no other name: then it has the sentences of all.
    """
    refs: list[NameRef] = []
    refused: list[NoidError] = []
    for text in texts:
        try:
            refs.append(examine(text))
        except (UsageError, InvalidError, NotFoundError, ConflictError, ForbiddenError) as error:
            if not partly:
                raise
            refused.append(error)
    if refused and not refs:
        refused[0].message = "; ".join(error.message for error in refused)
        raise refused[0]
    return refs, refused


def queue_key(scheme: Scheme, date: bytes, sequence: int, identifier: bytes) -> bytes:
    """The key of an identifier in the queue: by date, then by sequence, then by the value of a number."""
    padded = scheme.without_prefix(identifier).rjust(_PADDED, b"0")
    # The key ends in the identifier itself: 5 and 05 are equal when padded.
    return date + sequence.to_bytes(6, "big") + padded + b"\0" + identifier


def dequeue(
    minter: Minter, writer: Writer, actor: Actor, texts: list[bytes], *, partly: bool = False
) -> tuple[list[bytes], list[NoidError]]:
    """Take identifiers out of the queue.

    Returns their keys, and with `partly` the refusals of those that are not in it, which else are raised.
    """
    ensure_queue_allowed(minter)
    seen: set[bytes] = set()

    def examine(text: bytes) -> NameRef:
        ref = identify_for_change(minter, writer, text)
        if ref.key in seen or ref.record is None or not ref.record.queued:
            raise NotFoundError(f"{printable(ref.display)} is not in the queue")
        seen.add(ref.key)
        return ref

    refs, refused = _examined(texts, examine, partly)
    changes = [Change(b"queue", b"queued", None, ref.key) for ref in refs]
    event = record_event(writer, actor, b"queue delete", ids=_keys(refs), changes=changes)
    for ref in refs:
        assert ref.record is not None
        save(writer, ref.key, take_from_queue(minter, writer, ref.key, ref.record, event))
    return _keys(refs), refused


def take_from_queue(minter: Minter, writer: Writer, identifier: bytes, record: Circulation, event: int) -> Circulation:
    """Remove an identifier from the queue; returns its record with one more letter, for the caller to save."""
    key = writer.get(QUEUED, identifier)
    if key is not None:
        writer.delete(QUEUE, key)
        writer.delete(QUEUED, identifier)
    drawn = schema.generator_of(minter.scheme, writer).drawn
    return advanced(writer, identifier, record, b"u", event, drawn)


def queue_length(reader: Reader) -> int:
    """How many identifiers are in the queue."""
    return sum(1 for _ in reader.scan(QUEUE))


def queued_names(reader: Reader, limit: int) -> list[tuple[bytes, bytes]]:
    """The first identifiers in the queue, as stored, with the dates from which on they are minted; empty for now."""
    return [(identifier, b"" if key[:_DATE_SIZE] == _NO_DATE else key[:_DATE_SIZE])
            for key, identifier in reader.scan(QUEUE, limit=limit)]


def held_names(reader: Reader, limit: int, among: int) -> list[bytes]:
    """Up to `limit` identifiers, as stored, that are on hold though they were never issued, of the first `among`."""
    first = islice(in_circulation(reader), among)
    return list(islice((identifier for identifier, record in first if record.held and not record.was_issued), limit))


def take_due(
    writer: Writer, now: int, count: int, passed_over: Callable[[bytes, Circulation], bool]
) -> Iterator[tuple[bytes, Circulation]]:
    """Remove up to `count` identifiers that are due from the queue, in its order, and yield them with their records.

    Those for which `passed_over` is true stay in the queue.
    """
    today = timestamp(now)
    due: list[tuple[bytes, bytes, Circulation]] = []
    for key, identifier in writer.scan(QUEUE):
        if len(due) == count or key[:14] > today:
            break
        record = find(writer, identifier) or Circulation()
        if not passed_over(identifier, record):
            due.append((key, identifier, record))
    for key, identifier, record in due:
        writer.delete(QUEUE, key)
        writer.delete(QUEUED, identifier)
        # Withdrawing takes an identifier out of the queue; in case one is left there, it is not minted.
        if not record.withdrawn:
            yield identifier, record


def _keys(refs: list[NameRef]) -> list[bytes]:
    """The keys of these names, each once."""
    return list(dict.fromkeys(ref.key for ref in refs))


def _due_date(how: bytes, now: int) -> bytes:
    """The date from which on an identifier may be minted; raises UsageError for what is no way to queue."""
    if how in (b"first", b"lvf"):
        return _NO_DATE
    if how == b"now":
        return timestamp(now)
    number, unit = (how[:-1], how[-1:]) if how[-1:] in _UNITS else (how, b"s")
    if not number.isdigit() or len(number) > 15:
        raise UsageError(f"{printable(how)!r} is not a way to queue: use {QUEUE_HOWS}")
    return timestamp_after(now, int(number) * _UNITS[unit])


# -- holds -----------------------------------------------------------------------------------------------------------


def place_holds(
    minter: Minter, writer: Writer, actor: Actor, texts: list[bytes], *, partly: bool = False
) -> tuple[int, list[bytes], list[NoidError]]:
    """Put identifiers on hold.

    Returns how many were not before, which were removed from the queue, and with `partly` the refusals of those that
    cannot be held, such as one that was withdrawn; without it, the first of these is raised.
    """
    def examine(text: bytes) -> NameRef:
        ref = identify_for_change(minter, writer, text)
        ensure_not_withdrawn(ref.display, ref.record, "held")
        return ref

    refs, refused = _examined(texts, examine, partly)
    event = _record_holds(writer, actor, b"hold set", refs, b"held")
    own = {ref.key for ref in refs if ref.well_formed}
    placed = 0
    unqueued = []
    for identifier in _keys(refs):
        record = find(writer, identifier) or (Circulation() if identifier in own else foreign_record(writer, event))
        placed += not record.held
        if place_hold(minter, writer, identifier, record, event):
            unqueued.append(identifier)
    return placed, unqueued, refused


def place_hold(minter: Minter, writer: Writer, identifier: bytes, record: Circulation, event: int) -> bool:
    """Put an identifier on hold and take it out of the queue; returns whether it was queued."""
    queued = record.queued
    if queued:
        record = take_from_queue(minter, writer, identifier, record, event)
    schema.add_to_held_count(writer, int(not record.held))
    record.flags |= HELD
    save(writer, identifier, record)
    return queued


def release_holds(
    minter: Minter, writer: Writer, actor: Actor, texts: list[bytes], *, partly: bool = False
) -> tuple[int, list[NoidError]]:
    """Release identifiers from hold.

    Returns how many were held, and with `partly` the refusals of those that cannot be released: they were withdrawn,
    are aliases, or are reserved and were never issued.  Without it, the first of these is raised.
    """
    def examine(text: bytes) -> NameRef:
        ref = identify_for_change(minter, writer, text)
        if ref.record is None:
            ensure_well_formed(minter, writer, ref.key)
        ensure_not_withdrawn(ref.display, ref.record, "released")
        name = printable(ref.display)
        if alias_target(writer, ref.key) is not None:
            raise ConflictError(f"{name} is an alias and must not be minted", "remove the alias first with "
                                f"'noid alias --remove {name}'")
        if ref.record is not None and ref.record.reserved and not ref.record.was_issued:
            raise ConflictError(f"{name} is reserved and was never issued: publish it first, or minting might give it "
                                "to somebody else")
        return ref

    refs, refused = _examined(texts, examine, partly)
    _record_holds(writer, actor, b"hold release", refs, None)
    released = 0
    for identifier in _keys(refs):
        record = find(writer, identifier)
        if record is None or not record.held:
            continue
        record.flags &= ~HELD
        released += 1
        save(writer, identifier, record)
    schema.add_to_held_count(writer, -released)
    return released, refused


def _record_holds(
    writer: Writer, actor: Actor, verb: bytes, refs: list[NameRef], after: bytes | None
) -> int:
    """Record an event with the changes that the command is about to make; returns its number, 0 if there are none."""
    changes = []
    for identifier, record in {ref.key: ref.record for ref in refs}.items():
        before = b"held" if record is not None and record.held else None
        if before != after:
            changes.append(Change(b"hold", before, after, identifier))
        if after is not None and record is not None and record.queued:
            changes.append(Change(b"queue", b"queued", None, identifier))
    if not changes:
        return 0
    return record_event(writer, actor, verb, ids=dict.fromkeys(change.of for change in changes), changes=changes)


def ensure_not_foreign(ref: NameRef) -> None:
    """Raise ConflictError if this minter could not make the identifier, or it was recorded as foreign."""
    if not ref.well_formed or (ref.record is not None and ref.record.foreign):
        raise ConflictError(f"{printable(ref.display)} comes from elsewhere and is never minted here: it can be held, "
                            "bound or made an alias, but not queued")


def ensure_not_held(display: bytes, record: Circulation | None) -> None:
    """Raise ConflictError if the identifier, of which this is the record, is on hold."""
    if record is not None and record.held:
        name = printable(display)
        raise ConflictError(f"{name} is on hold and cannot be queued", "release it first with 'noid hold release'")
