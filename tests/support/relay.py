"""A relay of TCP connections that fails when it is told to, as networks do."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path


class Relay:
    """Forwards connections from a port of loopback to another one, or to a Unix socket, until it is told to stop."""

    def __init__(self, target: int | Path) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._forwards = threading.Event()
        self._forwards.set()
        self._closed = False
        # After how many more pieces from clients a connection is cut, and whether the last one gets through.
        self._pieces_left, self._forwards_last = -1, False
        threading.Thread(target=self._accept, daemon=True).start()

    def stop_forwarding(self) -> None:
        """Let nothing through any more; connections stay open."""
        self._forwards.clear()

    def forward(self) -> None:
        self._forwards.set()

    def cut_after(self, pieces: int, *, forward_last: bool) -> None:
        """Cut the connection on which the last of so many pieces from clients arrives, once: before that piece is
        forwarded, or after the server had time to act on it, but before its answer is."""
        self._forwards_last, self._pieces_left = forward_last, pieces

    @property
    def was_cut(self) -> bool:
        return self._pieces_left < 0

    def close(self) -> None:
        self._closed = True
        self._forwards.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        self._forwards.wait()
        try:
            server = self._connected()
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=self._pump, args=(server, client, False), daemon=True)
        back.start()
        self._pump(client, server, True)
        back.join()
        client.close()
        server.close()

    def _connected(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target), timeout=5)
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._target))
        return server

    def _pump(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                self._forwards.wait()
                if from_client and self._pieces_left >= 0:
                    self._pieces_left -= 1
                    if self._pieces_left < 0:
                        self._cut(source, sink, data)
                        break
                sink.sendall(data)
        except OSError:
            pass
        self._forwards.wait()
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _cut(self, client: socket.socket, server: socket.socket, last: bytes) -> None:
        client.shutdown(socket.SHUT_RDWR)
        if self._forwards_last:
            server.sendall(last)
            time.sleep(0.1)
