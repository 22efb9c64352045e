"""The PostgreSQL engine with one real server: nothing is done twice or forgotten when a connection is lost."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time

import pytest

from noidtools.errors import BusyError, NoMinterError, StoreError, UsageError
from noidtools.store import create_store, open_store, replace_store
from noidtools.store.postgres import statements as sql
from noidtools.store.postgres import writer as postgres_writer
from noidtools.store.postgres.connection import LostError, ServerSession, SqlStatement
from noidtools.store.postgres.locked_minter import LockedMinter
from support.http import free_port
from support.postgres import PostgresServer, postgres_address, shared_server
from support.relay import Relay

pytestmark = pytest.mark.servers
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
    address = f"postgresql://noid@127.0.0.1:{relay.port}/postgres"
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
    items = store.read(lambda reader: [key for key, _ in reader.scan(T)])
    assert len(items) == expected + 1


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
            assert "do it again" in error.message or "try again" in error.message
    assert done >= 3 and store.read(lambda reader: reader.get(T, b"count")) == b"%d" % done


@pytest.mark.parametrize("pieces", range(3))
def test_a_read_goes_on_with_another_session(store, relay, pieces):
    store.write(lambda writer: writer.put_many(T, [(b"%04d" % number, b"x") for number in range(500)]))
    relay.cut_after(pieces, forward_last=True)
    assert store.read(lambda reader: len(list(reader.scan(T)))) == 501
    assert store.get_many([(T, b"count")], 1.0)[0] == [b"0"]
    assert store.version() is not None


@pytest.mark.parametrize("forward_last", [False, True])
def test_two_values_are_read_in_another_session_if_theirs_was_lost(store, relay, forward_last):
    expected = (b"0", None, store.version())
    assert store.get_both(T, b"count", T, b"b", 1.0) == expected
    relay.cut_after(0, forward_last=forward_last)
    assert store.get_both(T, b"count", T, b"b", 1.0) == expected and relay.was_cut


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
    monkeypatch.setattr("noidtools.store.postgres.commit._LOCK_ATTEMPT", 0.2)
    monkeypatch.setattr("noidtools.store.postgres.commit._LOCK_ANSWER", 0.1)
    monkeypatch.setattr("noidtools.store.postgres.connection.CONNECT_TIMEOUT", 0.3)
    relay.stop_forwarding()
    start = time.monotonic()
    try:
        with pytest.raises(BusyError):
            store.write(count_up, timeout=1)
    finally:
        relay.forward()
    assert time.monotonic() - start < 5
    assert store.write(count_up) == 1


def test_a_session_that_was_interrupted_answers_nothing_else(local, monkeypatch):
    """A signal may raise anything while an answer is waited for."""
    wait = ServerSession._wait
    interrupts = []

    def interrupted(self, *arguments):
        wait(self, *arguments)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(ServerSession, "_wait", interrupted)
    local.write(lambda writer: writer.put(T, b"b", b"2"))
    for number in range(3):
        for action in (lambda: local.get_many([(T, b"b")], 1.0), lambda: local.get_both(T, b"b", T, b"c", 1.0),
                       lambda: local.read(lambda reader: reader.get(T, b"b")), local.version,
                       lambda: local.write(lambda writer: writer.put(T, b"c", b"3"))):
            local._primary.forget()
            interrupts.append(KeyboardInterrupt() if number else TimeoutError())
            with pytest.raises((KeyboardInterrupt, TimeoutError)):
                action()
            assert local.get_many([(T, b"a")], 1.0)[0] == [b"1"]
            assert local.get_both(T, b"a", T, b"b", 1.0)[:2] == (b"1", b"2")
            assert local.read(lambda reader: reader.get_many([(T, b"a"), (T, b"b")])) == [b"1", b"2"]


def test_who_stops_in_the_middle_of_a_change_loses_the_lock_and_is_told(local, other):
    with pytest.raises((StoreError, BusyError), match="again"), local.transaction() as writer:
        writer.put(T, b"a", b"never")
        ((limit,),) = writer.minter.run([(SqlStatement("SHOW idle_in_transaction_session_timeout"), ())])[0]
        assert limit == b"1min"
        writer.minter.run([(SqlStatement("SET idle_in_transaction_session_timeout = 100"), ())])
        other.write(lambda writer: writer.put(T, b"b", b"2"), timeout=5)
    assert local.read(lambda reader: [key for key, _ in reader.scan(T)]) == [b"a", b"b"]
    assert local.read(lambda reader: reader.get(T, b"a")) == b"1"


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
        assert done == [1] and store.read(lambda reader: reader.get(T, b"count")) == b"1"
        store.close()
    finally:
        with_standby.close()


def test_a_database_that_lost_changes_is_not_written(local):
    local.write(lambda writer: writer.put(T, b"b", b"2"))
    name = shared_server().sql("SELECT name FROM noid_minters ORDER BY xmin::text::bigint DESC LIMIT 1")
    for change in (-(1 << 20), 1 << 20, 1):  # a commit less; and another commit in its place
        shared_server().sql(f"UPDATE noid_minters SET version = version + {change} WHERE name = '{name}'")
        if change != 1 << 20:
            with pytest.raises(StoreError, match="has lost changes of this minter in a failover"):
                local.write(lambda writer: writer.put(T, b"c", b"3"))
    assert local.read(lambda reader: reader.get(T, b"c")) is None


def test_the_commit_of_another_after_a_lost_one_is_not_taken_for_it(local, other):
    """Versions of the lost commit and of the one in its place differ, so nothing in memory is taken for valid."""
    before = local.version()
    name = shared_server().sql("SELECT name FROM noid_minters ORDER BY xmin::text::bigint DESC LIMIT 1")
    local.write(lambda writer: writer.put(T, b"a", b"lost"))
    seen = local.version()
    shared_server().sql(f"UPDATE noid_minters SET version = {before[1]} WHERE name = '{name}'")
    other.write(lambda writer: writer.put(T, b"a", b"kept"))
    assert local.version() != seen
    time.sleep(1)
    assert local.read(lambda reader: reader.get(T, b"a"), max_age=0.01) == b"kept"


def test_a_transaction_that_fails_to_serialize_is_run_again_and_in_the_end_refused_as_busy(local):
    """As CockroachDB, and PostgreSQL with other settings, end transactions that conflict (SQLSTATE 40001)."""
    server = shared_server()
    name = local._file.minter
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
        assert len(runs) > 4 and local.read(lambda reader: reader.get(T, b"count")) == b"4"
        server.sql("ALTER SEQUENCE conflicts INCREMENT BY 3 RESTART WITH 1")
        with pytest.raises(BusyError, match="was changed by others again and again .*: try again"):
            local.write(work, timeout=0.3)
        assert local.read(lambda reader: reader.get(T, b"count")) == b"4"
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


# -- what is sent ----------------------------------------------------------------------------------------------------


@pytest.fixture
def round_trips(monkeypatch):
    counted = []
    run = ServerSession.run

    def counting(self, steps, deadline):
        counted.append(steps)
        return run(self, steps, deadline)

    monkeypatch.setattr(ServerSession, "run", counting)
    return counted


def test_short_reads_need_one_round_trip_each(local, round_trips):
    local.get_many([(T, b"a"), (T, b"b"), (b"u", b"a")], 1.0)
    local.get_both(T, b"a", T, b"b", 1.0)
    assert len(round_trips) == 2
    round_trips.pop()
    local.read(lambda reader: (reader.get(T, b"zzz"), reader.get(T, b"zzz"), reader.version()))
    assert len(round_trips) == 2


def test_a_write_needs_one_round_trip_to_begin_and_one_to_commit(local, round_trips):
    local.read(lambda reader: reader.get(T, b"a"))
    round_trips.clear()

    def work(writer):
        local.write(lambda inner: inner.put_many(T, [(b"%d" % number, b"x") for number in range(100)]))
        return writer.get(T, b"a"), writer.get(T, b"5")

    assert local.write(work) == (b"1", b"x")
    assert len(round_trips) == 2


def test_what_others_commit_is_noticed_at_once_where_the_server_announces_it(local, other):
    local.version(0.01)
    waits = []
    for number in range(5):
        before = local.version(0.01)
        other.write(lambda writer, number=number: writer.put(T, b"a", b"%d" % number))
        committed = time.monotonic()
        while local.version(0.01) == before:
            assert time.monotonic() < committed + 1
        waits.append(time.monotonic() - committed)
        assert local.read(lambda reader: reader.get(T, b"a"), max_age=0.01) == b"%d" % number
    assert min(waits) < 0.15


def test_what_others_commit_is_noticed_within_a_second_where_nothing_is_announced(local, other, monkeypatch):
    monkeypatch.setattr("noidtools.store.postgres.listener.Listener._begun", lambda self: None)
    for number in range(3):
        before = local.version(0.01)
        other.write(lambda writer, number=number: writer.put(T, b"a", b"%d" % number))
        committed = time.monotonic()
        while local.version(0.01) == before:
            assert time.monotonic() < committed + 1


@pytest.mark.parametrize("forbidden", [True, False], ids=["forbidden", "unknown"])
def test_where_nothing_can_be_announced_writes_and_reads_go_on(server, tmp_path, monkeypatch, forbidden):
    """As in databases that speak PostgreSQL's protocol and have no NOTIFY."""
    if forbidden:
        server.sql("CREATE ROLE w LOGIN; GRANT ALL ON SCHEMA public TO w")
        server.sql("GRANT ALL ON noid_minters, noid_data TO w")
        server.sql("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC")
    else:
        monkeypatch.setattr(sql, "NOTIFY", SqlStatement("SELECT pg_announce('noidtools', $1)", sql.TEXT))
    address = server.address.replace("//noid@", "//w@") if forbidden else server.address
    try:
        store = create_store(str(tmp_path / "store"), lambda writer: writer.put(T, b"count", b"0"), address=address)
        for number in range(1, 5):
            assert store.write(count_up) == number
            assert store.get_many([(T, b"count")], 1.0)[0] == [b"%d" % number]
            assert store.read(lambda reader: reader.get(T, b"item 1")) == b""
        assert not store._primary.pool.announces
        store.close()
    finally:
        server.sql("GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC")


