"""Restores of minters in PostgreSQL, through which a server that is lost or waits for its standby must lose nothing."""

from __future__ import annotations

import threading
import time

import pytest

from noidtools.errors import OutcomeUnknownError
from noidtools.store import create_store, open_store, restore_store
from noidtools.store.postgres import backup, minter_rows
from noidtools.store.postgres import statements as sql
from noidtools.store.postgres.connection import LostError, ServerSession
from noidtools.store.postgres.engine_file import read_engine_file
from support.postgres import PostgresServer

pytestmark = [pytest.mark.servers, pytest.mark.only("postgres")]
T = b"t"
BACKED_UP = [b"%d" % number for number in range(10)]


@pytest.fixture(scope="module")
def server():
    started = PostgresServer()
    yield started
    started.close()


@pytest.fixture
def store(server, tmp_path):
    """A store at `store`, and an older backup of it at `backup`."""
    made = create_store(str(tmp_path / "store"), lambda writer: writer.put_many(T, [(key, b"x") for key in BACKED_UP]),
                        address=server.address)
    made.backup(str(tmp_path / "backup"))
    made.write(lambda writer: writer.put(T, b"later", b"y"))
    yield made
    made.close()


def restore(tmp_path) -> str | None:
    return restore_store(str(tmp_path / "store"), str(tmp_path / "backup"), lambda writer: None)


def keys(store) -> list[bytes]:
    return store.read(lambda reader: [key for key, _ in reader.scan(T)])


def minters(server) -> dict[str, int]:
    """The names of all minters, and how many rows each has, without the list of commits."""
    lines = server.sql("SELECT name, (SELECT count(*) FROM noid_data WHERE minter = id AND tbl = 't') "
                       "FROM noid_minters")
    return {name: int(count) for name, count in (line.split("|") for line in lines.splitlines())}


def set_standby(server, name: str) -> None:
    server.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
    server.sql("SELECT pg_reload_conf()")
    deadline = time.monotonic() + 20
    while server.sql("SHOW synchronous_standby_names") != name:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # Commits wait for a standby once the checkpointer has read the setting, which it does before a checkpoint.
    server.sql("CHECKPOINT")


def test_a_restore_during_which_the_standby_is_lost_leaves_both_minters_complete(server, store, tmp_path, monkeypatch):
    def exchange(*files):
        set_standby(server, "gone")
        for name, seconds in (("TIMEOUT", 1.5), ("_ANSWER", 0.5), ("_LOCK_ATTEMPT", 0.2)):
            monkeypatch.setattr(minter_rows, name, seconds)
        minter_rows.exchange_minters(*files)

    monkeypatch.setattr(backup, "exchange_minters", exchange)
    before = set(minters(server))
    try:
        with pytest.raises(OutcomeUnknownError, match="has not become known whether it is: if noid_minters has '.*-re"):
            restore(tmp_path)
    finally:
        set_standby(server, "")
    live = read_engine_file(str(tmp_path / "store")).minter
    deadline = time.monotonic() + 20
    while len(set(minters(server)) - before) != 1 or minters(server)[live] != 10:
        assert time.monotonic() < deadline, minters(server)
        time.sleep(0.02)
    (aside,) = set(minters(server)) - before
    assert "-replaced-" in aside and minters(server)[aside] == 11
    assert keys(store) == BACKED_UP


def test_a_restore_whose_answer_is_lost_has_taken_place_once(server, store, tmp_path, monkeypatch):
    commit = minter_rows._commit
    lost = []

    def with_lost_answer(session, *steps):
        commit(session, *steps)
        if not lost:
            lost.append(True)
            raise LostError("the server did not answer in time")

    monkeypatch.setattr(minter_rows, "_commit", with_lost_answer)
    before = set(minters(server))
    aside = restore(tmp_path)
    assert lost and keys(store) == BACKED_UP
    replaced = open_store(aside)
    assert keys(replaced) == [*BACKED_UP, b"later"]
    replaced.close()
    assert len(set(minters(server)) - before) == 1


def test_rows_that_become_a_minter_while_they_are_to_be_deleted_are_kept(server, store, tmp_path, monkeypatch):
    monkeypatch.setattr(minter_rows, "_LOCK_ATTEMPT", 20)
    live = read_engine_file(str(tmp_path / "store"))
    new = live.of_minter(f"{live.minter}-new")
    minter_rows.create_minter(new)
    session = ServerSession(server.address, time.monotonic() + 10)
    name = live.minter.encode()
    session.run([(sql.BEGIN_WRITE, ()), (sql.RENAME, (name, name + b"-old")), (sql.RENAME, (name + b"-new", name))],
                time.monotonic() + 10)
    thread = threading.Thread(target=minter_rows.delete_minter, args=(new,))
    thread.start()
    deadline = time.monotonic() + 20
    while server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0":
        assert time.monotonic() < deadline
    session.run([(sql.COMMIT, ())], time.monotonic() + 10)
    thread.join()
    session.close()
    assert {name: count for name, count in minters(server).items() if name.startswith(live.minter)} == {
        live.minter: 0, f"{live.minter}-old": 11,
    }
