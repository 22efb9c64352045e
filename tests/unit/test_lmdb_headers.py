"""The headers of a data file: a store that watches them notices every commit, as one that asks LMDB does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noidtools.store import open_store
from noidtools.store.lmdb.headers import Headers
from support.project import ROOT
from support.stores import new_store

pytestmark = pytest.mark.only("lmdb")

T = b"t"

# Commits whenever it gets a line, and answers when that is acknowledged.
WRITER = """
import sys
from noidtools.store import open_store
store = open_store(sys.argv[1])
for number, line in enumerate(sys.stdin):
    store.write(lambda writer: writer.put(b"t", b"a", b"%d" % number))
    print("committed", flush=True)
"""


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    made = new_store(folder)
    made.write(lambda writer: writer.put(T, b"a", b"0"))
    yield made
    made.close()


@pytest.fixture
def quick_switches():
    """Threads that only compute would otherwise keep those waiting that commit."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def watch(store):
    """Ask for the version until the headers are watched."""
    for _ in range(3):
        store.version()
    assert store._watched is not None
    return store.version()


def file_of(path):
    found = os.stat(path)
    return found.st_dev, found.st_ino


@pytest.mark.parametrize("between", [0, 1])
def test_each_commit_of_another_process_is_noticed_when_it_is_acknowledged(store, between):
    version = watch(store)
    command = [sys.executable, "-c", WRITER, store.location]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as writer:
        seen = {version}
        for number in range(200):
            writer.stdin.write("\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "committed\n"
            if between:
                # Reads and other questions between them change nothing.
                assert store.get_both(T, b"a", T, b"b", 10.0)[0] == b"%d" % number
            version = store.version(10.0)
            assert version is not None and version not in seen, number
            assert version == store.read(lambda reader: reader.version()) == watch(store) == store.version(10.0)
            seen.add(version)


def test_own_commits_are_noticed_and_what_is_undone_is_none(store):
    for number in range(50):
        before = watch(store)
        store.write(lambda writer, number=number: writer.put(T, b"b", b"%d" % number))
        assert store.version() != before
        before = watch(store)

        def undone(writer):
            writer.put(T, b"c", b"1")
            raise ValueError

        with pytest.raises(ValueError):
            store.write(undone)
        assert store.version() == before


def test_a_version_is_never_older_than_what_was_committed_before_it_was_asked_for(store, quick_switches):
    """Threads that ask while others commit."""
    committed, wrong, done = [watch(store)], [], threading.Event()

    def ask():
        while not done.is_set():
            least = committed[-1]
            found = store.version(10.0)
            if found is None or found < least:
                wrong.append((least, found))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(100):
        store.write(lambda writer, number=number: writer.put(T, b"a", b"%d" % number))
        committed.append(store.read(lambda reader: reader.version()))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_store_that_is_opened_again_has_another_version(store):
    before = watch(store)
    assert store.suspend()
    assert store._watched is None and store.version() is None
    store.read(lambda reader: None)
    assert watch(store) not in (None, before)


@pytest.mark.parametrize("reading", [False, True])
def test_after_a_fork_both_processes_notice_commits(store, reading):
    """Also if it happens while the process reads, so that the child cannot use the store."""
    def fork(_: object = None) -> int:
        before = watch(store)
        pid = os.fork()
        if not pid:
            try:
                usable = reading or (store.read(lambda reader: None), watch(store))[1] is not None
                os._exit(0 if usable and (store._watched is None) == reading else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        return before

    before = store.read(fork) if reading else fork()
    store.write(lambda writer: writer.put(T, b"a", b"2"))
    assert store.version() not in (None, before)


def watchable(path, file, store):
    """Whether the headers of a file show its last transaction."""
    return Headers(str(path), file, store._environment).watch(watch(store)) is not None


def test_headers_that_say_something_else_than_lmdb_are_not_watched(store):
    """As after a writer was killed between the header and the lock file."""
    generation, number = watch(store)
    assert store._headers.watch((generation, number)) is not None
    assert not any(store._headers.watch((generation, number + other)) for other in (-2, -1, 1, 2))


def test_files_that_are_none_of_lmdb_have_no_headers(store, tmp_path):
    data = Path(store.location) / "data.mdb"
    page = store._environment.stat()["psize"]
    assert watchable(data, file_of(data), store)
    other = tmp_path / "other"
    for content in (b"", b"x", bytes(2 * page), data.read_bytes()[:page] + bytes(page), os.urandom(2 * page)):
        other.write_bytes(content)
        assert not watchable(other, file_of(other), store), content[:20]
    other.write_bytes(data.read_bytes())
    assert watchable(other, file_of(other), store)
    # Another format: its version is the second word of a header.
    changed = bytearray(data.read_bytes())
    changed[20] = 2
    other.write_bytes(changed)
    assert not watchable(other, file_of(other), store)


def test_another_file_than_the_one_that_is_open_has_no_headers(store, tmp_path):
    data = Path(store.location) / "data.mdb"
    copy, link, pipe = (tmp_path / name for name in ("copy", "link", "pipe"))
    copy.write_bytes(data.read_bytes())
    link.symlink_to(data)
    os.mkfifo(pipe)
    for path in (copy, link, pipe, tmp_path / "missing", tmp_path):
        assert not watchable(path, file_of(data), store), path


def test_without_headers_commits_are_noticed_all_the_same(store, monkeypatch):
    monkeypatch.setattr("noidtools.store.lmdb.headers._mapped", lambda *_: None)
    before = [store.version() for _ in range(4)]
    assert len(set(before)) == 1 and before[0] is not None and store._watched is None
    other = open_store(store.location)
    other.write(lambda writer: writer.put(T, b"a", b"9"))
    other.close()
    assert store.version() not in (None, before[0])
