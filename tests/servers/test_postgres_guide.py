"""The three servers of docs/scale.md, started with the files that it prints, on three addresses of loopback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from support.minter import Noid
from support.postgres import ACCOUNT, demoted, programs
from support.project import ROOT

pytestmark = pytest.mark.cluster

# Nobody else uses these; clients have the address 127.0.0.1.
NETWORK = "127.0.14."


def block(containing: str) -> str:
    """The block of the page that has a text in it."""
    page = (ROOT / "docs" / "scale.md").read_text()
    return next(found for found in re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
                if containing in found)


def here(text: str, number: int) -> str:
    """A file of the page for one of the machines."""
    lines = []
    for line in text.splitlines():
        if not line.startswith(("ETCD_INITIAL_CLUSTER=", "etcd:")):
            line = line.replace("db1", f"db{number}").replace("10.0.0.1", f"10.0.0.{number}")
        lines.append(line.replace("10.0.0.0/24", "127.0.0.0/8").replace("10.0.0.", NETWORK))
    return "\n".join(lines) + "\n"


class Machine:
    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder / f"db{number}"
        self.folder.mkdir()
        shutil.chown(self.folder, ACCOUNT)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._etcd = dict(line.split("=", 1) for line in here(block("ETCD_NAME"), number).splitlines())
        config = here(block("scope: noid"), number)
        config = config.replace("/var/lib/postgresql/noid", f"{self.folder}/data").replace("…", "secret")
        config = re.sub(r"bin_dir: .*", f"bin_dir: {programs()}", config)
        # Three machines on one have no common folder for sockets and passwords.
        config += f"  parameters: {{unix_socket_directories: {self.folder}}}\n  pgpass: {self.folder}/pgpass\n"
        (self.folder / "config.yml").write_text(config)

    def start(self, *command: str, **environment: str) -> None:
        with open(self.folder / "log", "ab") as log:
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder,
                                                    env=os.environ | environment, **demoted()))

    def start_etcd(self) -> None:
        self.start("etcd", "--data-dir", str(self.folder / "etcd"), **self._etcd)

    def start_patroni(self) -> None:
        self.start("patroni", str(self.folder / "config.yml"))

    def run(self, *command: str, stdin: str = "") -> str:
        """The output of a command of the account of the server, on this machine."""
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, cwd=self.folder,
                              env=os.environ | {"PGHOST": str(self.folder)}, **demoted())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self) -> None:
        """Lose the machine."""
        for process in self._processes:
            process.kill()
            process.wait()
        pid = self.folder / "data" / "postmaster.pid"
        if pid.exists():
            subprocess.run(["kill", "-9", pid.read_text().split()[0]], check=False)


@pytest.fixture
def machines():
    folder = Path(tempfile.mkdtemp(prefix="noidguide"))
    folder.chmod(0o755)
    made = [Machine(folder, number) for number in (1, 2, 3)]
    yield made
    for machine in made:
        machine.kill()
        print((machine.folder / "log").read_text()[-3000:])
    shutil.rmtree(folder, ignore_errors=True)


def wait_for_roles(machines: list[Machine], count: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            listing = machines[1].run("patronictl", "-c", str(machines[1].folder / "config.yml"), "list")
        except AssertionError:
            listing = ""
        if ("Leader" in listing and "Sync Standby" in listing and
                listing.count("running") + listing.count("streaming") == count):
            return
        assert time.monotonic() < deadline, listing
        time.sleep(1)


def test_the_guide_leads_to_a_cluster_that_survives_the_loss_of_its_leader(machines, tmp_path, monkeypatch):
    for machine in machines:
        machine.start_etcd()
    machines[0].start_patroni()
    deadline = time.monotonic() + 60
    while "the leader with the lock" not in (machines[0].folder / "log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.5)
    for machine in machines[1:]:
        machine.start_patroni()
    wait_for_roles(machines, 3)
    leader = machines[0]
    noid = Noid(tmp_path / "kt5")
    leader.run("createdb", "noid")
    leader.run("psql", "-q", "noid", stdin=noid("sql", "tables") + noid("sql", "roles"))
    leader.run("psql", "-q", "noid", "-c", "CREATE ROLE minting LOGIN PASSWORD 'kept' IN ROLE noid_writer")
    (tmp_path / ".pgpass").write_text("*:5432:noid:minting:kept\n")
    (tmp_path / ".pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    hosts = ",".join(f"{NETWORK}{number}" for number in (1, 2, 3))
    address = f"postgresql://minting@{hosts}/noid?target_session_attrs=read-write"
    noid("dbcreate", "kt.reeded", "long", "13030", "cdlib.org", "dpg", "--store", address)
    assert "Durability: a commit is on the disks of this server and of a standby" in noid("dbinfo")
    given = noid.ids(5)
    leader.kill()
    start = time.monotonic()
    while True:
        done = noid.run("mint", "1")
        if not done.returncode:
            break
        assert b"try again" in done.stderr and time.monotonic() - start < 120, done.stderr
    print(f"minting went on after {time.monotonic() - start:.1f} seconds")
    given += [line.removeprefix("id: ") for line in done.stdout.decode().split("\n") if line] + noid.ids(2)
    assert len(set(given)) == 8
