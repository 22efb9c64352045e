"""The PostgreSQL engine with one real server: nothing is done twice or forgotten when a connection is lost."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest

from noidtools.errors import BusyError, NoMinterError, StoreError, UsageError
from noidtools.store import create_store, open_store
from noidtools.store.postgres import sql
from noidtools.store.postgres.connection import ServerError, Session
from support.http import free_port
from support.postgres import PostgresServer, postgres_address, shared_server
from support.relay import Relay

pytestmark = [pytest.mark.servers, pytest.mark.slow]
T = b"t"


@pytest.fixture(scope="module")
def server():
    started = PostgresServer(port=free_port())
    yield started
    started.close()


@pytest.fixture(scope="module")
def relay(server):
    made = Relay(server.port)
    yield made
    made.close()


@pytest.fixture
def store(relay, tmp_path):
    """A store whose connections go through the relay."""
    address = f"postgresql://noid@127.0.0.1:{relay.port}/postgres?connect_timeout=2"
    made = create_store(str(tmp_path / "store"), lambda writer: writer.put(T, b"count", b"0"), address=address)
    yield made
    made.close()


@pytest.fixture
def local(tmp_path):
    made = create_store(str(tmp_path / "store"), lambda writer: writer.put(T, b"a", b"1"), address=postgres_address())
    yield made
    made.close()


@pytest.fixture
def other(local, tmp_path):
    """The same minter, opened as another process would."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "engine").write_bytes((tmp_path / "store" / "engine").read_bytes())
    opened = open_store(str(tmp_path / "copy"))
    yield opened
    opened.close()


def count_up(writer) -> int:
    number = int(writer.get(T, b"count")) + 1
    writer.put(T, b"count", b"%d" % number)
    writer.put(T, b"item %d" % number, b"")
    return number


def keys(store) -> list[bytes]:
    return store.read(lambda reader: [key for key, _ in reader.scan(T)])


def value(store, key: bytes) -> bytes | None:
    return store.read(lambda reader: reader.get(T, key))


def wait_for_locks(count: int) -> None:
    deadline = time.monotonic() + 20
    while int(shared_server().sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) < count:
        assert time.monotonic() < deadline


# -- lost connections ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forward_last", [False, True], ids=["before the server has it", "before its answer"])
@pytest.mark.parametrize("pieces", range(4))
def test_a_write_is_done_once_whichever_round_trip_is_lost(store, relay, pieces, forward_last):
    expected = 0
    for new_session in (False, True):
        if new_session:
            store.suspend()
        relay.cut_after(pieces, forward_last=forward_last)
        for _ in range(4):
            expected += 1
            assert store.write(count_up) == expected
        assert relay.was_cut
    assert len(keys(store)) == expected + 1


@pytest.mark.parametrize("forward_last", [False, True])
@pytest.mark.parametrize("pieces", range(3))
def test_a_transaction_as_a_block_is_committed_or_says_that_it_was_not(store, relay, pieces, forward_last):
    relay.cut_after(pieces, forward_last=forward_last)
    done = 0
    for _ in range(4):
        try:
            with store.transaction():
                store.write(count_up)
            done += 1
        except (BusyError, StoreError) as error:
            assert "try again" in error.message
    assert done >= 3 and value(store, b"count") == b"%d" % done


@pytest.mark.parametrize("pieces", range(3))
def test_a_read_goes_on_with_another_session(store, relay, pieces):
    store.write(lambda writer: writer.put_many(T, [(b"%04d" % number, b"x") for number in range(500)]))
    relay.cut_after(pieces, forward_last=True)
    assert len(keys(store)) == 501
    assert store.version() is not None


def test_an_outage_is_waited_out_and_one_that_lasts_ends_in_busy(store, server):
    assert store.write(count_up) == 1
    server.stop("immediate")
    with pytest.raises(BusyError, match="cannot be written now .*try again"):
        store.write(count_up, timeout=0.5)
    timer = threading.Timer(0.5, server.start)
    timer.start()
    assert store.write(count_up, timeout=20) == 2
    timer.join()


