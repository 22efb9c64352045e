"""Runs the examples of a documentation page, in a shell, as a reader would.

An example stands in a fenced block of the language `console`: a line that begins with `$ ` is a command, the lines
below it are its whole output, standard error included.  A command that ends in a backslash goes on in the next line.
`…` in an output stands for any text within one line.

All examples of a page share one temporary folder and the working folder in which the command before left the shell.
A command that ends in `&` is a server: it is started for real, the examples go on when it accepts connections, and it
is stopped when the page is done.  Pages write the address 127.0.0.1:8080; a free port is used in its place.

Files that a page takes for granted, such as one that another program wrote, lie in tests/docs/files/, in a folder with
the name of the page; a copy of them is there when its first example is run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.http import free_port
from support.postgres import shared_server
from support.project import ROOT

_FILES = ROOT / "tests" / "docs" / "files"
# Pages whose reader has a PostgreSQL server.
_WITH_DATABASE = {"scale"}
PRINTED_ADDRESS = "127.0.0.1:8080"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS_TO_START = 30
_SECONDS_TO_STOP = 40


class Block(NamedTuple):
    """A fenced block: its language, its text, and the number of its first line in the page."""

    language: str
    text: str
    line: int


class Example(NamedTuple):
    command: str
    output: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in _FENCE.finditer(text)]


def examples(page: Path) -> list[Example]:
    return [example for block in blocks(page) if block.language == "console" for example in examples_of(block)]


def examples_of(block: Block) -> Iterator[Example]:
    """The commands of a block, each with what it prints."""
    lines = block.text.splitlines(keepends=True)
    assert lines and lines[0].startswith("$ "), f"line {block.line}: a console block begins with a command"
    index = 0
    while index < len(lines):
        first = index
        command = lines[index].removeprefix("$ ")
        while command.endswith("\\\n"):
            index += 1
            command += lines[index]
        index += 1
        output = ""
        while index < len(lines) and not lines[index].startswith("$ "):
            output += lines[index]
            index += 1
        yield Example(command.rstrip("\n"), output, block.line + first)


def matches(output: str, printed: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, printed.split("…"))), output) is not None


class Reader:
    """Somebody who types the commands of a page into a shell on a machine where this tree is installed."""

    def __init__(self, folder: Path, page: Path | None = None) -> None:
        self._where = folder / "where"
        self._log = folder / "servers.log"
        self.folder = folder / "work"
        self.folder.mkdir()
        if page is not None and (_FILES / page.stem).is_dir():
            shutil.copytree(_FILES / page.stem, self.folder, dirs_exist_ok=True)
        self._servers: list[subprocess.Popen[bytes]] = []
        self._address = f"127.0.0.1:{free_port()}"
        home = folder / "home"
        home.mkdir()
        # On a terminal curl shows no progress beside an answer; through a pipe it would.
        (home / ".curlrc").write_text('silent\nshow-error\nnoproxy = "*"\n')
        self._environment = {**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8",
                             "PATH": f"{_programs(folder)}:{os.environ['PATH']}"}
        for name in ("NOID", "NOIDTOOLS_CLOCK"):
            self._environment.pop(name, None)
        if page is not None and page.stem in _WITH_DATABASE:
            server = shared_server()
            self._environment |= {"PGHOST": str(server.folder), "PGUSER": "noid", "PGDATABASE": "postgres"}

    def type(self, example: Example) -> str:
        """Run the command and return what it printed, with the address that the page prints."""
        command = example.command.replace(PRINTED_ADDRESS, self._address)
        # Some programs take host and port apart.
        command = command.replace(PRINTED_ADDRESS.replace(":", " "), self._address.replace(":", " "))
        if command.endswith("&"):
            self._start(command.removesuffix("&"))
            return ""
        done = subprocess.run(["sh", "-c", f'{command}\npwd > "{self._where}"'], cwd=self.folder,
                              env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
        self.folder = Path(self._where.read_text().rstrip("\n"))
        return done.stdout.replace(self._address, PRINTED_ADDRESS)

    def _start(self, command: str) -> None:
        with self._log.open("ab") as log:
            server = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=self.folder, env=self._environment,
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self._servers.append(server)
        host, _, port = self._address.partition(":")
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline and server.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError(f"{command!r} does not accept connections: {self._log.read_text()}")

    def close(self) -> None:
        """Stop the servers; fail if one does not end when it is asked to."""
        for server in self._servers:
            server.terminate()
        try:
            for server in self._servers:
                server.wait(_SECONDS_TO_STOP)
        finally:
            for server in self._servers:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGKILL)


def _programs(folder: Path) -> Path:
    """A folder with the programs that an installation of this tree would put into the reader's PATH."""
    programs = folder / "bin"
    programs.mkdir()
    for script in sorted((ROOT / "cgi-bin").iterdir()):
        if script.is_file():
            _write_program(programs / script.name, f"{sys.executable} {script}")
    _write_program(programs / "python3", sys.executable)
    return programs


def _write_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
