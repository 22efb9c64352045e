"""Custodians: who answers for a minter and for each of its identifiers, now and before."""

from __future__ import annotations

from ..clock import timestamp
from ..codec import pack, pair, pair_end, pair_prefix, split_pair, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, printable
from . import identifiers
from .events import NUMBER_SIZE, Change, record_event
from .tables import CUSTODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor


# Stands for the minter as a whole; no identifier is empty.
MINTER = b""
_LONGEST = 1000


class Custodian:
    """`until` is empty for the present one; `of` is the identifier, or MINTER for what the minter's custodian
    answers for along with everything else."""

    __slots__ = ("name", "contact", "start", "until", "of")

    def __init__(self, name: bytes, contact: bytes, start: bytes, until: bytes = b"", of: bytes = MINTER) -> None:
        self.name = name
        self.contact = contact
        self.start = start
        self.until = until
        self.of = of


def custodians_of(reader: Reader, identifier: bytes) -> list[Custodian]:
    """The custodians that were named for an identifier, or for the minter, oldest first."""
    return [custodian for _, custodian in _entries(reader, identifier)]


def custody_history(minter: Minter, reader: Reader, identifier: bytes = MINTER) -> list[Custodian]:
    """As `custodians_of`; raises NotFoundError if none was ever named."""
    found = custodians_of(reader, identifier)
    if not found:
        of = printable(minter.namespace.display(identifier)) if identifier else "this minter"
        raise NotFoundError(f"no custodian was ever named for {of}")
    return found


def has_custodians_of_identifiers(reader: Reader) -> bool:
    """Whether any identifier ever had a custodian of its own."""
    return next(reader.scan(CUSTODY, after=pair_end(MINTER), limit=1), None) is not None


def current_custodian(minter: Minter, reader: Reader, identifier: bytes = MINTER) -> Custodian:
    """Whom to ask: the identifier's own custodian, else the minter's, else who created the minter."""
    for subject in dict.fromkeys((identifier, MINTER)):
        for custodian in custodians_of(reader, subject):
            if not custodian.until:
                return custodian
    settings = minter.settings
    return Custodian((settings["naa"] or settings["creator"]).encode(), b"", settings["created"].encode())


def appoint(
    minter: Minter, writer: Writer, actor: Actor, name: bytes, contact: bytes, identifier: bytes = MINTER
) -> Custodian:
    """Hand the minter, or one identifier, over to a custodian; the one before is kept in the list."""
    _ensure_text("the custodian's name", name)
    if contact:
        _ensure_text("the contact", contact)
    before = _end(writer, actor, identifier)
    if before and (before.name, before.contact) == (name, contact):
        raise ConflictError(f"{printable(name)} is the custodian already")
    event = _record(writer, actor, b"custodian", identifier, before, Custodian(name, contact, b""))
    custodian = Custodian(name, contact, timestamp(actor.now()), of=identifier)
    _put(writer, identifier, event, custodian)
    return custodian


def dismiss(minter: Minter, writer: Writer, actor: Actor, identifier: bytes) -> Custodian:
    """Let the minter's custodian answer for the identifier again; returns the one who did."""
    before = _end(writer, actor, identifier)
    if before is None:
        raise NotFoundError(f"{printable(minter.namespace.display(identifier))} has no custodian of its own")
    _record(writer, actor, b"custodian remove", identifier, before, None)
    return before


def clear_custody(writer: Writer, actor: Actor, identifier: bytes) -> list[Change]:
    """The name is given out anew: who answered for it before does so no longer.  Returns the changes, for the event."""
    before = _end(writer, actor, identifier)
    return _changes(identifier, before, None) if before else []


def custody_subject(minter: Minter, reader: Reader, given: bytes, *, changing: bool = False) -> bytes:
    """The identifier of which the custodian is asked, or with `changing` appointed."""
    from . import lifecycle

    ref = identifiers.identify(minter, reader, given)
    if changing:
        identifiers.ensure_pepper(reader, ref)
    lifecycle.ensure_known(minter, reader, ref)
    return ref.key


def _entries(reader: Reader, identifier: bytes) -> list[tuple[int, Custodian]]:
    found = []
    for key, packed in reader.scan(CUSTODY, pair_prefix(identifier)):
        name, contact, start, until = unpack(packed)
        number = int.from_bytes(split_pair(key)[1], "big")
        found.append((number, Custodian(name, contact, start, until, identifier)))
    return found


def _put(writer: Writer, identifier: bytes, number: int, custodian: Custodian) -> None:
    fields = custodian.name, custodian.contact, custodian.start, custodian.until
    writer.put(CUSTODY, pair(identifier, number.to_bytes(NUMBER_SIZE, "big")), pack(fields))


def _end(writer: Writer, actor: Actor, identifier: bytes) -> Custodian | None:
    """The present custodian, whose time is over now."""
    for number, custodian in _entries(writer, identifier):
        if not custodian.until:
            custodian.until = timestamp(actor.now())
            _put(writer, identifier, number, custodian)
            return custodian
    return None


def _record(
    writer: Writer, actor: Actor, verb: bytes, identifier: bytes, before: Custodian | None, after: Custodian | None
) -> int:
    ids = [] if identifier == MINTER else [identifier]
    return record_event(writer, actor, verb, ids=ids, changes=_changes(identifier, before, after))


def _changes(identifier: bytes, before: Custodian | None, after: Custodian | None) -> list[Change]:
    changes = [Change(b"custodian", before.name if before else None, after.name if after else None, identifier)]
    old = (before.contact or None) if before else None
    new = (after.contact or None) if after else None
    if old != new:
        changes.append(Change(b"contact", old, new, identifier))
    return changes


def _ensure_text(what: str, text: bytes) -> None:
    if not text.strip() or len(text) > _LONGEST or any(byte < 0x20 for byte in text):
        raise InvalidError(f"{what} is one line of 1 to {_LONGEST} bytes")
