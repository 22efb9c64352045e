"""Checking whether the targets of names answer.

Each URL is requested with HEAD and, if that does not succeed, with GET;
redirects are followed.  Requests to one host are made one after the other with
a pause between them; different hosts are requested at the same time.
"""

from __future__ import annotations

import functools
import heapq
import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Generic, TypeVar

from ..errors import printable
from ..minter.qualities import FAILS, HOLDS, UNKNOWN
from .http import Deadline, HttpReply, UnreachableError, WebAddress, request_head, secure_context

Key = TypeVar("Key")
Work = TypeVar("Work")


class HostQueue(Generic[Work]):
    """A queue of work for each host, of which at most one item is in progress, with a pause after each.

    Any thread may put work.  A thread that takes work calls `release` when it is done.
    """

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._changed = threading.Condition()
        # The work that waits, of each host with work waiting or in progress.
        self._queues: dict[str, deque[Work]] = {}
        # Hosts with work waiting and none in progress: a heap by the time from which it may be taken.
        self._ready: list[tuple[float, str]] = []
        # The same time of hosts without work.
        self._idle: dict[str, float] = {}
        self._stopped = False

    def put(self, host: str, work: Work, *, first: bool = False) -> None:
        """Add work at the end of the host's queue, or at its front."""
        with self._changed:
            waiting = self._queues.get(host)
            if waiting is not None:
                waiting.appendleft(work) if first else waiting.append(work)
                return
            self._queues[host] = deque([work])
            heapq.heappush(self._ready, (self._idle.pop(host, 0.0), host))
            self._changed.notify()

    def take(self) -> tuple[str, Work] | None:
        """Wait for a host with work whose pause is over, and return its next work; None after `stop`."""
        with self._changed:
            while not self._stopped:
                pause = self._ready[0][0] - time.monotonic() if self._ready else None
                if pause is not None and pause <= 0:
                    host = heapq.heappop(self._ready)[1]
                    return host, self._queues[host].popleft()
                self._changed.wait(pause)
            return None

    def release(self, host: str) -> None:
        """The work taken is done: the next work of this host may be taken after the pause."""
        with self._changed:
            again = time.monotonic() + self._pause
            if self._queues[host]:
                heapq.heappush(self._ready, (again, host))
                self._changed.notify()
                return
            del self._queues[host]
            self._idle[host] = again

    def stop(self) -> None:
        """Make every `take` return None."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


# -- links -----------------------------------------------------------------------------------------------------------

_WEB = (b"http:", b"https:")
_REDIRECTS = (301, 302, 303, 307, 308)
_PERMANENT = (301, 308)

# Statuses by which a server refuses this client, so that it stays unknown whether the resource exists.
_REFUSALS = (401, 402, 403, 407, 429, 451)


@dataclass(slots=True)
class LinkLimits:
    """How links are checked.

    seconds        the time limit for one link: all its requests, without the time in the queue
    pause          seconds between two requests to one host
    parallel       how many hosts are requested at the same time
    redirects      how many redirects are followed
    silences       after this many links in a row without any response a host is not requested again
    waiting        how many links are read from their source before the first is done
    allow_private  whether requests may go to addresses that are not global
    """

    _: KW_ONLY
    seconds: float = 20
    pause: float = 1
    parallel: int = 16
    redirects: int = 10
    silences: int = 5
    waiting: int = 5000
    allow_private: bool = False


@dataclass(slots=True)
class Link:
    """The result for one URL: a verdict, and a phrase about the response.

    moved  the address to which it has moved for good, if its server says so; else empty
    """

    verdict: str
    detail: str
    moved: str = ""


class _LinkTask:
    """A link in progress.

    link   its result, or an exception that is a fault of this program
    moved  where its redirects lead, as far as all of them, from the first on, are permanent
    """

    __slots__ = ("url", "place", "method", "seen", "spent", "link", "moved", "may_move")

    def __init__(self, url: bytes, place: WebAddress) -> None:
        self.url = url
        self.place = place
        self.method = "HEAD"
        self.seen = [place.url]
        self.spent = 0.0
        self.moved = ""
        self.may_move = True
        self.link: Link | BaseException | None = None


def check_links(links: Iterable[tuple[Key, bytes]], limits: LinkLimits) -> Iterator[tuple[Key, Link]]:
    """Check links; yields the key of each with its result, in the order of completion.

    Links are read from their source as needed.  A URL that occurs again while it is checked is requested once.
    """
    source = iter(links)
    pending: dict[bytes, list[Key]] = {}
    workers = _LinkWorkers(limits)
    more = True
    try:
        while more or pending:
            while more and len(pending) < limits.waiting:
                item = next(source, None)
                if item is None:
                    more = False
                    break
                key, url = item
                if url in pending:
                    pending[url].append(key)
                    continue
                found = _start(url)
                if isinstance(found, Link):
                    yield key, found
                else:
                    pending[url] = [key]
                    workers.add(found)
            if pending:
                done = workers.next_done()
                link = done.link
                assert isinstance(link, Link)
                for key in pending.pop(done.url):
                    yield key, link
    finally:
        workers.stop()


def _start(url: bytes) -> _LinkTask | Link:
    if not url[:6].lower().startswith(_WEB):
        return Link(UNKNOWN, "only addresses with http and https are asked")
    try:
        return _LinkTask(url, WebAddress(url))
    except UnreachableError as finding:
        return Link(FAILS, finding.reason)


class _LinkWorkers:
    """The threads that make requests; they are started as links are added."""

    def __init__(self, limits: LinkLimits) -> None:
        self._limits = limits
        self._queue: HostQueue[_LinkTask] = HostQueue(limits.pause)
        self._done: queue.SimpleQueue[_LinkTask] = queue.SimpleQueue()
        self._silences: dict[str, int] = {}
        self._threads = 0
        self._secure = functools.cache(secure_context)

    def add(self, task: _LinkTask) -> None:
        self._queue.put(task.place.authority, task)
        if self._threads < self._limits.parallel:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()

    def next_done(self) -> _LinkTask:
        task = self._done.get()
        if isinstance(task.link, BaseException):
            raise task.link
        return task

    def stop(self) -> None:
        self._queue.stop()

    def _work(self) -> None:
        while (taken := self._queue.take()) is not None:
            host, task = taken
            try:
                task.link = self._step(host, task)
            except BaseException as error:  # noqa: BLE001 - a fault of ours: next_done raises it again
                task.link = error
            if task.link is None:
                # A link in progress is finished before others of the host are begun: it takes memory, and its
                # result tells whether the host responds at all.
                self._queue.put(task.place.authority, task, first=True)
            else:
                self._done.put(task)
            self._queue.release(host)

    def _step(self, host: str, task: _LinkTask) -> Link | None:
        """Make one request of a link; returns None if it needs another."""
        limits = self._limits
        if self._silences.get(host, 0) >= limits.silences:
            return Link(FAILS, f"{host} gave no answer {limits.silences} times in a row and was not asked again")
        seconds = limits.seconds - task.spent
        if task.method == "HEAD":
            seconds = min(seconds, limits.seconds / 2)
        began = time.monotonic()
        try:
            reply = request_head(task.method, task.place, Deadline(max(seconds, 0.0)), self._secure,
                                 allow_private=limits.allow_private)
        except UnreachableError as finding:
            return self._unanswered(host, task, finding)
        finally:
            task.spent += time.monotonic() - began
        self._silences.pop(host, None)
        return _judged(task, reply, limits.redirects)

    def _unanswered(self, host: str, task: _LinkTask, finding: UnreachableError) -> Link | None:
        # A server that does not implement HEAD may close the connection or not respond.
        if task.method == "HEAD" and not finding.final:
            task.method = "GET"
            return None
        if finding.silent:
            self._silences[host] = self._silences.get(host, 0) + 1
        return Link(FAILS, _with_place(task, finding.reason))


def _judged(task: _LinkTask, reply: HttpReply, most_redirects: int) -> Link | None:
    status = reply.status
    if status in _REDIRECTS:
        return _redirected(task, reply, most_redirects)
    if 200 <= status < 300:
        return Link(HOLDS, _with_place(task, f"answers {status}"), task.moved)
    if task.method == "HEAD":
        task.method = "GET"
        return None
    if status in _REFUSALS:
        return Link(UNKNOWN, _with_place(task, f"answers {status}, so that the thing itself cannot be seen"))
    return Link(FAILS, _with_place(task, f"answers {status}"))


def _redirected(task: _LinkTask, reply: HttpReply, most_redirects: int) -> Link | None:
    finding = _next_place(task, reply, most_redirects)
    if finding is not None and task.method == "HEAD":
        # Some servers answer HEAD, which is rare, with a wrong redirect.
        task.method = "GET"
        return None
    return finding


def _next_place(task: _LinkTask, reply: HttpReply, most_redirects: int) -> Link | None:
    """Set the task to the address in the redirect; returns a result if that cannot be requested."""
    if not reply.location:
        return Link(FAILS, _with_place(task, f"answers {reply.status} without saying where to go"))
    try:
        place = task.place.joined(reply.location)
    except UnreachableError:
        where = printable(reply.location[:80])
        return Link(FAILS, _with_place(task, f"answers {reply.status} and leads to {where!r}, not a web address"))
    if place.url in task.seen:
        return Link(FAILS, f"leads in a circle: back to {_shortened(place.url)}")
    if len(task.seen) > most_redirects:
        return Link(FAILS, f"leads on more than {most_redirects} times")
    task.may_move = task.may_move and reply.status in _PERMANENT
    if task.may_move:
        task.moved = place.url
    task.seen.append(place.url)
    task.place = place
    return None


def _with_place(task: _LinkTask, finding: str) -> str:
    """The finding, preceded by the address if redirects led there."""
    return finding if len(task.seen) == 1 else f"leads to {_shortened(task.place.url)}: {finding}"


def _shortened(url: str) -> str:
    return url if len(url) <= 200 else url[:199] + "…"
