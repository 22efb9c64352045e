"""The overview: minters and how full they are, what is minted and resolved a day, and what needs attention."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timezone

from ...errors import NoidError
from ...minter import Minter
from ...minter.report import backup_warning, minter_figures
from ...resolution.settings import wrong_canaries
from ...search.index import changes_behind
from ...statistics import DailyFigures, Usage
from ..access import MinterAccess
from ..response import Response
from . import drawing
from .links import REPORT, number_broken
from .login import ensure_may_read
from .visit import Visit, link

# The part of a namespace that must be left, or its end is announced.
_LITTLE_LEFT = 0.1
# How far a replica, in seconds, and the search index, in changes, may be behind.
_REPLICA_LAG = 10
_INDEX_LAG = 10_000
_figures = DailyFigures(drawing.DAYS)


@dataclass(frozen=True, slots=True)
class MinterRow:
    """A minter in the table.

    total        None where there is no end
    last_backup  None if none is known, and for those who may only read
    """

    name: str
    begins: str
    minted: int
    total: int | None
    used: float
    held: int
    queued: int
    last_backup: datetime | None
    may_mint: bool
    may_change: bool


def show(visit: Visit) -> Response:
    """The page."""
    rows: list[MinterRow] = []
    alerts: list[tuple[str, str, str]] = []
    use: list[Usage] = []
    for access in visit.each_readable():
        figures = minter_figures(access.minter)
        row = _row(access, figures)
        rows.append(row)
        if row.may_change:
            alerts += [(row.name, sentence, "") for sentence in _alerts(access.minter, row, figures)]
        broken = number_broken(access) if access.may_give(*REPORT) else 0
        if broken:
            alerts.append((row.name, f"has {broken:,} {'target that is' if broken == 1 else 'targets that are'} broken",
                           link("links", minter=row.name)))
        if access.may_give("stats"):
            with suppress(NoidError):  # the figures are no reason to show nothing
                use.append(_figures.of(access.minter))
    ensure_may_read(visit)
    return visit.page("overview", rows=rows, alerts=alerts, minted=_chart(use, "minted"),
                      resolved=_chart([one for one in use if one.counted], "resolved"))


def _chart(use: list[Usage], what: str) -> drawing.Chart | None:
    """The days of several minters together; None without any."""
    if not use:
        return None
    counts: dict[date, int] = {}
    for one in use:
        for day in one.days:
            counts[day.day] = counts.get(day.day, 0) + getattr(day, what)
    return drawing.chart(counts)


def _row(access: MinterAccess, figures: dict[str, float]) -> MinterRow:
    may_change = access.may_change
    total = int(figures["total"]) if "total" in figures else None
    left = int(figures.get("left", 0))
    backup = figures.get("last_backup") if may_change else None
    return MinterRow(
        access.name, access.begins, int(figures["drawn"]), total, (total - left) / total if total else 0.0,
        int(figures["held"]), int(figures["queued"]),
        None if backup is None else datetime.fromtimestamp(backup, timezone.utc),
        access.may_give("mint", "1"), may_change)


def _alerts(minter: Minter, row: MinterRow, figures: dict[str, float]) -> Iterator[str]:
    """What an administrator should do something about, in sentences."""
    if row.total is not None:
        left = figures.get("left", 0)
        if left < 1:
            yield "has no identifiers left: create another minter"
        elif left < _LITTLE_LEFT * row.total:
            yield f"is nearly full: {left:,.0f} of {row.total:,} identifiers are left"
    backup = backup_warning("it", figures.get("last_backup"), time.time())
    if backup:
        yield f"may be lost: {backup}"
    lag = figures.get("replica_lag_seconds", 0)
    if lag > _REPLICA_LAG:
        yield f"is {lag:,.0f} seconds behind at the replica: names may lead where they led before"
    behind = changes_behind(minter)
    if behind > _INDEX_LAG:
        yield f"has a search index that is {behind:,} changes behind: the next search brings it up to date"
    wrong = wrong_canaries(minter)
    if wrong:
        yield f"resolves {len(wrong)} of the names that are checked wrongly: {', '.join(wrong[:3])}"
