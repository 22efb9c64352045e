"""The readers-writer lock, and what the store does with it: reopening, suspending, forking, many stores at once."""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import closing, contextmanager

import pytest

from noidtools.errors import BusyError, NoidError, StoreError
from noidtools.store import base, create_store, open_store
from noidtools.store.folders import put_in_place
from noidtools.store.locks import ReadersWriterLock
from support.process import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.only("lmdb")]

T = b"t"


class Readers:
    """Threads that do something again and again until they are stopped; what they raise is raised in the end."""

    def __init__(self, count: int, action) -> None:
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self.rounds = 0
        self._threads = [threading.Thread(target=self._run, args=(action, number)) for number in range(count)]

    def _run(self, action, number: int) -> None:
        while not self._stop.is_set():
            try:
                action(number)
            except BaseException as error:  # noqa: BLE001 - it is raised again by the thread that waits
                self._errors.append(error)
                return
            self.rounds += 1

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive(), "a thread hangs"
        if self._errors:
            raise self._errors[0]


def make(folder, value: bytes = b"1"):
    folder.parent.mkdir(exist_ok=True)
    return create_store(str(folder), lambda writer: writer.put(T, b"which", value))


def which(store) -> bytes | None:
    return store.read(lambda reader: reader.get(T, b"which"))


# -- the lock --------------------------------------------------------------------------------------------------------


@contextmanager
def shared(lock: ReadersWriterLock):
    lock.acquire_shared()
    try:
        yield
    finally:
        lock.release_shared()


def test_exclusive_use_is_waited_for_with_a_limit_and_others_go_on_afterwards(monkeypatch):
    monkeypatch.setattr("noidtools.store.locks.TIMEOUT", 0.1)
    lock = ReadersWriterLock()
    lock.acquire_shared()
    with pytest.raises(BusyError, match="try again"), lock.exclusive():
        raise AssertionError("another thread has the lock")
    lock.acquire_shared()
    lock.release_shared()
    lock.release_shared()
    with lock.exclusive():
        assert not lock.is_free
    assert lock.is_free


def test_a_thread_that_waits_for_exclusive_use_gets_it_while_others_come_and_go_without_a_gap():
    lock = ReadersWriterLock()

    def hold(_: int) -> None:
        with shared(lock):
            time.sleep(0.002)

    with Readers(8, hold) as readers:
        time.sleep(0.05)
        waits = []
        for _ in range(20):
            started = time.monotonic()
            with lock.exclusive():
                waits.append(time.monotonic() - started)
            time.sleep(0.005)
    # Each was inside for two milliseconds, and none that came later went before.
    assert sorted(waits)[10] < 0.5 and max(waits) < 5
    assert readers.rounds > 100


@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.long)])
def test_nobody_is_inside_during_exclusive_use(rounds):
    lock = ReadersWriterLock()
    inside = alone = 0
    guard = threading.Lock()

    def share(_: int) -> None:
        nonlocal inside
        with shared(lock):
            with guard:
                inside += 1
            assert not alone
            with guard:
                inside -= 1

    def be_alone(_: int) -> None:
        nonlocal alone
        with lock.exclusive():
            alone += 1
            assert alone == 1 and not inside
            time.sleep(0.0005)
            alone -= 1
        time.sleep(0.001)

    with Readers(4, share), Readers(2, be_alone) as exclusive:
        deadline = time.monotonic() + 60
        while exclusive.rounds < rounds and time.monotonic() < deadline:
            time.sleep(0.01)
    assert exclusive.rounds >= rounds


def test_a_lock_in_use_is_not_taken_exclusively_without_a_wait():
    lock = ReadersWriterLock()
    with shared(lock), lock.exclusive_if_free() as free:
        assert not free
    with lock.exclusive_if_free() as free, lock.exclusive_if_free() as again:
        assert free and not again
    with lock.exclusive():
        pass


# -- reopening -------------------------------------------------------------------------------------------------------


def test_a_restore_is_adopted_promptly_under_steady_reads(tmp_path):
    """Readers follow each other without a gap: the one who has to reopen the database does not wait for a pause."""
    store = make(tmp_path / "store", b"old")

    def work(reader):
        time.sleep(0.002)
        return reader.get(T, b"which")

    seen = set()
    with Readers(6, lambda _: seen.add(store.read(work))):
        time.sleep(0.1)
        for number in range(10):
            value = b"%d" % number
            make(tmp_path / "other" / value.decode(), value).close()
            # The whole folder, as a restore does it.
            old, away = str(tmp_path / "store"), str(tmp_path / f"away{number}")
            put_in_place(str(tmp_path / "other" / value.decode()), old, away, os.rename)
            started = time.monotonic()
            assert which(store) == value
            assert time.monotonic() - started < 5
    assert seen <= {b"old", *(b"%d" % number for number in range(10))} and len(seen) > 5
    store.close()


