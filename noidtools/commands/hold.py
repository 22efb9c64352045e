"""Commands that put identifiers on hold, so that they are not minted, or into the queue, to be minted next."""

from __future__ import annotations

from ..minter.access import BIND
from ..minter.queue import dequeue, enqueue, place_holds, release_holds
from .answers import Answer, Ids
from .command import Command, Form
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call


def _hold(call: Call) -> Answer:
    minter = call.minter
    placed, unqueued = minter.write(lambda writer: place_holds(minter, writer, call.actor, call.words[1:]))
    names = [minter.namespace.display(identifier) for identifier in unqueued]
    notes = [Fields(("note", name + b" taken out of the queue")) for name in names]
    return Answer(Fields(("ok", _count(placed, b"hold") + b" placed")), *notes, spaced=True)


def _release(call: Call) -> Answer:
    minter = call.minter
    released = minter.write(lambda writer: release_holds(minter, writer, call.actor, call.words[1:]))
    return Answer(Fields(("ok", _count(released, b"hold") + b" released")), spaced=True)


def _enqueue(call: Call) -> Answer:
    minter, (how, *ids) = call.minter, call.words
    return _queue_answer(call, minter.write(lambda writer: enqueue(minter, writer, call.actor, how, ids)), b" queued")


def _dequeue(call: Call) -> Answer:
    minter = call.minter
    ids = minter.write(lambda writer: dequeue(minter, writer, call.actor, call.words[1:]))
    return _queue_answer(call, ids, b" taken out of the queue")


def _queue_answer(call: Call, ids: list[bytes], done: bytes) -> Answer:
    names = [call.minter.namespace.display(identifier) for identifier in ids]
    return Answer(Ids(names), Fields(("note", _count(len(ids), b"identifier") + done)))


def _count(number: int, noun: bytes) -> bytes:
    return b"%d %b%b" % (number, noun, b"" if number == 1 else b"s")


COMMANDS = (
    Command(
        "hold", "keep identifiers from being minted or queued, or let them go",
        Form("set Id…", _hold, BIND),
        Form("release Id…", _release, BIND),
        see="tutorial.md#hold-and-queue",
        about="""\
A hold takes an identifier out of the queue. A long-term minter holds whatever it mints.
""",
        example="""\
$ noid hold release 13030/kt154d9
ok: 1 hold released

""",
    ),
    Command(
        "queue", "put identifiers in line for minting, or take them out again",
        Form("now|first|lvf|Time Id…", _enqueue, BIND),
        Form("delete Id…", _dequeue, BIND),
        see="tutorial.md#hold-and-queue",
        about="""\
now: to be minted next. first: before all others. lvf: lowest value first. Time: after so many days or seconds, 30d or
3600s. An identifier that is minted again loses what was bound to it.
""",
        example="""\
$ noid queue 30d 13030/kt154d9
id: 13030/kt154d9
note: 1 identifier queued
$ noid queue delete 13030/kt154d9
id: 13030/kt154d9
note: 1 identifier taken out of the queue
""",
    ),
)
