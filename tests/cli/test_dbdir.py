"""The folder of the minter, from an option, the environment or the program's name."""

from __future__ import annotations

import subprocess
import sys

from support.process import NOID


def test_dbdir_is_found_by_option_environment_or_name(noid):
    for name in ("a", "b", "c"):
        (noid.folder / name).mkdir()
        noid("-f", name, "dbcreate", f"{name}.sd")
    assert noid("-fa", "mint", "1") == "id: a0\n\n"
    assert noid("mint", "1", env={"NOID": "b"}) == "id: b0\n\n"
    assert noid("-f", "a", "mint", "1", env={"NOID": "b"}) == "id: a1\n\n"
    link = noid.folder / "noid_c"
    link.symlink_to(NOID[1])
    run = subprocess.run([sys.executable, link, "mint", "1"], cwd=noid.folder, capture_output=True, check=True)
    assert run.stdout == b"id: c0\n\n"
    assert "no minter in" in noid.refused("mint", "1", status=1)


def test_the_folder_may_be_named_after_the_command_as_in_the_original(noid):
    (noid.folder / "d").mkdir()
    for number, words in enumerate((
        ["mint", "1", "-f", "d"], ["mint", "1", "--f", "d"], ["mint", "1", "-f=d"], ["mint", "--f=d", "1"],
        ["--f", "d", "mint", "1"], ["-f=d", "mint", "1"],
    )):
        if not number:
            noid("dbcreate", ".sd", "-f", "d")
        assert noid(*words) == f"id: {number}\n\n"
    assert noid("-", "-f", "d", stdin=b"mint 1\n") == "id: 6\n\n"
    assert "needs a folder" in noid.refused("mint", "1", "-f", status=2)


def test_a_folder_may_have_a_name_that_is_no_text(noid_process):
    noid_process("dbcreate", ".sd")
    noid_process.ids(1)
    noid_process("backup", b"kept-\xff")
    noid_process("copy", ".", b"copy-\xff")
    noid_process("restore", b"kept-\xff")
    assert noid_process("-f", b"copy-\xff", "mint", "1") == "id: 1\n\n"
    assert "exists already" in noid_process.refused("backup", b"kept-\xff")
