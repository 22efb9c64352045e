"""Every command of the README is run as printed, and gives what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import NOID, ROOT


def examples() -> list[tuple[str, str]]:
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def test_the_examples_give_what_they_show(tmp_path: Path):
    programs = tmp_path / "bin"
    programs.mkdir()
    noid = programs / "noid"
    noid.write_text(f'#!/bin/sh\nexec {sys.executable} {NOID[1]} "$@"\n')
    noid.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("NOID", None)
    folder = tmp_path / "work"
    folder.mkdir()
    shown = examples()
    assert len(shown) > 15
    for command, expected in shown:
        output, folder = run(command, folder, environment)
        pattern = re.escape(expected).replace("…", ".*")
        assert re.fullmatch(pattern, output), f"$ {command}\n{output}\n--- expected\n{expected}"


def run(command: str, folder: Path, environment: dict[str, str]) -> tuple[str, Path]:
    """The command's output, and the folder in which it left the shell."""
    script = f"{command}\npwd > \"$WHERE\""
    where = folder / ".where"
    done = subprocess.run(["sh", "-c", script], cwd=folder, env={**environment, "WHERE": str(where)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    left = Path(where.read_text().strip())
    where.unlink()
    return done.stdout, left