@pytest.mark.only("lmdb")
def test_threads_that_find_a_suspended_store_open_it_once(tmp_path):
    store = make(tmp_path / "store")

    def look(_: int) -> None:
        assert which(store) == b"1"
        time.sleep(0.003)

    with Readers(8, look) as readers:
        deadline = time.monotonic() + 60
        suspended = 0
        while suspended < 50 and time.monotonic() < deadline:
            suspended += store.suspend()
            time.sleep(0.001)
    assert suspended == 50 and readers.rounds > 50
    store.close()


@pytest.mark.only("lmdb")
def test_the_version_can_be_asked_for_while_the_store_is_opened_and_shut(tmp_path):
    store = make(tmp_path / "store")
    seen, suspended = set(), 0

    def look(number: int) -> None:
        seen.add(store.version())
        if number == 0:
            which(store)
        time.sleep(0.0002)  # without a pause the one who suspends seldom finds the store unused

    with Readers(6, look) as readers:
        deadline = time.monotonic() + 60
        while (suspended < 10 or readers.rounds < 200) and time.monotonic() < deadline:
            suspended += store.suspend()
            time.sleep(0.0005)
    assert suspended >= 10 and None not in seen
    assert which(store) == b"1"
    store.close()


@pytest.mark.only("lmdb")
def test_an_untouched_store_tells_its_version_without_being_opened(tmp_path):
    store = make(tmp_path / "store")
    data = tmp_path / "store" / "data.mdb"
    store.suspend()
    os.utime(data, (time.time() - 60,) * 2)
    before, identity = store.version(), store.identity()
    assert store.suspend()
    assert (store.version(), store.identity()) == (before, identity) and store._environment is None
    store.write(lambda writer: writer.put(T, b"which", b"2"))
    assert store.version() != before and store.identity() == identity
    store.close()


def test_a_store_is_not_suspended_under_a_transaction(tmp_path):
    store = make(tmp_path / "store")
    outcome = []

    def work(_) -> None:
        thread = threading.Thread(target=lambda: outcome.append(store.suspend()))
        thread.start()
        thread.join()

    store.read(work)
    store.write(work)
    assert outcome == [False, False]
    assert store.suspend() and which(store) == b"1"
    store.close()


def test_all_who_open_a_folder_share_one_store_until_the_last_closes_it(tmp_path):
    first = make(tmp_path / "store")
    (tmp_path / "link").symlink_to(tmp_path / "store")
    second = open_store(str(tmp_path / "link"))
    first.close()
    assert which(second) == b"1"
    second.close()
    second.close()
    with pytest.raises(StoreError, match="was closed"):
        which(first)
    third = open_store(str(tmp_path / "store"))
    assert which(third) == b"1"
    third.close()


def test_a_store_that_cannot_be_opened_is_not_kept(tmp_path):
    for _ in range(2):
        with pytest.raises(NoidError):
            open_store(str(tmp_path / "store"))
    store = make(tmp_path / "store")
    assert which(store) == b"1"
    store.close()


def test_a_store_is_not_closed_inside_its_own_transaction(tmp_path):
    store = make(tmp_path / "store")
    with pytest.raises(StoreError, match="inside its own transaction"):
        store.read(lambda _: store.close())
    assert which(store) == b"1"
    store.close()


def test_a_second_use_of_a_store_can_end_inside_a_transaction_of_the_first(tmp_path):
    store = make(tmp_path / "store")

    def work(writer) -> bytes | None:
        with closing(open_store(str(tmp_path / "store"))) as second:
            return which(second)

    assert store.write(work) == which(store) == b"1"
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        which(store)


# -- forks -----------------------------------------------------------------------------------------------------------


