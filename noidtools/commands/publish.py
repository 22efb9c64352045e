"""Commands about the life of identifiers: reserved, published, withdrawn."""

from __future__ import annotations

from ..errors import UsageError
from ..minter import lifecycle
from .answers import Answer, Fields
from .session import take_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Record
    from .session import Call



def publish(call: Call) -> Answer:
    given = call.need(1, None, "publish Id…")
    minter = call.minter
    return _state_answer(call, minter.write(lambda writer: lifecycle.publish(minter, writer, call.actor, given)))


def reserve(call: Call) -> Answer:
    given = call.need(1, None, "reserve Id…")
    minter = call.minter
    return _state_answer(call, minter.write(lambda writer: lifecycle.reserve(minter, writer, call.actor, given)))


def _state_answer(call: Call, moves: list[lifecycle.StateChange]) -> Answer:
    records: list[Record] = []
    for move in moves:
        shown = call.minter.shown(move.identifier)
        records.append(Fields(("id", shown), ("State", move.after.encode())))
        if move.unqueued:
            records.append(Fields(("note", shown + b" taken out of the queue")))
    return Answer(*records, spaced=True)


def withdraw(call: Call) -> Answer:
    options, words = take_options(call.args, ("reason", "successor"))
    if len(words) != 1:
        raise UsageError("withdraw takes one identifier: say withdraw Id [--reason Text] [--successor Name]")
    reason, successor = (options[name][-1].encode() if name in options else None for name in ("reason", "successor"))
    minter = call.minter
    own, stone = minter.write(
        lambda writer: lifecycle.withdraw(minter, writer, call.actor, words[0], reason, successor)
    )
    fields = [("id", own.shown), ("State", lifecycle.WITHDRAWN_STATE.encode()), ("Withdrawn", stone.date),
              ("Reason", stone.reason), ("Successor", stone.successor)]
    return Answer(Fields(*((name, value) for name, value in fields if value)), spaced=True)
