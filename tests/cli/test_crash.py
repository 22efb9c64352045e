"""Never twice, never lost: many processes, killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from itertools import count
from pathlib import Path

import pytest

from support.killed import COMMITS, RENAMES, every_kill
from support.minter import Noid
from support.process import NOID, wait_until

pytestmark = pytest.mark.slow

ROUNDS = {"lmdb": 3, "postgres": 2}
more_rounds = pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.long)])
PROCESSES = 4


def start(noid, words, output):
    with output.open("ab") as file:
        return subprocess.Popen([*NOID, *words], cwd=noid.folder, stdin=subprocess.PIPE, stdout=file,
                                stderr=subprocess.PIPE)


def complete_ids(path) -> list[str]:
    """Identifiers that were printed in full; a kill may cut the last line."""
    return [line[4:].decode() for line in path.read_bytes().split(b"\n")[:-1] if line.startswith(b"id: ")]


def wait_for_answers(outputs: list[Path]) -> None:
    """Wait until each process has acknowledged something, however slow the machine is."""
    wait_until(lambda: all(b"ok" in output.read_bytes() for output in outputs), 60)


@more_rounds
def test_identifiers_minted_by_many_processes_are_unique_and_kept_when_some_are_killed(noid, engine, times):
    chance = random.Random(42)
    noid("dbcreate", "f5.reedeedk", "long", "13030", "cdlib.org", "oac")
    outputs = []
    for turn in range(times * ROUNDS[engine]):
        processes = []
        for number in range(PROCESSES):
            output = noid.folder / f"out-{turn}-{number}"
            outputs.append(output)
            processes.append(start(noid, ["mint", str(chance.choice([1, 300, 25000]))], output))
        time.sleep(chance.uniform(0.02, 0.5))
        for process in chance.sample(processes, PROCESSES - 1):
            process.send_signal(signal.SIGKILL)
        for process in processes:
            _, complaint = process.communicate(timeout=60)
            assert complaint == b""
            assert process.returncode in (0, -signal.SIGKILL)
    printed = [identifier for output in outputs for identifier in complete_ids(output)]
    assert len(printed) > 5000
    assert len(printed) == len(set(printed)), "an identifier was given twice"
    known = {line.split("/", 1)[1].split(":")[0] for line in noid("dbinfo", "dump").splitlines()
             if line.startswith("IDS/")}
    assert set(printed) <= known, "an identifier that was printed is not in the store"
    # The minter goes on without repair, and its count of holds is the number of identifiers it issued.
    assert noid("mint", "1").startswith("id: 13030/f5")
    assert f"\nHeld: {len(known) + 1}\n" in noid("dbinfo")


@more_rounds
def test_a_binding_that_was_acknowledged_survives_the_death_of_every_process(noid, engine, times):
    noid("dbcreate")
    chance = random.Random(7)
    acknowledged = set()
    for turn in range(times * 2):
        processes = []
        for number in range(3):
            commands = b"".join(b"bind set t%d-%d-%d e v\n" % (turn, number, n) for n in range(2000))
            output = noid.folder / f"bound-{turn}-{number}"
            process = start(noid, ["-"], output)
            process.stdin.write(commands)
            process.stdin.close()
            processes.append((process, output))
        wait_for_answers([output for _, output in processes])
        time.sleep(chance.uniform(0.0, 0.4))
        for process, _ in processes:
            process.kill()
        for process, output in processes:
            process.stderr.close()
            process.wait()
            text = output.read_bytes().decode()
            blocks = text.split("\n\n")[:-1]
            acknowledged |= {block.split()[1] for block in blocks if "Status:  ok" in block}
    assert len(acknowledged) >= 3 * 2
    kept = {line.split("/", 1)[1].split("%00")[0] for line in noid("dbinfo", "dump").splitlines()
            if line.startswith("ELEMENTS/")}
    assert acknowledged <= kept


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("kind", [RENAMES, COMMITS])
def test_a_killed_dbcreate_leaves_nothing_that_prevents_another(tmp_path, kind):
    numbers = count()

    def folder() -> Path:
        made = tmp_path / str(next(numbers))
        made.mkdir()
        return made

    for made in every_kill(folder, kind, "dbcreate", ".sd"):
        noid = Noid(made)
        if not (made / "NOID").exists():
            noid("dbcreate", ".sd")
        assert noid("mint", "1") == "id: 0\n\n" and os.listdir(made) == ["NOID"]
