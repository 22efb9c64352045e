"""A minter used from several containers, each of which numbers its processes from 1 on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.process import NOID, children, script_command, script_environment, wait_until

pytestmark = pytest.mark.only("lmdb")
NEW_CONTAINER = ["unshare", *(() if os.getuid() == 0 else ("--user", "--map-root-user")), "--pid", "--fork",
                 "--mount-proc", "--kill-child"]


@pytest.fixture
def minter(noid_process) -> Path:
    noid_process("dbcreate", "kt.sdddd")
    return noid_process.folder


@pytest.fixture
def first(minter: Path) -> Iterator[int]:
    """The number, here, of a process that is number 1 in a container of its own and reads the minter."""
    command = [*NEW_CONTAINER, *script_command("store_read_for_a_minute", minter / "NOID")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=script_environment()) as container:
        assert container.stdout.readline() == b"reading\n"
        yield children(container.pid)[0]
        container.kill()


def run(minter: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*command, *NOID, "mint", "1"], cwd=minter, capture_output=True, timeout=60, check=False)


def test_the_same_process_number_in_another_container_is_refused_with_the_remedy(minter, first):
    done = run(minter, *NEW_CONTAINER)
    assert done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"\n") == 1, done
    assert b"another container" in done.stderr and b"--pid=container:" in done.stderr
    # Nothing was harmed, and whoever has another number is served.
    assert run(minter).stdout.split() == [b"id:", b"kt0000"]


def test_containers_that_share_their_process_numbers_share_a_minter(minter, first):
    enter = ["nsenter", f"--target={first}", "--pid", *(() if os.getuid() == 0 else ("--user",))]
    assert run(minter, *enter).stdout.split() == [b"id:", b"kt0000"]


def test_after_the_other_container_has_ended_its_number_is_free(minter, first):
    os.kill(first, 9)
    wait_until(lambda: run(minter, *NEW_CONTAINER).returncode == 0)
