"""Commands that change the state of identifiers: publish, reserve, withdraw; and tombstones of withdrawn ones."""

from __future__ import annotations

from ..minter import lifecycle, tombstones
from ..minter.access import ADMIN, BIND, READ
from .answers import Answer
from .command import Command, Form, Option
from .name_records import tombstone_fields
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.identifiers import NameRef
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
    minter, (reason, successor) = call.minter, _texts(call)
    return _tombstone_answer(*minter.write(
        lambda writer: lifecycle.withdraw(minter, writer, call.actor, call.words[0], reason, successor)
    ))


def _show_tombstone(call: Call) -> Answer:
    minter = call.minter
    return _tombstone_answer(*call.read(lambda reader: tombstones.find_tombstone(minter, reader, call.words[0])))


def _amend_tombstone(call: Call) -> Answer:
    minter, (reason, successor) = call.minter, _texts(call)
    return _tombstone_answer(*minter.write(
        lambda writer: tombstones.amend_tombstone(minter, writer, call.actor, call.words[0], reason, successor)
    ))


def _texts(call: Call) -> tuple[bytes | None, bytes | None]:
    reason, successor = call.option("reason"), call.option("successor")
    return None if reason is None else reason.encode(), None if successor is None else successor.encode()


def _tombstone_answer(own: NameRef, tombstone: tombstones.Tombstone) -> Answer:
    state = ("State", lifecycle.WITHDRAWN_STATE.encode())
    return Answer(Fields(("id", own.display), state, *tombstone_fields(tombstone)), spaced=True)


_TEXT_OPTIONS = (
    Option("--reason Text", "why, for those who ask for the identifier"),
    Option("--successor Name", "what to use instead"),
)
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
        options=_TEXT_OPTIONS, see="lifecycle-and-history.md#withdraw",
        about="""\
The identifier is then no longer registered: its tombstone with the date, the reason and what to use instead is all that
is shown of it. What was bound stays in its history, every further change is refused, and it is never minted again.
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
    Command(
        "tombstone", "what is kept of a withdrawn identifier; correct it",
        Form("Id", _show_tombstone, READ),
        Form("Id [--reason Text] [--successor Name]", _amend_tombstone, ADMIN),
        options=_TEXT_OPTIONS, see="lifecycle-and-history.md#withdraw",
        about="""\
A reason or a successor that is given replaces the one before; an empty one is removed.
""",
        example="""\
$ noid tombstone 13030/ktwd3s9
id: 13030/ktwd3s9
State: withdrawn
Withdrawn: …
Reason: Given twice by mistake.
Successor: 13030/kt4x551

""",
    ),
)
