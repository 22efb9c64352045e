"""A PostgreSQL server of Debian's packages, in a temporary folder, at a Unix socket."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from support.process import children, signal_all
from support.servers.system import MissingError

# The server refuses to run as root; Debian's package makes this account.
ACCOUNT = "postgres"


def programs() -> Path:
    """The folder of the newest server's programs."""
    found = sorted(glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise MissingError("PostgreSQL is not installed: apt-get install postgresql")
    return Path(found[-1])


def demoted() -> dict[str, object]:
    """Arguments for subprocess by which a program does not run as root."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(ACCOUNT)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server with an empty database, which it answers at a Unix socket, to every account of this computer."""

    def __init__(self, *settings: str, standby_of: PostgresServer | None = None, port: int = 0) -> None:
        """With `standby_of` it follows another server.  With a port it also listens there, on loopback."""
        self.folder = Path(tempfile.mkdtemp(prefix="noidpg"))
        self._settings = (f"port={port}", "listen_addresses=127.0.0.1", *settings) if port else settings
        self.port = port or 5432
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self.folder, ACCOUNT)
        if standby_of is None:
            self._run("initdb", "-D", str(self.data), "-U", "noid", "-A", "trust", "-E", "UTF8", "--locale=C",
                      "--no-sync")
        else:
            self._run("pg_basebackup", "-D", str(self.data), "-U", "noid", "-h", str(standby_of.folder), "-p",
                      str(standby_of.port), "-R", "-c", "fast", "--no-sync")
        self.start()

    @property
    def address(self) -> str:
        port = "" if self.port == 5432 else f"&port={self.port}"
        return f"postgresql://noid@/postgres?host={self.folder}{port}"

    @property
    def socket(self) -> Path:
        """The Unix socket at which it listens."""
        return self.folder / f".s.PGSQL.{self.port}"

    def _run(self, program: str, *words: str) -> None:
        subprocess.run([str(programs() / program), *words], check=True, cwd=self.folder, capture_output=True,
                       **demoted())  # type: ignore[call-overload]

    def start(self) -> None:
        command = [str(programs() / "postgres"), "-D", str(self.data), "-k", str(self.folder), "-c",
                   "listen_addresses=", "-c", "max_connections=200"]
        for setting in self._settings:
            command += ["-c", setting]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder,
                                             **demoted())  # type: ignore[call-overload]
        deadline = time.monotonic() + 60
        while subprocess.run([str(programs() / "pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)],
                             check=False).returncode:
            assert self._process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, mode: str = "fast") -> None:
        """Stop it: fast ends sessions, immediate is like a crash."""
        if self._process is not None:
            self._run("pg_ctl", "stop", "-w", "-D", str(self.data), "-m", mode)
            self._process.wait()
            self._process = None

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """All its processes are stopped by SIGSTOP: it accepts connections, and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)  # first, so that it starts no more of them
        below = children(self.pid)
        try:
            signal_all(below, signal.SIGSTOP)
            yield
        finally:
            signal_all((self.pid, *below), signal.SIGCONT)

    def close(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, statement: str, address: str = "") -> str:
        """What psql prints for a statement, perhaps at the address of another account."""
        done = subprocess.run([str(programs() / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                               address or self.address, "-c", statement], check=True, capture_output=True, text=True)
        return done.stdout.strip()


@functools.cache
def shared_server() -> PostgresServer:
    """The server that all tests of this process share, started when the first asks for it."""
    server = PostgresServer()
    owner = os.getpid()
    atexit.register(lambda: server.close() if os.getpid() == owner else None)
    return server


def postgres_address() -> str:
    """The address of the shared server."""
    return shared_server().address
