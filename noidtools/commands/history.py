"""Commands that list events: of one identifier, and of the whole minter."""

from __future__ import annotations

import os

from .. import dates
from ..codec import encode_text
from ..description.conversion import ValueDigest, history_event, timestamp_text
from ..errors import ForbiddenError, UsageError
from ..minter.events import newest_number
from ..minter.history import archive, follow, history_of, stream
from ..minter.policies import ADMIN, READ
from .answers import Answer, Fields, JsonLines, Record, counted, json_ready
from .command import Command, Form, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..description.conversion import ChangedValue, HistoryEvent
    from ..minter import Minter
    from ..minter.events import Event
    from .answers import Line
    from .call import Call

# A word with fewer digits is the number of an event, not a date.
_DATE_DIGITS = 14

# A number with this many digits may have been meant as a year, a month or a day.
_DIGITS_OF_DATES = (4, 6, 8)
_BLANK = (b"", b"", 0)


class EventRecord(Record):
    """One event, as labelled lines with an empty one at the end."""

    __slots__ = ("event",)

    def __init__(self, event: HistoryEvent) -> None:
        self.event = event

    def lines(self) -> Iterable[Line]:
        # Indented, a line of a value cannot be mistaken for a label.
        return [(label, encode_text(value).replace(b"\n", b"\n "), 0) for label, value in self._labelled()] + [_BLANK]

    def _labelled(self) -> Iterator[tuple[bytes, str]]:
        event = self.event
        yield b"event", str(event.number)
        yield b"date", timestamp_text(event.date)
        if event.who:  # else this user may not see it
            yield b"who", event.who
        yield b"interface", event.interface
        yield b"what", event.action
        for identifier in event.identifiers:
            yield b"id", identifier
        if event.minted:
            made, requested = event.minted.made, event.minted.requested
            yield b"made", str(made) if made == requested else f"{made} of {requested}"
            yield b"first", event.minted.first
            yield b"last", event.minted.last
        if event.bindings is not None:
            yield b"bindings", str(event.bindings)
        of = None
        for change in event.changes:
            if change.identifier not in (None, of) and len(event.identifiers) > 1:
                of = change.identifier
                yield b"of", of
            yield b"element" if change.is_element else b"change", change.what
            for label, value in ((b"before", change.before), (b"after", change.after)):
                if value is not None:
                    yield label, value if isinstance(value, str) else f"{value.size} bytes, sha256 {value.sha256}"
        for detail in event.details:
            yield b"detail", detail

    def data(self) -> list[dict[str, object]]:
        event = self.event
        facts: dict[str, object] = {
            "event": event.number, "date": timestamp_text(event.date), **({"who": event.who} if event.who else {}),
            "interface": event.interface, "what": event.action, "ids": list(event.identifiers),
        }
        if event.minted:
            facts |= {"made": event.minted.made, "asked": event.minted.requested, "first": event.minted.first,
                      "last": event.minted.last}
        if event.bindings is not None:
            facts["bindings"] = event.bindings
        facts["changes"] = [_change_data(change) for change in event.changes]
        if event.details:
            facts["details"] = list(event.details)
        return [facts]


def _change_data(change: ChangedValue) -> dict[str, object]:
    facts: dict[str, object] = {"id": change.identifier} if change.identifier else {}
    facts["element" if change.is_element else "what"] = change.what
    return {**facts, "before": _value_data(change.before), "after": _value_data(change.after)}


def _value_data(value: str | ValueDigest | None) -> object:
    return {"size": value.size, "sha256": value.sha256} if isinstance(value, ValueDigest) else value


def _history(call: Call) -> Answer:
    return Answer(*(_event_record(call, event) for event in call.look(history_of, call.words[0])))


def _event_record(call: Call, event: Event) -> Record:
    record = EventRecord(history_event(call.minter, event))
    return JsonLines(record) if call.flag("json") else record


def _log(call: Call) -> Answer:
    start = call.option("since")
    after, since = (0, b"") if start is None else _since(start)
    minter = call.minter
    newest = minter.read(newest_number)
    if after > newest and len(str(after)) in _DIGITS_OF_DATES:
        raise UsageError(f"there are {newest} events, none after number {after}: a date is written 2026-11-16")
    follows = call.flag("follow")
    if follows and call.actor.interface != b"shell":
        raise UsageError("--follow is for the shell: ask again with --since and the number of the last event you have")

    def records() -> Iterator[Record]:
        events = (follow(minter, call.actor.clock, after=after, since=since) if follows
                  else stream(minter, after=after, since=since))
        for event in events:
            yield _event_record(call, event)

    return Answer(stream=records())


def _since(text: str) -> tuple[int, bytes]:
    """The value of --since: the number of an event after which to begin, and the date; one of them is 0 or empty."""
    if text.isdigit() and text.isascii() and len(text) < _DATE_DIGITS:
        return min(int(text), (1 << 40) - 1), b""
    return 0, dates.first_second(text)


def _archive(call: Call) -> Answer:
    if not call.session.local:
        raise ForbiddenError("--archive writes a file of the server: it is for the shell, not for the web")
    minter = call.minter
    count, freed = archive(minter, call.actor, dates.first_second(call.option("archive") or ""),
                           os.fsdecode(call.words[0]), lambda event: _json_facts(minter, event))
    fields = [("ok", b"%b moved to %b" % (counted(count, b"event"), call.words[0])),
              ("freed", b"%d bytes" % freed)]
    return Answer(Fields(*fields), spaced=True)


def _json_facts(minter: Minter, event: Event) -> dict[str, object]:
    facts = json_ready(EventRecord(history_event(minter, event)).data()[0])
    assert isinstance(facts, dict)
    return facts


_JSON = Option("--json", "one JSON object a line for each event")
COMMANDS = (
    Command(
        "history", "show every change to an identifier",
        Form("Id [--json]", _history, READ), options=(_JSON,),
        also=("log", "undo"), see="lifecycle-and-history.md#the-record-of-changes",
        about="""\
Each event has its date, who did it, and what was there before and after. Id may also be a rule, :idmap/PATTERN.
""",
        example="""\
$ noid bind set 13030/kt4x551 who 'Charles Darwin' > /dev/null
$ noid history 13030/kt4x551 | tail -n 4 | grep -E 'before|after'
before: Darwin
after: Charles Darwin
""",
    ),
    Command(
        "log", "show every change to the minter",
        Form("[--since Date|Number] [--follow] [--json]", _log, ADMIN, writes=False, streams=True),
        Form("--archive Before File", _archive, ADMIN, batches=False, shell_only=True),
        options=(
            Option("--archive Before", "move the details of older events to a file, where history and log still find "
                   "them; at the shell only"),
            Option("--since Date|Number", "only events from this date on, or after this number"),
            Option("--follow", "wait for more; at the shell only"),
            _JSON,
        ),
        also=("history", "undo"), see="lifecycle-and-history.md#the-record-of-changes",
        about="""\
--archive makes the database smaller: it moves the details of events before a date to File, which must not exist yet,
and keeps their date, actor and command. File has one JSON object per line and event, as --json prints them; history and
log look for it where it was made, and in Dbdir. Events of minting, changes of state, what undo can reverse, and events
of a hundred bytes or less are kept whole. The space is used for what comes next, and the next backup is smaller.
""",
        example="""\
$ noid log | grep -E 'event|what' | sed -n 1,4p
event: 1
what: dbcreate
event: 2
what: mint
""",
    ),
)
