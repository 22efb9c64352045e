"""A page of the data file that was overwritten is reported in a sentence, and kills no command that looks for it."""

from __future__ import annotations

from pathlib import Path

import lmdb
import pytest

from support.process import NoidProcess

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]

PAGE = 4096
DAMAGED = "is damaged ("


@pytest.fixture
def noid(noid_process: NoidProcess) -> NoidProcess:
    noid_process("dbcreate", "kt.reeded")
    ids = noid_process.ids(400)
    noid_process("-", stdin="".join(f"bind set {name} _t https://a.example/\n" for name in ids).encode())
    noid_process("backup", "sound")
    return noid_process


def data_file(noid: NoidProcess) -> Path:
    return noid.folder / "NOID" / "data.mdb"


def used_pages(data: Path) -> list[int]:
    """The root of the tree, which every command reads, and pages whose contents are in the database."""
    content = data.read_bytes()
    with lmdb.open(str(data), subdir=False, readonly=True, lock=False) as environment, environment.begin() as txn:
        keys = [key for key, _ in txn.cursor()]
    pages = range(2, len(content) // PAGE)
    return [page for page in pages if any(key in content[page * PAGE : (page + 1) * PAGE] for key in keys[::40])]


def overwrite(data: Path, page: int, content: bytes) -> None:
    with data.open("r+b") as file:
        file.seek(page * PAGE)
        file.write(content)


def test_check_and_backup_say_that_a_page_is_damaged(noid: NoidProcess) -> None:
    data = data_file(noid)
    before = data.read_bytes()
    refused = 0
    for page in used_pages(data)[::4]:
        overwrite(data, page, bytes(PAGE))
        found = noid.run("check")
        saved = noid.run("backup", f"backup-{page}")
        assert found.returncode in (0, 1) and found.returncode == saved.returncode, (page, found, saved)
        if found.returncode:
            assert DAMAGED in found.stderr.decode() and DAMAGED in saved.stderr.decode()
            assert "restore a backup" in found.stderr.decode() and not (noid.folder / f"backup-{page}").exists()
            refused += 1
        data.write_bytes(before)
    assert refused >= 3
    assert "nothing is wrong" in noid("check")


def test_a_damaged_minter_is_replaced_and_a_damaged_backup_is_refused(noid: NoidProcess) -> None:
    data, backup = data_file(noid), noid.folder / "sound" / "data.mdb"
    for page in used_pages(data):
        overwrite(data, page, bytes(PAGE))
    assert "restored from sound" in noid("restore", "sound")
    assert "nothing is wrong" in noid("check")
    for page in used_pages(backup)[:3]:
        overwrite(backup, page, bytes(PAGE))
    assert "is not a sound backup" in noid.refused("restore", "sound", status=1)
    assert "nothing is wrong" in noid("check")


def test_a_damaged_minter_does_not_keep_others_from_being_backed_up(noid: NoidProcess) -> None:
    (noid.folder / "minters").mkdir()
    for name in ("a", "b"):
        noid("copy", ".", f"minters/{name}")
    data = noid.folder / "minters" / "a" / "NOID" / "data.mdb"
    for page in used_pages(data):
        overwrite(data, page, bytes(PAGE))
    done = noid.run("backup", "--minters", "minters", "kept")
    assert done.returncode == 1 and DAMAGED in done.stdout.decode()
    assert list((noid.folder / "kept").glob("b/*")) and not list((noid.folder / "kept").glob("a/*"))
