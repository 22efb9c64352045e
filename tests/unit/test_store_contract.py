"""What every engine of the store promises: one suite for LMDB, for PostgreSQL and for the engine in memory."""

from __future__ import annotations

import os
import threading
import time
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from noidtools import store as stores
from noidtools.errors import BusyError, ConflictError, NoidError, NoMinterError, StoreError
from noidtools.store import ADDRESS_VARIABLE, create_store, exists, open_store, restore_store
from support import memory_store
from support.postgres import postgres_address

pytestmark = pytest.mark.slow

T, U = b"t", b"u"
POSTGRES = pytest.param("postgres", marks=pytest.mark.servers)
ENGINES = ("lmdb", "memory", POSTGRES)


@pytest.fixture(scope="session", autouse=True)
def memory_engine():
    stores.ENGINES["memory"] = memory_store.__name__
    yield
    del stores.ENGINES["memory"]


def make(engine: str, location, fill=lambda writer: None, **options):
    if engine == "memory":
        return memory_store.create_store(str(location), fill, **options)
    address = postgres_address() if engine == "postgres" else ""
    return create_store(str(location), fill, **options, address=address)


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch) -> str:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    return request.param


@pytest.fixture
def store(engine, tmp_path):
    made = make(engine, tmp_path / "store")
    yield made
    made.close()


def items(store, table=T, *args, **options):
    return store.read(lambda reader: list(reader.scan(table, *args, **options)))


# -- opening and creating --------------------------------------------------------------------------------------------


def test_a_store_appears_with_all_that_was_put_into_it_or_not_at_all(engine, tmp_path):
    location = tmp_path / "store"

    def fail(writer):
        writer.put(T, b"a", b"1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make(engine, location, fail)
    assert not exists(str(location)) and os.listdir(tmp_path) == []
    with pytest.raises(NoMinterError):
        open_store(str(location))
    made = make(engine, location, lambda writer: writer.put(T, b"a", b"1"))
    assert exists(str(location)) and items(made) == [(b"a", b"1")]
    assert (made.location, made.writable) == (str(location), True)
    made.close()
    again = open_store(str(location))
    assert items(again) == [(b"a", b"1")]
    again.close()
    with pytest.raises(ConflictError):
        make(engine, location)


def test_a_store_is_made_of_chunks_and_appears_after_the_last_or_not_at_all(engine, tmp_path):
    location = tmp_path / "store"
    asked, done = [], []

    def chunks(last):
        for number in range(3):
            asked.append(number)
            yield lambda writer, number=number: (writer.put(T, b"%d" % number, b""), done.append(number))
            assert not exists(str(location)) and done[-1] == number, "a chunk is run before the next is asked for"
        if last is not None:
            raise last

    with pytest.raises(ZeroDivisionError):
        make(engine, location, chunks=chunks(ZeroDivisionError()))
    assert not exists(str(location)) and os.listdir(tmp_path) == []
    made = make(engine, location, lambda writer: writer.put(U, b"count", b"%d" % sum(1 for _ in writer.scan(T))),
                chunks=chunks(None), readme=lambda: b"asked %d times" % len(asked))
    assert [key for key, _ in items(made)] == [b"0", b"1", b"2"] and items(made, U) == [(b"count", b"3")]
    made.close()
    if engine == "lmdb":
        assert (location / "README").read_bytes() == b"asked 6 times"
    with pytest.raises(ConflictError):
        make(engine, location, chunks=chunks(None))
    assert len(asked) == 6


def test_an_engine_is_chosen_by_what_lies_at_the_location(tmp_path):
    (tmp_path / "unknown").write_text("engine: abacus\n")
    with pytest.raises(StoreError, match="'abacus'"):
        open_store(str(tmp_path / "unknown"))
    (tmp_path / "other").write_bytes(b"\xff\x00nothing of ours")
    with pytest.raises(StoreError, match="names no engine"):
        open_store(str(tmp_path / "other"))
    assert not exists(str(tmp_path / "unknown")) and not exists(str(tmp_path / "other"))
    for location in ("missing", "mis\0sing", "x" * 300, os.path.join("unknown", "below")):
        assert not exists(str(tmp_path / location))
        with pytest.raises((NoidError, ValueError)):
            open_store(str(tmp_path / location))


# -- transactions ----------------------------------------------------------------------------------------------------


def test_a_write_happens_whole_or_not_at_all(store):
    def work(writer):
        writer.put(T, b"a", b"1")
        writer.put_many(U, [(b"b", b"2")])
        raise ValueError

    with pytest.raises(ValueError):
        store.write(work)
    assert items(store) == items(store, U) == []


def test_a_write_inside_a_write_is_undone_alone(store):
    def inner(writer):
        writer.put(T, b"b", b"2")
        writer.delete(T, b"a")
        raise ValueError

    def outer(writer):
        writer.put(T, b"a", b"1")
        with pytest.raises(ValueError):
            store.write(inner)
        store.write(lambda child: store.write(lambda grandchild: grandchild.put(T, b"c", b"3")))
        assert writer.get(T, b"b") is None
        return store.read(lambda reader: [key for key, _ in reader.scan(T)])

    assert store.write(outer) == [b"a", b"c"]
    assert items(store) == [(b"a", b"1"), (b"c", b"3")]


def test_a_transaction_inside_a_transaction_of_the_same_thread_joins_it(store):
    store.write(lambda writer: writer.put(T, b"a", b"1"))

    def outer(writer):
        writer.put(T, b"a", b"2")
        assert store.read(lambda reader: reader.get(T, b"a")) == b"2"
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(store.read(lambda reader: reader.get(T, b"a"))))
        thread.start()
        thread.join()
        return elsewhere

    assert store.write(outer) == [b"1"]

    written = []

    def reading(reader):
        # The moment that a transaction reads is that of its first look.
        seen = reader.get(T, b"a")
        if not written:
            thread = threading.Thread(target=store.write, args=(lambda writer: writer.put(T, b"a", b"3"),))
            written.append(thread.start())
            thread.join()
        return seen, reader.get(T, b"a"), store.read(lambda inner: inner.get(T, b"a"))

    assert len(set(store.read(reading))) == 1
    assert items(store) == [(b"a", b"3")]


