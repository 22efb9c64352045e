"""An export reads in one transaction and does everything else after it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from noidtools.resolution import maps as module
from noidtools.resolution.maps import export
from support.minter import Noid
from support.process import NOID
from support.project import ROOT


@pytest.fixture
def free(tmp_path):
    minter = Noid.created(tmp_path / "m")
    yield minter
    minter.close()


@pytest.mark.parametrize("form", ["txt", "nginx", pytest.param("dbm", marks=pytest.mark.servers)])
def test_files_are_written_and_the_tool_runs_outside_the_transaction(free, tmp_path, monkeypatch, form):
    free.set_target("13030/a", "https://a.example/")
    transactions, outside = [], []
    read, replace, run = free.opened.read, os.replace, subprocess.run

    def reading(work):
        transactions.append("open")
        try:
            return read(work)
        finally:
            transactions.remove("open")

    def recorded(what, call):
        def wrapper(*words, **options):
            outside.append((what, list(transactions)))
            return call(*words, **options)
        return wrapper

    monkeypatch.setattr(free.opened, "read", reading)
    monkeypatch.setattr(module.os, "replace", recorded("replace", replace))
    monkeypatch.setattr(module.subprocess, "run", recorded("run", run))
    assert export(free.opened, form, str(tmp_path / "map")) == (1, 0)
    assert outside == ([("run", [])] if form == "dbm" else []) + [("replace", [])]


@pytest.mark.only("lmdb")
def test_a_map_shows_one_moment(free, tmp_path, monkeypatch):
    """What is bound while the rows are read is not in the map; what is bound before it is written neither."""
    for number in range(3):
        free.set_target(f"13030/{number}", "https://a.example/")
    rows = module._rows

    def interrupted(minter, reader, element):
        for place, row in enumerate(rows(minter, reader, element)):
            yield row
            if not place:
                done = subprocess.run([*NOID, "-f", str(free.folder), "bind", "set", "13030/9", "_t",
                                       "https://late.example/"], capture_output=True, check=False)
                assert done.returncode == 0, done.stderr

    monkeypatch.setattr(module, "_rows", interrupted)
    assert export(free.opened, "txt", str(tmp_path / "map")) == (3, 0)
    assert "late" not in (tmp_path / "map").read_text()
    monkeypatch.undo()
    assert export(free.opened, "txt", str(tmp_path / "map")) == (4, 0)


@pytest.mark.only("lmdb")
def test_an_export_for_which_the_disk_has_no_room_is_refused_with_the_remedy(free, tmp_path):
    (tmp_path / "table.csv").write_text("id,e\n" + "".join(f"n{n},{'x' * 1000}\n" for n in range(8_000)))
    free.records("import", "csv", str(tmp_path / "table.csv"))
    free.close()
    code = ("import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
            "from noidtools.cli.noid import main\nsys.exit(main(['noid', *sys.argv[1:]]))\n")
    done = subprocess.run([sys.executable, "-c", code, "-f", str(free.folder), "export", "csv"], cwd=ROOT,
                          capture_output=True, check=False)
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.startswith(b"error: no temporary file could be written (") and b"TMPDIR" in done.stderr
