"""Commands for holding and queueing identifiers, for the state of a name (reserved, published, unavailable,
withdrawn), and for its custodians.
"""

from __future__ import annotations

from ..description.conversion import custody_period, timestamp_text, transition, withdrawal
from ..errors import UsageError
from ..minter import custody, lifecycle
from ..minter.policies import ADMIN, BIND, READ
from ..minter.queue import dequeue, enqueue, place_holds, release_holds
from .answers import Answer, Fields, Ids, Refusals, counted, filled, separated
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..errors import NoidError
    from ..minter import Minter
    from ..minter.identifiers import NameRef
    from ..store import Reader
    from .answers import Record
    from .call import Call


# -- publish, reserve, withdraw, tombstone ---------------------------------------------------------------------------


def _publish(call: Call) -> Answer:
    return _state_answer(call, call.change(lifecycle.publish, call.words))


def _reserve(call: Call) -> Answer:
    return _state_answer(call, call.change(lifecycle.reserve, call.words))


def _state_answer(call: Call, changes: list[lifecycle.StateChange]) -> Answer:
    records: list[Record] = []
    for change in changes:
        done = transition(call.minter, change)
        records.append(Fields(("id", done.identifier), ("State", done.after)))
        if done.unqueued:
            records.append(Fields(("note", f"{done.identifier} taken out of the queue")))
    return Answer(*records, spaced=True)


def _withdraw(call: Call) -> Answer:
    return _tombstone_answer(*call.change(
        lifecycle.withdraw, call.words[0], call.optional_text("reason"), call.optional_text("successor")))


def _make_unavailable(call: Call) -> Answer:
    return _tombstone_answer(*call.change(lifecycle.make_unavailable, call.words[0], call.optional_text("reason")))


def _show_tombstone(call: Call) -> Answer:
    return _tombstone_answer(*call.look(lifecycle.find_tombstone, call.words[0]))


def _amend_tombstone(call: Call) -> Answer:
    return _tombstone_answer(*call.change(
        lifecycle.amend_tombstone, call.words[0], call.optional_text("reason"), call.optional_text("successor")))


def _tombstone_answer(own: NameRef, tombstone: lifecycle.Tombstone) -> Answer:
    gone = withdrawal(own, tombstone)
    label = "Withdrawn" if gone.state == lifecycle.WITHDRAWN_STATE else "Since"
    fields = [("id", gone.identifier), ("State", gone.state), (label, timestamp_text(gone.date)),
              ("Reason", gone.reason), ("Successor", gone.successor)]
    return Answer(filled(fields), spaced=True)


_TEXT_OPTIONS = (
    Option("--reason Text", "why, for those who ask for the identifier"),
    Option("--successor Name", "what to use instead"),
)

_MINTER = "this minter"


# -- custodian -------------------------------------------------------------------------------------------------------


def _show_custodian(call: Call) -> Answer:
    minter, names = call.minter, call.names
    custodians = call.read(lambda reader: custody.current_custodians(minter, reader, _subject(minter, reader, names)))
    return separated(_custodian_fields(call, custodian) for custodian in custodians)


def _custodian_history(call: Call) -> Answer:
    minter, names = call.minter, call.names
    custodians = call.read(lambda reader: custody.custody_history(minter, reader, _subject(minter, reader, names)))
    return Answer(*(_custodian_fields(call, custodian) for custodian in custodians), spaced=True)


def _set_custodian(call: Call) -> Answer:
    minter, (_, who, *names) = call.minter, call.words
    contact, purpose = call.text("contact"), _purpose(call) or b""
    custodian = minter.write(lambda writer: custody.appoint(
        minter, writer, call.actor, who, contact, _subject(minter, writer, names, changing=True), purpose
    ))
    return Answer(_custodian_fields(call, custodian), spaced=True)


def _purpose(call: Call) -> bytes | None:
    """The purpose of a custodian, from --element or --purpose; None if neither is given."""
    element = call.optional_text("element")
    return call.optional_text("purpose") if element is None else custody.element_purpose(element)


