"""The Python interface in transactions, in threads, and after forks: real threads, real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import noidtools
from noidtools import BusyError, ConflictError, NoidError, NotFoundError, StoreError
from support.clock import SettableClock
from support.minter import START
from support.project import ROOT

pytestmark = pytest.mark.slow

URL = "https://example.org/"


@pytest.fixture
def folder(tmp_path):
    noidtools.create(tmp_path / "f5", "f5.reedeedk", term="medium", naan="13030").close()
    return tmp_path / "f5"


@pytest.fixture
def minter(folder):
    with noidtools.open(folder) as opened:
        yield opened


def actions(minter: noidtools.OpenMinter) -> list[str]:
    return [event.action for event in minter.log()]


# -- transactions ----------------------------------------------------------------------------------------------------


def test_several_calls_are_one_transaction(minter):
    with minter.transaction():
        (identifier,) = minter.mint()
        minter.bind(identifier, "_t", URL)
        assert minter.get(identifier, "_t") == URL, "the body reads what it wrote"
    assert minter.get(identifier, "_t") == URL
    assert actions(minter) == ["dbcreate", "mint", "bind set"]


def test_a_transaction_that_raises_leaves_nothing(minter):
    with pytest.raises(LookupError), minter.transaction():
        (identifier,) = minter.mint()
        minter.bind(identifier, "_t", URL)
        minter.bind(":idmap/^x", "_t", URL)
        minter.hold(identifier)
        minter.note("a", "b")
        minter.set_policy(read="nobody")
        raise LookupError
    info = minter.info()
    assert (info.drawn, info.held, info.notes) == (0, 0, {}) and actions(minter) == ["dbcreate"]
    assert minter.rules() == [] and minter.policy().read == ("anyone",)
    with pytest.raises(NotFoundError):
        minter.fetch(identifier)
    assert minter.mint() == [identifier], "what was minted there is minted again"


def test_a_refusal_of_a_call_undoes_the_transaction_unless_it_is_caught(minter):
    with pytest.raises(ConflictError), minter.transaction():
        (identifier,) = minter.mint(elements={"_t": URL})
        minter.bind(identifier, "_t", URL, how="new")
    assert minter.info().drawn == 0
    with minter.transaction():
        (identifier,) = minter.mint(elements={"_t": URL})
        with pytest.raises(ConflictError):
            minter.bind_many(identifier, {"what": "first", "_t": URL}, how="new")
    assert minter.elements(identifier) == {"_t": URL}, "of the refused call nothing is left"


def test_a_nested_transaction_is_a_savepoint(minter):
    with minter.transaction():
        (kept,) = minter.mint(elements={"_t": URL})
        with pytest.raises(LookupError), minter.transaction():
            (gone,) = minter.mint(elements={"_t": URL})
            with minter.transaction():
                minter.bind(kept, "_t", "changed")
            raise LookupError
        assert minter.get(kept, "_t") == URL
        with minter.transaction():
            minter.bind(kept, "what", "nested")
    assert minter.elements(kept) == {"_t": URL, "what": "nested"}
    assert minter.mint() == [gone]


def test_exceptions_of_the_body_pass_as_they_are(minter):
    for error in (OSError("a file of the caller's"), KeyboardInterrupt(), ValueError(), StopIteration()):
        with pytest.raises(type(error)) as raised, minter.transaction():
            minter.mint()
            raise error
        assert raised.value is error
    assert minter.info().drawn == 0


def test_nothing_is_on_disk_before_the_end(folder, minter):
    def drawn() -> int:
        code = "import sys, noidtools\nwith noidtools.open(sys.argv[1]) as minter: print(minter.info().drawn)"
        return int(subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE,
                                  check=True).stdout)

    with minter.transaction():
        minter.mint(5)
        assert drawn() == 0
    assert drawn() == 5


def test_streaming_belongs_to_the_transaction_it_is_in(minter):
    with pytest.raises(LookupError), minter.transaction():
        assert len(list(minter.mint_many(12_000))) == 12_000
        raise LookupError
    assert minter.info().drawn == 0


def test_labels_of_time_are_waited_for_after_the_commit(tmp_path):
    clock = SettableClock.at(START)
    with noidtools.create(tmp_path, scheme="ibi", computer="a.example.org", granularity=1, clock=clock) as minter:
        begun = clock()
        with minter.transaction():
            labels = minter.mint(2) + minter.mint(2)
            assert clock() == begun
        assert clock() == begun + 3_000_000_000 and len(set(labels)) == 4
        with pytest.raises(LookupError), minter.transaction():
            minter.mint(2)
            raise LookupError
        assert clock() == begun + 3_000_000_000, "what was undone is not waited for"


def test_a_closed_minter_begins_no_transaction_and_an_open_one_is_not_closed_in_its_own(minter):
    with minter.transaction():
        (identifier,) = minter.mint()
        with pytest.raises(StoreError):
            minter.close()
        minter.bind(identifier, "_t", URL)
    assert minter.get(identifier, "_t") == URL


def test_two_that_opened_one_minter_share_its_transaction_in_one_thread(folder, minter):
    with noidtools.open(folder, who="another") as other:
        with pytest.raises(LookupError), minter.transaction():
            (identifier,) = minter.mint()
            other.bind(identifier, "_t", URL)
            raise LookupError
        assert actions(other) == ["dbcreate"]
        with minter.transaction():
            other.mint()
    assert [event.who for event in minter.log()][1:] == ["another"]


@pytest.mark.only("lmdb")
def test_a_transaction_that_finds_no_room_says_so_and_can_be_done_again(tmp_path):
    """In a process that may have little address space, as in some containers."""
    code = """
