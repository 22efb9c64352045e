"""A private Debian with systemd, for what only a whole machine shows: guides, units, `noid setup`.

It has the programs of the real machine, a copy of its /etc, and nothing else: no network but loopback, an empty /srv,
a copy of the checkout in /checkout.  Nothing of the real machine can be written from inside: see boot-machine.sh.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from support.process import children, command_line, wait_until
from support.project import ROOT
from support.servers.system import MissingError, program

_BOOT = Path(__file__).with_name("boot-machine.sh")
_CHECKOUT = ("noidtools", "cgi-bin", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
PASSWORD = "s3cret"


class Machine:
    """A machine that is booted; `installation` is copied to /opt/noid, None leaves that to whoever uses it."""

    def __init__(self, installation: Path | None, wheels: Path | None = None) -> None:
        if os.getuid() != 0:
            raise MissingError("a machine of one's own needs root")
        self.folder = Path(tempfile.mkdtemp(prefix="noid-machine-"))
        root, checkout = self.folder / "root", self.folder / "checkout"
        root.mkdir()
        checkout.mkdir()
        for name in _CHECKOUT:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, checkout)
        (checkout / "conf").symlink_to("noidtools/deployment/conf")
        if wheels is not None:
            shutil.copytree(wheels, checkout / "wheels")
        self._cgroup = _new_cgroup(self.folder.name)
        self._log = self.folder / "boot.log"
        with self._log.open("wb") as log:
            # Where the tests are killed, the machine ends with them.
            self._unshare = subprocess.Popen(
                [program("setpriv"), "--pdeathsig", "KILL", "sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"',
                 self._cgroup, program("unshare"), "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork",
                 "--kill-child", "sh", _BOOT, root, checkout, str(installation or "")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._init = 0
        try:
            wait_until(self._has_booted, 60, lambda: self._log.read_text())
        except BaseException:
            self.close()
            raise

    def _has_booted(self) -> bool:
        assert self._unshare.poll() is None, self._log.read_text()
        found = [pid for pid in children(self._unshare.pid) if "noid-machine.target" in command_line(pid)]
        if not found:
            return False
        self._init = found[0]
        return b"running" in subprocess.run([*self._inside(), "systemctl", "is-system-running"], capture_output=True,
                                            check=False).stdout

    def _inside(self) -> list[str]:
        return [program("nsenter"), "--target", str(self._init), "--all", "env", "-i", "-C", "/checkout", "HOME=/root",
                "TERM=dumb", "LC_ALL=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

    def run(self, script: str, *, check: bool = True, seconds: float = 120) -> str:
        """What a script of the shell prints that root runs in /checkout; it ends at the first command that fails."""
        done = subprocess.run([*self._inside(), "bash", "-euc", script], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=seconds)
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}\n{self.logs()}"
        return done.stdout

    def type(self, script: str, seconds: float = 120) -> str:
        """The same at a terminal, where the password is typed whenever one is asked for."""
        pid, terminal = pty.fork()
        if not pid:
            os.execv(program("nsenter"), [*self._inside(), "bash", "-euc", script])
        output, answered, deadline = b"", 0, time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # it has ended
                break
            output += piece
            if b"assword" in output[answered:] and output.rstrip(b" ").endswith(b":"):
                answered = len(output)
                os.write(terminal, f"{PASSWORD}\n".encode())
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError):
            if time.monotonic() >= deadline:
                os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        text = output.decode(errors="replace").replace("\r", "")
        assert status == 0, f"{script}\n{text}\n{self.logs()}"
        return text

    def logs(self) -> str:
        return self.run("journalctl --no-pager -n 40; tail -n 20 /var/log/*/error.log", check=False)

    def close(self) -> None:
        """End the machine with all its processes."""
        for pid in filter(None, (self._init, self._unshare.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._unshare.wait()
        wait_until(lambda: _removed(self._cgroup), 10)
        shutil.rmtree(self.folder, ignore_errors=True)


def _new_cgroup(name: str) -> Path:
    """A cgroup for the processes of the machine."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [fields[1] for fields in mounts if fields[2] == "cgroup2"]
    if not roots:
        raise MissingError("no cgroup2 file system is mounted, which systemd needs")
    made = Path(roots[0]) / name
    made.mkdir()
    return made


def _removed(cgroup: Path) -> bool:
    """Remove a cgroup with those in it; False while a process is in one."""
    for folder, _, _ in os.walk(cgroup, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            return False
    return True
