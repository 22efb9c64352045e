"""Resolving among several minters, for tests that need the outcome alone."""

from __future__ import annotations

from collections.abc import Sequence

from noidtools.resolution import Outcome
from noidtools.resolution.catalogue import MinterEntry, resolve_and_gather


def resolve_among(entries: Sequence[MinterEntry], text: bytes) -> Outcome:
    """What becomes of a name among several minters."""
    return resolve_and_gather(entries, text, lambda reader, outcome: True)[0]
