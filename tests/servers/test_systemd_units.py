"""The unit for systemd, judged by systemd."""

from __future__ import annotations

import subprocess

import pytest

from support.servers.configuration import rendered
from support.servers.system import program


@pytest.mark.parametrize("way", ["proxy", "fastcgi"])
def test_systemd_analyze_accepts_the_unit(site, tmp_path, way):
    unit = tmp_path / "noid.service"
    unit.write_text(rendered("systemd/noid.service.j2", "nginx", way, prefix=site.installation, minters=tmp_path))
    done = subprocess.run([program("systemd-analyze"), "verify", "--man=no", unit], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and "noid" not in done.stderr, done.stderr


def test_the_unit_passes_the_security_analysis_of_systemd(tmp_path):
    unit = tmp_path / "noid.service"
    unit.write_text(rendered("systemd/noid.service.j2", "nginx", "proxy"))
    done = subprocess.run([program("systemd-analyze"), "security", "--offline=true", "--threshold=10", "--no-pager",
                           unit], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]
