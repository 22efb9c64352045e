"""Restores of minters in PostgreSQL, through which a server that is lost or waits for its standby must lose nothing."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import psycopg
import pytest

from noidtools.errors import OutcomeUnknownError
from noidtools.minter import Minter, copying
from noidtools.minter.creation import create
from noidtools.minter.events import Actor
from noidtools.schemes.base import Settings
from noidtools.schemes.noid import NoidGenerator
from noidtools.store import create_store, open_store, restore_store
from noidtools.store.postgres import engine, sql
from noidtools.store.postgres.connection import ServerError, Session
from noidtools.store.postgres.engine_file import read_engine_file
from support.postgres import PostgresServer

pytestmark = [pytest.mark.servers, pytest.mark.only("postgres")]
T = b"t"
ME = Actor(b"me", b"test")
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
    exchange = engine._exchange

    def exchange_without_standby(*files):
        set_standby(server, "gone")
        limits = {"writer._SETTLE_TIMEOUT": 1.5, "writer.STATEMENT_TIMEOUT": 0.5, "writer._LOCK_ATTEMPT": 0.2}
        for name, seconds in limits.items():
            monkeypatch.setattr(f"noidtools.store.postgres.{name}", seconds)
        exchange(*files)

    monkeypatch.setattr(engine, "_exchange", exchange_without_standby)
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
    exchange, commit = engine._exchange, Session.commit
    lost = []

    def with_lost_answer(self, steps, seconds, **options):
        rows = commit(self, steps, seconds, **options)
        if not lost:
            lost.append(True)
            raise ServerError("the server did not answer in time", lost=True)
        return rows

    def exchange_with_lost_answer(*files):
        monkeypatch.setattr(Session, "commit", with_lost_answer)
        exchange(*files)

    monkeypatch.setattr(engine, "_exchange", exchange_with_lost_answer)
    before = set(minters(server))
    aside = restore(tmp_path)
    assert lost and keys(store) == BACKED_UP
    replaced = open_store(aside)
    assert keys(replaced) == [*BACKED_UP, b"later"]
    replaced.close()
    assert len(set(minters(server)) - before) == 1


def test_rows_that_become_a_minter_while_they_are_to_be_deleted_are_kept(server, store, tmp_path):
    live = read_engine_file(str(tmp_path / "store"))
    name, new = live.minter, live.with_minter(f"{live.minter}-new")
    engine._create_minter(new)
    with psycopg.connect(server.address) as connection:
        for before, after in ((name, f"{name}-old"), (f"{name}-new", name)):
            connection.execute("UPDATE noid_minters SET name = %s WHERE name = %s", (after, before))
        thread = threading.Thread(target=engine._delete_minter, args=(new,))
        thread.start()
        deadline = time.monotonic() + 20
        while server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0":
            assert time.monotonic() < deadline
    thread.join()
    assert {found: count for found, count in minters(server).items() if found.startswith(name)} == {
        name: 0, f"{name}-old": 11,
    }


def test_a_running_process_notices_a_restore(store, tmp_path):
    identity, version = store.identity(), store.version()
    restore(tmp_path)
    assert keys(store) == BACKED_UP and store.identity() != identity and store.version() != version
    assert store.write(lambda writer: (store.identity(), writer.put(T, b"new", b"")))[0] == store.identity()


def test_who_writes_while_a_restore_reads_the_old_minter_waits_and_writes_to_the_new_one(store, tmp_path):
    writers = []

    def adjust(_) -> None:
        writers.append(threading.Thread(target=store.write, args=(lambda writer: writer.put(T, b"meanwhile", b"z"),)))
        writers[0].start()
        writers[0].join(1)

    restore_store(str(tmp_path / "store"), str(tmp_path / "backup"), adjust)
    writers[0].join(20)
    assert keys(store) == [*BACKED_UP, b"meanwhile"]


def test_identifiers_are_skipped_for_longer_than_a_transaction_may_be_idle(server, tmp_path, monkeypatch):
    quick = NoidGenerator.draw

    def slow(*args):
        time.sleep(0.2)
        return quick(*args)

    create(str(tmp_path / "m"), Settings({"template": "tst.reedde"}), ME, address=server.address).close()
    with closing(Minter(str(tmp_path / "m"))) as minter:
        copying.back_up(minter, str(tmp_path / "kept"))
    monkeypatch.setattr(sql, "CONFIGURE", sql.CONFIGURE.replace("'60000'", "'500'"))
    monkeypatch.setattr(NoidGenerator, "draw", slow)
    monkeypatch.setattr(copying, "_CHUNK", 2)
    done = copying.restore(str(tmp_path / "m"), str(tmp_path / "kept"), ME, 9)
    assert (done.skipped, done.drawn) == (9, 9)
