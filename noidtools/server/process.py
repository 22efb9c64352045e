"""Listening sockets, and worker processes that share one.

The parent process only keeps the workers running, so that little can make it fail.  Stopping is graceful: workers
finish the request at hand.  They know that they should stop when the shutdown pipe is closed, of which the parent
holds the only write end.  So they also stop when the parent is killed, and when it replaces itself by exec, which is
how it reloads: the same process starts again with the code and packages as installed then, and keeps the socket.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import sys
import time

from ..console import exit_reason, log_line, write_error
from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from ..web.counters import SharedCounters

    # Serves requests of a listening socket until one of the descriptors becomes readable.
    Work = Callable[[socket.socket, tuple[int, ...]], None]

_BACKLOG = 1024

# SD_LISTEN_FDS_START: the first descriptor that systemd passes to a service with socket activation.
_FROM_SYSTEMD = 3
SYSTEMD = "systemd"


class Address:
    """HOST:PORT, [IPv6]:PORT, a path of a Unix socket, `systemd`, or `fd:N` for an open socket."""

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

    def listen(self, mode: int, group: int | None = None) -> socket.socket:
        """A listening socket, not inherited by other programs; `mode` and `group` are for the file of a Unix socket."""
        try:
            if self.descriptor >= 0:
                return _adopt_socket(self.descriptor)
            return self._listen_unix(mode, group) if self.path else self._listen_tcp()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(f"cannot listen at {self.text}: {reason}") from None

    def _listen_tcp(self) -> socket.socket:
        family, kind, protocol, _, address = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        return listener

    def _listen_unix(self, mode: int, group: int | None) -> socket.socket:
        _make_folder(os.path.dirname(self.path))
        _remove_stale(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Nobody can connect before the file has its group.
        before = os.umask(0o777)
        try:
            listener.bind(self.path)
        finally:
            os.umask(before)
        if group is not None:
            self._give_to(group)
        os.chmod(self.path, mode)
        listener.listen(_BACKLOG)
        return listener

    def _give_to(self, group: int) -> None:
        try:
            os.chown(self.path, -1, group)
        except PermissionError:
            os.unlink(self.path)
            raise OSError(errno.EPERM, "only root and members of that group can give it to the group") from None

    def file(self) -> tuple[int, int] | None:
        """Device and inode of the file at the path of a Unix socket."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def close(self, listener: socket.socket, file: tuple[int, int] | None) -> None:
        """Stop listening, and remove the file of our Unix socket if it is still the same."""
        if self.path and file is not None and self.file() == file:
            os.unlink(self.path)
        listener.close()


def socket_address(listener: socket.socket) -> str:
    """The address at which a socket listens, also if the system chose the port."""
    address = listener.getsockname()
    if not isinstance(address, tuple):
        return os.fsdecode(address) if address else "a socket"
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{host}:{address[1]}"


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
    """Remove the socket file of a server that was killed; raises OSError if a server listens or it is no socket."""
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


def _make_folder(path: str) -> None:
    """Make the folder of a socket, which everybody may enter: who may connect is decided by the mode of the socket."""
    if path and not os.path.isdir(path):
        try:
            os.mkdir(path)
            os.chmod(path, 0o755)
        except OSError as error:
            raise OSError(error.errno, f"the folder {path} cannot be made ({error.strerror}): make it, and give it to "
                          "the account that serves") from None


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


# -- worker processes ------------------------------------------------------------------------------------------------

# The environment variable that passes the listening socket to the process after a reload.
INHERITED = "NOID_LISTENING"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_SIGNALS = {*_STOP_SIGNALS, signal.SIGHUP, signal.SIGCHLD}
_SHUTDOWN_SECONDS = 30.0

# Workers that end as soon as they are started must not use up the machine: this many starts for each wanted worker
# in this many seconds at most.
_MAX_STARTS = 4
_START_SECONDS = 1.0


