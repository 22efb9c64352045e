"""Requests of several threads, which share commits."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from noidtools.commands import Call
from noidtools.errors import OutcomeUnknownError, StoreError
from noidtools.minter import Minter
from support.minter import create_in_child
from support.wsgi import USER, CommandClient, Response, command_environment


@pytest.fixture(autouse=True)
def _much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait for the writer of a test, also on a slow machine."""
    monkeypatch.setattr("noidtools.minter.folder._WRITER_SECONDS", 60.0)


def together(web: CommandClient, requests: list[tuple[str, dict[str, Any]]]) -> list[Response]:
    """The responses to requests that arrive while the minter is being written to: all but the first share a commit."""
    environs = [command_environment(query, **{"wsgi.multithread": True, **options}) for query, options in requests]
    replies: dict[int, Response] = {}
    threads = [threading.Thread(target=lambda number=number, environ=environ:  # type: ignore[misc]
                                replies.__setitem__(number, web.send(environ)))
               for number, environ in enumerate(environs)]

    def hold(_: object) -> None:
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        time.sleep(0.3)

    web.minters.find("/noidu_kt5").write(hold)
    for thread in threads:
        thread.join()
    return [replies[number] for number in range(len(environs))]


def test_requests_served_together_answer_as_they_would_alone(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    write = Minter.write

    def counted(self: Minter, work: object, **options: object) -> object:
        if not self.store.writing:
            commits.append(work)
        return write(self, work, **options)

    monkeypatch.setattr(Minter, "write", counted)
    asked = ["mint+1", "bind+new+kt639k9+x+y", "bind+new+kt639k9+x+z", "get+kt639k9", "mint+2", "dance", "mint+x", "'"]
    replies = together(web, [(query, {}) for query in asked] + [("mint+1", {"user": ""}), ("hello", {"path": "/"})])
    statuses = [reply.status for reply in replies]
    assert statuses[:2] in ([200, 200], [200, 409]) and sorted(statuses[1:3]) == [200, 409]
    assert statuses[4:] == [200, 400, 400, 400, 401, 404]
    assert len({*replies[0].ids, *replies[4].ids}) == 3
    # That of the test, that of the first request, and that of the others.
    assert len(commits) == 3


@pytest.mark.parametrize(("error", "status"), [(StoreError, 503), (OutcomeUnknownError, 500)])
def test_if_the_shared_commit_fails_all_its_requests_are_refused_and_none_is_run_again(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch, error: type[StoreError], status: int
) -> None:
    write = Minter.write
    outermost: list[bool] = []

    def failing(self: Minter, work: object, **options: object) -> object:
        is_outermost = not self.store.writing
        done = write(self, work, **options)
        if is_outermost:
            outermost.append(True)
            if len(outermost) == 3:
                raise error("the disk is full")
        return done

    monkeypatch.setattr(Minter, "write", failing)
    replies = together(web, [("mint+1", {}), ("mint+1", {}), ("mint+1", {})])
    assert [reply.status for reply in replies] == [200, status, status]
    assert len(outermost) == 3
    assert web("mint+1", user=USER).status == 200


@pytest.mark.parametrize("fault", [ZeroDivisionError, OSError])
def test_a_fault_in_one_command_is_not_the_others(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    run = Call.run

    def faulty(self: Call) -> object:
        if self.args == [b"3"]:
            raise fault
        return run(self)

    monkeypatch.setattr(Call, "run", faulty)
    replies = together(web, [("mint+1", {}), ("mint+2", {}), ("mint+3", {}), ("mint+4", {})])
    assert [reply.status for reply in replies] == [200, 200, 500, 200]
    assert len({name for reply in replies for name in reply.ids}) == 7


def test_a_request_waits_for_others_no_longer_than_for_the_minter(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noidtools.minter.folder._WRITER_SECONDS", 0.1)
    replies = together(web, [("mint+1", {}), ("mint+1", {}), ("mint+1", {})])
    assert [reply.status for reply in replies] == [503, 503, 503]
    assert web("mint+1", user=USER).status == 200


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["0.1", "1"])
def test_labels_made_from_the_time_are_waited_for_however_they_are_asked_for(tmp_path: Path, granularity: str) -> None:
    create_in_child(tmp_path / "kt5", "--scheme", "ibip", "--ip", "150.163.34.243", "--granularity", granularity)
    web = CommandClient(tmp_path)
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    asked = [("mint+1", {}), ("mint+1", {}), ("bind+set+new+y+z", {}), ("mint+1", key), ("mint+1", key)]
    replies = together(web, asked)
    assert [reply.status for reply in replies] == [200, 200, 400, 200, 200]
    assert replies[3].ids == replies[4].ids
    minted = [identifier for reply in replies for identifier in reply.ids][:-1]
    minted += web.post("mint 1\nmint 1\n").ids + web.post("mint 1\n", **key).ids
    assert len(set(minted)) == len(minted) == 6


def test_threads_may_share_the_application(web: CommandClient) -> None:
    minted: list[str] = []

    def mint() -> None:
        minted.extend(web("mint+20", user=USER, **{"wsgi.multithread": True}).ids)

    threads = [threading.Thread(target=mint) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(minted)) == len(minted) == 160
