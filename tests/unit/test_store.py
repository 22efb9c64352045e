"""The store: transactions, keys of any length, a database that grows or is replaced."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noidtools.errors import NoidError, StoreError
from noidtools.store import open_store
from support.process import run_script
from support.stores import folder_of, new_store

pytestmark = pytest.mark.only("lmdb")

T, U = b"t", b"u"


@pytest.fixture
def store(tmp_path):
    made = new_store(tmp_path)
    yield made
    made.close()


@pytest.fixture
def small_map(monkeypatch):
    monkeypatch.setattr("noidtools.store.lmdb.store.RESERVED", 1 << 20)


def test_a_read_that_raises_gives_its_place_among_the_readers_back_though_the_exception_is_kept(store):
    store.write(lambda writer: writer.put_many(T, [(b"a", b"1"), (b"b", b"2")]))
    kept = []

    def work(reader):
        scan = reader.scan(T)
        next(scan)
        raise ValueError

    def readers():
        return store._environment.readers().count("\n") - 1

    gc.disable()
    try:
        for _ in range(5):
            with pytest.raises(ValueError) as raised:
                store.read(work)
            kept.append(raised)
            assert readers() <= 1
    finally:
        gc.enable()


keys = st.one_of(
    st.binary(min_size=1, max_size=6),
    # Around the engine's limit, sharing long heads, where the two ways of storing keys meet.
    st.builds(lambda length, tail: b"k" * length + tail, st.integers(470, 515), st.binary(max_size=3)),
)


@given(st.dictionaries(keys, st.binary(max_size=5), max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_keys_of_any_length_are_kept_apart_and_scanned_in_order(tmp_path_factory, items, data):
    store = new_store(tmp_path_factory.mktemp("s"))
    try:
        store.write(lambda writer: writer.put_many(T, sorted(items.items())))
        store.write(lambda writer: writer.put(U, b"other", b"table"))
        assert store.read(lambda reader: list(reader.scan(T))) == sorted(items.items())
        for key, value in items.items():
            assert store.read(lambda reader, key=key: reader.get(T, key)) == value
        prefix = data.draw(st.sampled_from([b"", b"k", b"k" * 480, b"k" * 512, *items]))
        after = data.draw(st.none() | st.sampled_from([b"k", b"k" * 500, *items]))
        expected = [item for item in sorted(items.items())
                    if item[0].startswith(prefix) and (after is None or item[0] > after)]
        assert store.read(lambda reader: list(reader.scan(T, prefix, after=after))) == expected
        assert store.write(lambda writer: writer.delete_prefix(T, b"")) == len(items)
        assert store.read(lambda reader: list(reader.scan(U))) == [(b"other", b"table")]
    finally:
        store.close()


def test_the_map_grows_when_it_is_full(tmp_path, small_map):
    new_store(tmp_path).close()
    store = open_store(str(tmp_path))
    try:
        value = os.urandom(5 << 20)
        store.write(lambda writer: writer.put(T, b"big", value))
        assert store.read(lambda reader: reader.get(T, b"big")) == value
    finally:
        store.close()


def put_in_place(new, old):
    """Put a folder in the place of another one."""
    os.rename(old, old.with_name("away"))
    os.rename(new, old)


def test_a_replaced_folder_is_reopened(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, value in ((old, b"old"), (new, b"new")):
        folder.mkdir()
        made = new_store(folder)
        made.write(lambda writer, value=value: writer.put(T, b"which", value))
        made.close()
    store = open_store(str(old))
    try:
        put_in_place(new, old)
        assert store.read(lambda reader: reader.get(T, b"which")) == b"new"
    finally:
        store.close()


@pytest.mark.parametrize("content", [b"", b"garbage" * 3000, b"\0" * 8192, b"\x7fELF"])
def test_a_foreign_file_is_refused_and_left_as_it_was(tmp_path, content):
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(StoreError):
        open_store(str(tmp_path))
    assert (tmp_path / "data.mdb").read_bytes() == content


def test_errors_of_the_engine_are_raised_as_our_exceptions(tmp_path, store):
    for name in ("missing", "file"):
        (tmp_path / "file").write_text("x")
        with pytest.raises(NoidError):
            open_store(str(tmp_path / name))
    with pytest.raises(NoidError):
        store.write(lambda writer: writer.put(T, b"k", b"v" * 0) or writer._txn.put(b"", b"x"))


def test_a_nested_read_sees_the_same_snapshot_even_when_the_database_was_replaced(tmp_path):
    old, new = folder_of(tmp_path, "old", b"old"), folder_of(tmp_path, "new", b"new")
    store = open_store(str(old))

    def outer(reader):
        put_in_place(new, old)
        return store.read(lambda inner: inner.get(T, b"which"))

    assert store.read(outer) == b"old"
    assert store.read(lambda reader: reader.get(T, b"which")) == b"new"
    with pytest.raises(StoreError):
        store.read(lambda reader: store.write(lambda writer: None))
    store.close()


def test_a_full_map_and_a_replaced_file_at_once_do_not_block(tmp_path, small_map):
    old, new = folder_of(tmp_path, "old", b"old"), folder_of(tmp_path, "new", b"new")
    store = open_store(str(old))
    replaced = []

    def work(writer):
        if not replaced:
            replaced.append(put_in_place(new, old))
        writer.put(T, b"big", b"x" * (4 << 20))

    store.write(work)
    store.close()


def test_where_no_file_can_be_opened_the_store_says_so(tmp_path):
    """Also if what would say it is not imported yet."""
    new_store(tmp_path).close()
    said = run_script("store_without_descriptors", tmp_path)
    assert said.count("could not be used") == 2 and "Too many open files" in said
