"""A minter whose names were handed over to another organisation, the successor.

From the transaction that records the departure on, nothing is minted and no name is changed here, so that the successor
can continue where this minter ended.  The departure names the last identifier, and the successor's resolver, to which
names are redirected.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConflictError, InvalidError, printable
from ..times import display_day
from . import config, custody, policies, schema
from .events import newest_number, read_event
from .schema import DEPARTED, ONWARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Reader, Writer
    from . import Minter
    from .events import Actor

_LONGEST = 1000
_MINTING = (b"mint", b"peppermint")


@dataclass(frozen=True, slots=True)
class Departure:
    """To whom names were handed over.

    successor, contact  the contact may be empty
    address  of the successor's resolver, to which names are appended, or with a variable in their place
    date     in fourteen digits
    drawn    how many identifiers the minter had drawn
    last     the identifier that was minted last, as written in answers; empty if none is known
    """

    successor: bytes
    contact: bytes
    address: bytes
    date: bytes
    drawn: int
    last: bytes

    def lines(self) -> list[bytes]:
        return [self.successor, self.contact, self.address, self.date, b"%d" % self.drawn, self.last]


def departure(reader: Reader) -> Departure | None:
    """The departure of a minter, None if it has not departed."""
    stored = config.value(reader, DEPARTED)
    if stored is None:
        return None
    successor, contact, address, date, drawn, last = stored.split(b"\n")
    return Departure(successor, contact, address, date, int(drawn), last)


def depart(
    minter: Minter, writer: Writer, actor: Actor, successor: bytes, address: bytes, contact: bytes = b""
) -> Departure:
    """Hand the names of a minter over; the promise of persistence ends, and the successor becomes the custodian.

    Raises ConflictError if it has departed already, InvalidError for an unsuitable name or contact.
    """
    before = departure(writer)
    if before is not None:
        raise ConflictError(f"its names were handed over to {printable(before.successor)} on "
                            f"{display_day(before.date)} already")
    for text in (successor, contact, address):
        if len(text) > _LONGEST or any(octet < 0x20 for octet in text):
            raise InvalidError(f"a successor, a contact and an address are one line of at most {_LONGEST} bytes each")
    now = actor.date()
    promise = policies.persistence(writer)
    if promise is not None and (not promise.until or promise.until > now):
        policies.set_stated_policy(writer, actor, policies.PERSISTENCE, promise.text, promise.start,
                                   max(now, promise.start))
    _appoint(minter, writer, actor, successor, contact)
    drawn = schema.generator_of(minter.scheme, writer).drawn
    made = Departure(successor, contact, address, now, drawn, _last_minted(writer))
    config.change(writer, actor, ONWARD, address)
    config.change(writer, actor, DEPARTED, b"\n".join(made.lines()))
    return made


def take_over(
    minter: Minter, writer: Writer, actor: Actor, name: bytes, contact: bytes = b"", promise: bytes = b""
) -> None:
    """Let the successor's copy of a minter mint, with the successor as its custodian and with its promise, if any."""
    for setting in (ONWARD, DEPARTED):
        if config.value(writer, setting) is not None:
            config.change(writer, actor, setting, None)
    _appoint(minter, writer, actor, name, contact)
    if promise:
        policies.set_stated_policy(writer, actor, policies.PERSISTENCE, promise)


def _appoint(minter: Minter, writer: Writer, actor: Actor, name: bytes, contact: bytes) -> None:
    """Make somebody the custodian of a minter, unless it is that already."""
    present = custody.present(custody.custodians_of(writer, custody.MINTER))
    if not any((one.name, one.contact, one.purpose) == (name, contact, b"") for one in present):
        custody.appoint(minter, writer, actor, name, contact)


def _last_minted(reader: Reader) -> bytes:
    """The identifier that was minted last, as written in answers."""
    for number in range(newest_number(reader), 0, -1):
        event = read_event(reader, number)
        if event is not None and event.verb in _MINTING and event.tally is not None:
            return event.tally.last
    return b""
