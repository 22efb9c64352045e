"""The store used by several processes."""

from __future__ import annotations

import os
import subprocess
import threading
import time

import pytest

from noidtools.errors import BusyError
from noidtools.store import open_store
from noidtools.store.lmdb import files
from support.process import run_script, script_command, script_environment
from support.stores import folder_of, new_store

pytestmark = pytest.mark.only("lmdb")

T = b"t"


@pytest.fixture
def store(tmp_path):
    made = new_store(tmp_path)
    yield made
    made.close()


@pytest.fixture
def small_map(monkeypatch):
    monkeypatch.setattr("noidtools.store.lmdb.store.RESERVED", 1 << 20)


def test_a_reader_adopts_the_map_size_when_another_process_lets_the_database_grow(tmp_path, small_map):
    new_store(tmp_path).close()
    store = open_store(str(tmp_path))
    try:
        run_script("store_put_large", tmp_path, 8 << 20)
        assert len(store.read(lambda reader: reader.get(T, b"big")) or b"") == 8 << 20
        store.write(lambda writer: writer.put(T, b"small", b"1"))
    finally:
        store.close()


def test_little_address_space_is_enough(tmp_path):
    new_store(tmp_path).close()
    assert run_script("store_in_little_memory", tmp_path) == "20971520\n"


def test_a_writer_of_another_process_waits_no_longer_than_its_patience(store, tmp_path):
    refusal = store.write(lambda _: run_script("store_try_to_write", tmp_path))
    assert "another process has been writing" in refusal


def test_a_killed_reader_leaves_nothing_to_clean_up(store, tmp_path):
    command = script_command("store_read_for_a_minute", tmp_path)
    with subprocess.Popen(command, env=script_environment(), stdout=subprocess.PIPE) as reader:
        assert reader.stdout.readline() == b"reading\n"
        reader.kill()
        reader.wait()
    store.close()
    again = open_store(str(tmp_path))
    try:
        assert str(reader.pid) not in again._environment.readers()
        again.write(lambda writer: writer.put(T, b"k", b"v"))
    finally:
        again.close()


def test_more_readers_than_there_can_be_are_told_to_try_again(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_READERS", 4)
    monkeypatch.setattr(files, "_LOCK_SIZE", 128 + 64 * 4)
    store = new_store(tmp_path)
    inside, done = threading.Semaphore(0), threading.Event()

    def read(_: object) -> None:
        inside.release()
        done.wait(20)

    threads = [threading.Thread(target=store.read, args=(read,)) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
            inside.acquire()
        with pytest.raises(BusyError, match="4 transactions are reading .* try again"):
            store.read(lambda reader: reader.get(T, b"a"))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert store.read(lambda reader: reader.get(T, b"a")) is None
    store.close()


def test_a_writer_that_waited_writes_to_the_folder_that_was_put_in_place_meanwhile(tmp_path):
    old, new = folder_of(tmp_path, "old", b"old"), folder_of(tmp_path, "new", b"new")
    store = open_store(str(old))
    command = script_command("hold_lock", old / "writer.lock")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        writing = threading.Thread(target=lambda: store.write(lambda writer: writer.put(T, b"late", b"1")))
        writing.start()
        time.sleep(0.2)
        os.rename(old, tmp_path / "away")
        os.rename(new, old)
        writing.join()
    assert store.read(lambda reader: (reader.get(T, b"which"), reader.get(T, b"late"))) == (b"new", b"1")
    store.write(lambda writer: writer.put(T, b"again", b"2"), timeout=1)
    store.close()
