"""The installed package: its public names, its files, its programs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from noidtools.commands import Call, Session
from noidtools.minter.events import Actor
from support.project import ROOT


def test_the_command_language_is_importable_from_the_package(tmp_path, noid):
    noid("dbcreate", ".sd")
    session = Session(str(tmp_path), Actor(b"me", b"test"))
    answer = Call(session, [b"mint", b"2"]).run()
    assert [record.data() for record in answer.records] == [[{"id": b"0"}, {"id": b"1"}]]
    session.close()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that nothing is left in the tree."""
    source = tmp_path_factory.mktemp("source")
    subprocess.run(f"tar -C '{ROOT}' --exclude=.venv --exclude=.git --exclude=.demo -cf - . | tar -C '{source}' -xf -",
                   shell=True, check=True)
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, source]
    subprocess.run(command, check=True)
    return next(target.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_what_is_needed_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"noidtools/deployment/conf/nginx/site.conf.j2", "noidtools/deployment/conf/noidtools.wsgi.j2"} <= set(names)
    assert "noidtools/py.typed" in names and "noidtools/store/lmdb/__init__.py" in names
    assert not any(name.startswith("tests") for name in names)
    scripts = {name.rsplit("/", 1)[1] for name in names if ".data/scripts/" in name}
    assert scripts == {path.name for path in (ROOT / "cgi-bin").iterdir() if path.is_file()}


@pytest.mark.slow
def test_the_installed_command_mints(wheel, tmp_path):
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    for words in (["dbcreate", ".sd"], ["mint", "1"]):
        done = subprocess.run([site / "bin" / "noid", *words], cwd=tmp_path, env=environment, capture_output=True,
                              check=True)
    assert done.stdout == b"id: 0\n\n"
