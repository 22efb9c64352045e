"""Fixtures that all tests share: the noid command in this process, and as a process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
_HERE = Path(__file__).parent
# The examples of the documentation are whole sessions at the shell; the others take long for other reasons.
_SLOW = frozenset(_HERE / path for path in (
    "docs", "cli/test_backup.py", "cli/test_copy.py", "cli/test_interrupted.py", "cli/test_noidr.py",
    "cli/test_program_names.py", "commands/test_check.py", "commands/test_describe.py",
    "commands/test_described_terms.py", "commands/test_export_and_import.py", "commands/test_import_perl.py",
    "commands/test_import_perl_model.py", "commands/test_python_api_concurrency.py", "commands/test_spellings.py",
    "commands/test_state_machine.py", "commands/test_vectors.py", "unit/test_identify.py", "unit/test_linear_time.py",
    "unit/test_links.py", "unit/test_locks.py", "unit/test_namespace.py", "unit/test_ontology_reasoning.py",
    "unit/test_shapes.py", "unit/test_store_contract.py", "web/test_commands.py", "web/test_monitoring.py",
    "web/test_one_transaction.py", "web/test_serve.py", "web/test_slow_clients.py", "web/test_thousand_minters.py",
    "web/test_tokens.py", "web/test_work_limits.py",
))
# The files that take longest begin first, so that no worker is left with one of them at the end; those that mostly wait
# take turns with those that mostly compute, so that no processor idles.
_LONGEST = tuple(_HERE / path for path in (
    "web/test_slow_clients.py", "servers/test_setup.py", "commands/test_spellings.py", "docs/test_docs.py",
    "servers/test_browser_changes.py", "unit/test_linear_time.py", "servers/test_hostile_requests.py",
    "commands/test_describe.py", "unit/test_postgres.py", "commands/test_described_terms.py",
    "servers/test_postgres_cluster.py", "servers/test_commands.py", "servers/test_resolver.py", "unit/test_shapes.py",
    "servers/test_guides.py", "cli/test_transfer_crash.py", "servers/test_schemes.py", "cli/test_crash.py",
    "web/test_restore_served.py", "web/test_serve_processes.py", "cli/test_backup.py", "servers/test_workers.py",
    "servers/test_resolver_processes.py", "servers/test_postgres_standby.py",
))


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
    """Mark the examples of the documentation, which are whole sessions at the shell, as slow; and put the longest
    files and those with slow tests first, so that no worker is left with one of them at the end.  With --engine, leave
    out the tests of other engines."""
    chosen = config.getoption("--engine")
    if chosen:
        left_out = [item for item in items if (mark := item.get_closest_marker("only")) and mark.args[0] != chosen]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    marked = {path: not _SLOW.isdisjoint((path, *path.parents)) for path in {item.path for item in items}}
    slow: set[Path] = set()
    for item in items:
        if marked[item.path]:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") or item.get_closest_marker("servers"):
            slow.add(item.path)
    place = {path: number for number, path in enumerate(_LONGEST)}
    items.sort(key=lambda item: (place.get(item.path, len(place)), item.path not in slow))


def pytest_collection_finish() -> None:
    """Thousands of tests and what they import live to the end: the garbage collector need not look at them again."""
    gc.freeze()


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
