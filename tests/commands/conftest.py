"""Minters that several files of tests use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.minter import Noid, timed_noid
from support.templates import CHECKED, LONG_TERM


@pytest.fixture
def minter(tmp_path: Path) -> Iterator[Noid]:
    """A long-term minter with one bound name, 13030/kt4x551."""
    made = Noid.created(tmp_path, *LONG_TERM)
    assert made.mint_with_target("https://a.example/x") == "13030/kt4x551"
    yield made
    made.close()


@pytest.fixture
def free(tmp_path: Path) -> Iterator[Noid]:
    """A minter that binds any text."""
    made = Noid.created(tmp_path)
    yield made
    made.close()


@pytest.fixture
def free_with_clock(tmp_path: Path) -> Iterator[Noid]:
    """A minter that binds any text, with a clock that can be set."""
    made = Noid.with_clock(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ark(tmp_path: Path) -> Iterator[Noid]:
    """A long-term minter; its first identifiers are 13030/f54x54g11, which is bound, and 13030/f5154dn7k."""
    made = Noid.with_clock(tmp_path / "ark", *CHECKED)
    made.mint(2)
    made.records("bind", "set", "13030/f54x54g11", "_t", "https://a.example/")
    yield made
    made.close()


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[Noid]:
    """The noid command with a clock that stands still but for the waiting of commands."""
    made = timed_noid(tmp_path)
    yield made
    made.close()