def _remove_custodian(call: Call) -> Answer:
    minter, names, purpose = call.minter, call.words[1:], _purpose(call)
    if not names and not purpose:
        raise UsageError("the minter always has a custodian: name the identifier whose own one is to be removed, or "
                         "the purpose of one")
    removed = minter.write(lambda writer: custody.dismiss(
        minter, writer, call.actor, _subject(minter, writer, names, changing=True), purpose
    ))
    period = custody_period(minter, removed)
    return Answer(Fields(("ok", f"{period.name} no longer answers for {period.identifier or _MINTER}")), spaced=True)


def _subject(minter: Minter, reader: Reader, names: list[bytes], *, changing: bool = False) -> bytes:
    return custody.custody_subject(minter, reader, names[0], changing=changing) if names else custody.MINTER


def _custodian_fields(call: Call, custodian: custody.Custodian) -> Fields:
    period = custody_period(call.minter, custodian)
    fields = [("of", period.identifier or _MINTER), ("Custodian", period.name), ("Purpose", period.purpose),
              ("Contact", period.contact), ("From", timestamp_text(period.start)),
              ("Until", timestamp_text(period.until))]
    return filled(fields)


# -- hold and queue --------------------------------------------------------------------------------------------------


def _hold(call: Call) -> Answer:
    placed, unqueued, refused = call.change(place_holds, call.words[1:], partly=True)
    display = call.minter.namespace.display
    notes = [Fields(("note", display(identifier) + b" taken out of the queue")) for identifier in unqueued]
    return _partial_answer(refused, Fields(("ok", counted(placed, b"hold") + b" placed")), *notes, spaced=True)


def _release(call: Call) -> Answer:
    released, refused = call.change(release_holds, call.words[1:], partly=True)
    return _partial_answer(refused, Fields(("ok", counted(released, b"hold") + b" released")), spaced=True)


def _enqueue(call: Call) -> Answer:
    how, *texts = call.words
    ids, refused = call.change(enqueue, how, texts, partly=True)
    return _queue_answer(call, ids, b" queued", refused)


def _dequeue(call: Call) -> Answer:
    ids, refused = call.change(dequeue, call.words[1:], partly=True)
    return _queue_answer(call, ids, b" taken out of the queue", refused)


def _queue_answer(call: Call, ids: list[bytes], done: bytes, refused: list[NoidError]) -> Answer:
    names = [call.minter.namespace.display(identifier) for identifier in ids]
    return _partial_answer(refused, Ids(names), Fields(("note", counted(len(ids), b"identifier") + done)))


def _partial_answer(refused: list[NoidError], *records: Record, spaced: bool = False) -> Answer:
    """The answer with these records, and with an error for each identifier that was refused."""
    errors = [Refusals(refused)] if refused else []
    return Answer(*records, *errors, spaced=spaced, failed=bool(refused))


# -- the commands ----------------------------------------------------------------------------------------------------

