"""Processes: the programs under test, and what tests ask of the system about processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from support.minter import NoidCommand
from support.project import PROGRAMS

NOID = [sys.executable, str(PROGRAMS / "noid")]
NOIDR = [sys.executable, str(PROGRAMS / "noidr")]
_SCRIPTS = Path(__file__).parent / "scripts"


class NoidProcess(NoidCommand):
    """The noid command, a process each time."""

    def run(
        self, *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {name: value for name, value in os.environ.items() if name != "NOID"}
        return subprocess.run([*NOID, *words], cwd=self.folder, input=stdin, capture_output=True, timeout=120,
                              env={**environment, **(env or {})}, check=False)

    def on_terminal(self, *words: str, columns: int) -> str:
        """What a command prints on a terminal of this width."""
        terminal, screen = os.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        process = self.start(*words, stdin=screen, stdout=screen, stderr=screen, env=environment)
        os.close(screen)
        printed = b""
        with contextlib.suppress(OSError):  # the terminal is closed when the process ends
            while piece := os.read(terminal, 1 << 16):
                printed += piece
        os.close(terminal)
        assert process.wait(120) == 0
        return printed.decode().replace("\r\n", "\n")

    def start(self, *words: str | bytes, **options: Any) -> subprocess.Popen[bytes]:
        """A process that is not waited for; `options` are those of Popen."""
        return subprocess.Popen([*NOID, *words], cwd=self.folder, **options)


def run_script(
    name: str, *arguments: object, options: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> str:
    """Output of a script in tests/support/scripts, run by another interpreter that finds what this one finds."""
    done = subprocess.run(script_command(name, *arguments, options=options), capture_output=True, check=True,
                          timeout=120, env=script_environment() | dict(env or {}))
    return done.stdout.decode()


def script_command(name: str, *arguments: object, options: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, *options, str(_SCRIPTS / f"{name}.py"), *map(str, arguments)]


def script_environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def process_is_alive(pid: int) -> bool:
    """Whether there is such a process that has not ended, waited for or not."""
    with contextlib.suppress(OSError):
        return _stat_fields(pid)[0] not in "ZX"
    return False


def start_time(pid: int) -> str:
    """When a process was started, in ticks of the system: it tells apart two processes that had one number."""
    with contextlib.suppress(OSError):
        return _stat_fields(pid)[19]
    return ""


def command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


def children(pid: int) -> list[int]:
    """The processes that a process has started and that have not ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return [child for child in found if process_is_alive(child)]


def descendants(pid: int) -> list[int]:
    """All processes below a process, the nearest first."""
    found, queue = [], [pid]
    while queue:
        below = children(queue.pop(0))
        found += below
        queue += below
    return found


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes. One that has ended meanwhile is no error: its parent may just have waited for it."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the program's name, which may contain anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def wait_until(condition: Callable[[], bool], seconds: float = 60, describe: Callable[[], object] = str) -> None:
    """Return when a condition holds; fail with what `describe` gives if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.02)


def processor_seconds(process: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
