"""Commands that change many bindings at once, and the one that takes such a change back."""

from __future__ import annotations

from ..minter.access import ADMIN
from .answers import Answer, Record
from .command import LOGGED, Command, Form, Option
from .records import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..minter import Minter
    from ..minter.bulk_changes import Edit
    from ..transfer.retarget import BulkReport, Retargeting
    from ..transfer.spooled_rows import SpooledRows
    from .call import Call


_CONTINUED = ("note", b"a change that was interrupted was continued")


def _retarget(call: Call) -> Answer:
    from ..resolution import target_element
    from ..transfer.retarget import Retargeting

    minter, element, name = call.minter, call.option("element"), call.option("name")
    change = Retargeting(
        minter, (call.option("from") or "").encode(), (call.option("to") or "").encode(),
        element.encode() if element else minter.read(target_element),
        call.beginning("prefix"))
    if call.flag("dry-run"):
        return Answer(stream=_differences(minter, change), spaced=True)
    report = change.run(call.actor, name=(name or "").encode(), progress=call.session.progress)
    return Answer(stream=_report_records(minter, report, change), spaced=True)


def _differences(minter: Minter, change: Retargeting) -> Iterator[Record]:
    from ..minter.bulk_changes import LeftAlone

    count = 0
    for found in change.preview():
        if isinstance(found, LeftAlone):
            yield _left_record(minter, found.key, found.element, found.reason.encode())
            continue
        count += 1
        yield difference(minter, found)
    yield from _about_rules(change)
    yield Fields(("ok", b"%d binding%b would be changed" % (count, b"" if count == 1 else b"s")))


def difference(minter: Minter, edit: Edit) -> Record:
    """A change as it is printed before it is made."""
    values = [(label, value) for label, value in (("before", edit.before), ("after", edit.after)) if value is not None]
    return Fields(("id", minter.namespace.display(edit.key)), ("element", edit.element), *values)


def _report_records(minter: Minter, report: BulkReport, change: Retargeting) -> Iterator[Record]:
    yield from left_records(minter, report.left)
    if report.continued:
        yield Fields(_CONTINUED)
    yield from _about_rules(change)
    yield from changed_records(report)


def left_records(minter: Minter, left: SpooledRows) -> Iterator[Record]:
    """The bindings that were left as they are."""
    for key, element, reason in left:
        yield _left_record(minter, key, element, reason)


def _left_record(minter: Minter, key: bytes, element: bytes, reason: bytes) -> Record:
    return Fields(("left", b"%b %b: %b" % (minter.namespace.display(key), element, reason)))


def changed_records(report: BulkReport) -> Iterator[Record]:
    """How much was changed, and how to take that back."""
    yield Fields(("ok", b"%d binding%b changed" % (report.changed, b"" if report.changed == 1 else b"s")))
    if report.number:
        yield Fields(("event", b"%d" % report.number))
        yield Fields(("note", b"'noid undo %d' takes it back" % report.number))


def _about_rules(change: Retargeting) -> Iterator[Record]:
    rules = change.rules()
    if rules:
        text = b"1 rule contains that address, too, and is left as it is"
        if rules > 1:
            text = b"%d rules contain that address, too, and are left as they are" % rules
        yield Fields(("note", text))


def _undo(call: Call) -> Answer:
    from ..transfer.undo import undo

    minter, dry_run = call.minter, call.flag("dry-run")
    report = undo(minter, call.actor, call.words[0], dry_run=dry_run, progress=call.session.progress)

    def records() -> Iterator[Record]:
        yield from left_records(minter, report.left)
        if report.continued and not dry_run:
            yield Fields(_CONTINUED)
        what = b"would be taken back" if dry_run else b"taken back"
        fields = [("ok", b"%d change%b %b" % (report.changed, b"" if report.changed == 1 else b"s", what))]
        if report.left:
            fields.append(("note", b"%d left as %b" % (
                len(report.left), b"it is" if len(report.left) == 1 else b"they are")))
        if report.number:
            fields.append(("event", b"%d" % report.number))
        yield Fields(*fields)

    return Answer(stream=records(), spaced=True)


_DRY_RUN = Option("--dry-run", "change nothing, but list what would be changed")
COMMANDS = (
    Command(
        "retarget", "put another address in the place of one with which many targets begin",
        Form("--from Address --to Address [--prefix Prefix] [--element Element] [--name Name]", _retarget, ADMIN,
             streams=True, interrupted=LOGGED),
        Form("--from Address --to Address [--prefix Prefix] [--element Element] --dry-run", _retarget, ADMIN,
             writes=False, streams=True),
        options=(
            Option("--from Address", "what the targets begin with now"),
            Option("--to Address", "what they begin with afterwards"),
            Option("--prefix Prefix", "only under identifiers that begin with this, in any spelling of names"),
            Option("--element Element", "the element that holds the targets, in place of the minter's own choice"),
            Option("--name Name", "a name for the event, by which undo finds it"),
            _DRY_RUN,
        ),
        see="moving.md#our-repository-got-a-new-address",
        about="""\
All changes are one event, which undo takes back. They are made in many small transactions, so that others can write
meanwhile. If the command is interrupted, the same command goes on where it ended. An address that ends in the name of a
host only applies to that host. Identifiers that were withdrawn or have a pepper are left as they are, and listed.
""",
        example="""\
$ noid retarget --from https://example.org/ --to https://new.example.org/ | grep ok
ok: … changed
""",
    ),
    Command(
        "undo", "take back the changes of bindings that an event made",
        Form("Event", _undo, ADMIN, streams=True, interrupted=LOGGED),
        Form("Event --dry-run", _undo, ADMIN, writes=False, streams=True),
        options=(_DRY_RUN,), see="moving.md#take-it-back",
        about="""\
Event is the number of the event, as log prints it, or its name. Every binding that it changed gets the value it had
before, unless it was changed since: those are left as they are, and listed. Only changes of bindings can be taken back:
those of bind, retarget, rebind and import, and those of undo itself. If the command is interrupted, the same command
goes on, and all of it is one event. Of an import that did not come to its end, the names are forgotten, too.
""",
        example="""\
$ noid bind set 13030/kt4x551 title Tilte > /dev/null
$ noid undo $(noid log | sed -n 's/^event: //p' | tail -1) | grep ok
ok: 1 change taken back
""",
    ),
)
