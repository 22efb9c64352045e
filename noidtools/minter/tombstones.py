"""Tombstones: what is kept in place of a withdrawn identifier, and shown to whoever asks for it.

A withdrawn identifier is no longer registered, so that nothing can be done to it any more.  Its tombstone can still be
corrected: it is a record of the withdrawal, not of the identifier.
"""

from __future__ import annotations

from ..codec import pack, unpack
from ..errors import ConflictError, GoneError, InvalidError, NotFoundError, StoreError, UsageError, printable
from ..times import display_day, timestamp
from . import identifiers, relations
from .circulation import ensure_not_withdrawn
from .events import Change, record_event
from .identifiers import NameRef
from .relations import PREDECESSOR, SUCCESSOR, Relation
from .tables import TOMBSTONES
from .visibility import hides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

_LONGEST_REASON = 4096
_FIELDS = 5
_MINTING = (b"mint", b"peppermint")


class Tombstone:
    """What resolvers show of a withdrawn identifier.

    date           when it was withdrawn, in fourteen digits
    minted         when it was first minted; empty if it never was
    reason         why it was withdrawn; empty if no reason was stated
    successor      the name to use instead, as written in answers; empty if there is none
    successor_key  the same as stored
    """

    __slots__ = ("date", "minted", "reason", "successor", "successor_key")

    def __init__(self, date: bytes, minted: bytes, reason: bytes, successor: bytes, successor_key: bytes) -> None:
        self.date = date
        self.minted = minted
        self.reason = reason
        self.successor = successor
        self.successor_key = successor_key

    def sentence(self, name: bytes) -> str:
        """The tombstone of `name` in one line."""
        reason = f": {printable(self.reason).rstrip('.')}" if self.reason else ""
        instead = f"; use {printable(self.successor)} instead" if self.successor else ""
        return f"{printable(name)} was withdrawn on {display_day(self.date)}{reason}{instead}"


def tombstone_of(reader: Reader, identifier: bytes) -> Tombstone | None:
    """The tombstone of an identifier, None if it was not withdrawn; without a successor that the user may not see."""
    packed = reader.get(TOMBSTONES, identifier)
    if packed is None:
        return None
    fields = unpack(packed)
    if len(fields) != _FIELDS:
        raise StoreError(f"the tombstone of {printable(identifier)} is damaged: 'noid check' says what can be done")
    tombstone = Tombstone(*fields)
    if hides(reader, tombstone.successor_key):
        tombstone.successor = tombstone.successor_key = b""
    return tombstone


def find_tombstone(minter: Minter, reader: Reader, text: bytes) -> tuple[NameRef, Tombstone]:
    """The withdrawn identifier that a text means, and its tombstone; raises NotFoundError if it was not withdrawn."""
    ref = identifiers.identify(minter, reader, text)
    tombstone = tombstone_of(reader, ref.key)
    if tombstone is None:
        raise NotFoundError(f"{printable(ref.display)} was not withdrawn, and has no tombstone")
    return ref, tombstone


def ensure_not_gone(reader: Reader, ref: NameRef) -> None:
    """Raise GoneError, with the tombstone in one sentence, if the identifier was withdrawn."""
    if ref.record is not None and ref.record.withdrawn:
        raise GoneError(sentence_about(reader, ref))


def sentence_about(reader: Reader, ref: NameRef) -> str:
    """The tombstone of a withdrawn identifier in one sentence."""
    tombstone = tombstone_of(reader, ref.key)
    return tombstone.sentence(ref.display) if tombstone else f"{printable(ref.display)} was withdrawn"


def new_tombstone(
    minter: Minter, reader: Reader, actor: Actor, ref: NameRef, reason: bytes | None, successor: bytes | None
) -> Tombstone:
    """The tombstone of an identifier that is withdrawn now, for the caller to write with `write_tombstone`."""
    new = Tombstone(timestamp(actor.now()), _first_minted(reader, ref.key), b"", b"", b"")
    _set_texts(minter, reader, ref, new, reason, successor)
    return new


def amend_tombstone(
    minter: Minter, writer: Writer, actor: Actor, text: bytes, reason: bytes | None = None,
    successor: bytes | None = None,
) -> tuple[NameRef, Tombstone]:
    """Replace the reason or the successor on the tombstone of a withdrawn identifier; empty ones are removed.

    Raises NotFoundError if it was not withdrawn, UsageError if there is nothing to replace, ForbiddenError where a
    pepper is missing.
    """
    if reason is None and successor is None:
        raise UsageError("there is nothing to change: give a reason or a successor")
    ref, before = find_tombstone(minter, writer, text)
    identifiers.ensure_pepper(writer, ref)
    after = Tombstone(before.date, before.minted, before.reason, before.successor, before.successor_key)
    _set_texts(minter, writer, ref, after, reason, successor)
    changes = tombstone_changes(ref.key, before, after)
    if changes:
        ids = [ref.key, after.successor_key] if after.successor_key else [ref.key]
        write_tombstone(writer, ref, before, after, record_event(writer, actor, b"tombstone", ids=ids, changes=changes))
    return ref, after


def write_tombstone(writer: Writer, ref: NameRef, before: Tombstone | None, after: Tombstone, event: int) -> None:
    """Write a tombstone in place of the one before, and relate the identifier and its successor to each other."""
    fields = after.date, after.minted, after.reason, after.successor, after.successor_key
    writer.put(TOMBSTONES, ref.key, pack(fields))
    if before is not None and before.successor_key:
        relations.delete_relation(writer, ref.key, Relation(SUCCESSOR, before.successor_key))
        relations.delete_relation(writer, before.successor_key, Relation(PREDECESSOR, ref.key))
    if after.successor_key:
        forward = Relation(SUCCESSOR, after.successor_key, after.successor, start=after.date, event=event)
        relations.put_relation(writer, ref.key, forward)
        backward = Relation(PREDECESSOR, ref.key, ref.display, start=after.date, event=event)
        relations.put_relation(writer, after.successor_key, backward)


def tombstone_changes(identifier: bytes, before: Tombstone | None, after: Tombstone) -> list[Change]:
    """What differs between two tombstones, for an event."""
    changes = []
    for what in ("reason", "successor"):
        old, new = (getattr(before, what) if before else b""), getattr(after, what)
        if old != new:
            changes.append(Change(what.encode(), old or None, new or None, identifier))
    return changes


def _set_texts(
    minter: Minter, reader: Reader, ref: NameRef, tombstone: Tombstone, reason: bytes | None, successor: bytes | None
) -> None:
    if reason is not None:
        if len(reason) > _LONGEST_REASON:
            raise InvalidError(f"a reason may have {_LONGEST_REASON} bytes, this one has {len(reason)}")
        tombstone.reason = reason
    if successor is not None:
        other = identifiers.identify(minter, reader, successor) if successor else NameRef(b"", b"")
        if other.key == ref.key:
            raise ConflictError(f"{printable(ref.display)} cannot be its own successor")
        if other.key:
            ensure_not_withdrawn(other.display, other.record, "a successor")
        tombstone.successor, tombstone.successor_key = other.display, other.key


def _first_minted(reader: Reader, identifier: bytes) -> bytes:
    from .history import events_of

    for event in events_of(reader, identifier):
        if event.verb in _MINTING:
            return event.date
    return b""
