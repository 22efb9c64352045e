"""The adapters to flup and waitress: a release without a member that they use is reported by name."""

from __future__ import annotations

import configparser
import io
import os
import re
import shutil
import subprocess
import tokenize
from pathlib import Path

import pytest

from noidtools.errors import NoidError
from noidtools.server import flup as flup_adapter
from noidtools.server import waitress as waitress_adapter
from noidtools.server.compatibility import ensure_members, missing_members
from support.process import NOID
from support.project import ROOT

ADAPTERS = [("flup", flup_adapter), ("waitress", waitress_adapter)]


@pytest.mark.parametrize(("package", "adapter"), ADAPTERS)
def test_the_installed_release_has_every_member_that_the_adapter_uses(package, adapter):
    missing = missing_members(adapter.NEEDED)
    assert not missing, f"the installed {package} lacks {missing}: change noidtools/server/{package}.py, or its bounds"


@pytest.mark.parametrize(("package", "adapter"), ADAPTERS)
def test_the_bounds_are_those_of_the_packaging(package, adapter):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    requirements = setup["options"]["install_requires"] + setup["options.extras_require"]["http"]
    assert f"{package} {adapter.BOUNDS}" in requirements.splitlines()


@pytest.mark.parametrize(("package", "adapter"), ADAPTERS)
def test_only_the_adapter_imports_the_package(package, adapter):
    imports = re.compile(rf"^\s*(from|import) {package}\b", re.MULTILINE)
    using = [path.name for path in (ROOT / "noidtools").rglob("*.py") if imports.search(path.read_text())]
    assert using == [f"{package}.py"]


def _names(source: str) -> set[str]:
    return {token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.NAME}


def test_every_private_member_of_flup_in_the_adapter_is_listed():
    import flup.server.fcgi_base
    import flup.server.scgi_base

    theirs = set().union(*(_names(Path(module.__file__).read_text())
                           for module in (flup.server.fcgi_base, flup.server.scgi_base)))
    ours = _names(Path(flup_adapter.__file__).read_text())
    private = {name for name in ours & theirs
               if name.startswith("FCGI_") or (name.startswith("_") and not name.startswith("__"))}
    listed = {member for members in flup_adapter.NEEDED.values() for member in members}
    assert private and private <= listed


def test_members_are_looked_for_in_modules_classes_instances_and_parameters():
    needed = {
        "noidtools.server.gateway": ("GatewayWorker", "nothing"),
        "noidtools.server.gateway:GatewayWorker": ("run", "_closing", "_absent"),
        "noidtools.server.gateway:GatewayWorker.run": ("shutdown", "other"),
        "noidtools.server.gateway:Nobody": ("x",),
        "noidtools.server.nowhere": ("x",),
    }
    assert missing_members(needed) == [
        "noidtools.server.gateway.nothing", "noidtools.server.gateway:GatewayWorker._absent",
        "noidtools.server.gateway:GatewayWorker.run.other", "noidtools.server.gateway:Nobody",
        "noidtools.server.nowhere"]
    with pytest.raises(NoidError, match=r"waitress [\d.]+ lacks noidtools.server.nowhere, which noidtools uses"):
        ensure_members("waitress", ">= 1", {"noidtools.server.nowhere": ("x",)})


def test_a_package_that_is_not_installed_is_reported_by_the_import():
    with pytest.raises(ModuleNotFoundError):
        missing_members({"nopackage.module": ("x",)})


@pytest.mark.parametrize(("package", "file", "member", "where", "option"), [
    ("flup", "server/fcgi_base.py", "_start_request", "flup.server.fcgi_base:Connection._start_request", "--fcgi"),
    ("flup", "server/scgi_base.py", "BaseSCGIServer", "flup.server.scgi_base.BaseSCGIServer", "--scgi"),
    ("waitress", "channel.py", "total_outbufs_len", "waitress.channel:HTTPChannel.total_outbufs_len", "--http"),
])
def test_a_release_that_breaks_an_adapter_is_refused_at_the_start(noid, tmp_path, package, file, member, where, option):
    """With a copy of the package in which the member has another name."""
    original = Path(__import__(package).__path__[0])
    shutil.copytree(original, tmp_path / "lib" / package)
    changed = tmp_path / "lib" / package / file
    changed.write_text(changed.read_text().replace(member, "x" + member))
    noid("dbcreate")
    done = subprocess.run([*NOID, "serve", option, "127.0.0.1:0"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path / 'lib'}:{ROOT}"}, check=False, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert f" lacks {where}" in done.stderr and f"install {package} >= " in done.stderr
