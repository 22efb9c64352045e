"""Examples of the documents that the software follows, as sessions: commands, and what they print."""

from __future__ import annotations

import re
import shlex

from support.minter import NoidCommand


class Step:
    """A command line behind `noid`, its standard input, what it prints (with … for any text), and its exit status."""

    def __init__(self, line: str, printed: str, *, stdin: str = "", status: int = 0) -> None:
        self.line = line
        self.printed = printed
        self.stdin = stdin.encode()
        self.status = status


def play(noid: NoidCommand, steps: list[Step]) -> None:
    """Give the commands one after the other; each must print and end as its step says."""
    for step in steps:
        done = noid.run(*shlex.split(step.line), stdin=step.stdin)
        output = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
        assert done.returncode == step.status, (step.line, done.returncode, output)
        pattern = ".*".join(map(re.escape, step.printed.split("…")))
        assert re.fullmatch(pattern, output, re.DOTALL), f"$ noid {step.line}\n{output}--- expected\n{step.printed}"