def test_a_write_inside_a_read_is_refused(store):
    with pytest.raises(StoreError, match="inside a read"):
        store.read(lambda reader: store.write(lambda writer: None))
    store.write(lambda writer: None)


def test_the_store_knows_whether_a_thread_is_in_a_transaction(store):
    def elsewhere() -> list[bool]:
        found = []
        thread = threading.Thread(target=lambda: found.append(store.writing))
        thread.start()
        thread.join()
        return found

    assert not store.writing
    assert not store.read(lambda _: store.writing)
    assert store.write(lambda _: (store.writing, *elsewhere())) == (True, False)
    assert store.write(lambda _: store.write(lambda _: store.writing))
    with pytest.raises(ValueError):
        store.write(lambda _: int("x"))
    assert not store.writing


def test_what_is_to_follow_a_commit_is_done_after_it_and_before_write_returns(store):
    done = []

    def note(what):
        store.after_commit(lambda: done.append((what, store.writing, items(store))))

    def failing(writer):
        note("undone")
        raise ValueError

    def work(writer):
        note("outer")
        writer.put(T, b"a", b"1")
        with pytest.raises(ValueError):
            store.write(failing)
        store.write(lambda _: note("inner"))
        assert done == []

    store.write(work)
    assert done == [("outer", False, [(b"a", b"1")]), ("inner", False, [(b"a", b"1")])]
    done.clear()
    with pytest.raises(ValueError):
        store.write(failing)
    with pytest.raises(StoreError, match="in no write transaction"):
        store.read(lambda _: note("reading"))
    assert done == []