import sys
import noidtools.store.lmdb.store
noidtools.store.lmdb.store.RESERVED = 1 << 20
with noidtools.create(sys.argv[1]) as minter:
    for attempt in range(10):
        try:
            with minter.transaction():
                for number in range(40):
                    minter.bind(f"name{number}", "value", "x" * 100_000)
            break
        except noidtools.StoreError as error:
            print(error)
            assert minter.info().changed_by and not [e for e in minter.log() if e.action != "dbcreate"]
    print(attempt, sum(1 for event in minter.log()), len(minter.get("name39", "value")))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    *refusals, end = done.stdout.splitlines()
    assert refusals and all("needs more room" in refusal for refusal in refusals)
    assert end == f"{len(refusals)} 41 100000" and done.stderr == ""


# -- threads ---------------------------------------------------------------------------------------------------------


def test_threads_share_a_minter(minter):
    def work(number: int) -> list[str]:
        ids = minter.mint(3)
        for identifier in ids:
            minter.bind(identifier, "thread", str(number))
        assert {minter.get(identifier, "thread") for identifier in ids} == {str(number)}
        return ids

    with ThreadPoolExecutor(8) as pool:
        minted = [identifier for ids in pool.map(work, range(40)) for identifier in ids]
    assert len(set(minted)) == 120 == minter.info().drawn


def test_a_transaction_belongs_to_its_thread(minter):
    begun, read = threading.Event(), threading.Event()
    seen: list[int] = []

    def other() -> None:
        begun.wait(20)
        seen.append(minter.info().drawn)
        read.set()
        # This one waits until the transaction is over.
        minter.mint()

    thread = threading.Thread(target=other)
    thread.start()
    with minter.transaction():
        minter.mint(3)
        begun.set()
        assert read.wait(20)
        assert minter.info().drawn == 3
    thread.join(20)
    assert seen == [0] and minter.info().drawn == 4


def test_threads_write_their_transactions_one_after_the_other(minter):
    """Each reads a number and writes the next: none is lost."""
    (counter,) = minter.mint(elements={"n": "0"})

    def add(_: int) -> None:
        with minter.transaction():
            number = int(minter.get(counter, "n"))
            time.sleep(0.001)
            minter.bind(counter, "n", str(number + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(80)))
    assert minter.get(counter, "n") == "80"


def test_threads_may_open_and_close_the_same_minter(folder):
    def work(_: int) -> str:
        with noidtools.open(folder) as minter:
            return minter.mint()[0]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(60)))) == 60


