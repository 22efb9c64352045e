"""A server process in the foreground, with all its children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from support.process import command_line, descendants, process_is_alive, start_time
from support.servers.system import as_server_user


class Daemon:
    """A server in a session of its own, with its log; stopped with all its children."""

    def __init__(self, arguments: list[object], log: Path, **settings: Any) -> None:
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        self._settings = {**as_server_user(), **settings}
        self.start()

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                **self._settings,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float = 10) -> int:
        return self._process.wait(seconds)

    def children(self) -> list[int]:
        """All processes below this one, the nearest first, without the one that multiprocessing adds."""
        return [pid for pid in descendants(self.pid) if "resource_tracker" not in command_line(pid)]

    def stop(self) -> None:
        family = [(pid, start_time(pid)) for pid in self.children()]
        if self.running():
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(10)
        if self.running():
            self._process.kill()
            self.wait()
        for pid, started in family:
            # The number may meanwhile be another process's.
            if process_is_alive(pid) and start_time(pid) == started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
