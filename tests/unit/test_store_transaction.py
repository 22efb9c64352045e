"""`Store.transaction`: a write transaction as the body of a `with` statement."""

from __future__ import annotations

import contextlib

import pytest

from noidtools import store as stores
from noidtools.errors import StoreError
from support import memory_store

pytestmark = pytest.mark.only("lmdb")

TABLE = b"t"


def fill(writer) -> None:
    writer.put(TABLE, b"first", b"1")


@pytest.fixture(params=[stores, memory_store], ids=["lmdb", "memory"])
def store(request, tmp_path):
    made = request.param.create_store(str(tmp_path / "store"), fill)
    yield made
    made.close()


@pytest.fixture
def lmdb_store(tmp_path):
    made = stores.create_store(str(tmp_path / "store"), fill)
    yield made
    made.close()


def keys(store) -> list[bytes]:
    return store.read(lambda reader: [key for key, _ in reader.scan(TABLE)])


def put(store, key: bytes) -> None:
    store.write(lambda writer: writer.put(TABLE, key, b""))


def test_the_writer_is_the_transaction(store):
    with store.transaction() as writer:
        writer.put(TABLE, b"second", b"2")
        assert store.writing
        assert keys(store) == [b"first", b"second"]
    assert not store.writing and keys(store) == [b"first", b"second"]


def test_calls_in_the_body_join_it(store):
    with pytest.raises(LookupError), store.transaction():
        put(store, b"second")
        raise LookupError
    assert keys(store) == [b"first"] and not store.writing


def test_a_write_in_the_body_that_raises_is_undone_alone(store):
    def work(writer) -> None:
        writer.put(TABLE, b"second", b"")
        raise LookupError

    with store.transaction() as writer:
        with pytest.raises(LookupError):
            store.write(work)
        writer.put(TABLE, b"third", b"")
    assert keys(store) == [b"first", b"third"]


def test_inside_a_write_it_is_a_savepoint(store):
    def work(writer) -> None:
        with pytest.raises(LookupError), store.transaction():
            put(store, b"second")
            raise LookupError
        with store.transaction():
            put(store, b"third")
        writer.put(TABLE, b"fourth", b"")

    store.write(work)
    assert keys(store) == [b"first", b"fourth", b"third"]


def test_inside_a_read_it_is_refused(store):
    def work(reader) -> None:
        with pytest.raises(StoreError), store.transaction():
            pass

    store.read(work)
    put(store, b"second")


def test_actions_are_done_after_the_commit_and_forgotten_if_it_is_undone(store):
    done: list[str] = []
    with store.transaction():
        store.after_commit(lambda: done.append(f"first, writing: {store.writing}"))
        with pytest.raises(LookupError), store.transaction():
            store.after_commit(lambda: done.append("undone"))
            raise LookupError
        with store.transaction():
            store.after_commit(lambda: done.append("second"))
        assert done == []
    assert done == ["first, writing: False", "second"]
    with pytest.raises(LookupError), store.transaction():
        store.after_commit(lambda: done.append("undone"))
        raise LookupError
    assert len(done) == 2


def test_errors_of_the_engine_are_refusals_in_the_body(lmdb_store):
    import lmdb

    def work(writer) -> None:
        raise lmdb.CorruptedError("a page is not what it should be")

    for call in (lmdb_store.write, lmdb_store.read):
        with pytest.raises(StoreError, match="damaged"), lmdb_store.transaction():
            call(work)
    put(lmdb_store, b"second")


@pytest.mark.parametrize("error", [None, ValueError()])
def test_an_exit_stack_ends_it(store, error):
    with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
        stack.enter_context(store.transaction()).put(TABLE, b"second", b"")
        assert store.writing
        if error is not None:
            raise error
    assert not store.writing and keys(store) == [b"first", b"second"][: 1 if error else 2]


def test_the_database_may_be_suspended_between_transactions_but_not_in_one(lmdb_store):
    with lmdb_store.transaction():
        assert not lmdb_store.suspend()
    assert lmdb_store.suspend()
    with lmdb_store.transaction() as writer:
        writer.put(TABLE, b"second", b"")
    assert keys(lmdb_store) == [b"first", b"second"]