def test_a_server_that_does_not_answer_is_given_up(store, relay, monkeypatch):
    monkeypatch.setattr("noidtools.store.postgres.writer._LOCK_ATTEMPT", 0.2)
    monkeypatch.setattr("noidtools.store.postgres.writer._LOCK_ANSWER", 0.1)
    monkeypatch.setattr("noidtools.store.postgres.store.STATEMENT_TIMEOUT", 0.5)
    monkeypatch.setattr("noidtools.store.postgres.store.TIMEOUT", 1.0)
    monkeypatch.setattr("noidtools.store.base.TIMEOUT", 1.0)
    relay.stop_forwarding()
    try:
        for use in (lambda: store.write(count_up, timeout=1), lambda: value(store, b"count"), store.version):
            start = time.monotonic()
            with pytest.raises(BusyError, match="cannot be .* now .*: try again"):
                use()
            assert time.monotonic() - start < 5
    finally:
        relay.forward()
    assert store.write(count_up, timeout=10) == 1


def test_a_process_that_stops_in_the_middle_of_a_change_loses_the_lock_and_is_told(local, tmp_path, monkeypatch):
    # With an address of its own, the one that stops has a connection of its own, which is made with a shorter limit.
    (tmp_path / "stopped").mkdir()
    made = (tmp_path / "store" / "engine").read_text()
    mark = "&" if "?" in made else "?"
    (tmp_path / "stopped" / "engine").write_text(
        re.sub("^address: .*", rf"\g<0>{mark}application_name=stopped", made, flags=re.MULTILINE))
    monkeypatch.setattr(sql, "CONFIGURE", sql.CONFIGURE.replace("60000", "1000"))
    stopped = open_store(str(tmp_path / "stopped"))
    with pytest.raises(BusyError, match="try again"), stopped.transaction() as writer:
        monkeypatch.undo()
        writer.put(T, b"a", b"never")
        local.write(lambda writer: writer.put(T, b"b", b"2"), timeout=60)
    stopped.close()
    assert keys(local) == [b"a", b"b"] and value(local, b"a") == b"1"


