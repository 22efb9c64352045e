"""Events and changes of state as typed values: text and dates, from the bytes that a minter stores.

As in facts.py, octets that are not UTF-8 are surrogate escapes, and dates are datetimes in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from ..codec import decode_text
from ..minter.events import Digest
from ..times import utc_datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter import Minter
    from ..minter.events import Change, Event
    from ..minter.identifiers import NameRef
    from ..minter.lifecycle import StateChange, Tombstone

# In place of a stored date that is damaged.
_NO_DATE = datetime(1, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Transition:
    """The state of an identifier before and after; `unqueued` is whether it was removed from the queue."""

    identifier: str
    before: str | None
    after: str
    unqueued: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawn identifier.  `minted` is None for one that never was; `reason` and `successor` may be empty."""

    identifier: str
    date: datetime
    minted: datetime | None
    reason: str
    successor: str


@dataclass(frozen=True, slots=True)
class ValueDigest:
    """What is recorded of a value that is too long to record whole: its size in bytes, and its SHA-256 in hex."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """The change of one property or element in an event.

    identifier  whose it is; None where it is the minter's, or alike for all identifiers of the event
    what        a property such as state or hold, or the name of an element
    is_element  whether `what` is the name of an element
    before      the value before; None if there was none
    after       the value after; None if it was removed
    """

    identifier: str | None
    what: str
    is_element: bool
    before: str | ValueDigest | None
    after: str | ValueDigest | None


@dataclass(frozen=True, slots=True)
class MintCount:
    """How many identifiers an event minted, of how many requested; the first and the last of them."""

    made: int
    requested: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """An event: a change of the minter.

    number       events are numbered from 1 on
    date         when
    who          by whom
    interface    through which interface: python, shell, or one of the web
    action       the command, such as mint or bind set
    identifiers  which it concerned; empty for mintings, which have `minted` instead
    changes      what became of each thing that it changed
    minted       for a minting, how many were made
    details      further words, in no particular form
    bindings     for a change of many names at once, how many bindings it changed; else None
    """

    number: int
    date: datetime
    who: str
    interface: str
    action: str
    identifiers: tuple[str, ...]
    changes: tuple[ChangedValue, ...]
    minted: MintCount | None
    details: tuple[str, ...]
    bindings: int | None = None


# -- dates -----------------------------------------------------------------------------------------------------------


def moment(stamp: bytes) -> datetime | None:
    """A stored date; None where there is none."""
    return required_moment(stamp) if stamp else None


def required_moment(stamp: bytes) -> datetime:
    """A stored date; the beginning of the year 1 if it is damaged."""
    try:
        return utc_datetime(stamp)
    except ValueError:
        return _NO_DATE


def timestamp_text(moment: datetime | None) -> str:
    """A date in fourteen digits, as it is stored; empty for None."""
    if moment is None:
        return ""
    return moment.isoformat()[:19].replace("-", "").replace(":", "").replace("T", "")


# -- from the records of a minter ------------------------------------------------------------------------------------


def transition(minter: Minter, change: StateChange) -> Transition:
    """The change of the state of an identifier."""
    return Transition(decode_text(minter.namespace.display(change.identifier)), change.before, change.after,
                      change.unqueued)


def withdrawal(ref: NameRef, tombstone: Tombstone) -> Withdrawal:
    """A withdrawn identifier."""
    return Withdrawal(
        decode_text(ref.display), required_moment(tombstone.date), moment(tombstone.minted),
        decode_text(tombstone.reason), decode_text(tombstone.successor),
    )


def history_event(minter: Minter, event: Event) -> HistoryEvent:
    """An event, with names as the minter writes them."""
    display, tally = minter.namespace.display, event.tally
    minted = None
    if tally is not None:
        minted = MintCount(tally.minted, tally.requested, decode_text(tally.first), decode_text(tally.last))
    return HistoryEvent(
        number=event.number, date=required_moment(event.date), who=decode_text(event.who),
        interface=decode_text(event.interface), action=decode_text(event.verb),
        identifiers=tuple(decode_text(display(identifier)) for identifier in event.ids),
        changes=tuple(_changed_value(minter, event, change) for change in event.changes),
        minted=minted,
        details=tuple(map(decode_text, event.details)), bindings=event.bulk,
    )


def _changed_value(minter: Minter, event: Event, change: Change) -> ChangedValue:
    subject = event.subject(change)
    return ChangedValue(
        decode_text(minter.namespace.display(subject)) if subject else None, decode_text(change.what), change.element,
        _recorded(change.before), _recorded(change.after),
    )


def _recorded(value: bytes | Digest | None) -> str | ValueDigest | None:
    if isinstance(value, Digest):
        return ValueDigest(value.size, value.sha256.hex())
    return None if value is None else decode_text(value)