def in_child(action) -> int:
    """The exit status of a child that does something: 0 if it returned True."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if action() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def refusal(action) -> str:
    try:
        action()
    except StoreError as error:
        return error.message
    return "none"


def test_after_a_fork_the_child_is_told_to_open_the_store_again_and_can(tmp_path):
    store = make(tmp_path / "store")

    def act() -> bool:
        assert all("open it again" in refusal(action) for action in (
            lambda: which(store), lambda: store.write(lambda _: None), store.version,
            lambda: store.transaction().__enter__()))
        store.close()
        again = open_store(str(tmp_path / "store"))
        again.write(lambda writer: writer.put(T, b"child", b"x"))
        return which(again) == b"1"

    assert in_child(act) == 0
    assert store.read(lambda reader: (reader.get(T, b"which"), reader.get(T, b"child"))) == (b"1", b"x")
    store.close()


@pytest.mark.parametrize("forks", [5, pytest.param(100, marks=pytest.mark.long)])
def test_a_fork_beside_busy_threads_disturbs_neither_parent_nor_child(tmp_path, forks):
    store = make(tmp_path / "store")

    def busy(number: int) -> None:
        if number:
            which(store)
        else:
            store.write(lambda writer: writer.put(T, b"busy", b"x"))

    with Readers(4, busy) as readers:
        for _ in range(forks):
            assert in_child(lambda: "open it again" in refusal(lambda: which(store))) == 0
            before = readers.rounds
            deadline = time.monotonic() + 10
            while readers.rounds < before + 4:
                assert time.monotonic() < deadline, "the threads of the parent hang after a fork"
                time.sleep(0.001)
    store.close()


@pytest.mark.parametrize("fails", [True, False])
def test_a_child_forked_inside_a_transaction_is_refused_and_does_no_harm(tmp_path, fails):
    store = make(tmp_path / "store")

    class LeaveError(Exception):
        pass

    def act(writer) -> bool:
        if fails:
            raise LeaveError
        return "open it again" in refusal(lambda: which(store))

    def work(writer) -> None:
        writer.put(T, b"a", b"2")
        pid = os.fork()
        if not pid:
            raise LeaveError if fails else SystemExit(not act(writer))
        assert os.waitpid(pid, 0)[1] == 0

    parent = os.getpid()
    try:
        with store.transaction() as writer:
            work(writer)
    except (LeaveError, SystemExit) as error:
        if os.getpid() != parent:
            os._exit(0 if fails else int(error.code))
        raise
    assert store.read(lambda reader: reader.get(T, b"a")) == b"2"
    store.write(lambda writer: writer.put(T, b"a", b"3"))
    store.close()


@pytest.mark.only("lmdb")
def test_after_a_thread_that_ended_inside_a_transaction_others_are_refused_and_read_on(tmp_path):
    """The next thread may get the number of the one that ended, but not its lock."""

    def act() -> bool:
        store = make(tmp_path / "store")
        kept = []

        def begin() -> None:
            kept.append(store.transaction())
            kept[0].__enter__().put(T, b"which", b"2")

        def write() -> None:
            try:
                store.write(lambda writer: writer.put(T, b"which", b"3"), timeout=0.1)
            except BusyError:
                kept.append(True)

        for target in (begin, write, write):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join(10)
        return kept[1:] == [True, True] and which(store) == b"1"

    assert in_child(act) == 0


# -- many stores -----------------------------------------------------------------------------------------------------


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.long
def test_a_process_serves_a_thousand_stores_with_few_open_files(tmp_path):
    template = tmp_path / "template"
    make(template).close()
    stores = []
    before = open_files()
    for number in range(1000):
        shutil.copytree(template, tmp_path / str(number))
        stores.append(open_store(str(tmp_path / str(number))))
    most = 0

    def use(number: int) -> None:
        nonlocal most
        rng = threading.get_ident() + number * 7919
        for step in range(50):
            store = stores[(rng + step * 104729 * (number + 1)) % 1000]
            if step % 10:
                assert which(store) == b"1"
            else:
                store.write(lambda writer: writer.put(T, b"other", b"x"))
            most = max(most, open_files())

    with Readers(6, use) as readers:
        deadline = time.monotonic() + 60
        while readers.rounds < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert readers.rounds >= 12
    # Three files for each open one; those in use are not counted among them.
    assert most - before <= 3 * (base.MOST_OPEN + 12), most
    for store in stores:
        store.close()
    assert open_files() - before < 5


def test_threads_open_and_close_the_same_store(tmp_path):
    """LMDB allows one environment for a file in a process, so a store that is being closed is not opened as another."""
    make(tmp_path / "minters" / "store").close()

    def use(_: int) -> None:
        store = open_store(str(tmp_path / "minters" / "store"))
        try:
            assert store.read(lambda reader: reader.get(T, b"which")) == b"1"
        finally:
            store.close()

    with Readers(4, use) as readers:
        wait_until(lambda: readers.rounds > 200, 30)
    assert os.path.realpath(tmp_path / "minters" / "store") not in base._stores().shared


@pytest.mark.only("lmdb")
def test_who_opens_a_store_during_restores_finds_it(tmp_path):
    """Between the two steps of a replacement there is no folder, and nobody may be told so."""
    make(tmp_path / "store", b"old").close()
    done = threading.Event()

    def take_away(old: str, away: str) -> None:
        os.rename(old, away)
        time.sleep(0.005)

    def replace() -> None:
        for number in range(20):
            new = tmp_path / "other" / str(number)
            make(new, b"new").close()
            put_in_place(str(new), str(tmp_path / "store"), str(tmp_path / f"away{number}"), take_away)
        done.set()

    thread = threading.Thread(target=replace)
    thread.start()
    while not done.is_set():
        store = open_store(str(tmp_path / "store"))
        assert which(store) in (b"old", b"new")
        store.close()
    thread.join()
