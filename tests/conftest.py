"""What tests of the commands share: a real process, a real database in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOID = [sys.executable, str(ROOT / "cgi-bin" / "noid")]
# The commands under test are those of this tree, whatever may be installed besides.
os.environ["PYTHONPATH"] = str(ROOT)
VECTORS = ROOT / "tests" / "vectors"


def vectors(name: str):
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


class Noid:
    """The noid command, run in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str | bytes, stdin: bytes = b"", **options) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, **options.pop("env", {})}
        if "NOID" not in options.get("keep", ()):
            environment.pop("NOID", None)
        options.pop("keep", None)
        return subprocess.run([*NOID, *words], cwd=self.folder, input=stdin, capture_output=True, timeout=120,
                              env=environment, check=False, **options)

    def __call__(self, *words: str | bytes, stdin: bytes = b"", **options) -> str:
        """Standard output of a command that must succeed."""
        done = self.run(*words, stdin=stdin, **options)
        assert done.returncode == 0, (words, done.returncode, done.stdout[-500:], done.stderr[-500:])
        assert done.stderr == b"", (words, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def refused(self, *words: str | bytes, stdin: bytes = b"", status: int | None = None, **options) -> str:
        """The one sentence with which a command is refused."""
        done = self.run(*words, stdin=stdin, **options)
        assert done.returncode in ((1, 2) if status is None else (status,)), (words, done)
        assert b"Traceback" not in done.stderr
        sentence = done.stderr.decode("utf-8", "surrogateescape")
        assert sentence.startswith("error: ") and sentence.endswith("\n") and sentence.count("\n") == 1, sentence
        return sentence[len("error: ") :].strip()

    def ids(self, count: int) -> list[str]:
        return [line.removeprefix("id: ") for line in self("mint", str(count)).split("\n") if line]


@pytest.fixture
def noid(tmp_path: Path) -> Noid:
    return Noid(tmp_path)


@pytest.fixture(scope="module")
def site():
    """A folder with an installation, in which a module's tests start real servers."""
    from server_support import MissingError, Site

    try:
        made = Site()
    except MissingError as missing:
        pytest.fail(str(missing))
    yield made
    made.close()
