"""Targets that are broken or have moved, and the check of one target now."""

from __future__ import annotations

from datetime import datetime, timezone

from ...codec import encode_text
from ...errors import NoidError
from ...minter.qualities import RETRIEVABLE
from ...verification import Verification
from ...verification.health import last_run
from ...verification.link_report import LinkReport, link_reports, sentence
from ...verification.links import LinkLimits
from ..access import MinterAccess, classes_of
from ..response import Response
from . import identifier
from .visit import Visit

REPORT = ("links", "report")
CHECK = ("verify", "ID", "--links")
# A person waits for it.
_SECONDS = 15.0


def show(visit: Visit) -> Response:
    """What is wrong with the targets of a minter, for each custodian."""
    access = visit.minter(*REPORT)
    checked = last_run(access.minter.dbdir)
    return visit.page("links", access=access, offered=visit.offering(*REPORT), reports=link_reports(access.minter),
                      checked=datetime.fromtimestamp(checked, timezone.utc) if checked else None, sentence=sentence,
                      may_retarget=access.may_give("retarget", "--from", "A", "--to", "B"))


def number_broken(access: MinterAccess) -> int:
    """How many targets of a minter are broken, as far as the report lists them; 0 if that cannot be read."""
    try:
        reports: list[LinkReport] = link_reports(access.minter)
    except NoidError:
        return 0
    return sum(len(report.broken) + report.more for report in reports)


def check(visit: Visit) -> Response:
    """Ask the target of a name now, and show its page with the answer."""
    access, name = visit.named()
    access.ensure("verify", *classes_of(*CHECK))
    limits = LinkLimits(seconds=_SECONDS, pause=0)
    run = Verification(access.minter, access.actor, named=[encode_text(name)], limits=limits)
    found = [finding for results in run.run() for result in results for finding in result.all
             if finding.quality == RETRIEVABLE]
    answer = found[0] if found else None
    return identifier.show(visit, (answer.verdict, answer.detail) if answer else ("unknown", "it has no web address"))
