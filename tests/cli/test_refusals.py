"""What a person sees when the world under a minter is not as it should be: one sentence, exit 1, nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import NOID, ROOT

from noidtools.minter import Minter
from noidtools.minter.tables import META

# Root may do everything; without these capabilities it is bound by permissions like anybody else.
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
OWN_MOUNTS = ["unshare", "-m" if os.getuid() == 0 else "-rm"]


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


def test_a_missing_minter(noid):
    assert "no minter in" in noid.refused("mint", "1", status=1)
    assert "no minter in" in noid.refused("-f", "/nonexistent", "get", "x", status=1)
    assert list(noid.folder.iterdir()) == []


def test_a_folder_that_cannot_be_written(minter, locked):
    (locked / "data.mdb").chmod(0o444)
    assert "cannot be written" in sentence(run(minter.folder, "mint", "1"))
    # Reading needs no more than the lock file.
    assert run(minter.folder, "dbinfo").returncode == 0
    (locked / "data.mdb").chmod(0o644)
    assert minter.ids(1) == ["03"]


def test_files_that_cannot_be_read(minter, locked):
    (locked / "lock.mdb").chmod(0o000)
    assert "permission" in sentence(run(minter.folder, "get", "x"))
    (locked / "lock.mdb").chmod(0o644)
    (locked / "data.mdb").chmod(0o000)
    assert "permission" in sentence(run(minter.folder, "mint", "1"))


def test_a_folder_in_which_nothing_can_be_created(noid):
    noid.folder.chmod(0o555)
    try:
        assert "cannot create a minter" in sentence(run(noid.folder, "dbcreate", ".sd"))
        assert list(noid.folder.iterdir()) == []
    finally:
        noid.folder.chmod(0o755)
    assert "cannot create a minter" in noid.refused("-f", "/nonexistent", "dbcreate", status=1)


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_a_foreign_file_in_place_of_the_database(noid, content):
    (noid.folder / "NOID").mkdir()
    (noid.folder / "NOID" / "data.mdb").write_bytes(content)
    assert noid.refused("mint", "1", status=1)
    assert (noid.folder / "NOID" / "data.mdb").read_bytes() == content


def test_a_database_that_is_not_a_minters(noid):
    import lmdb

    (noid.folder / "NOID").mkdir()
    lmdb.open(str(noid.folder / "NOID")).close()
    assert "not a minter's" in noid.refused("mint", "1", status=1)


def test_a_database_of_a_newer_format(minter):
    opened = Minter(str(minter.folder))
    opened.write(lambda writer: writer.put(META, b"format", b"99"))
    opened.close()
    assert "newer release" in minter.refused("mint", "1", status=1)
    opened_again = minter.refused("get", "00", status=1)
    assert "install that release" in opened_again


def test_a_full_disk(tmp_path):
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


def test_standard_output_that_is_full_or_gone(minter):
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


@pytest.mark.parametrize("words", [
    ["mint", "-1"], ["mint", ""], ["mint", "1e9"], ["mint", "9" * 5000], ["mint", "１"], ["mint", "1", "a", "b", "c"],
    ["queue", "99999999999999d", "01"], ["queue", "-5", "01"], ["queue", "", "01"], ["queue", "1.5d", "01"],
    ["hold", "", "01"], ["fetch"], ["validate", "-"], ["validate", "bad", "x"], ["path"], ["note", "x"], ["", "x"],
    ["dbinfo", "brief", "full"], ["-x"], ["-f"], ["hello", "you"], [b"\xff\xff"],
])
def test_wrong_words_are_refused_in_one_sentence(minter, words):
    minter.refused(*words)
    assert minter.ids(1) == ["03"]


def test_an_identifier_of_a_megabyte_is_refused(noid):
    noid("dbcreate")
    long = b"i" * (1 << 20)
    done = noid.run("-", stdin=b"bind set " + long + b" e v\nbind set i " + long + b" v\nhello\n")
    assert done.stdout.count(b"error: ") == 2 and done.stdout.endswith(b"Hello.\n\n")


def test_minting_starts_without_what_it_does_not_need(noid):
    noid("dbcreate", "f5.reedeedk", "long", "13030", "a", "b")
    done = subprocess.run([NOID[0], "-X", "importtime", NOID[1], "mint", "1"], cwd=noid.folder, capture_output=True,
                          check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    imported = {line.split("|")[-1].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    before = subprocess.run([NOID[0], "-X", "importtime", "-c", "pass"], capture_output=True, check=True)
    imported -= {line.split("|")[-1].strip() for line in before.stderr.decode().splitlines() if "|" in line}
    heavy = {"re", "typing", "dataclasses", "enum", "json", "datetime", "argparse", "hashlib", "collections",
             "functools", "importlib", "threading", "logging", "pathlib", "contextlib", "http", "urllib", "pcre2",
             "flup", "waitress", "rdflib"}
    assert not imported & heavy


def test_a_disk_without_any_room(tmp_path):
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


@pytest.mark.parametrize("keep", [8192, 100_000])
def test_a_database_that_was_cut_short(minter, keep):
    minter("mint", "97")
    minter("-", stdin=b"".join(b"bind set %02d e %s\n" % (n, b"v" * 5000) for n in range(90)))
    os.truncate(minter.folder / "NOID" / "data.mdb", keep)
    for words in (["get", "50", "e"], ["mint", "1"], ["dbinfo", "dump"]):
        done = minter.run(*words)
        assert done.returncode in (0, 1) and b"Traceback" not in done.stderr, done


def test_a_file_in_place_of_the_folder(noid):
    (noid.folder / "file").write_text("x")
    assert "no minter in" in noid.refused("-f", "file", "mint", "1", status=1)


def test_an_interrupted_command_says_nothing(noid):
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
