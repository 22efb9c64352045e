"""Commands that are killed at a certain step: a renaming of a file, or a commit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from noidtools.cli.noid import main
from noidtools.store.lmdb.store import LmdbWriter

RENAMES, COMMITS = "renames", "commits"


def run_killed(folder: Path, kind: str, number: int, *words: str, with_signal: int = signal.SIGKILL) -> int:
    """Run the noid command in a child process that gets a signal at a step, and return its status, as in Popen.

    The steps are counted from 1 on.  Of RENAMES and COMMITS each has two: before and after it.  The minter must not be
    open in this process.
    """
    child = os.fork()
    if not child:
        status = 3
        try:
            os.chdir(folder)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1):
                os.dup2(nothing, descriptor)
            errors = os.open("errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(errors, 2)
            step = _steps(number, with_signal)
            (_watch_renames if kind == RENAMES else _watch_commits)(step)
            status = main(["noid", *words])
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def every_kill(folder: Callable[[], Path], kind: str, *words: str, stride: int = 1) -> Iterator[Path]:
    """Folders in which the command was killed at each of its steps, the first to the last, one folder a step; or with
    a stride at some of them."""
    for number in count(1, stride):
        made = folder()
        if run_killed(made, kind, number, *words) != -signal.SIGKILL:
            assert number > 1, "it has no such step"
            return
        (made / "errors").unlink()
        yield made


def _steps(last: int, with_signal: int) -> Callable[[], None]:
    steps = count(1)

    def step() -> None:
        if next(steps) == last:
            os.kill(os.getpid(), with_signal)

    return step


def _watch_renames(step: Callable[[], None]) -> None:
    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            step()
            done = function(*arguments)
            step()
            return done

        return call

    os.rename, os.replace = watched(os.rename), watched(os.replace)


def _watch_commits(step: Callable[[], None]) -> None:
    commit = LmdbWriter.commit

    def watched(self: LmdbWriter) -> None:
        outermost = self._outer is None
        if outermost:
            step()
        commit(self)
        if outermost:
            step()

    LmdbWriter.commit = watched  # type: ignore[method-assign]
