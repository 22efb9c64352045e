"""The units for systemd, judged by systemd."""

from __future__ import annotations

import subprocess

import pytest

from support.project import CONF
from support.servers.configuration import edited
from support.servers.system import program


@pytest.mark.parametrize("name", ["noid", "noid-http"])
def test_systemd_analyze_accepts_the_units(site, tmp_path, name):
    for kind in ("service", "socket"):
        changes = {"/opt/noid": site.installation, "/srv/noid": tmp_path} if kind == "service" else {}
        (tmp_path / f"{name}.{kind}").write_text(edited(CONF / "systemd" / f"{name}.{kind}", changes))
    units = [str(tmp_path / f"{name}.{kind}") for kind in ("service", "socket")]
    done = subprocess.run([program("systemd-analyze"), "verify", "--man=no", *units], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and name not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["noid.service", "noid-http.service"])
def test_the_units_pass_the_security_analysis_of_systemd(name):
    done = subprocess.run([program("systemd-analyze"), "security", "--offline=true", "--threshold=10", "--no-pager",
                           str(CONF / "systemd" / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]
