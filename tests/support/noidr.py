"""A noidr process, asked as a web server's rewriting engine asks it."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

from noidtools.cli.reply_protocol import ReplyProtocol
from support.process import NOIDR, children, signal_all, wait_until


def take(replies: ReplyProtocol, piece: bytes) -> bytes:
    """What a worker writes for a piece of its input."""
    out = replies.reply_to_line(piece)
    return replies.feed(piece) if out is None else out


class NoidrProcess:
    """A noidr process, asked line by line."""

    def __init__(self, *options: str, program: list[str] | None = None, **settings: Any) -> None:
        environment = {**os.environ}
        environment.pop("NOID", None)
        self.process = subprocess.Popen([*(program or NOIDR), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0, env=environment, **settings)
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr

    def ask(self, line: bytes) -> bytes:
        """The reply to a request line, which must be one line."""
        self.stdin.write(line + b"\n")
        reply = b""
        while not reply.endswith(b"\n"):
            piece = os.read(self.stdout.fileno(), 1 << 20)
            assert piece, self.stderr.read()
            reply += piece
        assert reply.count(b"\n") == 1
        return reply[:-1]

    @property
    def worker(self) -> int:
        """The process that answers."""
        wait_until(lambda: len(children(self.process.pid)) == 1)
        return children(self.process.pid)[0]

    def close(self) -> None:
        """End it, whatever it does."""
        workers = children(self.process.pid)
        self.process.kill()
        signal_all(workers, signal.SIGKILL)
        self.process.wait()
        for file in (self.stdin, self.stdout, self.stderr):
            file.close()

    def end(self) -> int:
        """Its exit status after its input has ended; it must have replied to nothing else."""
        self.stdin.close()
        status = self.process.wait(10)
        assert self.stdout.read() == b""
        self.stdout.close()
        self.stderr.close()
        return status
