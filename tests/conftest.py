"""Fixtures that all tests share: the noid command in this process, and as a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from noidtools.store import ADDRESS_VARIABLE
from support.minter import Noid
from support.postgres import postgres_address
from support.process import NOID, NoidProcess
from support.project import ROOT

__all__ = ["NOID", "ROOT"]

# The programs under test are those of this tree, whatever may be installed besides.
os.environ["PYTHONPATH"] = str(ROOT)
# Hundreds of processes would compile them anew, and each run the tests, where the environment forbids to keep that.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A test that wants more examples says so.
settings.register_profile("every run", max_examples=40, deadline=None)
settings.load_profile("every run")

ENGINES = {"lmdb": "lmdb", "postgres": pytest.param("postgres", marks=pytest.mark.servers)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=list(ENGINES), help="run all tests with this engine of the store: minters are "
                     "created in it unless a test says otherwise, and tests of another engine are left out")


def pytest_configure(config: pytest.Config) -> None:
    distributes = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if config.getoption("--engine") == "postgres" and not distributes:
        os.environ[ADDRESS_VARIABLE] = postgres_address()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that use the fixture `engine` run with each engine, unless their file has a fixture of that name."""
    named = [name for mark in metafunc.definition.iter_markers("parametrize") for name in mark.args[0]]
    if "engine" in metafunc.fixturenames and not hasattr(metafunc.module, "engine") and "engine" not in named:
        chosen = metafunc.config.getoption("--engine")
        metafunc.parametrize("engine", [ENGINES[chosen]] if chosen else list(ENGINES.values()), indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files with slow tests first, so that no worker is left with one of them at the end.  With --engine, leave
    out the tests of other engines."""
    chosen = config.getoption("--engine")
    if chosen:
        left_out = [item for item in items if (mark := item.get_closest_marker("only")) and mark.args[0] != chosen]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("servers")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine in which the test, and processes that it starts, create minters."""
    name: str = request.param
    if name == "postgres":
        monkeypatch.setenv(ADDRESS_VARIABLE, postgres_address())
    else:
        monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    return name


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
