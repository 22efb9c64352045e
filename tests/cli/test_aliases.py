"""Aliases made by several processes at once."""

from __future__ import annotations

import subprocess

from support.process import NOID


def test_two_processes_cannot_make_a_loop_together(noid):
    noid("dbcreate")
    names = [f"n{number}" for number in range(8)]
    processes = [
        subprocess.Popen([*NOID, "alias", name, following], cwd=noid.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for name, following in zip(names, [*names[1:], names[0]], strict=True)
    ]
    complaints = [process.communicate()[1] for process in processes]
    assert sorted(process.returncode for process in processes) == [0] * 7 + [1]
    assert sum(b"loop of aliases" in complaint for complaint in complaints) == 1
