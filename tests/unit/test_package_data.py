"""The package: its version, and every file that is not Python, which is named in setup.cfg and so in the wheel."""

from __future__ import annotations

import configparser
import re

from noidtools.version import __version__
from support.project import ROOT


def test_every_data_file_of_the_packages_is_shipped():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    shipped = {
        path
        for package, patterns in settings["options.package_data"].items()
        for pattern in patterns.replace(",", " ").split()
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    # The configurations lie in conf/, to which the package has a link.
    paths = (*(ROOT / "noidtools").rglob("*"), *(ROOT / "noidtools/deployment/conf").rglob("*"))
    files = {path for path in paths if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files if path.suffix != ".py"} == shipped
    assert ROOT / "noidtools/web/templates/name.html" in shipped


def test_the_version_is_not_one_that_was_released_before():
    """So that `noid_build_info` and `noid -v` tell this release from the ones before."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    next_release, *released = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    (coming,) = re.findall(r"^Next release \((.+)\)$", next_release)
    assert __version__ not in released and __version__.startswith(coming)
