"""A `noid serve` process, and where it listens."""

from __future__ import annotations

import contextlib
import http.client
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import gateway
from support.http import Reply, free_port
from support.process import NOID, children, command_line, wait_until

SECONDS_TO_STOP = 40
ANY_PORT = "127.0.0.1:0"


class Served:
    """A server that was started; its log says where it listens."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log
        found = self._announcement()
        self.address: str | tuple[str, int] = found[2]
        if ":" in found[2] and "/" not in found[2]:
            host, _, port = found[2].rpartition(":")
            self.address = (host, int(port))
        self.until(self.accepts, 30)

    @classmethod
    def start(cls, log: Path, *words: str | Path, **options: Any) -> Served:
        """Run noid with these words, where ANY_PORT stands for a free one; `options` are those of Popen."""
        words = tuple(f"127.0.0.1:{free_port()}" if word == ANY_PORT else word for word in words)
        with open(log, "wb") as stream:
            process = subprocess.Popen([*NOID, *words], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                                       **options)
        return cls(process, log)

    def _announcement(self) -> re.Match[str]:
        pattern = re.compile(r"serving .* by (\w+) at (?:https?://)?([^/\s]+:\d+|\S+)")
        self.until(lambda: bool(pattern.search(self.log.read_text())) or self.process.poll() is not None)
        found = pattern.search(self.log.read_text())
        assert found, self.log.read_text()
        return found

    def accepts(self) -> bool:
        """Whether a connection is accepted: the workers begin to listen after the address was announced."""
        try:
            gateway.connect(self.address).close()
        except OSError:
            return self.process.poll() is not None
        return True

    @property
    def workers(self) -> list[int]:
        """Its worker processes, without the one that multiprocessing adds."""
        return [pid for pid in children(self.process.pid) if "resource_tracker" not in command_line(pid)]

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        wait_until(condition, seconds, self.log.read_text)

    def get(self, target: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
        """The response to a request by HTTP; redirects are not followed."""
        host, port = self.address if isinstance(self.address, tuple) else ("localhost", 80)
        connection = http.client.HTTPConnection(host, port, timeout=30)
        if isinstance(self.address, str):
            connection.sock = gateway.connect(self.address)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def http(self, method: str, target: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body of the response to a request by HTTP."""
        reply = self.get(target, method, body, **headers)
        return reply.status, reply.body

    def fastcgi(self, query: str, body: bytes = b"", **variables: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the response to a command by FastCGI."""
        request = {"path": "/nd/noidu_kt5", "user": "alice", **variables}
        return gateway.fastcgi(self.address, query, body, **request)

    def raw(self, *pieces: bytes, finish: bool = True, pause: float = 0.0) -> bytes:
        """What comes back for bytes sent as they are."""
        out = b""
        with gateway.connect(self.address) as peer, contextlib.suppress(ConnectionError):
            for piece in pieces:
                peer.sendall(piece)
                time.sleep(pause)
            if finish:
                peer.shutdown(socket.SHUT_WR)
            while piece := peer.recv(65536):
                out += piece
        return out

    def stop(self) -> int:
        """Its exit status after SIGTERM, or the one it had already."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_TO_STOP)