def test_a_commit_that_a_standby_did_not_confirm_is_not_acknowledged_before_it_does(tmp_path):
    """The server commits, with a warning, if waiting for the standby is cancelled."""
    with_standby = PostgresServer("synchronous_standby_names=other")
    try:
        with_standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
        store = create_store(str(tmp_path / "store"), lambda writer: writer.put(T, b"count", b"0"),
                             address=with_standby.address + "&options=-csynchronous_commit%3Dlocal")
        store.close()
        text = (tmp_path / "store" / "engine").read_text().replace("&options=-csynchronous_commit%3Dlocal", "")
        (tmp_path / "store" / "engine").write_text(text)
        store = open_store(str(tmp_path / "store"))
        done = []
        thread = threading.Thread(target=lambda: done.append(store.write(count_up)))
        thread.start()
        cancelled = 0
        deadline = time.monotonic() + 20
        while cancelled < 3:
            assert time.monotonic() < deadline and not done
            cancelled += int(with_standby.sql("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                                              "WHERE wait_event = 'SyncRep'") or "0")
            time.sleep(0.05)
        assert not done
        # As if the standby had confirmed it.
        with_standby.stop("immediate")
        with_standby._settings = ()
        with_standby.start()
        thread.join(timeout=30)
        assert done == [1] and value(store, b"count") == b"1"
        store.close()
    finally:
        with_standby.close()


def name_of_newest() -> str:
    return shared_server().sql("SELECT name FROM noid_minters ORDER BY xmin::text::bigint DESC LIMIT 1")


def test_a_database_that_lost_changes_is_not_written(local):
    local.write(lambda writer: writer.put(T, b"b", b"2"))
    name = name_of_newest()
    for change in (-(1 << 20), 1 << 20, 1):  # a commit less; and another commit in its place
        shared_server().sql(f"UPDATE noid_minters SET version = version + {change} WHERE name = '{name}'")
        if change != 1 << 20:
            with pytest.raises(StoreError, match="has lost changes of this minter in a failover"):
                local.write(lambda writer: writer.put(T, b"c", b"3"))
    assert value(local, b"c") is None


def test_the_commit_of_another_after_a_lost_one_is_not_taken_for_it(local, other):
    """Versions of the lost commit and of the one in its place differ, so nothing in memory is taken for valid."""
    before = local.version()
    name = name_of_newest()
    local.write(lambda writer: writer.put(T, b"a", b"lost"))
    seen = local.version()
    shared_server().sql(f"UPDATE noid_minters SET version = {before[1]} WHERE name = '{name}'")
    other.write(lambda writer: writer.put(T, b"a", b"kept"))
    assert local.version() != seen


def test_a_lost_commit_is_settled_though_the_minter_got_another_name(local, monkeypatch):
    commit, name, server = Session.commit, name_of_newest(), shared_server()

    def lost(self, steps, seconds, **options):
        monkeypatch.undo()
        commit(self, steps, seconds, **options)
        self.close()
        server.sql(f"UPDATE noid_minters SET name = '{name}-away' WHERE name = '{name}'")
        raise ServerError("the server did not answer in time", lost=True)

    monkeypatch.setattr(Session, "commit", lost)
    runs = []
    local.write(lambda writer: runs.append(writer.put(T, b"a", b"2")))
    assert len(runs) == 1
    server.sql(f"UPDATE noid_minters SET name = '{name}' WHERE name = '{name}-away'")
    assert value(local, b"a") == b"2"


# -- others who write ------------------------------------------------------------------------------------------------


def test_a_transaction_that_fails_to_serialize_is_run_again_and_in_the_end_refused_as_busy(local):
    """As CockroachDB, and PostgreSQL with other settings, end transactions that conflict (SQLSTATE 40001)."""
    server, name = shared_server(), name_of_newest()
    body = "BEGIN IF NEW.name = '{}' AND nextval('conflicts') % 3 <> 0 THEN RAISE 'again' USING ERRCODE = '40001'; " \
           "END IF; RETURN NEW; END"
    server.sql(f"CREATE SEQUENCE conflicts; CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS "
               f"$${body.format(name)}$$; "
               "CREATE TRIGGER conflict BEFORE UPDATE ON noid_minters FOR EACH ROW EXECUTE FUNCTION conflict()")
    runs = []

    def work(writer) -> None:
        runs.append(True)
        writer.put(T, b"count", b"%d" % (int(writer.get(T, b"count") or 0) + 1))

    try:
        for _ in range(4):
            local.write(work)
        assert len(runs) > 4 and value(local, b"count") == b"4"
        server.sql("ALTER SEQUENCE conflicts INCREMENT BY 3 RESTART WITH 1")
        with pytest.raises(BusyError, match="was changed by others again and again .*: try again"):
            local.write(work, timeout=0.3)
        assert value(local, b"count") == b"4"
    finally:
        server.sql("DROP TRIGGER conflict ON noid_minters; DROP FUNCTION conflict; DROP SEQUENCE conflicts")


def test_a_limit_of_the_account_for_statements_does_not_end_the_wait_for_others(server, tmp_path):
    server.sql("CREATE ROLE limited SUPERUSER LOGIN; ALTER ROLE limited SET statement_timeout = '100ms'")
    made = create_store(str(tmp_path / "store"), lambda writer: writer.put(T, b"count", b"0"),
                        address=server.address.replace("//noid@", "//limited@"))
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "engine").write_bytes((tmp_path / "store" / "engine").read_bytes())
    waiting = open_store(str(tmp_path / "copy"))
    done = []
    thread = threading.Thread(target=lambda: done.append(waiting.write(count_up)))
    with made.transaction():
        made.write(count_up)
        thread.start()
        time.sleep(0.3)
    thread.join()
    assert done == [2]
    made.close()
    waiting.close()


def test_a_statement_that_somebody_cancels_is_refused_as_busy(local, other):
    server = shared_server()
    raised = []

    def write() -> None:
        try:
            local.write(lambda writer: writer.put(T, b"a", b"2"))
        except BusyError as error:
            raised.append(error.message)

    thread = threading.Thread(target=write)
    with other.transaction():
        thread.start()
        wait_for_locks(1)
        server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        thread.join()
    assert len(raised) == 1 and "ended a statement (canceling statement due to user request)" in raised[0]


def test_a_read_sees_one_state_while_others_write(local):
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            local.write(lambda writer, number=number: put_all(writer, b"%d" % number))

    def put_all(writer, value: bytes) -> None:
        for key in (b"x", b"y", b"z"):
            writer.put(T, key, value)

    local.write(lambda writer: put_all(writer, b"0"))
    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            one = local.read(lambda reader: {reader.get(T, b"x"), reader.get(T, b"y"), reader.get(T, b"z")})
            two = local.read(lambda reader: {reader.get(T, b"x"), *(value for key, value in reader.scan(T)
                                                                    if key in (b"y", b"z"))})
            assert len(one) == len(two) == 1
    finally:
        stop.set()
        thread.join()


def test_resolvers_see_what_others_commit_within_a_second_and_ask_rarely(local, other, round_trips):
    resolving = open_store(local.location, resolving=True)
    for number in range(2):
        before = resolving.version()
        other.write(lambda writer, number=number: writer.put(T, b"a", b"%d" % number))
        committed = time.monotonic()
        round_trips.clear()
        while resolving.version() == before:
            assert time.monotonic() < committed + 1
        assert len(round_trips) <= 1 and value(resolving, b"a") == b"%d" % number
    resolving.close()


# -- what is sent ----------------------------------------------------------------------------------------------------


@pytest.fixture
def round_trips(monkeypatch):
    counted = []
    run = Session.run

    def counting(self, steps, seconds, **options):
        counted.append(steps)
        return run(self, steps, seconds, **options)

    monkeypatch.setattr(Session, "run", counting)
    return counted


def test_short_reads_and_writes_need_few_round_trips(local, round_trips):
    assert local.read(lambda reader: (reader.get_many([(T, b"a"), (T, b"b")]), reader.get(T, b"a")))
    assert len(round_trips) == 1
    round_trips.clear()

    def work(writer):
        local.write(lambda inner: inner.put_many(T, [(b"%d" % number, b"x") for number in range(100)]))
        return writer.get(T, b"5"), writer.get(T, b"a"), writer.get(T, b"a")

    assert local.write(work) == (b"x", b"1", b"1")
    assert len(round_trips) == 3  # lock, get, commit


@pytest.mark.parametrize("count", [1, 100])
def test_values_of_any_size_are_written_and_read(local, count):
    value = os.urandom(1 << 20) * 20

    def work(writer):
        writer.put(T, b"big", value)
        writer.put_many(T, [(b"%d" % number, value[:100_000]) for number in range(count)])
        local.write(lambda inner: inner.put(T, b"small", b"x"))
        return len(list(writer.scan(T)))

    assert local.write(work) == count + 3
    assert local.read(lambda reader: (reader.get(T, b"big"), reader.get(T, b"0"))) == (value, value[:100_000])


def test_a_transaction_of_any_size_is_sent_in_parts_and_undone_in_parts(local, monkeypatch):
    monkeypatch.setattr("noidtools.store.postgres.writer._MOST_CHANGES", 10)

    def inner(writer, fails):
        writer.put_many(T, [(b"inner %03d" % number, b"x") for number in range(25)])
        assert len(list(writer.scan(T, b"inner"))) == 25
        writer.delete(T, b"a")
        if fails:
            raise ValueError

    def work(writer):
        writer.put_many(T, [(b"outer %03d" % number, b"x") for number in range(25)])
        with pytest.raises(ValueError):
            local.write(lambda child: inner(child, True))
        assert writer.get(T, b"a") == b"1" and not list(writer.scan(T, b"inner"))
        local.write(lambda child: inner(child, False))
        found = []
        for key, _ in writer.scan(T, reverse=True):
            found.append(key)
            writer.put(b"u", key, b"")
        return found

    found = local.write(work)
    assert len(found) == 50 and found == sorted(found, reverse=True)
    assert keys(local) == found[::-1]
    assert local.write(lambda writer: writer.delete_prefix(T, b"outer")) == 25
    assert keys(local) == found[:24:-1]


def test_all_minters_of_a_process_share_few_connections(server, tmp_path):
    stores = [create_store(str(tmp_path / f"store{number}"), lambda writer: writer.put(T, b"count", b"0"),
                           address=server.address) for number in range(30)]

    def use() -> None:
        for store in stores:
            store.write(count_up)
            value(store, b"count")

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {value(store, b"count") for store in stores} == {b"4"}
    used = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'noidtools'"
    assert 1 <= int(server.sql(used)) <= 10
    for store in stores:
        store.close()
    deadline = time.monotonic() + 10
    while server.sql(used) != "0":
        assert time.monotonic() < deadline


def test_after_a_fork_the_store_is_to_be_opened_again_and_that_works(local):
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        try:
            with pytest.raises(StoreError, match="open it again"):
                value(local, b"a")
            local.close()
            again = open_store(local.location)
            again.write(lambda writer: writer.put(T, b"b", value(again, b"a")))
            again.close()
            os.write(sink, b"done")
        finally:
            os._exit(0)
    os.close(sink)
    assert os.read(source, 10) == b"done"
    os.waitpid(child, 0)
    assert value(local, b"b") == b"1"
    local.write(lambda writer: writer.put(T, b"c", b"3"))


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "message"), [
    ("postgresql://alice:secret@localhost/db", "holds a password"),
    ("postgresql://localhost/db?password=secret", "holds a password"),
    ("postgresql://alice:my secret@localhost/db", "holds a password"),
    ("postgresql://alice:secret%zz@localhost/db", "holds a password"),
    ("postgresql://alice:my/secret@localhost/db", "holds a password"),
    ("postgresql://alice:my?secret@localhost/db", "holds a password"),
    ("postgresql://localhost/db?password=my secret", "holds a password"),
    ("postgresql://localhost/db password='my secret'", "holds a password"),
    ("postgres//alice:secret@localhost/db", "must be the address of a database server"),
    ("postgresql://localhost/db?colour=blue", "not the address of a PostgreSQL server"),
    ("mysql://localhost/db", "must be the address of a database server"),
    ("postgresql://localhost/a\nb", "one line of printable text"),
])
def test_an_address_that_must_not_be_stored_is_refused(tmp_path, address, message):
    with pytest.raises(UsageError, match=message) as raised:
        create_store(str(tmp_path / "store"), lambda writer: None, address=address)
    assert os.listdir(tmp_path) == [] and "secret" not in raised.value.message