def test_a_second_writer_waits_no_longer_than_its_timeout(store):
    held = threading.Event()

    def slow(writer):
        held.set()
        time.sleep(0.6)
        writer.put(T, b"slow", b"1")

    thread = threading.Thread(target=lambda: store.write(slow))
    thread.start()
    held.wait()
    with pytest.raises(BusyError):
        store.write(lambda writer: None, timeout=0.1)
    store.write(lambda writer: writer.put(T, b"after", b"2"), timeout=10)
    thread.join()
    assert [key for key, _ in items(store)] == [b"after", b"slow"]


def test_threads_read_and_write_at_once(store):
    def add(name: bytes) -> None:
        for number in range(50):
            store.write(lambda writer, number=number: writer.put(T, name + b"%d" % number, b"x"))
            assert store.read(lambda reader, number=number: reader.get(T, name + b"%d" % number)) == b"x"

    threads = [threading.Thread(target=add, args=(name,)) for name in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(items(store)) == 200


# -- versions --------------------------------------------------------------------------------------------------------


def test_equal_versions_mean_that_nothing_was_committed(store):
    store.write(lambda writer: writer.put(T, b"a", b"1"))
    first = store.version()
    assert first is not None and first == store.version()
    assert store.read(lambda _: store.version()) == first
    with pytest.raises(ValueError):
        store.write(lambda writer: writer.put(T, b"a", b"2") or int("x"))
    assert store.version() == first
    store.write(lambda writer: writer.put(T, b"a", b"2"))
    assert store.version() != first

    def outlived(reader):
        seen = store.version()
        thread = threading.Thread(target=store.write, args=(lambda writer: writer.put(T, b"b", b"1"),))
        thread.start()
        thread.join()
        return seen, store.version()

    seen, still = store.read(outlived)
    assert seen == still != store.version()


def test_a_suspended_store_has_the_version_and_the_identity_that_it_had(store):
    store.write(lambda writer: writer.put(T, b"a", b"1"))
    version, identity = store.version(), store.identity()
    assert store.suspend() and store.identity() == store.read(lambda _: store.identity())
    store.suspend()
    assert store.version() == store.version()
    store.write(lambda writer: writer.put(T, b"a", b"2"))
    assert store.version() != version
    assert identity is not None


def test_a_store_has_an_identity_and_a_status(engine, store):
    identity = store.identity()
    store.write(lambda writer: writer.put(T, b"a", b"1"))
    assert store.identity() == identity == store.read(lambda _: store.identity()) is not None
    assert store.write(lambda _: store.identity()) == identity
    status = store.status()
    assert ("size_bytes" in status.figures) == (engine != "memory")
    assert bool(status.lines) == (engine == "postgres")


# -- scans -----------------------------------------------------------------------------------------------------------


def test_a_scan_in_a_write_goes_on_behind_the_last_key_whatever_was_changed(store):
    def work(writer):
        writer.put_many(T, [(b"%02d" % number, b"x") for number in range(20)])
        found = []
        for key, _ in writer.scan(T):
            found.append(key)
            if key == b"03":
                writer.delete(T, b"03")  # where it stands
                writer.delete(T, b"02")  # behind it
                writer.delete(T, b"05")  # before it
            if key == b"10":
                writer.put(T, b"105", b"new")
                store.write(lambda child: child.put(T, b"115", b"new") or child.delete(T, b"12"))
            if key == b"15":
                writer.delete_prefix(T, b"1")
        backwards = []
        for key, _ in writer.scan(T, reverse=True):
            backwards.append(key)
            if key == b"08":
                writer.delete(T, b"08")
                writer.delete(T, b"07")
            writer.put(T, b"9" + key, b"behind")
        return found, backwards

    found, backwards = store.write(work)
    assert found == [b"00", b"01", b"02", b"03", b"04", b"06", b"07", b"08", b"09", b"10", b"105", b"11", b"115",
                     b"13", b"14", b"15"]
    assert backwards == [b"09", b"08", b"06", b"04", b"01", b"00"]


def test_a_scan_may_be_left_at_any_place(store):
    store.write(lambda writer: writer.put_many(T, [(b"%d" % number, b"x") for number in range(10)]))
    scan = store.read(lambda reader: next(reader.scan(T)))
    assert scan == (b"0", b"x")
    left = []
    store.read(lambda reader: left.append(reader.scan(T)) or next(left[0]))
    store.write(lambda writer: left.append(writer.scan(T)) or next(left[1]) and writer.delete_prefix(T, b""))
    left.clear()
    assert items(store) == []


SHORT = st.binary(min_size=1, max_size=4)
# Around the limits of an engine, sharing long heads, where two ways of storing keys meet.
LONG = st.builds(lambda letter, length, tail: letter * length + tail, st.sampled_from([b"k", b"\xff", b"\0"]),
                 st.integers(470, 515) | st.integers(985, 1030), st.binary(max_size=3))
KEYS = st.one_of(SHORT, LONG)
VALUES = st.binary(max_size=5)
PREFIXES = st.one_of(st.sampled_from([b"", b"k", b"k" * 480, b"k" * 512, b"k" * 1000, b"\xff" * 500]), SHORT, LONG)


class Comparison(RuleBasedStateMachine):
    """A store beside a dictionary: whatever is done to both, they hold the same."""

    engine = "lmdb"
    places = count()
    folder = None

    def __init__(self) -> None:
        super().__init__()
        self.store = make(self.engine, self.folder / f"{self.engine}{next(self.places)}")
        self.model: dict[tuple[bytes, bytes], bytes] = {}

    def teardown(self) -> None:
        self.store.close()

    def expected(self, table, prefix, after, limit, reverse):
        found = sorted((key, value) for (of, key), value in self.model.items() if of == table
                       and key.startswith(prefix)
                       and (after is None or (key < after if reverse else key > after)))
        return (found[::-1] if reverse else found)[:limit]

    @rule(table=st.sampled_from([T, U]), pairs=st.dictionaries(KEYS, VALUES, max_size=6), sort=st.booleans())
    def put_many(self, table, pairs, sort):
        given = sorted(pairs.items()) if sort else list(pairs.items())
        self.store.write(lambda writer: writer.put_many(table, given))
        self.model |= {(table, key): value for key, value in pairs.items()}

    @rule(table=st.sampled_from([T, U]), key=KEYS, value=VALUES)
    def put(self, table, key, value):
        self.store.write(lambda writer: writer.put(table, key, value))
        self.model[table, key] = value

    @rule(data=st.data(), table=st.sampled_from([T, U]))
    def delete(self, data, table):
        key = data.draw(st.sampled_from(sorted(key for _, key in self.model) or [b"x"]) | KEYS)
        was_there = self.store.write(lambda writer: writer.delete(table, key))
        assert was_there == (self.model.pop((table, key), None) is not None)

    @rule(table=st.sampled_from([T, U]), prefix=PREFIXES)
    def delete_prefix(self, table, prefix):
        gone = [place for place in self.model if place[0] == table and place[1].startswith(prefix)]
        assert self.store.write(lambda writer: writer.delete_prefix(table, prefix)) == len(gone)
        for place in gone:
            del self.model[place]

    @rule(key=KEYS, other=KEYS, value=VALUES, undo=st.booleans())
    def nested(self, key, other, value, undo):
        def inner(writer):
            writer.put(T, other, value)
            writer.delete(U, key)
            if undo:
                raise ValueError

        def outer(writer):
            writer.put(T, key, value)
            try:
                self.store.write(inner)
            except ValueError:
                assert undo

        self.store.write(outer)
        self.model[T, key] = value
        if not undo:
            self.model[T, other] = value
            self.model.pop((U, key), None)

    @rule(data=st.data(), table=st.sampled_from([T, U]), prefix=PREFIXES, reverse=st.booleans(),
          limit=st.none() | st.integers(0, 4), writing=st.booleans())
    def scan(self, data, table, prefix, reverse, limit, writing):
        after = data.draw(st.none() | st.sampled_from(sorted(key for _, key in self.model) or [b"k"]) | PREFIXES)
        run = self.store.write if writing else self.store.read
        found = run(lambda reader: list(reader.scan(table, prefix, after=after, limit=limit, reverse=reverse)))
        assert found == self.expected(table, prefix, after, limit, reverse)

    @rule(data=st.data(), places=st.lists(st.tuples(st.sampled_from([T, U]), KEYS), max_size=5))
    def get(self, data, places):
        places = data.draw(st.permutations(places + sorted(self.model)[:3]))
        found = self.store.read(lambda reader: (reader.get_many(places), [reader.get(*place) for place in places]))
        assert found[0] == found[1] == [self.model.get(place) for place in places]


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    return tmp_path_factory.mktemp("comparisons")


@pytest.mark.parametrize("name", ENGINES)
def test_a_store_holds_what_a_dictionary_would_hold(name, comparisons):
    class Compared(Comparison):
        engine = name
        folder = comparisons

    from hypothesis.stateful import run_state_machine_as_test

    examples = 15 if name == "postgres" else 40
    run_state_machine_as_test(Compared, settings=settings(max_examples=examples, stateful_step_count=20, deadline=None))


@pytest.mark.parametrize("other", ENGINES[1:])
@given(pairs=st.dictionaries(KEYS, VALUES, max_size=12), data=st.data())
@settings(max_examples=20, deadline=None)
def test_the_engines_agree_about_every_scan(comparisons, other, pairs, data):
    made = [make(engine, comparisons / f"{engine}{next(Comparison.places)}",
                 lambda writer: writer.put_many(T, sorted(pairs.items()))) for engine in ("lmdb", other)]
    options = {"after": data.draw(st.none() | KEYS), "limit": data.draw(st.none() | st.integers(0, 5)),
               "reverse": data.draw(st.booleans())}
    prefix = data.draw(PREFIXES)
    first, second = (items(one, T, prefix, **options) for one in made)
    assert first == second
    for one in made:
        one.close()


# -- backup and restore ----------------------------------------------------------------------------------------------


def test_a_backup_is_restored_with_its_adjustment_and_what_was_there_is_kept(store, tmp_path):
    store.write(lambda writer: writer.put_many(T, [(b"a", b"1"), (b"b", b"2")]))
    assert store.backup(str(tmp_path / "kept")) == 2
    store.write(lambda writer: writer.put(T, b"c", b"3"))
    identity, version = store.identity(), store.version()
    aside = restore_store(store.location, str(tmp_path / "kept"), lambda writer: writer.put(U, b"x", b"y"))
    assert items(store) == [(b"a", b"1"), (b"b", b"2")] and items(store, U) == [(b"x", b"y")]
    assert store.identity() != identity and store.version() != version
    store.write(lambda writer: writer.put(T, b"d", b"4"))
    assert items(store)[-1] == (b"d", b"4")
    assert aside is not None
    before = open_store(aside)
    assert items(before) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    before.close()


def test_a_restore_that_fails_leaves_the_store_as_it_was(store, tmp_path):
    store.write(lambda writer: writer.put(T, b"a", b"1"))
    store.backup(str(tmp_path / "kept"))
    with pytest.raises(ConflictError):
        store.backup(str(tmp_path / "kept"))

    def fail(writer):
        writer.put(T, b"a", b"2")
        raise ZeroDivisionError

    identity = store.identity()
    with pytest.raises(ZeroDivisionError):
        restore_store(store.location, str(tmp_path / "kept"), fail)
    with pytest.raises(StoreError):
        restore_store(store.location, str(tmp_path / "missing"), lambda writer: None)
    assert items(store) == [(b"a", b"1")] and store.identity() == identity
    assert sorted(os.listdir(tmp_path)) == ["kept", "store"]
