"""The Debian package: built, installed on an empty machine, set up, and removed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.project import ROOT
from support.servers.machine import Machine
from support.servers.system import MissingError

pytestmark = pytest.mark.long

# dpkg may write below /usr and /var/lib/dpkg of this machine alone.
WRITABLE = """
mkdir /scratch
mount -t tmpfs tmpfs /scratch
for folder in /usr /var/lib/dpkg; do
    mkdir -p /scratch$folder/upper /scratch$folder/work
    mount -t overlay overlay -o lowerdir=$folder,upperdir=/scratch$folder/upper,workdir=/scratch$folder/work $folder
done
"""
INSTALL = "dpkg --force-not-root --log=/dev/null -i /checkout/wheels/noidtools_*.deb 2>&1"


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    subprocess.run([ROOT / "packaging" / "build-deb", folder], check=True, stdout=subprocess.DEVNULL)
    (built,) = folder.glob("noidtools_*.deb")
    return built


def test_the_package_is_installed_set_up_and_removed(package):
    try:
        machine = Machine(None, package.parent)
    except MissingError as missing:
        pytest.fail(str(missing))
    try:
        machine.run(WRITABLE + INSTALL)
        assert "noid" in machine.run("noid -v")
        assert "NOID(1)" in machine.run("man noid | cat").upper()
        machine.run("noid setup nginx --minters /srv/noid --host localhost --write | sed 's/check$/check || true/'"
                    " | sh -e")
        machine.run("noid -f /srv/noid/kt5 dbcreate kt.reeded long 13030 cdlib.org dpg\n"
                    "noid -f /srv/noid/kt5 mint 1\n"
                    "noid -f /srv/noid/kt5 bind set 13030/kt4x551 _t https://library.example/kt4x551\nsleep 1.1")
        resolve = "curl -si http://localhost/ark:/13030/kt4x551 | grep -i location:"
        assert "https://library.example/kt4x551" in machine.run(resolve)
        # The same release again stands for the next one: the service goes on.
        before = machine.run("systemctl show -p MainPID noid")
        machine.run(INSTALL)
        assert machine.run("systemctl show -p MainPID noid") != before
        machine.run("until curl -sf http://localhost/healthz; do sleep 0.1; done")
        assert "https://library.example/kt4x551" in machine.run(resolve)
        machine.run("noid setup remove | sh -e; dpkg --log=/dev/null -r noidtools")
        assert machine.run("ls -d /opt/noid /usr/bin/noid 2>/dev/null || true") == ""
        assert "data.mdb" in machine.run("ls /srv/noid/kt5/NOID")
    finally:
        machine.close()
