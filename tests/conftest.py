"""Fixtures that all tests share: the noid command in this process, and as a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.minter import Noid
from support.process import NOID, NoidProcess
from support.project import ROOT

__all__ = ["NOID", "ROOT"]

# The programs under test are those of this tree, whatever may be installed besides.
os.environ["PYTHONPATH"] = str(ROOT)


@pytest.fixture
def noid(tmp_path: Path) -> Iterator[Noid]:
    """The noid command in this process, in an empty folder."""
    made = Noid(tmp_path)
    yield made
    made.close()


@pytest.fixture
def noid_process(tmp_path: Path) -> NoidProcess:
    """The noid command as a process, in the folder of `noid`."""
    return NoidProcess(tmp_path)
