"""Custodians: who is responsible for a minter and for each of its identifiers, now and in the past.

There is one custodian at a time for each purpose, and one without a purpose, who is responsible for all else.  To be
responsible for one binding of an identifier is a purpose, too: see `element_purpose`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..codec import pack, pair, pair_end, pair_prefix, split_pair, unpack
from ..errors import ConflictError, InvalidError, NotFoundError, UsageError, printable
from . import circulation, identifiers, lifecycle
from .circulation import ensure_not_withdrawn
from .events import number_key, property_changes, record_event
from .policies import sees_everything
from .schema import CUSTODY, OFFICES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor, Change


# Stands for the minter as a whole; no identifier is empty.
MINTER = b""
_LONGEST = 1000
_OF_ELEMENT = b"the element "


@dataclass(slots=True)
class Custodian:
    """A custodian, and the time for which it is responsible.

    name, contact  the contact may be empty
    start, until   dates of fourteen digits; `until` is empty for the present custodian
    of             the identifier for which it is responsible, or MINTER
    purpose        for what it is responsible; empty for all that no other is responsible for
    """

    name: bytes
    contact: bytes
    start: bytes
    until: bytes = b""
    of: bytes = MINTER
    purpose: bytes = b""


def element_purpose(element: bytes) -> bytes:
    """The purpose of a custodian who is responsible for what is bound to one element."""
    return _OF_ELEMENT + element


def element_of(purpose: bytes) -> bytes:
    """The element for which a custodian with this purpose is responsible; empty if it is none."""
    return purpose.removeprefix(_OF_ELEMENT) if purpose.startswith(_OF_ELEMENT) else b""


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
    return any(next(reader.scan(table, after=pair_end(MINTER), limit=1), None) is not None
               for table in (CUSTODY, OFFICES))


def present(custodians: list[Custodian]) -> list[Custodian]:
    """Those of the custodians who are in office, the one without a purpose first."""
    return sorted((custodian for custodian in custodians if not custodian.until), key=lambda found: found.purpose)


def current_custodians(minter: Minter, reader: Reader, identifier: bytes = MINTER) -> list[Custodian]:
    """The present custodians of an identifier, and for what it has none of its own those of the minter.

    Where nobody was named to answer for all that has no other, it is the authority that created the minter.
    """
    settings = minter.settings
    creator = settings["creator"] if sees_everything(reader) else "unknown"
    found = {b"": Custodian((settings["naa"] or creator).encode(), b"", settings["created"].encode())}
    for subject in dict.fromkeys((MINTER, identifier)):
        found |= {custodian.purpose: custodian for custodian in present(custodians_of(reader, subject))}
    return present(list(found.values()))


def appoint(
    minter: Minter, writer: Writer, actor: Actor, name: bytes, contact: bytes, identifier: bytes = MINTER,
    purpose: bytes = b"",
) -> Custodian:
    """Make somebody the custodian of the minter, or of one identifier, for a purpose or for all that has no other.

    The previous one for that purpose stays in the list.  Raises ConflictError if it is the custodian already,
    InvalidError for an unsuitable name, contact or purpose, NotFoundError for a purpose of `element_purpose` if nothing
    is bound to the element.
    """
    _ensure_text("the custodian's name", name)
    for what, text in (("the contact", contact), ("the purpose", purpose)):
        if text:
            _ensure_text(what, text)
    element = element_of(purpose)
    if element and circulation.value_of(writer, identifier, element) is None:
        raise NotFoundError(f"nothing is bound to {printable(element)} under "
                            f"{printable(minter.namespace.display(identifier))}")
    before = _end_current(writer, actor, identifier, purpose)
    if before and (before.name, before.contact) == (name, contact):
        raise ConflictError(f"{printable(name)} is the custodian already")
    event = _record(writer, actor, b"custodian", identifier, before, Custodian(name, contact, b"", purpose=purpose))
    custodian = Custodian(name, contact, actor.date(), of=identifier, purpose=purpose)
    _put(writer, identifier, event, custodian)
    return custodian


def dismiss(
    minter: Minter, writer: Writer, actor: Actor, identifier: bytes, purpose: bytes | None = None
) -> Custodian:
    """Remove a custodian of an identifier, or one for a purpose of the minter; returns the one removed.

    `purpose` may be None if the identifier has one custodian only.  Raises NotFoundError if there is none, UsageError
    if there are several and no purpose is named.
    """
    found = present(custodians_of(writer, identifier))
    if purpose is not None:
        found = [custodian for custodian in found if custodian.purpose == purpose]
    if not found:
        of = printable(minter.namespace.display(identifier)) if identifier else "this minter"
        raise NotFoundError(f"{of} has no custodian of its own{' for that purpose' if purpose else ''}")
    if len(found) > 1:
        purposes = ", ".join(f"{printable(custodian.purpose)!r}" for custodian in found)
        raise UsageError(f"there are {len(found)} custodians: name the purpose of the one to remove, of {purposes}")
    before = _end_current(writer, actor, identifier, found[0].purpose)
    assert before is not None
    _record(writer, actor, b"custodian remove", identifier, before, None)
    return before


def clear_custody(writer: Writer, actor: Actor, identifier: bytes) -> list[Change]:
    """End the custody of an identifier that is minted again.  Returns the changes, for the caller to record."""
    changes = []
    for custodian in present(custodians_of(writer, identifier)):
        before = _end_current(writer, actor, identifier, custodian.purpose)
        changes += _changes(identifier, before, None)
    return changes


def custody_subject(minter: Minter, reader: Reader, text: bytes, *, changing: bool = False) -> bytes:
    """The identifier that a text means; raises NotFoundError if it is not known.

    With `changing` also raises ForbiddenError if the pepper of a peppered identifier is missing, and ConflictError if
    the identifier was withdrawn.
    """
    ref = identifiers.identify(minter, reader, text)
    if changing:
        identifiers.ensure_pepper(reader, ref)
        ensure_not_withdrawn(ref.display, ref.record, "handed over")
    lifecycle.ensure_known(minter, reader, ref)
    return ref.key


def _entries(reader: Reader, identifier: bytes) -> list[tuple[int, Custodian]]:
    """The custodians with the numbers of the events that appointed them, oldest first."""
    custodians = []
    for table in (CUSTODY, OFFICES):
        for key, packed in reader.scan(table, pair_prefix(identifier)):
            name, contact, start, until, *purpose = unpack(packed)
            number = int.from_bytes(split_pair(key)[1], "big")
            custodians.append((number, Custodian(name, contact, start, until, identifier, b"".join(purpose))))
    return sorted(custodians, key=lambda entry: entry[0])


def _put(writer: Writer, identifier: bytes, number: int, custodian: Custodian) -> None:
    fields = [custodian.name, custodian.contact, custodian.start, custodian.until]
    if custodian.purpose:
        fields.append(custodian.purpose)
    table = OFFICES if custodian.purpose else CUSTODY
    writer.put(table, pair(identifier, number_key(number)), pack(fields))


def _end_current(writer: Writer, actor: Actor, identifier: bytes, purpose: bytes) -> Custodian | None:
    """End the custody of the present custodian for a purpose now; returns it, None if there is none."""
    for number, custodian in _entries(writer, identifier):
        if not custodian.until and custodian.purpose == purpose:
            custodian.until = actor.date()
            _put(writer, identifier, number, custodian)
            return custodian
    return None


def _record(
    writer: Writer, actor: Actor, verb: bytes, identifier: bytes, before: Custodian | None, after: Custodian | None
) -> int:
    ids = [] if identifier == MINTER else [identifier]
    return record_event(writer, actor, verb, ids=ids, changes=_changes(identifier, before, after))


def _changes(identifier: bytes, before: Custodian | None, after: Custodian | None) -> list[Change]:
    old, new = ({"custodian": each.name, "purpose": each.purpose, "contact": each.contact} if each else {}
                for each in (before, after))
    return property_changes(identifier, old, new, always=("custodian",))


def _ensure_text(what: str, text: bytes) -> None:
    if not text.strip() or len(text) > _LONGEST or any(byte < 0x20 for byte in text):
        raise InvalidError(f"{what} is one line of 1 to {_LONGEST} bytes")
