"""A primary and a standby that follows it without being waited for: what reads where, and which guarantee is gone."""

from __future__ import annotations

import time

import pytest

from noidtools.cli.noidr import Replies
from noidtools.errors import StoreError
from noidtools.minter.folder import SingleMinter
from noidtools.minter.report import minter_figures
from noidtools.store import open_store
from noidtools.store.postgres.store import ALONE, ASYNCHRONOUS, IN_MEMORY, SYNCHRONOUS, durability
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.postgres import PostgresServer
from support.process import wait_until
from support.wsgi import ResolverClient

TEMPLATE = ("kt.reeded", "long", "13030", "a", "b")


class Pair:
    def __init__(self) -> None:
        self.primary = PostgresServer()
        self.standby = PostgresServer(standby_of=self.primary)

    def wait_until_followed(self) -> None:
        """Wait until the standby has replayed what the primary has written."""
        written = self.primary.sql("SELECT pg_current_wal_lsn()")
        deadline = time.monotonic() + 20
        while self.standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{written}'") != "t":
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def close(self) -> None:
        for server in (self.standby, self.primary):
            server.close()


@pytest.fixture(scope="module")
def pair():
    made = Pair()
    yield made
    made.close()


@pytest.fixture
def minter(pair, tmp_path):
    made = Noid.created(tmp_path / "kt5", *TEMPLATE, "--store", pair.primary.address, "--read", pair.standby.address)
    assert made.mint_with_target("https://a.example/x") == "13030/kt4x551"
    pair.wait_until_followed()
    yield made
    made.close()


def test_at_a_standby_everything_is_read_and_a_change_is_refused(pair, minter, tmp_path):
    (tmp_path / "there" / "NOID").mkdir(parents=True)
    text = (tmp_path / "kt5" / "NOID" / "engine").read_text().replace(pair.primary.address, pair.standby.address)
    (tmp_path / "there" / "NOID" / "engine").write_text(text)
    there = Noid(tmp_path / "there")
    assert there("get", "13030/kt4x551", "_t") == "https://a.example/x\n"
    start = time.monotonic()
    refusal = there.refused("mint", "1")
    assert "is a standby, which only reads: write at its primary" in refusal and time.monotonic() - start < 5
    assert ", a standby, which only reads\n" in there("dbinfo")


def test_resolvers_read_the_standby_and_go_on_when_the_primary_is_gone(pair, minter):
    minter.close()
    replies = Replies(str(minter.folder))
    resolver = ResolverClient(Resolver(SingleMinter(str(minter.folder))))
    line = b"get 13030/kt4x551 _t"
    assert replies.reply(line) == b"https://a.example/x\n"
    assert resolver("/healthz").text == "ok\n"
    assert 'noid_replica_lag_seconds{minter="kt5"} 0.0\n' in resolver("/metrics").text
    assert resolver("/readyz").text == "ready\n"
    pair.primary.stop("immediate")
    try:
        time.sleep(1)  # after which nothing in memory is valid
        assert replies.reply(line) == replies.reply(b"get 13030/kt4x551 _t ") == b"https://a.example/x\n"
        assert resolver("/13030/kt4x551").headers["location"] == "https://a.example/x"
        fresh = Replies(str(minter.folder))
        assert fresh.reply(line) == b"https://a.example/x\n"
        assert resolver("/healthz").text == "ok\n"
        info = minter.run("dbinfo").stdout.decode()
        assert "which cannot be reached" in info and "not connected to its primary" in info
        wait_until(lambda: resolver("/readyz").status == 503)  # which is kept for a while, longer on a busy machine
        assert "cannot be written" in resolver("/readyz").text
        assert 'noid_minter_up{minter="kt5"} 1.0\n' in resolver("/metrics").text
        assert minter.run("get", "13030/kt4x551", "_t").stdout == b"https://a.example/x\n"
    finally:
        pair.primary.start()
    assert minter.ids(1)
    pair.wait_until_followed()


