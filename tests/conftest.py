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
_HERE = Path(__file__).parent
_DOCUMENTATION = (_HERE / "docs", _HERE / "test_readme.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The examples of the documentation are whole sessions at the shell: the fast run leaves them out."""
    for item in items:
        if any(path in (item.path, *item.path.parents) for path in _DOCUMENTATION):
            item.add_marker(pytest.mark.slow)


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
