"""Requests by the real curl."""

from __future__ import annotations

import subprocess

from support.http import Reply, parsed
from support.servers.system import program


def curl(url: str, *options: str, stdin: bytes = b"", seconds: int = 15) -> Reply:
    done = subprocess.run(
        [program("curl"), "--silent", "--show-error", "--globoff", "--include", "--max-time", str(seconds),
         *options, url],
        input=stdin, capture_output=True, check=False,
    )
    assert done.returncode == 0, f"curl {url[:200]}: {done.stderr.decode()}"
    return parsed(done.stdout)
