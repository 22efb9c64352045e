"""Questions to systemd."""

from __future__ import annotations

import subprocess


def is_active(unit: str) -> bool:
    """Whether a unit runs or listens, as far as systemd knows; False where there is no systemd."""
    return _printed("systemctl", "is-active", unit) == "active"


def clock_is_synchronized() -> bool | None:
    """Whether the clock is set by the network; None where that is not known."""
    return {"yes": True, "no": False}.get(_printed("timedatectl", "show", "--property=NTPSynchronized", "--value"))


def _printed(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
