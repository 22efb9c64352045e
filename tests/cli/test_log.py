"""The log while other processes write."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from support.process import NOID


def follower(noid, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*NOID, "log", "--follow", "--json", *words], cwd=noid.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def test_log_follow_prints_the_events_of_other_processes_until_it_is_interrupted(noid):
    noid("dbcreate", "x.sdd")
    with follower(noid, "--since", "1") as process:
        for number in range(3):
            noid("note", "n", str(number))
            assert json.loads(process.stdout.readline())["changes"][0]["after"] == str(number)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) in (0, 1, -signal.SIGINT)
        assert process.stderr.read() == b""


def test_log_follow_ends_when_its_output_is_closed(noid):
    noid("dbcreate", "x.sdd")
    with follower(noid) as process:
        assert process.stdout.readline()
        process.stdout.close()
        noid("note", "n", "1")
        assert process.wait(timeout=10) == 1
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_an_event_and_its_change_are_of_one_commit(noid):
    """Whatever is killed when: the number of events of an element is the number of times it was set."""
    noid("dbcreate")
    commands = noid.folder / "commands"
    commands.write_bytes(b"bind add a e x\n" * 20000)
    for delay in (0, 0.05, 0.1, 0.15):
        with commands.open("rb") as lines, subprocess.Popen(
            [*NOID, "-"], cwd=noid.folder, stdin=lines, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout.readline()
            time.sleep(delay)
            process.kill()
    done = noid.run("get", "a", "e")
    events = noid.run("history", "a", "--json").stdout.count(b"\n")
    assert len(done.stdout.strip()) == events > 0
