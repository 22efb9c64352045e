"""Where a server listens: an address as people write it, and a socket that listens there."""

from __future__ import annotations

import errno
import os
import socket
import stat

from ..exceptions import UsageError

_BACKLOG = 1024
# The first descriptor that systemd hands to a service it starts for a socket.
_FROM_SYSTEMD = 3
SYSTEMD = "systemd"


class Address:
    """HOST:PORT, [IPv6]:PORT, a path of a Unix socket, `systemd`, or `fd:N` for a socket that is open already."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.path = ""
        self.descriptor = -1
        self.host, self.port = "", 0
        if text.startswith("unix:") or "/" in text:
            self.path = text.removeprefix("unix:")
        elif text == SYSTEMD:
            self.descriptor = _from_systemd()
        elif text.startswith("fd:") and text[3:].isdigit():
            self.descriptor = int(text[3:])
        else:
            self.host, self.port = _host_and_port(text)

    @property
    def is_loopback(self) -> bool:
        return self.host == "localhost" or self.host == "::1" or self.host.startswith("127.")

    def listen(self, mode: int) -> socket.socket:
        """A listening socket, not inherited by programs we start.  `mode` is for a Unix socket's file."""
        try:
            if self.descriptor >= 0:
                return _adopted(self.descriptor)
            return self._listen_unix(mode) if self.path else self._listen_tcp()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"cannot listen at {self.text}: {reason}") from None

    def _listen_tcp(self) -> socket.socket:
        family, kind, protocol, _, place = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(_BACKLOG)
        return listener

    def _listen_unix(self, mode: int) -> socket.socket:
        _remove_stale(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o777 & ~mode)
        try:
            listener.bind(self.path)
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
        return listener

    def file(self) -> tuple[int, int] | None:
        """Which file there is at the path of a Unix socket."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def leave(self, listener: socket.socket, file: tuple[int, int] | None) -> None:
        """Stop listening, and take away the file of our Unix socket, if it is still ours."""
        if self.path and file is not None and self.file() == file:
            os.unlink(self.path)
        listener.close()


def shown(listener: socket.socket) -> str:
    """Where a socket really listens, as when the port was left to the system."""
    place = listener.getsockname()
    if not isinstance(place, tuple):
        return os.fsdecode(place) if place else "a socket"
    host = f"[{place[0]}]" if ":" in place[0] else place[0]
    return f"{host}:{place[1]}"


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdigit() or int(port) > 65535 or not host:
        raise UsageError(f"{text!r} is not an address: write HOST:PORT, or the path of a Unix socket")
    return host, int(port)


def _from_systemd() -> int:
    if os.environ.get("LISTEN_PID") not in (str(os.getpid()), None) or os.environ.get("LISTEN_FDS") != "1":
        raise UsageError("systemd has handed over no socket: start the .socket unit, with one address in it")
    return _FROM_SYSTEMD


def _adopted(descriptor: int) -> socket.socket:
    listener = socket.socket(fileno=os.dup(descriptor))
    if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise OSError(errno.EINVAL, "the socket is not listening")
    return listener


def _remove_stale(path: str) -> None:
    """Take away the file a killed server left behind, but not one whose server lives, nor one that is no socket."""
    if not os.path.lexists(path):
        return
    if not _is_socket(path):
        raise OSError(errno.EEXIST, "there is a file that is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except TimeoutError:
            pass
    raise OSError(errno.EADDRINUSE, "another server is listening there")


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