def test_a_session_that_was_left_in_a_transaction_is_not_used_again(local):
    pool = local._primary.pool
    session = pool.take(time.monotonic() + 10)
    session.run([(sql.BEGIN_WRITE, ())], time.monotonic() + 10)
    pool.give(session)
    assert pool.take(time.monotonic() + 10) is not session and session.closed


def test_two_values_are_not_read_in_a_transaction_that_was_left_open(local, other):
    pool = local._primary.pool
    session = pool.take(time.monotonic() + 10)
    session.run([(sql.BEGIN_SNAPSHOT, ()), (sql.READ_ONLY, ())], time.monotonic() + 10)
    other.write(lambda writer: writer.put(T, b"a", b"2"))
    pool.give(session)
    assert local.get_both(T, b"a", T, b"b", 10.0)[:2] == (b"2", None)


def test_what_is_in_memory_is_old_by_when_it_was_asked_for_not_by_when_the_answer_came(local, other, monkeypatch):
    monkeypatch.setattr("noidtools.store.postgres.listener.Listener._begun", lambda self: None)
    run = ServerSession.run

    def late(self, steps, deadline):
        done = run(self, steps, deadline)
        if any(statement is sql.SET_VERSION for statement, _ in steps):
            monkeypatch.setattr(ServerSession, "run", run)
            other.write(lambda writer: writer.put(T, b"a", b"theirs"))
            time.sleep(0.3)
        return done

    local.read(lambda reader: reader.get(T, b"a"))
    monkeypatch.setattr(ServerSession, "run", late)
    local.write(lambda writer: writer.put(T, b"a", b"mine"))
    assert local.read(lambda reader: reader.get(T, b"a"), max_age=0.01) == b"theirs"


