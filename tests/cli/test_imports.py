"""A process imports only what it uses, because the shell and CGI start one for each command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noidtools.commands import bulk, idempotency
from noidtools.web import commands
from support.process import NOID, run_script
from support.project import PROGRAMS


def imported_modules(stderr: bytes) -> set[str]:
    """The modules named by the interpreter's option -X importtime."""
    return {line.rpartition("|")[2].strip() for line in stderr.decode().splitlines() if "|" in line}


def modules_of_a_bare_interpreter() -> set[str]:
    done = subprocess.run([NOID[0], "-X", "importtime", "-c", "pass"], capture_output=True, check=True)
    return imported_modules(done.stderr)


@pytest.mark.only("lmdb")
def test_minting_at_the_shell_imports_nothing_slow(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "a", "b")
    done = subprocess.run([NOID[0], "-X", "importtime", NOID[1], "mint", "1"], cwd=noid.folder, capture_output=True,
                          check=True)
    slow = {"re", "typing", "dataclasses", "enum", "json", "datetime", "argparse", "asyncio", "hashlib", "logging",
            "pathlib", "http", "urllib", "pcre2", "flup", "granian", "rdflib"}
    assert not (imported_modules(done.stderr) - modules_of_a_bare_interpreter()) & slow


@pytest.mark.only("lmdb")
def test_minting_by_cgi_imports_nothing_slow(noid, tmp_path: Path):
    (tmp_path / "kt5").mkdir()
    noid("-f", "kt5", "dbcreate", "kt.reeded")
    link = tmp_path / "noidu_kt5"
    link.symlink_to(PROGRAMS / "noidu")
    request = {"REQUEST_METHOD": "GET", "QUERY_STRING": "mint+1", "SCRIPT_NAME": "/nd/noidu_kt5",
               "REMOTE_ADDR": "192.0.2.7", "REMOTE_USER": "alice"}
    done = subprocess.run([sys.executable, "-X", "importtime", link], capture_output=True, check=True, cwd=tmp_path,
                          env=os.environ | request)
    slow = {"re", "typing", "json", "datetime", "argparse", "asyncio", "logging", "tempfile", "wsgiref", "enum",
            "dataclasses", "hashlib", "pathlib", "socket", "selectors", "http", "urllib", "email", bulk.__name__,
            idempotency.__name__}
    imported = imported_modules(done.stderr)
    assert b"\nid: kt" in done.stdout and commands.__name__ in imported
    assert not slow & imported


def test_resolving_at_the_shell_imports_nothing_of_the_web():
    assert run_script("modules_for_resolving", options=("-S",)) == "\n"


def test_names_import_nothing_slow():
    expected = {"__future__", "struct", "_struct", "noidtools.codec"}
    assert set(run_script("modules_for_names", options=("-S",)).split()) <= expected


def test_rules_import_their_engine_when_a_pattern_is_compiled():
    assert run_script("modules_for_rules", options=("-S",)) == "\n"


def test_rdflib_is_imported_only_when_a_description_is_made():
    assert run_script("modules_for_description") == "\n"