COMMANDS = (
    Command(
        "publish", "let the public resolve reserved identifiers",
        Form("Id…", _publish, BIND),
        also=("reserve", "unavailable"), see="lifecycle-and-history.md#reserve-and-publish",
        about="""\
The identifiers must have been minted, or have something bound to them.
""",
        example="""\
$ noid reserve 13030/kt4x551 > /dev/null
$ noid publish 13030/kt4x551
id: 13030/kt4x551
State: published

""",
    ),
    Command(
        "reserve", "hide identifiers from the public until they are published",
        Form("Id…", _reserve, BIND), also=("publish", "hold"), see="lifecycle-and-history.md#reserve-and-publish",
        about="""\
A reserved identifier does not resolve, whatever is bound to it. One that was not minted yet is also put on hold.
""",
        example="""\
$ noid reserve 13030/kt4x551
id: 13030/kt4x551
State: reserved

""",
    ),
    Command(
        "withdraw", "retire an identifier for good",
        Form("Id [--reason Text] [--successor Name]", _withdraw, ADMIN),
        options=_TEXT_OPTIONS, also=("unavailable", "tombstone"), see="lifecycle-and-history.md#withdraw",
        about="""\
From then on only its tombstone is shown: the date, the reason, and what to use instead. This cannot be undone: further
changes are refused, and the identifier is never minted again. What was bound stays in its history.
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
        "unavailable", "take an identifier offline until it is published again",
        Form("Id [--reason Text]", _make_unavailable, BIND),
        options=_TEXT_OPTIONS[:1], also=("publish", "withdraw"), see="lifecycle-and-history.md#make-unavailable",
        about="""\
The name does not resolve until it is published again, and readers are told why. What is bound stays and can be changed.
Run it again to change the reason.
""",
        example="""\
$ noid unavailable 13030/kt4x551 --reason 'The rights are being clarified.'
id: 13030/kt4x551
State: unavailable
Since: …
Reason: The rights are being clarified.

$ noid publish 13030/kt4x551
id: 13030/kt4x551
State: published

""",
    ),
    Command(
        "tombstone", "show or correct what is shown of a withdrawn identifier",
        Form("Id", _show_tombstone, READ),
        Form("Id [--reason Text] [--successor Name]", _amend_tombstone, ADMIN),
        options=_TEXT_OPTIONS, also=("withdraw", "unavailable"), see="lifecycle-and-history.md#withdraw",
        about="""\
A new reason or successor replaces the old one; an empty one removes it.
""",
        example="""\
$ noid withdraw 13030/ktwd3s9 --reason 'Given by mistake.' > /dev/null
$ noid tombstone 13030/ktwd3s9 --reason 'Given twice by mistake.' --successor 13030/kt4x551
id: 13030/ktwd3s9
State: withdrawn
Withdrawn: …
Reason: Given twice by mistake.
Successor: 13030/kt4x551

""",
    ),
    Command(
        "custodian", "show or set who is responsible for names",
        Form("[Id]", _show_custodian, READ),
        Form("show [Id]", _show_custodian, READ),
        Form("history [Id]", _custodian_history, READ),
        Form("set Name [Id] [--contact Contact] [--purpose Text]", _set_custodian, ADMIN),
        Form("set Name Id --element Element [--contact Contact]", _set_custodian, ADMIN),
        Form("remove [Id] [--purpose Text]", _remove_custodian, ADMIN),
        Form("remove Id --element Element", _remove_custodian, ADMIN),
        options=(
            Option("--contact Contact", "how to reach the custodian"),
            Option("--purpose Text", "what the custodian is responsible for; everything else, unless given"),
            Option("--element Element", "responsible for this element of the identifier only"),
        ),
        also=("quality", "verify"), see="lifecycle-and-history.md#custodians",
        about="""\
There may be one custodian for each purpose, and one for everything else. If an identifier has no custodian of its own,
the minter's is responsible; if the minter has none, its naming authority is. A single element may have its own
custodian (--element). For a relation, the authority that states it is responsible.
""",
        example="""\
$ noid custodian set 'Digital Collections' --contact mailto:names@example.org
of: this minter
Custodian: Digital Collections
Contact: mailto:names@example.org
From: …

""",
    ),
    Command(
        "hold", "keep identifiers from being minted, or release them",
        Form("set Id…", _hold, BIND),
        Form("release Id…", _release, BIND),
        also=("queue", "reserve"), see="tutorial.md#hold-and-queue",
        fails="an identifier was refused",
        about="""\
An identifier on hold is neither minted nor queued; placing a hold takes it out of the queue. A long-term minter places
a hold on whatever it mints. An error names each identifier that cannot be held or released; the others are.
""",
        example="""\
$ noid hold release 13030/kt154d9
ok: 1 hold released

""",
    ),
    Command(
        "queue", "line up identifiers to be minted next or later",
        Form("now|first|lvf|Time Id…", _enqueue, BIND),
        Form("delete Id…", _dequeue, BIND),
        also=("hold", "mint"), see="tutorial.md#hold-and-queue",
        fails="an identifier was refused",
        about="""\
now: mint it next. first: before those with a delay. lvf: before all others, lowest value first. Time: after a delay in
days or seconds, as in 30d or 3600s. An identifier that is minted again loses what was bound to it. An error names each
identifier that cannot be queued; the others are.
""",
        example="""\
$ noid hold release 13030/kt154d9
ok: 1 hold released

$ noid queue 30d 13030/kt154d9
id: 13030/kt154d9
note: 1 identifier queued
$ noid queue delete 13030/kt154d9
id: 13030/kt154d9
note: 1 identifier taken out of the queue
""",
    ),
)
