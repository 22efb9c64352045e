"""An export shows one moment and needs little memory, while another process mints without pause."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from support.process import NOID, NoidProcess

pytestmark = pytest.mark.slow

NAAN = "13030"


def export_while_minting(noid: NoidProcess, count: int) -> tuple[list[bytes], list[bytes], int]:
    """The identifiers of an export, those that were minted, both in the order of minting; and the kilobytes it took."""
    noid("dbcreate", "f5.reeeeeek", "medium", NAAN)
    minted = noid.folder / "minted"
    exported = noid.folder / "export.jsonl"
    with minted.open("wb") as out:
        noid.run("mint", "1")
        subprocess.run([*NOID, "mint", str(count)], cwd=noid.folder, stdout=out, check=True)
        minter = subprocess.Popen(["sh", "-c", 'while "$@" mint 500; do :; done', "sh", *NOID], cwd=noid.folder,
                                  stdout=out, start_new_session=True)
        try:
            time.sleep(0.3)
            export = noid.start("export", "jsonl", str(exported), stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(export.pid, 0)
            export.returncode = os.waitstatus_to_exitcode(status)
        finally:
            os.killpg(minter.pid, 9)
            minter.wait()
    assert export.returncode == 0
    order = [line[4:] for line in minted.read_bytes().splitlines() if line.startswith(b"id: ")]
    names = [line.split(b'"', 4)[3] for line in exported.read_bytes().splitlines() if line.startswith(b'{"id"')]
    return names, order, usage.ru_maxrss


def ensure_one_moment(names: list[bytes], order: list[bytes], count: int) -> None:
    assert names == sorted(names) and len(names) == len(set(names)) > count
    known = set(names)
    # The first was minted before the list began; whole transactions are in the export, or not.
    moment = len(known & set(order))
    assert set(order[:moment]) <= known and not known & set(order[moment:])


def test_an_export_is_of_one_moment_while_minting_goes_on(noid_process):
    names, order, _ = export_while_minting(noid_process, 5000)
    ensure_one_moment(names, order, 5000)
    noid_process("check")


@pytest.mark.long
def test_a_million_identifiers_are_exported_in_little_memory_while_minting_goes_on(noid_process):
    names, order, kilobytes = export_while_minting(noid_process, 1_000_000)
    ensure_one_moment(names, order, 1_000_000)
    # The pages of the database count as memory of the process, too, and can be dropped at any time.
    database = sum(path.stat().st_size for path in (noid_process.folder / "NOID").iterdir()) // 1024
    assert kilobytes - database < 100 << 10