@pytest.mark.parametrize("address", ["postgresql://alice:my secret@localhost/db", "host=a password=my secret"])
def test_a_password_in_the_file_engine_is_not_printed(noid, address):
    (noid.folder / "NOID").mkdir()
    (noid.folder / "NOID" / "engine").write_text(f"engine: postgres\nminter: a\naddress: {address}\n")
    refusal = noid.refused("mint", "1")
    assert "holds a password" in refusal and "secret" not in refusal


@pytest.mark.parametrize("address", ["postgresql://a:my secret@localhost/db", "postgres://localhost/?password=secret",
                                     "postgresql://a:secret@localhost"])
@pytest.mark.parametrize("words", [["-f", "ADDRESS", "mint", "1"], ["-f", "ADDRESS", "dbcreate"], ["serve"], ["status"],
                                   ["copy", ".", "ADDRESS"], ["copy", "ADDRESS", "b"],
                                   ["status", "--minters", "ADDRESS"],
                                   ["serve", "--minters", "ADDRESS"], ["backup", "--minters", "ADDRESS", "copies"]])
def test_an_address_in_place_of_a_folder_is_refused_and_not_repeated(noid, address, words):
    refusal = noid.refused(*(address if word == "ADDRESS" else word for word in words), env={"NOID": address})
    assert "is not a folder: name the folder of the minter" in refusal and "secret" not in refusal
    assert os.listdir(noid.folder) == []


