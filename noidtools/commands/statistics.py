"""The command stats: how many names were minted and how often they were resolved, day by day."""

from __future__ import annotations

import csv
import io
import json

from .. import statistics
from ..codec import encode_text
from ..minter.identifiers import identify
from ..minter.policies import ADMIN
from .answers import Answer, Fields, FileChunk, PreparedRecord
from .command import Command, Form, Option, as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..statistics import Usage, UsageDay
    from .answers import Record
    from .call import Call

_TOP = b"10"
_NOT_COUNTED = b"resolutions are not counted here: 'noid resolver statistics on' begins to count them"


def _stats(call: Call) -> Answer:
    first, last = statistics.period(call.start("since"), call.end("until"), call.actor.now())
    name, top = None, as_count((call.option("top") or _TOP.decode()).encode())
    if call.words:
        name, top = call.look(identify, call.words[0]).key, 0
    found = statistics.usage(call.minter, first, last, name=name, top=top)
    if call.flag("json"):
        return Answer(FileChunk(json.dumps(_data(found)).encode() + b"\n"))
    if call.flag("csv"):
        rows = found.names if call.flag("top") else [_row(day) for day in found.days]
        return _csv(("id", "resolved") if call.flag("top") else ("day", "minted", "resolved"), rows)
    return Answer(*_records(found), spaced=True)


def _row(day: UsageDay) -> tuple[str, int, int]:
    return day.day.isoformat(), day.minted, day.resolved


def _csv(columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Answer:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([columns, *rows])
    return Answer(FileChunk(encode_text(text.getvalue())),
                  media_type="text/csv; charset=utf-8", file_name="stats.csv")


def _data(found: Usage) -> dict[str, object]:
    return {"minted": found.minted, "resolved": found.resolved, "counted": found.counted,
            "days": [{"day": day, "minted": minted, "resolved": resolved}
                     for day, minted, resolved in map(_row, found.days)],
            "names": [{"id": name, "resolved": count} for name, count in found.names]}


def _records(found: Usage) -> list[Record]:
    days, names = found.days, found.names
    records: list[Record] = [Fields(
        ("From", days[0].day.isoformat()), ("Until", days[-1].day.isoformat()),
        ("Minted", b"%d" % found.minted), ("Resolved", b"%d" % found.resolved))]
    for day, minted, resolved in map(_row, days):
        if minted or resolved:
            text = f"{day} {minted} minted, {resolved} resolved".encode()
            records.append(PreparedRecord([(b"day", text, 0)], [{"day": day, "minted": minted, "resolved": resolved}]))
    for name, count in names:
        shown = encode_text(name) or b"(computed names)"
        records.append(PreparedRecord([(b"name", b"%b %d" % (shown, count), 0)], [{"id": name, "resolved": count}]))
    if not found.counted:
        records.append(Fields(("note", _NOT_COUNTED)))
    return records


_PERIOD = "[--since Date] [--until Date]"

COMMANDS = (
    Command(
        "stats", "print how often names were minted and resolved, day by day",
        Form(f"{_PERIOD} [--top N] [--csv] [--json]", _stats, ADMIN, writes=False),
        Form(f"Name {_PERIOD} [--csv] [--json]", _stats, ADMIN, writes=False),
        options=(
            Option("--since Date", "the first day; thirty days before the last, unless given"),
            Option("--until Date", "the last day; today, unless given"),
            Option("--top N", "list N of the names that were resolved most, instead of 10; with --csv these names"),
            Option("--csv", "print a table with a row for each day"),
            Option("--json", "print everything as one line of JSON"),
        ),
        also=("resolver", "status", "log"), see="statistics.md",
        about="""\
What was minted is known from the log. Resolutions are counted where 'noid resolver statistics on' was given: a number
for each name and day in UTC, without addresses or user agents. Days without any are not listed. With a Name, only its
resolutions are.
""",
        example="""\
$ noid stats | grep -E 'Minted|Resolved|note'
Minted: …
Resolved: 0
note: resolutions are not counted here: 'noid resolver statistics on' begins to count them
""",
    ),
)
