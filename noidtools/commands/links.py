"""The command links: check the targets of all names over time, and report those that are broken or have moved."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from time import monotonic

from ..codec import encode_text
from ..errors import NoidError
from ..minter import Minter
from ..minter.folder import MinterFolder
from ..minter.policies import ADMIN
from ..verification.health import CheckLimits, LinkCheck, last_run
from ..verification.link_report import atom_feed, link_reports, text_lines
from ..verification.links import LinkLimits
from .answers import Answer, Fields, FileChunk, Text
from .command import Command, Form, Option, as_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..verification.health import CheckCount
    from .answers import Record
    from .call import Call

# The options that are numbers, with the least and the most.
_NUMBERS = {"hours": (0.0, 1000.0), "per-host": (1, 10_000_000), "delay": (0.0, 3600.0), "timeout": (0.1, 600.0),
            "parallel": (1, 256)}


def _check(call: Call) -> Answer:
    limits = _limits(call)
    if call.option("minters") is not None:
        return Answer(stream=_check_all(call, limits), spaced=True)
    return Answer(Fields(*_fields(_checked(call, call.minter, limits))), spaced=True)


def _check_all(call: Call, limits: CheckLimits) -> Iterator[Record]:
    """Check the minters of a folder, one after the other; one that fails does not stop the others."""
    minters, ends = MinterFolder(call.option("minters") or ""), monotonic() + limits.hours * 3600
    # Those whose turn was longest ago first, so that a large one cannot take all the time every night.
    for name, dbdir in sorted(minters.dbdirs(), key=lambda both: last_run(both[1])):
        limits.hours = max(0.0, ends - monotonic()) / 3600
        try:
            count = _checked(call, minters.open(dbdir, name), limits)
        except NoidError as error:
            yield Fields(("minter", name), ("error", error.message))
            continue
        yield Fields(("minter", name), *_fields(count))


def _checked(call: Call, minter: Minter, limits: CheckLimits) -> CheckCount:
    return LinkCheck(minter, call.actor, limits, call.session.progress).run()


def _fields(count: CheckCount) -> list[tuple[str, str]]:
    fields = [("Asked", f"{count.asked}"), ("Failing", f"{count.failing}"), ("Moved", f"{count.moved}"),
              ("Broken", f"{count.broken}")]
    if count.postponed:
        fields.append(("note", f"{count.postponed} others are left for the next run"))
    return fields


def _limits(call: Call) -> CheckLimits:
    given = {name: as_number(name, text, *bounds) for name, bounds in _NUMBERS.items()
             if (text := call.option(name)) is not None}
    links = LinkLimits(allow_private=call.flag("allow-private"))
    links.pause, links.seconds = given.get("delay", links.pause), given.get("timeout", links.seconds)
    links.parallel = int(given.get("parallel", links.parallel))
    limits = CheckLimits(links=links)
    limits.hours, limits.per_host = given.get("hours", limits.hours), int(given.get("per-host", limits.per_host))
    return limits


def _report(call: Call) -> Answer:
    reports = link_reports(call.minter, call.option("custodian") or "")
    broken = any(report.broken for report in reports)
    if call.flag("atom"):
        return Answer(FileChunk(atom_feed(call.minter, reports, call.actor.now())), failed=broken,
                      media_type="application/atom+xml; charset=utf-8", file_name="links.atom")
    if call.flag("json"):
        text = json.dumps([asdict(report) for report in reports], default=datetime.isoformat)
        return Answer(FileChunk(encode_text(text) + b"\n"), failed=broken)
    if not reports:
        return Answer(Fields(("ok", "no link is known to be broken or to have moved")), spaced=True)
    texts = ("\n".join(text_lines(report)) for report in reports)
    return Answer(Text("\n\n".join(texts)), spaced=True, failed=broken)


COMMANDS = (
    Command(
        "links", "check the targets of all names over time, and report broken ones",
        Form("check [--hours H] [--per-host N] [--delay S] [--timeout S] [--parallel N] [--allow-private]", _check,
             shell_only=True, interrupted="what was asked so far is stored, and the next run goes on"),
        Form("check --minters Dir [--hours H] [--per-host N] [--delay S] [--timeout S] [--parallel N] "
             "[--allow-private]", _check, shell_only=True,
             interrupted="what was asked so far is stored, and the next run goes on"),
        Form("report [--custodian Name] [--atom] [--json]", _report, ADMIN, writes=False),
        options=(
            Option("--minters Dir", "all minters in the folders of Dir, one after the other"),
            Option("--hours H", "stop after H hours; 6 unless given; the next run continues"),
            Option("--per-host N", "request at most N targets from each host in one run; 5000 unless given"),
            Option("--delay S", "seconds between two requests to one host; 1, unless given"),
            Option("--timeout S", "seconds for one target, redirects included; 20, unless given"),
            Option("--parallel N", "how many hosts to request from at once; 16, unless given"),
            Option("--allow-private", "also request targets in private networks"),
            Option("--custodian Name", "only the links for which this custodian is responsible"),
            Option("--atom", "print the report as an Atom feed"),
            Option("--json", "print the report as JSON"),
        ),
        also=("verify", "retarget", "custodian"), see="statistics.md#links-that-rot",
        fails="report lists a broken link",
        about="""\
check requests the targets of all published names, one at a time from each host, with a pause between. A target that
fails on three different days, without an answer between them, is broken. A run that ends early is continued by the next
one. noid setup installs a timer that runs it every night.

report lists the links that are broken, with the first failure and the last success, and those whose servers say that
they have moved for good, with the command that changes the target. There is one report for each custodian.
""",
        example="""\
$ noid links report
ok: no link is known to be broken or to have moved

""",
    ),
)