class Prefork:
    """Keeps `workers` processes running, each of which calls `work(listener, shutdown)`.

    `work` returns as soon as one of the descriptors in `shutdown` becomes readable; the last one does if the service
    ends, the other one also when it is reloaded.  Each process has a part of the counters, which the one that takes
    its place goes on with.
    """

    def __init__(self, listener: socket.socket, workers: int, work: Work, counters: SharedCounters) -> None:
        self._listener = listener
        self._wanted = workers
        self._work = work
        self._counters = counters
        # The processes, and which part of the counters each has.
        self._workers: dict[int, int] = {}
        self._start_times: list[float] = []
        self._stopping = False
        self._shutdown_read, self._shutdown_write = os.pipe()

    def run(self) -> None:
        """Run until SIGTERM or SIGINT.  SIGHUP reloads, which replaces this process by exec."""
        # The signals are blocked and waited for instead of handled, so that none interrupts anything.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        while True:
            self._start_workers()
            received = signal.sigtimedwait(
                _SIGNALS, 3600 if len(self._workers) == self._wanted else _START_SECONDS)
            if received is not None and received.si_signo in _STOP_SIGNALS:
                return self._stop()
            if received is not None and received.si_signo == signal.SIGHUP:
                self._reload()
            while self._reap():
                pass

    def _start_workers(self) -> None:
        now = time.monotonic()
        self._start_times = [started for started in self._start_times if now - started < _START_SECONDS]
        while len(self._workers) < self._wanted and len(self._start_times) < _MAX_STARTS * self._wanted:
            part = min(set(range(1, self._wanted + 1)) - set(self._workers.values()))
            pid = os.fork()
            if not pid:
                self._run_worker(part)
            self._workers[pid] = part
            self._start_times.append(now)

    def _run_worker(self, part: int) -> NoReturn:
        status = 1
        try:
            self._counters.attach(part)
            os.close(self._shutdown_write)
            signalled = shutdown_descriptor(_STOP_SIGNALS)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._work(self._listener, (self._shutdown_read, signalled))
            status = 0
        except Exception as error:  # noqa: BLE001 - a fault of ours: one line in the log, and the parent starts another
            write_error(f"a worker failed: {type(error).__name__}: {error}")
        finally:
            # Without the exit handlers of the parent.
            os._exit(status)

    def _reap(self) -> bool:
        """Remove a worker that has ended; returns whether there was one."""
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid in self._workers and not self._stopping:
            reason = exit_reason(os.waitstatus_to_exitcode(status))
            log_line("noid", f"the worker {pid} {reason}: another one is started")
            self._counters.add(("death",), (1,))
        self._workers.pop(pid, None)
        return bool(pid)

    def _stop(self) -> None:
        self._stopping = True
        # The signal tells a worker that no other takes its place.
        for pid in self._workers:
            os.kill(pid, signal.SIGTERM)
        os.close(self._shutdown_write)
        deadline = time.monotonic() + _SHUTDOWN_SECONDS
        while self._workers and time.monotonic() < deadline:
            if not self._reap():
                signal.sigtimedwait({signal.SIGCHLD}, 1.0)
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _reload(self) -> None:
        os.set_inheritable(self._listener.fileno(), True)
        os.environ[INHERITED] = str(self._listener.fileno())
        try:
            # exec closes our end of the shutdown pipe, so that the workers finish the requests at hand and end.
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        except OSError as error:
            write_error(f"cannot reload: {error}")


def shutdown_descriptor(signals: Iterable[int]) -> int:
    """A descriptor that becomes readable when one of the signals arrives.  For the main thread of a worker.

    The handlers do nothing, so that a signal does not interrupt a request.
    """
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in signals:
        signal.signal(number, _do_nothing)
    return readable


def _do_nothing(*_: object) -> None:
    """A signal handler, without which a signal is not written to the wakeup descriptor."""


def inherited_socket() -> socket.socket | None:
    """The listening socket of the process before a reload; None if this is not a reload."""
    number = os.environ.pop(INHERITED, None)
    if number is None:
        return None
    os.set_inheritable(int(number), False)
    return socket.socket(fileno=int(number))
