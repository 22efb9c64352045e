"""Permissions, standard output and signals: one sentence, exit status 1, nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import lmdb
import pytest

from noidtools.minter.schema import META
from support.process import NOID

# Root may do everything; without these capabilities it is bound by permissions like anybody else.
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []


def run(folder: Path, *words: str, before: list[str] = UNPRIVILEGED, **options):
    return subprocess.run([*before, *NOID, *words], cwd=folder, capture_output=True, timeout=60, check=False, **options)


def sentence(done: subprocess.CompletedProcess[bytes]) -> str:
    text = done.stderr.decode()
    assert done.returncode == 1, done
    assert text.startswith("error: ") and text.count("\n") == 1, text
    return text


@pytest.fixture
def minter(noid):
    noid("dbcreate", ".sdd")
    noid("mint", "3")
    return noid


@pytest.fixture
def locked(minter):
    folder = minter.folder / "NOID"
    yield folder
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)


@pytest.mark.only("lmdb")
def test_a_minter_without_write_permission_is_reported_and_can_be_read(minter, locked):
    (locked / "data.mdb").chmod(0o444)
    assert "cannot be written" in sentence(run(minter.folder, "mint", "1"))
    # Reading needs no more than the lock file.
    assert run(minter.folder, "dbinfo").returncode == 0
    (locked / "data.mdb").chmod(0o644)
    assert minter.ids(1) == ["03"]


@pytest.mark.only("lmdb")
def test_a_minter_without_read_permission_is_reported(minter, locked):
    (locked / "lock.mdb").chmod(0o000)
    assert "permission" in sentence(run(minter.folder, "get", "x"))
    (locked / "lock.mdb").chmod(0o644)
    (locked / "data.mdb").chmod(0o000)
    assert "permission" in sentence(run(minter.folder, "mint", "1"))


def test_dbcreate_in_a_folder_without_write_permission_is_refused(noid):
    noid.folder.chmod(0o555)
    try:
        assert "cannot create a minter" in sentence(run(noid.folder, "dbcreate", ".sd"))
        assert list(noid.folder.iterdir()) == []
    finally:
        noid.folder.chmod(0o755)
    assert "/nonexistent/a cannot be made: No such file" in noid.refused("-f", "/nonexistent/a", "dbcreate", status=1)


def test_a_database_of_a_newer_format_is_refused(minter, noid_process):
    minter.write(lambda writer: writer.put(META, b"format", b"99"))
    minter.close()
    assert "newer release" in noid_process.refused("mint", "1", status=1)
    assert "install that release" in noid_process.refused("get", "00", status=1)


def test_a_full_or_closed_standard_output_is_reported(minter):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*NOID, "mint", "1"], cwd=minter.folder, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"could not be written" in done.stderr and done.stderr.count(b"\n") == 1
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*NOID, "mint", "30"], cwd=minter.folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1
    closed = ["sh", "-c", '"$@" mint 1 >&-', "sh", *NOID]
    done = subprocess.run(closed, cwd=minter.folder, capture_output=True, check=False)
    assert done.returncode == 1 and b"Traceback" not in done.stderr


@pytest.mark.only("lmdb")
@pytest.mark.parametrize("keep", [8192, 100_000, 400_000])
def test_a_database_that_was_cut_off_is_refused(minter, noid_process, keep):
    minter("mint", "97")
    minter("-", stdin=b"".join(b"bind set %02d e %s\n" % (n, b"v" * 5000) for n in range(90)))
    os.truncate(minter.folder / "NOID" / "data.mdb", keep)
    for words in (["get", "50", "e"], ["mint", "1"], ["dbinfo", "dump"]):
        assert "was cut short" in noid_process.refused(*words, status=1)


@pytest.mark.only("lmdb")
def test_a_database_whose_last_pages_were_never_written_is_used(minter, noid_process):
    minter.close()
    data = minter.folder / "NOID" / "data.mdb"
    with lmdb.open(str(data.parent), map_size=1 << 30) as environment:
        for size in (100_000, 200_000, 1_000_000, 2_000_000):
            with environment.begin(write=True) as txn:
                txn.put(b"large", bytes(size))
                txn.delete(b"large")
        length = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    assert data.stat().st_size < length
    assert noid_process.run("mint", "1").returncode == 0
    assert data.stat().st_size >= length


def test_an_interrupted_command_prints_no_error(noid):
    noid("dbcreate", ".zd")
    for delay in (0.0, 0.01, 0.05, 0.2):
        with subprocess.Popen([*NOID, "mint", "3000000"], cwd=noid.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()  # from here on the interpreter has started, and it is ours
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            assert process.wait() == -signal.SIGINT
            assert process.stderr.read() == b""
    assert noid("mint", "1").startswith("id: ")


def test_a_reader_who_has_seen_enough_is_no_error(noid):
    """As in `noid dbcreate … | head -1`: the reader goes after the answer, before the blank line behind it."""
    script = Path(__file__).resolve().parent.parent / "support" / "scripts" / "reader_goes_before_blank_line.py"
    done = subprocess.run([sys.executable, script, str(noid.folder)], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    assert done.stdout.startswith(b"Folder: ") and b"First: kt4x551\n" in done.stdout
