"""Shells complete commands, forms and options by the scripts that noid prints, and the manual page is well formed."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from noidtools.commands import all_commands
from support.process import NoidProcess

pytestmark = pytest.mark.servers

# What is typed, and what the shell offers for it; "…" where there is more.
TYPED = [
    ("noid peppe", ["peppermint"]),
    ("noid hold ", ["release", "set"]),
    ("noid import --on-conflict ", ["keep", "refuse", "replace"]),
    ("noid export csv --chan", ["--changed-since"]),
    ("noid help templ", ["templates"]),
    ("noid help withd", ["withdraw"]),
]


def script(noid_process: NoidProcess, shell: str) -> Path:
    path = noid_process.folder / f"_noid.{shell}"
    path.write_text(noid_process("completion", shell), encoding="utf-8")
    return path


@pytest.mark.parametrize(("line", "offered"), TYPED)
def test_bash_completes(noid_process, line: str, offered: list[str]) -> None:
    asked = ('source "$1"; read -ra COMP_WORDS <<< "$2"; [[ $2 != *" " ]] || COMP_WORDS+=(""); '
             'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _noid; printf "%s\\n" "${COMPREPLY[@]}"; complete -p noid')
    done = subprocess.run(["bash", "-uc", asked, "bash", script(noid_process, "bash"), line], capture_output=True,
                          text=True, check=True)
    *found, registered = done.stdout.splitlines()
    assert sorted(found) == offered and done.stderr == "" and registered.endswith("-F _noid noid")


@pytest.mark.parametrize(("line", "offered"), TYPED)
def test_fish_completes(noid_process, line: str, offered: list[str]) -> None:
    done = subprocess.run(["fish", "-c", 'source $argv[1]; complete -C $argv[2]', script(noid_process, "fish"), line],
                          capture_output=True, text=True, check=True,
                          env=os.environ | {"HOME": str(noid_process.folder)})
    assert sorted(row.partition("\t")[0] for row in done.stdout.splitlines()) == offered and done.stderr == ""


def test_zsh_completes(noid_process) -> None:
    """On a terminal, because zsh completes nowhere else."""
    path = script(noid_process, "zsh")
    child, terminal = pty.fork()
    if not child:
        environment = {"HOME": str(noid_process.folder), "TERM": "dumb", "PS1": "", "COLUMNS": "200"}
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | environment)
    try:
        os.write(terminal, b"autoload -U compinit; compinit -u -D; source %b; print -r read''y\n" % bytes(path))
        _read_until(terminal, b"ready")
        for line, offered in TYPED:
            if len(offered) == 1:
                os.write(terminal, line.encode() + b"\t")
                _read_until(terminal, line.rpartition(" ")[0].encode() + b" " + offered[0].encode())
                os.write(terminal, b"\x15")  # forget the line
        os.write(terminal, b"noid hold \t\t")
        _read_until(terminal, b"release  set")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _read_until(terminal: int, expected: bytes) -> None:
    printed = b""
    deadline = time.monotonic() + 30
    while expected not in printed.replace(b"\r", b"").replace(b"\x07", b""):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, printed
        printed += os.read(terminal, 1 << 16)


def test_every_command_can_be_completed_in_every_shell(noid_process) -> None:
    for shell in ("bash", "zsh", "fish"):
        text = noid_process("completion", shell)
        for command in all_commands():
            assert f" {command.name}" in text
            assert all(option.name in text for option in command.options)


def test_the_manual_page_has_no_fault_and_every_command(noid_process, tmp_path: Path) -> None:
    page = tmp_path / "noid.1"
    page.write_text(noid_process("help", "--man"), encoding="utf-8")
    linted = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True,
                            check=False)
    assert [line for line in linted.stdout.splitlines() if "missing date" not in line] == []
    shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True,
                           env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert shown.stderr == ""
    usages = [line for line in shown.stdout.splitlines() if line.lstrip().startswith(("noid ", "[--"))]
    assert usages and max(map(len, usages)) <= 80
    for command in all_commands():
        assert f"\n   {command.name}\n" in shown.stdout
