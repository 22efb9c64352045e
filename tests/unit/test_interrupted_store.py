"""Ctrl-C while a store is used: whenever it comes, the locks are free afterwards, and no transaction stays open."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import threading

import pytest

from noidtools.errors import StoreError
from noidtools.store import open_store
from noidtools.store.creation import create_store
from support.interruption import Interruption

# A file whose opening was interrupted is closed when Python forgets it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

T = b"t"
KEYS = b"first", b"second"


@pytest.fixture
def store(tmp_path):
    opened = create_store(str(tmp_path / "store"), lambda writer: put(writer, b"0"))
    yield opened
    opened.close()


def put(writer, value: bytes) -> None:
    for key in KEYS:
        writer.put(T, key, value)


def values(reader) -> list[bytes | None]:
    return [reader.get(T, key) for key in KEYS]


def in_a_transaction(store) -> None:
    with store.transaction() as writer:
        put(writer, b"in a transaction")


def in_a_savepoint(store) -> None:
    with store.transaction() as outer:
        put(outer, b"outer")
        with store.transaction() as inner:
            put(inner, b"inner")


def with_the_interruption_caught_inside(store) -> None:
    # Where a part of the inner one cannot be undone any more, the outer one is refused.
    with contextlib.suppress(StoreError), store.transaction() as outer:
        put(outer, b"outer")
        with contextlib.suppress(KeyboardInterrupt), store.transaction() as inner:
            put(inner, b"inner")


def in_a_fork(store) -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)


def again_after_suspending(store) -> None:
    store.suspend()
    store.read(values)


def open_and_close(store) -> None:
    opened = open_store(store.location)
    try:
        opened.read(values)
    finally:
        opened.close()


OPERATIONS = {
    "read": lambda store: store.read(values),
    "version": lambda store: store.version(),
    "two values": lambda store: store.get_both(T, KEYS[0], T, KEYS[1], 1.0),
    "write": lambda store: store.write(lambda writer: put(writer, b"written")),
    "write in a write": lambda store: store.write(lambda _: store.write(lambda writer: put(writer, b"nested"))),
    "transaction": in_a_transaction,
    "savepoint": in_a_savepoint,
    "savepoint, caught": with_the_interruption_caught_inside,
    "fork": in_a_fork,
    "suspend": again_after_suspending,
    "open": open_and_close,
}


def in_another_thread(action, place: str) -> None:
    """Do something that must not wait for a lock of this thread."""
    done: list[bool] = []
    thread = threading.Thread(target=lambda: (action(), done.append(True)), daemon=True)
    thread.start()
    thread.join(20)
    assert done, f"it failed, or waits after an interruption at {place}"


def ensure_unlocked(store, place: str) -> None:
    """Nothing keeps other processes from writing, nor other threads from anything."""
    lock = os.path.join(store.location, "writer.lock")
    if os.path.exists(lock):
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    in_another_thread(lambda: store.write(lambda writer: put(writer, b"another thread"), timeout=10), place)
    assert not store.writing and store.read(values) == [b"another thread"] * 2, place
    assert store.suspend(), place


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_interruption_leaves_a_store_as_usable_as_before(store, operation):
    raised = []
    for moment in itertools.count(1):
        store.read(values)
        with Interruption(moment, __file__) as interruption:
            OPERATIONS[operation](store)
        if not interruption.came:
            break
        # Whoever works interactively keeps the traceback, and with it all local variables of the interrupted functions.
        raised.append(interruption.error)
        found = store.read(values)
        assert found[0] == found[1], interruption.place
        ensure_unlocked(store, interruption.place)
    assert len(raised) == moment - 1 > 5


def test_an_interrupted_closing_can_be_repeated_and_the_store_opened_again(tmp_path):
    location = str(tmp_path / "store")
    create_store(location, lambda writer: put(writer, b"0")).close()
    for moment in itertools.count(1):
        store = open_store(location)
        store.read(values)
        with Interruption(moment, __file__) as interruption:
            store.close()
        if not interruption.came:
            break
        in_another_thread(store.close, interruption.place)
        again = open_store(location)
        assert again.read(values) == [b"0", b"0"], interruption.place
        again.close()
    assert moment > 5
