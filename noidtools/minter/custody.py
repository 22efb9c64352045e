"""Custodians: who is responsible for a minter and for each of its identifiers, now and in the past."""

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
    """A custodian, and the time for which it is responsible.

    name, contact  the contact may be empty
    start, until   dates of fourteen digits; `until` is empty for the present custodian
    of             the identifier for which it is responsible, or MINTER
    """

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
    custodians = custodians_of(reader, identifier)
    if not custodians:
        of = printable(minter.namespace.display(identifier)) if identifier else "this minter"
        raise NotFoundError(f"no custodian was ever named for {of}")
    return custodians


def has_custodians_of_identifiers(reader: Reader) -> bool:
    """Whether any identifier ever had a custodian of its own."""
    return next(reader.scan(CUSTODY, after=pair_end(MINTER), limit=1), None) is not None


def current_custodian(minter: Minter, reader: Reader, identifier: bytes = MINTER) -> Custodian:
    """The present custodian of an identifier; else that of the minter; else the authority that created the minter."""
    for subject in dict.fromkeys((identifier, MINTER)):
        for custodian in custodians_of(reader, subject):
            if not custodian.until:
                return custodian
    settings = minter.settings
    return Custodian((settings["naa"] or settings["creator"]).encode(), b"", settings["created"].encode())


def appoint(
    minter: Minter, writer: Writer, actor: Actor, name: bytes, contact: bytes, identifier: bytes = MINTER
) -> Custodian:
    """Make somebody the custodian of the minter, or of one identifier; the one before stays in the list.

    Raises ConflictError if that is the custodian already, InvalidError for an unsuitable name or contact.
    """
    _ensure_text("the custodian's name", name)
    if contact:
        _ensure_text("the contact", contact)
    before = _end_current(writer, actor, identifier)
    if before and (before.name, before.contact) == (name, contact):
        raise ConflictError(f"{printable(name)} is the custodian already")
    event = _record(writer, actor, b"custodian", identifier, before, Custodian(name, contact, b""))
    custodian = Custodian(name, contact, timestamp(actor.now()), of=identifier)
    _put(writer, identifier, event, custodian)
    return custodian


def dismiss(minter: Minter, writer: Writer, actor: Actor, identifier: bytes) -> Custodian:
    """Remove the custodian of an identifier, so that it has that of the minter again; returns the one removed.

    Raises NotFoundError if the identifier has no custodian of its own.
    """
    before = _end_current(writer, actor, identifier)
    if before is None:
        raise NotFoundError(f"{printable(minter.namespace.display(identifier))} has no custodian of its own")
    _record(writer, actor, b"custodian remove", identifier, before, None)
    return before


def clear_custody(writer: Writer, actor: Actor, identifier: bytes) -> list[Change]:
    """End the custody of an identifier that is minted again.  Returns the changes, for the caller to record."""
    before = _end_current(writer, actor, identifier)
    return _changes(identifier, before, None) if before else []


def custody_subject(minter: Minter, reader: Reader, text: bytes, *, changing: bool = False) -> bytes:
    """The identifier that a text means; raises NotFoundError if it is not known.

    With `changing` also raises ForbiddenError if the pepper of a peppered identifier is missing.
    """
    from . import lifecycle

    ref = identifiers.identify(minter, reader, text)
    if changing:
        identifiers.ensure_pepper(reader, ref)
    lifecycle.ensure_known(minter, reader, ref)
    return ref.key


def _entries(reader: Reader, identifier: bytes) -> list[tuple[int, Custodian]]:
    custodians = []
    for key, packed in reader.scan(CUSTODY, pair_prefix(identifier)):
        name, contact, start, until = unpack(packed)
        number = int.from_bytes(split_pair(key)[1], "big")
        custodians.append((number, Custodian(name, contact, start, until, identifier)))
    return custodians


def _put(writer: Writer, identifier: bytes, number: int, custodian: Custodian) -> None:
    fields = custodian.name, custodian.contact, custodian.start, custodian.until
    writer.put(CUSTODY, pair(identifier, number.to_bytes(NUMBER_SIZE, "big")), pack(fields))


def _end_current(writer: Writer, actor: Actor, identifier: bytes) -> Custodian | None:
    """End the custody of the present custodian now; returns it, None if there is none."""
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
