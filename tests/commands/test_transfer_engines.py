"""Export, import, retarget and undo know no engine: they give the same with every one."""

from __future__ import annotations

import pytest

from noidtools import store as stores
from noidtools.errors import NoidError
from noidtools.minter import bulk_changes
from noidtools.transfer import importer
from support import memory_store
from support.minter import Noid
from support.postgres import postgres_address


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def minter(request, monkeypatch, tmp_path):
    monkeypatch.setitem(stores.ENGINES, "memory", memory_store.__name__)
    if request.param == "postgres":
        monkeypatch.setenv(stores.ADDRESS_VARIABLE, postgres_address())
    else:
        monkeypatch.setattr(stores, "DEFAULT", "memory")
    made = Noid.created(tmp_path / "m", "kt.reeded", "medium", "13030")
    yield made
    made.close()


def exported(minter: Noid, *words: str) -> bytes:
    return b"".join(record.content for record in minter.answer("export", *words).records)


def test_a_table_goes_in_is_changed_and_taken_back_and_comes_out(minter, tmp_path):
    table = tmp_path / "table.csv"
    table.write_bytes(b"id,element,value\r\n" + b"".join(
        b"name%03d,_t,https://old.example/%d\r\n" % (number, number) for number in range(300)))
    minter.records("import", "csv", str(table))
    before = exported(minter, "csv")
    assert before == table.read_bytes()
    minter.records("retarget", "--from", "https://old.example/", "--to", "https://new.example/", "--name", "move")
    assert exported(minter, "csv") == before.replace(b"old", b"new")
    minter.records("undo", "move")
    assert exported(minter, "csv") == before
    minter.records("import", "csv", str(table), "--keep-going")
    history = exported(minter, "jsonl", "--history")
    assert history.count(b'"what":') == 4 and b'"identifiers":300,' in history.splitlines()[-1]


def test_a_large_table_goes_in_completely_or_is_taken_back(minter, tmp_path, monkeypatch):
    monkeypatch.setattr(importer, "AT_ONCE", 5)
    monkeypatch.setattr(bulk_changes.ChunkSize, "__init__", lambda self: setattr(self, "size", 50))
    monkeypatch.setattr(bulk_changes.ChunkSize, "adapt", lambda *_: None)
    table = tmp_path / "table.csv"
    table.write_bytes(b"id,element,value\r\n" + b"".join(b"name%03d,e,%d\r\n" % (n, n) for n in range(100)))
    write, steps = bulk_changes.BulkEvent.write, [3]

    def interrupted(self, work, **options):
        steps[0] -= 1
        if not steps[0]:
            raise KeyboardInterrupt
        return write(self, work, **options)

    with monkeypatch.context() as patched:
        patched.setattr(bulk_changes.BulkEvent, "write", interrupted)
        with pytest.raises(NoidError, match="taken back"):
            minter.records("import", "csv", str(table))
    assert exported(minter, "csv") == b"id,element,value\r\n" and b"name" not in exported(minter, "jsonl")
    minter.records("import", "csv", str(table))
    assert exported(minter, "csv") == table.read_bytes()
