"""Commands that hold identifiers back from minting, or put them in line for it."""

from __future__ import annotations

from ..errors import UsageError, printable
from ..minter.queue import dequeue, enqueue, place_holds, release_holds
from .answers import Answer, Fields, Ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .session import Call


def hold(call: Call) -> Answer:
    args = call.need(2, None, "hold set|release Id…")
    how, given = args[0], args[1:]
    minter = call.minter
    if how == b"set":
        placed, unqueued = minter.write(lambda writer: place_holds(minter, writer, call.actor, given))
        notes = [Fields(("note", minter.shown(identifier) + b" taken out of the queue")) for identifier in unqueued]
        return Answer(Fields(("ok", _count(placed, b"hold") + b" placed")), *notes, spaced=True)
    if how == b"release":
        released = minter.write(lambda writer: release_holds(minter, writer, call.actor, given))
        return Answer(Fields(("ok", _count(released, b"hold") + b" released")), spaced=True)
    raise UsageError(f"hold {printable(how)!r}? say hold set or hold release")


def queue(call: Call) -> Answer:
    args = call.need(2, None, "queue now|first|lvf|delete|Time Id…")
    how, given = args[0], args[1:]
    minter = call.minter
    if how == b"delete":
        ids = minter.write(lambda writer: dequeue(minter, writer, call.actor, given))
        done = b" taken out of the queue"
    else:
        ids = minter.write(lambda writer: enqueue(minter, writer, call.actor, how, given))
        done = b" queued"
    shown = [minter.shown(identifier) for identifier in ids]
    return Answer(Ids(shown), Fields(("note", _count(len(ids), b"identifier") + done)))


def _count(number: int, noun: bytes) -> bytes:
    return b"%d %b%b" % (number, noun, b"" if number == 1 else b"s")