def test_a_standby_that_hangs_is_left_alone_for_a_while(pair, minter):
    minter.close()
    replies = Replies(str(minter.folder), log=lambda message: None)
    assert replies.reply(b"get 13030/kt4x551 _t") == b"https://a.example/x\n"
    with pair.standby.stopped():
        time.sleep(1)  # after which nothing in memory is valid
        assert replies.reply(b"get 13030/kt4x551 _t ") == b"https://a.example/x\n"
        start = time.monotonic()
        for blanks in range(2, 20):
            assert replies.reply(b"get 13030/kt4x551 _t" + b" " * blanks) == b"https://a.example/x\n"
        assert time.monotonic() - start < 10  # if each asked the standby first, it would be longer than that
    assert replies.reply(b"get 13030/kt4x551  _t") == b"https://a.example/x\n"


def test_resolvers_read_a_standby_that_is_one_of_several_in_its_address(pair, tmp_path):
    read = f"postgresql://noid@/postgres?host={pair.standby.folder},{pair.standby.folder}"
    made = Noid.created(tmp_path / "kt5", *TEMPLATE, "--store", pair.primary.address, "--read", read)
    name = made.mint_with_target("https://a.example/x")
    pair.wait_until_followed()
    assert f"Replica: {pair.standby.folder}:5432 is 0.0 seconds and 0 changes behind\n" in made.text("dbinfo")
    made.close()
    assert Replies(str(made.folder)).reply(name.encode()) == b"https://a.example/x\n"


def test_how_far_the_standby_is_behind_is_told(pair, minter):
    pair.standby.sql("SELECT pg_wal_replay_pause()")
    try:
        minter.set_target("13030/kt4x551", "https://b.example/")
        minter.close()
        replies = Replies(str(minter.folder))
        assert replies.reply(b"13030/kt4x551") == b"https://a.example/x\n"
        time.sleep(0.3)
        info = minter("dbinfo")
        assert " seconds and 1 changes behind\n" in info and " is 0.0 seconds" not in info
        assert minter_figures(minter.opened)["replica_lag_seconds"] > 0.2
    finally:
        pair.standby.sql("SELECT pg_wal_replay_resume()")
    pair.wait_until_followed()
    deadline = time.monotonic() + 1
    while replies.reply(b"13030/kt4x551") != b"https://b.example/\n":
        assert time.monotonic() < deadline


def test_what_a_commit_survives_is_told():
    assert durability("", "on", 0) == ALONE
    assert durability("", "on", 1) == ASYNCHRONOUS
    assert durability("node2", "on", 2) == SYNCHRONOUS
    assert durability("node2", "local", 2) == ASYNCHRONOUS
    assert durability("node2", "remote_write", 2) == IN_MEMORY
    assert durability("node2", "remote_apply", 2) == SYNCHRONOUS


def test_without_waiting_for_the_standby_a_failover_gives_identifiers_again_and_running_processes_refuse_to(tmp_path):
    """This is the guarantee that asynchronous replication does not give, and dbinfo says so."""
    pair = Pair()
    try:
        address = (f"postgresql://noid@/postgres?host={pair.primary.folder},{pair.standby.folder}"
                   "&target_session_attrs=read-write")
        running = Noid.created(tmp_path / "kt5", *TEMPLATE, "--store", address)
        (tmp_path / "there").mkdir()
        (tmp_path / "there" / "engine").write_text((tmp_path / "kt5" / "NOID" / "engine").read_text().replace(
            address, pair.standby.address))
        running.mint(1)
        assert f"\nDurability: {ASYNCHRONOUS}\n" in running.text("dbinfo")
        pair.wait_until_followed()
        pair.standby.stop()
        given = running.mint(3)
        pair.primary.stop("immediate")
        pair.standby.start()
        at_standby = open_store(str(tmp_path / "there"))
        assert not at_standby.writable
        pair.standby.sql("SELECT pg_promote()")
        # Where only this server is named, it is written to from now on.
        assert at_standby.writable
        at_standby.write(lambda writer: None)
        at_standby.close()
        with pytest.raises(StoreError, match="has lost changes of this minter in a failover"):
            running.mint(1)
        running.close()
        assert Noid(tmp_path / "kt5").ids(3) == given
    finally:
        pair.close()
