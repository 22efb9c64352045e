"""Export, import, retarget and undo know no engine: they give the same with every one."""

from __future__ import annotations

import pytest

from noidtools import store as stores
from noidtools.errors import NoidError
from noidtools.minter import changes
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


def test_a_large_table_goes_in_in_batches_and_the_same_import_goes_on(minter, tmp_path, monkeypatch):
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 5)
    monkeypatch.setattr(changes, "BATCH", 50)
    table = tmp_path / "table.csv"
    table.write_bytes(b"id,element,value\r\n" + b"".join(b"name%03d,e,%d\r\n" % (n, n) for n in range(100)))
    write, batches = changes.BulkEvent.write, [3]

    def interrupted(self, work, before=None):
        batches[0] -= 1
        if not batches[0]:
            raise KeyboardInterrupt
        return write(self, work, before)

    with monkeypatch.context() as patched:
        patched.setattr(changes.BulkEvent, "write", interrupted)
        with pytest.raises(NoidError, match="interrupted after 50 records"):
            minter.records("import", "csv", str(table))
    assert exported(minter, "csv").count(b"\n") == 51
    minter.records("import", "csv", str(table))
    assert exported(minter, "csv") == table.read_bytes()
