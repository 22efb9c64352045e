"""Where a server listens: HOST:PORT, or the path of a Unix socket."""

from __future__ import annotations

import errno
import grp
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import UsageError

_BACKLOG = 1024


class Address:
    """HOST:PORT, [IPv6]:PORT, or the path of a Unix socket; raises UsageError for anything else.

    `mode` and `group` are those of the file of a Unix socket; the group is that of the process if it is None.
    """

    def __init__(self, text: str, *, mode: int = 0o660, group: int | None = None) -> None:
        self.text = text
        self.mode = mode
        self.group = group
        self.path = text.removeprefix("unix:") if text.startswith("unix:") or "/" in text else ""
        self.host, self.port = ("", 0) if self.path else _host_and_port(text)

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def is_private(self) -> bool:
        """Whether it is a Unix socket that only its owner and its group may open."""
        return bool(self.path) and not self.mode & 0o007

    def __str__(self) -> str:
        if self.path:
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def prepare(self) -> None:
        """Make the folder of a Unix socket, and remove the file of a server that was killed.

        Raises UsageError if another server listens there.
        """
        with _listening(self):
            if self.path:
                _make_folder(os.path.dirname(self.path))
                _remove_stale(self.path)
            else:
                self._bound().close()

    def listen(self) -> socket.socket:
        """A listening socket; raises UsageError if there cannot be one."""
        self.prepare()
        with _listening(self):
            listener = self._bound()
            self.open_to_group()
            listener.listen(_BACKLOG)
            return listener

    def open_to_group(self) -> None:
        """Give the file of a Unix socket its group and its mode."""
        if self.path:
            if self.group is not None:
                self._give_to(self.group)
            os.chmod(self.path, self.mode)

    def remove(self) -> None:
        """Remove the file of a Unix socket after it was closed, unless another server listens there by now."""
        if self.path:
            with suppress(OSError):
                _remove_stale(self.path)

    def _bound(self) -> socket.socket:
        if self.path:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            # Nobody can connect before the file has its group.
            before = os.umask(0o777)
            try:
                listener.bind(self.path)
            finally:
                os.umask(before)
            return listener
        family, kind, protocol, _, address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError:
            listener.close()
            raise
        return listener

    def _give_to(self, group: int) -> None:
        try:
            os.chown(self.path, -1, group)
        except PermissionError:
            os.unlink(self.path)
            raise OSError(errno.EPERM, "only root and members of the group can give the socket to it") from None


@contextmanager
def _listening(address: Address) -> Iterator[None]:
    """Turns an OSError into a UsageError that names the address."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot listen at {address.text}: {error.strerror or error}") from None


def group_number(name: str) -> int:
    """The number of a group; raises UsageError if there is none of this name."""
    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise UsageError(f"--socket-group {name[:60]!r}: there is no such group") from None


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536 or not host:
        raise UsageError(f"{text!r} is not an address: write HOST:PORT, or the path of a Unix socket")
    return host, int(port)


def _remove_stale(path: str) -> None:
    """Remove the socket file of a server that was killed; raises OSError if a server listens or it is no socket."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
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


def _make_folder(path: str) -> None:
    """Make the folder of a socket, which everybody may enter: who may connect is decided by the mode of the socket."""
    if path and not os.path.isdir(path):
        try:
            os.mkdir(path)
            os.chmod(path, 0o755)
        except OSError as error:
            raise OSError(error.errno, f"the folder {path} cannot be made ({error.strerror}): make it, and give it to "
                          "the account that serves") from None