def test_a_read_sees_one_moment_while_others_write(local):
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
            three = local.read(lambda reader: (reader.version(), reader.get(T, b"x"), reader.version()))
            assert len(one) == len(two) == 1 and three[0] == three[2]
    finally:
        stop.set()
        thread.join()


def test_a_transaction_of_any_size_is_sent_in_parts_and_undone_in_parts(local, monkeypatch, round_trips):
    monkeypatch.setattr(postgres_writer, "_MOST_CHANGES", 10)

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
    assert local.read(lambda reader: [key for key, _ in reader.scan(T)]) == found[::-1]
    round_trips.clear()
    assert local.write(lambda writer: writer.delete_prefix(T, b"outer")) == 25
    assert len(round_trips) > 3
    assert local.read(lambda reader: [key for key, _ in reader.scan(T)]) == found[:24:-1]


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "message"), [
    ("postgresql://alice:secret@localhost/db", "holds a password"),
    ("postgresql://localhost/db?password=secret", "holds a password"),
    ("postgresql://localhost/db?colour=blue", "no address of a PostgreSQL server"),
    ("mysql://localhost/db", "no address of a database server"),
    ("postgresql://localhost/a\nb", "one line of printable text"),
])
def test_an_address_that_must_not_be_stored_is_refused(tmp_path, address, message):
    with pytest.raises(UsageError, match=message):
        create_store(str(tmp_path / "store"), lambda writer: None, address=address)
    assert os.listdir(tmp_path) == []


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


def test_a_server_that_is_lost_during_the_handshake_is_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def hang_up() -> None:
            for _ in range(2):
                client, _ = listener.accept()
                client.recv(8)
                client.sendall(b"S")  # TLS may begin
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()

        threading.Thread(target=hang_up, daemon=True).start()
        for mode in ("prefer", "require"):
            address = f"postgresql://noid@127.0.0.1:{listener.getsockname()[1]}/postgres?sslmode={mode}"
            with pytest.raises(LostError) as raised:
                ServerSession(address, time.monotonic() + 10)
            assert not raised.value.hopeless, raised.value


