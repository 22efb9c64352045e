"""The configurations in conf/, edited in their marked lines as an administrator would edit them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from noidtools.deployment import marked


def edited(path: Path, changes: Mapping[str, object]) -> str:
    """A shipped configuration with words changed in its marked lines; each word must be in one of them."""
    return marked.edited(path.read_text(encoding="utf-8"), {old: str(new) for old, new in changes.items()})
