"""A real browser, started afresh for each page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from support.servers.system import program

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions",
)


def browser() -> str:
    """The path of Chromium, which has two names."""
    return shutil.which("chromium-browser") or program("chromium")


def _run(profile: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [browser(), *FLAGS, f"--user-data-dir={profile}", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def document(url: str, profile: Path, *, width: int = 1000, height: int = 800) -> str:
    """The page as the browser has it after everything on it was loaded and run."""
    return _run(profile, f"--window-size={width},{height}", "--dump-dom", url).stdout.decode()


def screenshot(url: str, profile: Path, file: Path, *, width: int = 1000, height: int = 800) -> bytes:
    _run(profile, f"--window-size={width},{height}", f"--screenshot={file}", url)
    return file.read_bytes()
