"""`noid status` at a terminal: bars and colours, again and again with --watch."""

from __future__ import annotations

import os
import sys
import time

from ..commands.status import lines_of, service_at, statuses
from ..times import SECOND, iso_datetime, system_clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commands import Invocation
    from ..commands.status import MinterStatus, ServiceStatus

_INTERVAL = 2.0
_BAR = 30
_RED, _YELLOW, _GREEN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
_HOME_AND_CLEAR = "\x1b[H\x1b[J"

# Used share of the namespace from which the bar is yellow, and from which it is red; and the same for the age of the
# last backup, in hours.
_USED = (0.75, 0.9)
_BACKUP_HOURS = (24, 48)


def display_status(dbdir: str, invocation: Invocation) -> int:
    """Write the status to standard output; returns the exit status.  With --watch until it is interrupted."""
    invocation.ensure_fits()
    watch = invocation.flag("watch")
    coloured = os.isatty(1) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    while True:
        found = list(statuses(dbdir, invocation.option("minters")))
        service = service_at(invocation.option("url"))
        text = screen(found, system_clock() / SECOND, coloured=coloured, service=service)
        if watch:
            date = iso_datetime(system_clock() // SECOND).decode()
            text = f"{_HOME_AND_CLEAR if coloured else ''}noid status, {date}\n\n{text}"
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:
            return 1  # nobody reads it any more
        if not watch:
            failed = any(status.fault or status.figures.get("canaries_wrong") for status in found)
            return int(failed or (service is not None and bool(service.fault)))
        time.sleep(_INTERVAL)


def screen(found: list[MinterStatus], now: float, *, coloured: bool, service: ServiceStatus | None = None) -> str:
    """The status of minters, and of the service, for a terminal."""
    parts = [_lines(lines_of(status, now), status.figures, now, coloured) for status in found]
    if not found:
        parts.append(["there is no minter"])
    if service is not None:
        parts.append(_lines(service.lines(), {}, now, coloured))
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in parts)


def _lines(labelled: list[tuple[str, str]], figures: dict[str, float], now: float, coloured: bool) -> list[str]:
    def paint(colour: str, text: str) -> str:
        return f"{colour}{text}{_PLAIN}" if coloured and colour else text

    lines = []
    for label, text in labelled:
        if label in ("minter", "service"):
            lines.append(paint(_BOLD, text))
            continue
        colour = _colour(label, figures, now)
        bar = f"{paint(colour, _bar(figures))} " if label == "left" and "left" in figures else ""
        lines.append(f"  {label:<9} {bar}{paint(colour, text)}")
    return lines


def _colour(label: str, figures: dict[str, float], now: float) -> str:
    if label == "error":
        return _RED
    if label == "left" and "left" in figures:
        return _graded(_used(figures), _USED)
    if label == "backup":
        return _graded((now - figures.get("last_backup", 0)) / 3600, _BACKUP_HOURS)
    return ""


def _graded(value: float, bounds: tuple[float, float]) -> str:
    return _RED if value >= bounds[1] else _YELLOW if value >= bounds[0] else _GREEN


def _used(figures: dict[str, float]) -> float:
    return 1 - figures["left"] / max(1, figures["total"])


def _bar(figures: dict[str, float]) -> str:
    filled = round(_BAR * _used(figures))
    return "[" + "#" * filled + "." * (_BAR - filled) + "]"
