"""Every file that is not Python is named in setup.cfg, and so is in the wheel."""

from __future__ import annotations

import configparser

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
    files = {path for path in (ROOT / "noidtools").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files if path.suffix != ".py"} == shipped
    assert ROOT / "noidtools/web/templates/name.html" in shipped