@pytest.mark.parametrize(("message", "hopeless"), [
    ('FATAL:  password authentication failed for user "a"', True), ('FATAL:  Peer authentication failed', True),
    ('FATAL:  no pg_hba.conf entry for host "127.0.0.1"', True), ("fe_sendauth: no password supplied", True),
    ("server does not support SSL, but SSL was required", True), ("SSL error: certificate verify failed", True),
    ('FATAL:  canceling authentication due to timeout', False), ("SSL SYSCALL error: Connection reset by peer", False),
    ("SSL SYSCALL error: EOF detected", False), ("FATAL:  the database system is starting up", False),
])
def test_only_what_never_changes_by_itself_is_not_tried_again(monkeypatch, message, hopeless):
    def refuse(conninfo, deadline):
        raise LostError(message)

    monkeypatch.setattr("noidtools.store.postgres.connection._connect_to", refuse)
    with pytest.raises(LostError) as raised:
        ServerSession(postgres_address(), time.monotonic() + 1)
    assert raised.value.hopeless == hopeless


def test_a_minter_that_was_removed_from_the_database_is_missed(local, tmp_path):
    text = (tmp_path / "store" / "engine").read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "engine").write_text(text.replace("minter: store", "minter: nothing").replace(
        f"minter: {tmp_path.name}", "minter: nothing"))
    with pytest.raises(NoMinterError, match="has no minter"):
        open_store(str(tmp_path / "other"))
    (tmp_path / "other" / "engine").write_text("engine: postgres\nminter: x\n")
    with pytest.raises(StoreError, match="has no line 'address: …'"):
        open_store(str(tmp_path / "other"))


def test_a_copy_of_the_folder_is_the_same_minter(local, other):
    other.write(lambda writer: writer.put(T, b"a", b"2"))
    assert local.read(lambda reader: reader.get(T, b"a")) == b"2"


# -- another store in its place --------------------------------------------------------------------------------------


def block_value(store) -> bytes | None:
    with store.transaction() as writer:
        return writer.get(T, b"a")


def wait_for_locks(count: int) -> None:
    deadline = time.monotonic() + 20
    while int(shared_server().sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) < count:
        assert time.monotonic() < deadline


def test_a_read_during_which_another_minter_is_put_in_place_is_run_again_there(local, tmp_path):
    new = create_store(str(tmp_path / "new"), lambda writer: writer.put(T, b"a", b"new"), address=postgres_address())
    new.close()
    runs = []

    def work(reader):
        runs.append(True)
        if len(runs) == 1:
            replace_store(str(tmp_path / "store"), str(tmp_path / "new"))
        return reader.get(T, b"a")

    assert local.read(work) == b"new"


def test_two_values_are_read_in_the_minter_that_was_put_in_place(local, tmp_path):
    new = create_store(str(tmp_path / "new"), lambda writer: writer.put(T, b"a", b"new"), address=postgres_address())
    new.close()
    before = local.get_both(T, b"a", T, b"b", 0.01)
    assert before[:2] == (b"1", None)
    replace_store(str(tmp_path / "store"), str(tmp_path / "new"))
    time.sleep(0.02)  # for so long, others may read the one that was there
    after = local.get_both(T, b"a", T, b"b", 0.01)
    assert after[:2] == (b"new", None) and after[2] != before[2]


def test_a_minter_whose_folder_is_moved_away_is_read_and_not_written(local, tmp_path):
    """What is written while a copy is on its way to that place would be lost."""
    os.rename(tmp_path / "store", tmp_path / "away")
    assert local.read(lambda reader: reader.get(T, b"a")) == b"1"
    with pytest.raises(NoMinterError):
        local.write(lambda writer: writer.put(T, b"a", b"2"))
    assert local.get_many([(T, b"a")], 1.0)[0] == [b"1"]
    os.rename(tmp_path / "away", tmp_path / "store")
    local.write(lambda writer: writer.put(T, b"a", b"3"))


def test_a_lost_commit_is_settled_though_the_minter_got_another_name(local, tmp_path, monkeypatch):
    commit = LockedMinter.commit
    server = shared_server()

    def lost(self, changes):
        monkeypatch.undo()
        commit(self, changes)
        name = self.source.minter
        server.sql(f"UPDATE noid_minters SET name = '{name}-away' WHERE name = '{name}'")
        raise LostError("the server did not answer in time")

    monkeypatch.setattr(LockedMinter, "commit", lost)
    assert local.write(lambda writer: writer.put(T, b"a", b"2")) is None
