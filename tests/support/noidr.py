"""A noidr process, asked as a web server's rewriting engine asks it."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

from support.process import NOIDR, children, process_is_alive, signal_all, wait_until


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

    def ask_until_own(self, name: bytes) -> tuple[bytes, int]:
        """With --echo, the reply to a name, without it, and how often it was asked for again, as Apache's rules do."""
        again = 0
        while True:
            self.stdin.write(name + b"\n")
            mark, found, value = self.read_line().partition(b"\x02" + name + b" ")
            if found and not mark and b"\x02" not in value:
                return value, again
            again += 1

    def read_line(self) -> bytes:
        """A reply, read byte by byte, as Apache does: whatever comes after it stays in the pipe."""
        line = b""
        while not line.endswith(b"\n"):
            octet = os.read(self.stdout.fileno(), 1)
            assert octet, self.stderr.read()
            line += octet
        return line[:-1]

    @property
    def worker(self) -> int:
        """The process that answers."""
        wait_until(lambda: len(children(self.process.pid)) == 1)
        return children(self.process.pid)[0]

    def kill_worker(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill the process that answers, and wait until it is dead."""
        worker = self.worker
        os.kill(worker, number)
        wait_until(lambda: not process_is_alive(worker))

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
