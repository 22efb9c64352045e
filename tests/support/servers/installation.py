"""An installation of the package for the Python that Apache's mod_wsgi was built for."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.project import PROGRAMS, ROOT
from support.servers.system import MissingError

_DEPENDENCIES = ("lmdb", "pcre2", "flup", "granian", "click", "prometheus_client", "idna", "jinja2", "markupsafe",
                 "msgspec", "multipart",
                 "psycopg", "psycopg_binary", "psycopg_pool", "typing_extensions")
APACHE_MODULES = Path("/usr/lib/apache2/modules")


def wsgi_python() -> str:
    """The interpreter that mod_wsgi was built for."""
    module = APACHE_MODULES / "mod_wsgi.so"
    if not module.exists():
        raise MissingError("mod_wsgi is missing: apt-get install libapache2-mod-wsgi-py3")
    version = re.search(rb"libpython(3\.\d+)", module.read_bytes())
    assert version, "mod_wsgi.so names no libpython"
    name = f"python{version[1].decode()}"
    found = shutil.which(name, path="/usr/bin:/usr/local/bin")
    if found is None:
        raise MissingError(f"{name}, for which mod_wsgi was built, is missing: apt-get install {name}")
    return found


def install(folder: Path) -> Path:
    """Make a virtual environment with the package in it, as pip would, without the network if possible."""
    interpreter = wsgi_python()
    subprocess.run([interpreter, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    if os.path.basename(interpreter) == f"python3.{sys.version_info.minor}":
        for name in _DEPENDENCIES:
            _copy_distribution(name, packages)
    else:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "--only-binary=:all:",
             "--python-version", os.path.basename(interpreter).removeprefix("python"), *_DEPENDENCIES], check=True,
        )
    shutil.copytree(ROOT / "noidtools", packages / "noidtools", ignore=shutil.ignore_patterns("__pycache__"))
    for script in PROGRAMS.iterdir():
        if script.is_file():
            _install_script(script, folder)
    # The servers' user may not write here, and would compile everything anew at each start.
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages], check=True)
    return folder


def _copy_distribution(name: str, packages: Path) -> None:
    distribution = importlib.metadata.distribution(name)
    for file in distribution.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(Path(str(distribution.locate_file(file))), target)


def _install_script(script: Path, folder: Path) -> None:
    first, _, rest = script.read_text().partition("\n")
    assert first == "#!/usr/bin/env python3", f"{script}: its first line is what pip replaces"
    target = folder / "bin" / script.name
    target.write_text(f"#!{folder}/bin/python\n{rest}")
    target.chmod(0o755)
