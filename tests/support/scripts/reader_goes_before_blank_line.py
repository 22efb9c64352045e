"""Run `noid dbcreate` with a pipe as its output, whose reader goes away as soon as the answer is there.

That is before the blank line behind the answer is written: the moment is a write of that line alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from noidtools.cli.noid import main

reading, writing = os.pipe()
errors_and_result = os.dup(1)
os.dup2(writing, 1)
os.close(writing)


class Output:
    """Standard output, which closes the reader's end before a blank line is written."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def write(self, data: bytes) -> int:
        if data == b"\n":
            self._out.flush()
            os.write(errors_and_result, os.read(reading, 1 << 16))
            os.close(reading)
        return int(self._out.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


class Stdout:
    buffer = Output(sys.stdout.buffer)
    flush = sys.stdout.flush


sys.stdout = Stdout()
status = main(["noid", "-f", sys.argv[1], "dbcreate", "kt.reeded"])
sys.stdout = sys.__stdout__
sys.exit(status)
