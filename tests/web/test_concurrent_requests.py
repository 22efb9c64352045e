"""Requests served together and by several threads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from noidtools.errors import StoreError
from noidtools.minter import Minter
from support.minter import create_in_child
from support.wsgi import USER, CommandClient, command_environment


def prepared(web: CommandClient, requests: list[tuple[str, dict]]) -> list:
    environs = [command_environment(query, **options) for query, options in requests]
    web.application.prepare(environs)
    return [web.send(environ) for environ in environs]


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
    replies = prepared(web, [(query, {}) for query in asked] + [("mint+1", {"user": ""}), ("hello", {"path": "/"})])
    assert [reply.status for reply in replies] == [200, 200, 409, 200, 200, 400, 400, 400, 401, 404]
    assert len({*replies[0].ids, *replies[4].ids}) == 3
    assert len(commits) == 1


def test_if_the_shared_commit_fails_each_request_is_served_by_itself(
    web: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Minter.write
    failures = iter([True])

    def failing(self: Minter, work: object, **options: object) -> object:
        outermost = not self.store.writing
        done = write(self, work, **options)
        if outermost and next(failures, False):
            raise StoreError("the disk is full")
        return done

    monkeypatch.setattr(Minter, "write", failing)
    replies = prepared(web, [("mint+1", {}), ("mint+1", {})])
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].ids != replies[1].ids


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["0.1", "1"])
def test_labels_made_from_the_time_are_waited_for_however_they_are_asked_for(tmp_path: Path, granularity: str) -> None:
    create_in_child(tmp_path / "kt5", "--scheme", "ibip", "--ip", "150.163.34.243", "--granularity", granularity)
    web = CommandClient(tmp_path)
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    asked = [("mint+1", {}), ("mint+1", {}), ("bind+set+x+y+z", {}), ("mint+1", key), ("mint+1", key)]
    replies = prepared(web, asked)
    assert [reply.status for reply in replies] == [200, 200, 400, 200, 200]
    assert replies[3].ids == replies[4].ids
    minted = [identifier for reply in replies for identifier in reply.ids][:-1]
    minted += web.post("mint 1\nmint 1\n").ids + web.post("mint 1\n", **key).ids
    assert len(set(minted)) == len(minted) == 6


def test_threads_may_share_the_application(web: CommandClient) -> None:
    minted: list[str] = []
    threads = [threading.Thread(target=lambda: minted.extend(web("mint+20", user=USER).ids)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(minted)) == len(minted) == 160
