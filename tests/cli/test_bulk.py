"""Commands in bulk through the standard files of a process."""

from __future__ import annotations

import os
import subprocess

import pytest

from support.process import NOID


def test_each_answer_is_written_before_the_next_command_is_read(noid):
    noid("dbcreate", ".sdd")
    with subprocess.Popen([*NOID, "-"], cwd=noid.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for number in range(5):
            process.stdin.write(b"mint 1\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"id: %02d\n" % number
            assert process.stdout.readline() == b"\n"
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.only("lmdb")
def test_commands_that_read_work_in_bulk_without_write_permission(noid):
    noid("dbcreate", ".sd")
    (noid.folder / "NOID" / "data.mdb").chmod(0o444)
    (noid.folder / "NOID" / "writer.lock").chmod(0o444)
    unprivileged = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    done = subprocess.run([*unprivileged, *NOID, "-"], cwd=noid.folder, input=b"hello\nvalidate .zd 5\nmint 1\n",
                          capture_output=True, check=False)
    assert done.stdout.startswith(b"Hello.\n\nid: 5\n\nerror: ") and done.returncode == 1


def test_a_closed_standard_input_is_treated_as_empty(noid):
    noid("dbcreate")
    for words in ("-", "bind set 1 :", "bind set 1 :-"):
        done = subprocess.run(["sh", "-c", f'"$@" {words} <&-', "sh", *NOID], cwd=noid.folder, capture_output=True,
                              check=False)
        assert b"fault" not in done.stderr and done.returncode == (0 if words == "-" else 2)


def test_more_refusals_than_there_can_be_readers_leave_the_minter_usable(noid):
    noid("dbcreate", "kt.sdd", "long", "13030", "a", "b")
    lines = b"".join(b"get x%d\n" % number for number in range(1500))
    done = subprocess.run([*NOID, "-"], cwd=noid.folder, input=lines + b"mint 1\n", capture_output=True, check=False)
    assert b"try again" not in done.stdout and done.stdout.count(b"error: ") == 1500
    assert done.stdout.endswith(b"id: 13030/kt00\n\n")
