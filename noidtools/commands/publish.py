"""Commands that change the state of identifiers: publish, reserve, withdraw."""

from __future__ import annotations

from ..minter import lifecycle
from ..minter.policies import ADMIN, BIND
from .answers import Answer, Fields
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Record
    from .call import Call


def _publish(call: Call) -> Answer:
    minter = call.minter
    return _state_answer(call, minter.write(lambda writer: lifecycle.publish(minter, writer, call.actor, call.words)))


def _reserve(call: Call) -> Answer:
    minter = call.minter
    return _state_answer(call, minter.write(lambda writer: lifecycle.reserve(minter, writer, call.actor, call.words)))


def _state_answer(call: Call, changes: list[lifecycle.StateChange]) -> Answer:
    records: list[Record] = []
    for change in changes:
        name = call.minter.namespace.display(change.identifier)
        records.append(Fields(("id", name), ("State", change.after.encode())))
        if change.unqueued:
            records.append(Fields(("note", name + b" taken out of the queue")))
    return Answer(*records, spaced=True)


def _withdraw(call: Call) -> Answer:
    texts = (call.option("reason"), call.option("successor"))
    reason, successor = (None if text is None else text.encode() for text in texts)
    minter = call.minter
    own, tombstone = minter.write(
        lambda writer: lifecycle.withdraw(minter, writer, call.actor, call.words[0], reason, successor)
    )
    fields = [("id", own.display), ("State", lifecycle.WITHDRAWN_STATE.encode()), ("Withdrawn", tombstone.date),
              ("Reason", tombstone.reason), ("Successor", tombstone.successor)]
    return Answer(Fields(*((label, value) for label, value in fields if value)), spaced=True)


COMMANDS = (
    Command(
        "publish", "let the public resolve identifiers that were reserved",
        Form("Id…", _publish, BIND), see="lifecycle-and-history.md#reserve-and-publish",
        about="""\
There must be something to publish: a name that was minted, or to which something is bound.
""",
        example="""\
$ noid reserve 13030/kt4x551
id: 13030/kt4x551
State: reserved

$ noid publish 13030/kt4x551
id: 13030/kt4x551
State: published

""",
    ),
    Command(
        "reserve", "keep identifiers from the public; a name that was not minted is held as well",
        Form("Id…", _reserve, BIND), see="lifecycle-and-history.md#reserve-and-publish",
        about="""\
A reserved name does not resolve, whatever is bound to it.
""",
    ),
    Command(
        "withdraw", "take an identifier out of use for good",
        Form("Id [--reason Text] [--successor Name]", _withdraw, ADMIN),
        options=(
            Option("--reason Text", "why, for those who ask for the identifier"),
            Option("--successor Name", "what to use instead"),
        ),
        see="lifecycle-and-history.md#withdraw",
        about="""\
Resolvers then show when and why, and what to use instead. What was bound stays, for the record. The name is never
minted again, and cannot be published, reserved, held, queued or bound. A reason and a successor can be given later.
""",
        example="""\
$ noid withdraw 13030/ktwd3s9 --reason 'Given twice by mistake.' --successor 13030/kt4x551
id: 13030/ktwd3s9
State: withdrawn
Withdrawn: …
Reason: Given twice by mistake.
Successor: 13030/kt4x551

""",
    ),
)
