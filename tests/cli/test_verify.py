"""verify as a process: killed, at a terminal, with many identifiers."""

from __future__ import annotations

import os
import pty
import subprocess
import time

import pytest

from support.odd_server import OddServer
from support.process import NOID, run_script
from support.verification import LINKS, create_sound_minter, verified


@pytest.fixture
def f5(noid):
    """A minter of which everything can be verified, and an identifier of which everything holds."""
    create_sound_minter(noid)
    return noid


@pytest.mark.slow
def test_a_killed_verify_keeps_the_findings_it_has_printed(f5):
    f5("mint", "21000", "_t", "https://example.org/")
    running = subprocess.Popen([*NOID, "verify", "--record"], cwd=f5.folder, stdout=subprocess.PIPE)
    time.sleep(1.0)
    running.kill()
    running.communicate()
    status, found, summary = verified(f5)
    assert status == 0 and summary["verified"] == "21001, 0 failing"


@pytest.fixture
def server():
    with OddServer("127.0.0.2") as odd:
        yield odd


@pytest.mark.slow
def test_the_minter_can_be_written_while_links_are_checked(noid, server):
    noid("dbcreate")
    noid("bind", "set", "x", "_t", server.url("/never"))
    running = subprocess.Popen([*NOID, "verify", "--links", "--allow-private", "--timeout", "60"], cwd=noid.folder,
                               stdout=subprocess.PIPE)
    while not server.requests:
        time.sleep(0.02)
    noid("bind", "set", "y", "_t", "z")
    assert running.poll() is None
    running.kill()
    running.communicate()


def written_to(terminal: int) -> bytes:
    """All that was written to a pseudo-terminal whose other end is closed; closes this end."""
    written = b""
    try:
        while piece := os.read(terminal, 65536):
            written += piece
    except OSError:
        pass  # how Linux reports the end
    os.close(terminal)
    return written


def test_a_progress_bar_is_shown_on_a_terminal_only(noid, server):
    noid("dbcreate")
    for number in range(4):
        noid("bind", "set", f"x{number}", "_t", server.url(f"/slow/0.3{number}"))
    ours, theirs = pty.openpty()
    done = subprocess.run([*NOID, "verify", *LINKS], cwd=noid.folder, stdout=subprocess.PIPE, stderr=theirs,
                          check=False)
    os.close(theirs)
    shown = written_to(ours).decode()
    assert done.returncode == 0 and b"\r" not in done.stdout
    assert "of 4" in shown and "[###" in shown and shown.endswith("\r\x1b[K")


@pytest.mark.slow
@pytest.mark.long
def test_many_identifiers_are_verified_in_little_time_and_memory(noid):
    noid("dbcreate", "kt.reedeed")
    noid("mint", "12000", "_t", "https://example.org/")
    status, peak = run_script("noid_with_memory", "-f", noid.folder, "verify").split()[-2:]
    assert status == "0" and int(peak) < 40_000_000
