"""A fixture for minters whose labels are made from the time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.minter import Noid, timed_noid


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[Noid]:
    """The noid command with a clock that stands still but for the waiting of commands."""
    made = timed_noid(tmp_path)
    yield made
    made.close()
