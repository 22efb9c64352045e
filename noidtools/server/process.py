"""Where a server listens: an address as people write it, and a socket that listens there."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import sys
import time

from ..console import write_error
from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn
    Work = Callable[[socket.socket, tuple[int, ...]], None]

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
                return _adopt_socket(self.descriptor)
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


def socket_address(listener: socket.socket) -> str:
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


def _adopt_socket(descriptor: int) -> socket.socket:
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

# -- A parent that keeps worker processes running, and does nothing else, so that nothing can hurt it ----------------
# Stopping is graceful: workers finish the request they are at.  They learn that
# they should go when their lifeline breaks: the far end of a pipe that only the
# parent holds.  So they also go when the parent is killed, and when it replaces
# itself, which is how it reloads: the same process begins anew with the code and
# the packages as they now are, and keeps listening all the while.


# How the listening socket is handed to the process that takes our place.
INHERITED = "NOID_LISTENING"
_STOP = (signal.SIGTERM, signal.SIGINT)
_HEARD = {*_STOP, signal.SIGHUP, signal.SIGCHLD}
_GRACE_SECONDS = 30.0

# If workers die as soon as they are born, do not spend the machine on starting more of them: so many at most in
# place of each in this time.
_MOST_LIVES = 4
_SECONDS = 1.0


class Prefork:
    """Keeps `workers` processes that each run `work(listener, farewells)`.

    Work ends itself as soon as one of the descriptors in `farewells` becomes readable.
    """

    def __init__(self, listener: socket.socket, workers: int, work: Work) -> None:
        self._listener = listener
        self._wanted = workers
        self._work = work
        self._workers: set[int] = set()
        self._born: list[float] = []
        self._lifeline, self._grip = os.pipe()

    def run(self) -> None:
        """Until told to stop by SIGTERM or SIGINT.  SIGHUP reloads, which ends this process's old self."""
        # Blocked and waited for, rather than handled: so none can come at a bad moment.
        signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
        while True:
            self._replenish()
            told = signal.sigtimedwait(_HEARD, 3600 if len(self._workers) == self._wanted else _SECONDS)
            if told is not None and told.si_signo in _STOP:
                return self._stop()
            if told is not None and told.si_signo == signal.SIGHUP:
                self._reload()
            while self._reap():
                pass

    def _replenish(self) -> None:
        now = time.monotonic()
        self._born = [born for born in self._born if now - born < _SECONDS]
        while len(self._workers) < self._wanted and len(self._born) < _MOST_LIVES * self._wanted:
            pid = os.fork()
            if not pid:
                self._be_worker()
            self._workers.add(pid)
            self._born.append(now)

    def _be_worker(self) -> NoReturn:
        status = 1
        try:
            os.close(self._grip)
            told, teller = os.pipe()
            os.set_blocking(teller, False)
            signal.set_wakeup_fd(teller)
            for number in _STOP:
                signal.signal(number, _only_wake)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
            self._work(self._listener, (self._lifeline, told))
            status = 0
        except Exception as error:  # noqa: BLE001 - a fault of ours: said in one line, and the parent starts another
            write_error(f"a worker failed: {type(error).__name__}: {error}")
        finally:
            # Without the parent's exit handlers.
            os._exit(status)

    def _reap(self) -> bool:
        """Whether there was a dead worker."""
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        self._workers.discard(pid)
        return bool(pid)

    def _stop(self) -> None:
        os.close(self._grip)
        deadline = time.monotonic() + _GRACE_SECONDS
        while self._workers and time.monotonic() < deadline:
            if not self._reap():
                signal.sigtimedwait({signal.SIGCHLD}, min(1.0, _GRACE_SECONDS))
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _reload(self) -> None:
        os.set_inheritable(self._listener.fileno(), True)
        os.environ[INHERITED] = str(self._listener.fileno())
        try:
            # Our end of the lifeline closes with this, and the workers finish what they are at and go.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        except OSError as error:
            write_error(f"cannot reload: {error}")


def _only_wake(*_: object) -> None:
    """The descriptor set for it tells the worker; a handler of its own would interrupt a request."""


def inherited_socket() -> socket.socket | None:
    """The listening socket of the process whose place we took, if there was one."""
    number = os.environ.pop(INHERITED, None)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return socket.socket(fileno=int(number))
