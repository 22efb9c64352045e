"""The units for systemd, judged by systemd."""

from __future__ import annotations

import subprocess

import pytest

from support.servers.configuration import rendered
from support.servers.system import program


@pytest.mark.parametrize("postgres", [False, True])
@pytest.mark.parametrize("way", ["proxy", "fastcgi"])
def test_systemd_analyze_accepts_the_units(site, tmp_path, way, postgres):
    for name in ("noid.service", "noid-backup.service", "noid-backup.timer", "noid-links.service", "noid-links.timer",
                 "noid-site.service", "noid-site.timer"):
        (tmp_path / name).write_text(rendered(f"systemd/{name}.j2", "nginx", way, prefix=site.installation,
                                              minters=tmp_path, postgres=postgres))
    done = subprocess.run([program("systemd-analyze"), "verify", "--man=no", *tmp_path.iterdir()], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and "noid" not in done.stderr, done.stderr


@pytest.mark.parametrize(("postgres", "threshold"), [(False, 10), (True, 20)])
@pytest.mark.parametrize("name", ["noid.service", "noid-backup.service", "noid-links.service",
                                  "noid-site.service"])
def test_the_units_pass_the_security_analysis_of_systemd(tmp_path, name, postgres, threshold):
    unit = tmp_path / name
    if name == "noid-links.service":
        threshold = 20  # it asks other servers, whatever the minters are in
    unit.write_text(rendered(f"systemd/{name}.j2", "nginx", "proxy", postgres=postgres))
    done = subprocess.run([program("systemd-analyze"), "security", "--offline=true", f"--threshold={threshold}",
                           "--no-pager", unit], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]
