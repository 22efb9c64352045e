"""The command that examines a minter's database."""

from __future__ import annotations

from ..errors import ForbiddenError
from ..minter.access import ADMIN, READ
from .answers import Answer
from .command import Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..minter.check.examination import Result
    from ..store import Reader
    from .answers import Record
    from .call import Call

_NOTE = b"canaries have a command of their own, canary; check resolves them only until the next release"


def _check(call: Call) -> Answer:
    """Examine the database, after the canaries if there are any, as releases before did with this word."""
    from ..minter import config
    from ..resolution import CANARY

    shell = call.actor.interface == b"shell"
    canaries = call.minter.read(lambda reader: config.values(reader, CANARY))
    records: list[Record] = []
    failed = False
    if canaries or not shell:
        answer = _check_canaries(call)
        records, failed = list(answer.records), answer.failed
    if not shell:
        return Answer(*records, spaced=True, failed=failed)
    result = _examined(call)
    records += [Fields(("error", _sentence(fault.sentence))) for fault in result.faults]
    mendable = sum(fault.mend is not None for fault in result.faults)
    if mendable:
        records.append(Fields(("note", b"%d of these can be mended with 'noid check --repair'" % mendable)))
    records += call.minter.read(_open_events)
    return Answer(*records, _summary(result), spaced=True, failed=failed or bool(result.faults))


def _open_events(reader: Reader) -> list[Record]:
    from ..minter.bulk_changes import open_events

    return [Fields(("note", b"event %d (%b) has not come to its end: unless its command runs now, say the same again "
                    b"to go on, or 'noid undo %d' to take it back" % (event.number, event.verb, event.number)))
            for event in open_events(reader)]


def _repair(call: Call) -> Answer:
    """Examine the database and mend what can be mended, again and again as long as that finds more."""
    from ..minter.check import repair

    if call.actor.interface != b"shell":
        raise ForbiddenError("--repair may take long, so it can only be used at the shell")
    records: list[Record] = []
    while True:
        result = _examined(call)
        mended = repair(call.minter, call.actor, result)
        records += [Fields(("mended", _sentence(fault.sentence))) for fault in mended]
        if not mended:
            break
    records += [Fields(("error", _sentence(fault.sentence))) for fault in result.faults]
    return Answer(*records, _summary(result), spaced=True, failed=bool(result.faults))


def _check_canaries(call: Call) -> Answer:
    from .resolver import check_canaries

    answer = check_canaries(call)
    return Answer(*answer.records, Fields(("note", _NOTE)), spaced=True, failed=answer.failed)


def _examined(call: Call) -> Result:
    from ..minter.check import examine

    progress = call.session.progress
    try:
        return examine(call.minter, progress)
    finally:
        if progress is not None:
            progress(1, 1, "")


def _summary(result: Result) -> Fields:
    found = len(result.faults) + result.more
    if not found:
        return Fields(("ok", b"%d items examined, nothing is wrong" % result.items))
    more = b", of which the first %d are listed" % len(result.faults) if result.more else b""
    return Fields(("faults", b"%d in %d items%b" % (found, result.items, more)))


def _sentence(sentence: str) -> bytes:
    return sentence.encode("utf-8", "surrogateescape")


COMMANDS = (
    Command(
        "check", "whether the database is sound, and mend it",
        Form("", _check, READ, streams=True, too_many="names to check are set with resolver canary Name Target"),
        Form("--repair", _repair, ADMIN, streams=True),
        Form("--through Url", _check_canaries, READ),
        options=(
            Option("--repair", "mend what can be mended without a guess; for the shell only"),
            Option("--through Url", "the command canary of earlier releases"),
        ),
        see="operations.md#check-the-database", fails="something is wrong, and not mended",
        about="""\
Reads the whole database as it is at one moment, while others go on using it, and compares: every value can be unpacked,
every index agrees with what it is an index of, counters with circulation records, the queue with its index, each event
with the identifiers that it minted or changed, and every reference leads somewhere. What is wrong is told in a sentence
each. --repair mends what follows from other records, and leaves the rest.

In 0.1.0 check was the name of the command canary. It still resolves the canaries, with a note, if there are any; on the
web it does that alone.
""",
        example="""\
$ noid check | tail -2
ok: … items examined, nothing is wrong

""",
    ),
)