@pytest.mark.parametrize("option", ["--store", "--read"])
def test_an_empty_address_creates_no_minter_elsewhere(noid, option):
    assert noid.refused("dbcreate", ".sd", option, "", status=2).startswith(f"{option} needs an address, as in")
    assert noid.refused("copy", "a", "b", option, " ", status=2).startswith(f"{option} needs an address, as in")
    assert os.listdir(noid.folder) == []


def test_a_server_that_will_never_accept_us_is_not_waited_for(tmp_path):
    start = time.monotonic()
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        create_store(str(tmp_path / "store"), lambda writer: None,
                     address=postgres_address().replace("/postgres?", "/nowhere?"))
    assert time.monotonic() - start < 5 and os.listdir(tmp_path) == []


def test_a_minter_that_was_removed_from_the_database_is_missed(local, tmp_path):
    text = (tmp_path / "store" / "engine").read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "engine").write_text(text.replace(f"minter: {tmp_path.name}", "minter: nothing"))
    with pytest.raises(NoMinterError, match="has no minter"):
        open_store(str(tmp_path / "other"))
    (tmp_path / "other" / "engine").write_text("engine: postgres\nminter: x\n")
    with pytest.raises(StoreError, match="has no line 'address: …'"):
        open_store(str(tmp_path / "other"))


def test_a_copy_of_the_folder_is_the_same_minter(local, other):
    other.write(lambda writer: writer.put(T, b"a", b"2"))
    assert value(local, b"a") == b"2"


def test_a_minter_that_was_put_in_the_place_of_another_is_used_from_then_on(local, tmp_path):
    new = create_store(str(tmp_path / "new"), lambda writer: writer.put(T, b"a", b"new"), address=postgres_address())
    new.close()
    identity = local.identity()
    os.rename(tmp_path / "store", tmp_path / "away")
    for use in (lambda: value(local, b"a"), lambda: local.write(lambda writer: None), local.identity):
        with pytest.raises(NoMinterError):
            use()
    os.rename(tmp_path / "new", tmp_path / "store")
    assert value(local, b"a") == b"new" and local.identity() != identity
