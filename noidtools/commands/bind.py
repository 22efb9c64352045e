"""Commands that change what a minter holds."""

from __future__ import annotations

from ..errors import InvalidError, UsageError, printable
from ..minter import bindings, minting
from ..minter.queue import dequeue, enqueue, place_holds, release_holds
from ..minter.tables import NOTES
from ..schemes import MintRequest
from .answers import Answer, Blank, BoundRecord, Fields, Ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..store import Writer
    from .answers import Record
    from .session import Call

_LONGEST_NOTE_NAME = 400


def bind(call: Call) -> Answer:
    args = call.need(3, 4, "bind How Id Element Value")
    how, given = args[0], args[1]
    bindings.ensure_how(how)
    pairs = _pairs(call)
    minter = call.minter
    if how in bindings.MINTING:
        if given != b"new":
            raise UsageError(f"bind {how.decode()} makes its own identifier: write the word new in place of Id")
        done = _bind_minted(call, how, pairs)
    else:
        done = minter.write(lambda writer: bindings.bind(minter, writer, call.actor, how, given, pairs))
    records: list[Record] = []
    for bound in done:
        records += [BoundRecord(bound), Blank()]
    return Answer(*records[:-1], spaced=True)


def _pairs(call: Call) -> list[tuple[bytes, bytes | None]]:
    how, element = call.args[0], call.args[2]
    if call.pairs is not None:
        return [(name, None if how in bindings.REMOVING else value) for name, value in call.pairs]
    value = call.args[3] if len(call.args) == 4 else None
    if how in bindings.REMOVING and value is not None:
        raise UsageError(f"bind {how.decode()} takes no Value")
    if how not in bindings.REMOVING and value is None:
        raise UsageError(f"a Value is missing: say bind {how.decode()} Id Element Value")
    return [(element, value)]


def _bind_minted(call: Call, how: bytes, pairs: list[tuple[bytes, bytes | None]]) -> list[bindings.Bound]:
    order = minting.MintOptions(peppered=how == b"peppermint", unbound=tuple(element for element, _ in pairs))
    request = MintRequest(call.actor.clock, sharing=call.session.sharing, whole=call.minter.writing)

    def work(writer: Writer) -> list[bindings.Bound]:
        batch = minting.mint_some(call.minter, writer, call.actor, 1, order, request)
        if not batch.ids:
            raise minting.exhausted(call.minter)
        done = bindings.bind(call.minter, writer, call.actor, b"new", batch.ids[0], pairs)
        for bound in done:
            bound.identifier, bound.how = batch.ids[0], how
        return done

    return call.minter.write(work)


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


def note(call: Call) -> Answer:
    name, text = call.need(2, 2, "note Name Text")
    if not name or len(name) > _LONGEST_NOTE_NAME or b"\n" in name:
        raise InvalidError(f"the name of a note is one line of 1 to {_LONGEST_NOTE_NAME} bytes")

    def work(writer: Writer) -> None:
        from ..minter.events import Change, record_event

        before = writer.get(NOTES, name)
        writer.put(NOTES, name, text)
        record_event(writer, call.actor, b"note", changes=[Change(name, before, text)])

    call.minter.write(work)
    return Answer(Fields(("ok", b"note " + name + b" kept")), spaced=True)
