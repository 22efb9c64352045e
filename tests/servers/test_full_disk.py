"""A minter on a disk that is full.  Mounting a small disk needs root or a user namespace."""

from __future__ import annotations

import os
import subprocess

import pytest

from support.http import free_port
from support.process import NOID

OWN_MOUNTS = ["unshare", "-m" if os.getuid() == 0 else "-rm"]


@pytest.mark.only("lmdb")
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


@pytest.mark.only("lmdb")
def test_a_service_on_a_full_disk_answers_503_and_logs_one_line_a_process(tmp_path):
    """Minting is refused, names go on, /readyz tells why, and with room again minting goes on."""
    (tmp_path / "disk").mkdir()
    script = """
    out=$1; port=$2; shift 2
    mount -t tmpfs -o size=2m none "$out/disk" && cd "$out/disk" || exit 9
    mkdir kt5 && "$@" -f kt5 dbcreate .zd >"$out/report" && "$@" -f kt5 mint 1 >>"$out/report"
    "$@" -f kt5 bind set 0 _t https://e.org/ >>"$out/report"
    "$@" serve --minters . --http 127.0.0.1:$port --workers 2 --user alice 2>"$out/log" & service=$!
    ask() { curl -s -o "$out/body" -w '%{http_code}\\n' "http://127.0.0.1:$port/$1" >>"$out/statuses"; }
    until curl -s -o /dev/null "http://127.0.0.1:$port/healthz"; do sleep 0.1; done
    cat /dev/zero >filling 2>/dev/null
    for number in 1 2 3 4 5 6; do ask 'noidu_kt5?mint+100'; done
    ask 0; ask readyz; cp "$out/body" "$out/reasons"
    rm filling; mount -o remount,size=200m "$out/disk"; sleep 1.1
    ask 'noidu_kt5?mint+1'; ask readyz
    kill $service; wait $service
    """
    subprocess.run([*OWN_MOUNTS, "sh", "-c", script, "sh", str(tmp_path), str(free_port()), *NOID], check=True,
                   timeout=120)
    statuses = (tmp_path / "statuses").read_text().split()
    assert statuses == ["503"] * 6 + ["302", "503", "200", "200"]
    assert "not ready: the minter kt5 has no room left on its disk" in (tmp_path / "reasons").read_text()
    assert (tmp_path / "log").read_text().count("is full") in (1, 2)


@pytest.mark.only("lmdb")
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
