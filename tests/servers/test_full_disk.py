"""A minter on a disk that is full.  Mounting a small disk needs root or a user namespace."""

from __future__ import annotations

import os
import subprocess

from support.process import NOID

OWN_MOUNTS = ["unshare", "-m" if os.getuid() == 0 else "-rm"]


def test_a_full_disk_is_reported_and_what_was_printed_is_kept(tmp_path):
    """The disk is filled while a minter mints: what was printed is kept, and with room again it goes on."""
    (tmp_path / "disk").mkdir()
    script = """
    out=$1; shift
    mount -t tmpfs -o size=600k none "$out/disk" && cd "$out/disk" || exit 9
    "$@" dbcreate .zd >"$out/report"
    "$@" mint 100000 >"$out/ids" 2>"$out/complaint"; echo $? >"$out/status"
    mount -o remount,size=20m "$out/disk" && "$@" mint 5 >"$out/then"
    "$@" dbinfo dump >"$out/dump"
    """
    subprocess.run([*OWN_MOUNTS, "sh", "-c", script, "sh", str(tmp_path), *NOID], check=True, timeout=120)
    assert (tmp_path / "status").read_text() == "1\n"
    assert "is full: nothing was changed; make room" in (tmp_path / "complaint").read_text()
    printed = (tmp_path / "ids").read_text().splitlines()
    assert (tmp_path / "then").read_text().splitlines()[0] == f"id: {len(printed)}"
    assert (tmp_path / "dump").read_text().count("\nIDS/") == len(printed) + 5


def test_a_disk_without_room_for_the_lock_file_is_reported(tmp_path):
    """A lock file that could not get its place on disk would end the process with a bus error."""
    (tmp_path / "disk").mkdir()
    script = """
    out=$1; shift
    mount -t tmpfs -o size=4m none "$out/disk" && cd "$out/disk" || exit 9
    mkdir old && "$@" -f old dbcreate .zd >"$out/report"; rm old/NOID/lock.mdb
    mkdir new; cat /dev/zero >filling 2>/dev/null
    "$@" -f new dbcreate .zd 2>"$out/create"; echo $? >>"$out/statuses"
    "$@" -f old mint 1 2>"$out/mint"; echo $? >>"$out/statuses"
    ls -A new >"$out/left"
    """
    subprocess.run([*OWN_MOUNTS, "sh", "-c", script, "sh", str(tmp_path), *NOID], check=True, timeout=120)
    assert (tmp_path / "statuses").read_text() == "1\n1\n"
    assert "is full" in (tmp_path / "create").read_text() and "is full" in (tmp_path / "mint").read_text()
    assert (tmp_path / "left").read_text() == ""