def test_who_waits_too_long_is_refused(folder, minter):
    """A writer in another process keeps everybody waiting."""
    code = ("import sys, noidtools\n"
            "with noidtools.open(sys.argv[1]) as minter, minter.transaction():\n"
            "    minter.mint(); print('begun', flush=True); sys.stdin.read()\n")
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=ROOT, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"begun\n"
        with pytest.raises(BusyError) as refused, minter.transaction(timeout=0.2):
            pass
        assert refused.value.kind == "busy"
        assert minter.info().drawn == 0, "readers do not wait"
        writer.communicate(timeout=30)
    assert minter.info().drawn == 1


def test_a_killed_writer_leaves_nothing(folder, minter):
    code = ("import os, signal, sys, noidtools\n"
            "with noidtools.open(sys.argv[1]) as minter, minter.transaction():\n"
            "    minter.mint(); os.kill(os.getpid(), signal.SIGKILL)\n")
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert minter.info().drawn == 0
    assert len(minter.mint()) == 1


# -- forks -----------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> object:
    """What the work returns, or the refusal it raises, in a forked child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                result = work()
            except NoidError as error:
                result = f"{type(error).__name__}: {error}"
            except BaseException as error:  # noqa: BLE001 - a child must not run the rest of the tests
                result = f"fault: {error!r}"
            os.write(writing, json.dumps(result).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def test_after_a_fork_the_child_opens_the_minter_again(folder, minter):
    (first,) = minter.mint()

    def work() -> list[str]:
        with noidtools.open(folder) as own:
            return own.mint(1)

    refused = in_child(lambda: minter.mint(1))
    assert refused.startswith("StoreError: ") and "open it again" in refused
    (second,) = in_child(work)
    assert second != first and minter.history(second)
    assert len(minter.mint(2)) == 2 and minter.info().drawn == 4


def test_many_children_write_at_once(folder, minter):
    def work() -> list[str]:
        with noidtools.open(folder) as own:
            return [identifier for _ in range(10) for identifier in own.mint()]

    with ThreadPoolExecutor(4) as pool:
        minted = [identifier for ids in pool.map(lambda _: in_child(work), range(4)) for identifier in ids]
    assert len(set(minted)) == 40 == minter.info().drawn


def test_a_fork_while_threads_use_the_minter(folder, minter):
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            minter.mint()
            minter.info()

    def mint_in_child() -> list[str]:
        with noidtools.open(folder) as own:
            return own.mint(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        minted = [in_child(mint_in_child) for _ in range(10)]
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
    refused = [answer for answer in minted if isinstance(answer, str)]
    assert all("fork when no transaction is open" in answer for answer in refused), refused
    given = [answer[0] for answer in minted if isinstance(answer, list)]
    assert len(set(given)) == len(given) and minter.mint()


def test_a_child_forked_inside_a_transaction_cannot_use_the_minter_and_the_parent_can(minter):
    with minter.transaction():
        (identifier,) = minter.mint()
        refused = in_child(lambda: minter.mint(1))
        minter.bind(identifier, "_t", URL)
    assert refused.startswith("StoreError: ") and "open it again" in refused
    assert minter.get(identifier, "_t") == URL
    assert minter.info().drawn == 1


def test_a_child_that_leaves_the_transaction_it_was_forked_in_disturbs_nobody(folder):
    """Both ways: at the end of the body, and by an exception that runs through it."""
    code = """
import gc, os, sys
import noidtools
minter = noidtools.open(sys.argv[1])
for leave in ("end", "raise"):
    child = -1
    try:
        with minter.transaction():
            (identifier,) = minter.mint()
            child = os.fork()
            if child == 0 and leave == "raise":
                raise LookupError
            if child:
                assert os.waitpid(child, 0)[1] == 0
                minter.bind(identifier, "_t", leave)
    except (noidtools.StoreError, LookupError) as error:
        assert child == 0, error
    if child == 0:
        gc.collect()
        sys.exit(0)
    assert minter.get(identifier, "_t") == leave
print(minter.info().drawn)
"""
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")
    with noidtools.open(folder) as minter:
        assert minter.info().drawn == 2 and len(minter.mint(2)) == 2
