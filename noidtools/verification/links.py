"""Turns: work at many hosts, done by many hands, but never two at one host, and never without a pause between."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections import deque
from typing import Generic, TypeVar

from .http import Deadline, UnreachableError, WebAddress, request_head, secure_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .http import HttpReply

Work = TypeVar("Work")

# Hosts that were asked a while ago are forgotten once there are so many of them.
_MOST_REMEMBERED = 1000


class HostQueue(Generic[Work]):
    """A line of work for each host.  Any thread may put work in; a thread that takes some gives the host back."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._changed = threading.Condition()
        # Of hosts that have work waiting, or somebody at work.
        self._lines: dict[str, deque[Work]] = {}
        # Hosts with work and nobody at it: a heap by when they may be asked.
        self._waiting: list[tuple[float, str]] = []
        # When hosts without work may be asked again.
        self._rested: dict[str, float] = {}
        self._stopped = False

    def put(self, host: str, work: Work, *, first: bool = False) -> None:
        with self._changed:
            line = self._lines.get(host)
            if line is not None:
                line.appendleft(work) if first else line.append(work)
                return
            self._lines[host] = deque([work])
            heapq.heappush(self._waiting, (self._rested.pop(host, 0.0), host))
            self._changed.notify()

    def take(self) -> tuple[str, Work] | None:
        """The work of a host whose turn it is, as soon as there is one; None when no more will be done."""
        with self._changed:
            while not self._stopped:
                pause = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if pause is not None and pause <= 0:
                    host = heapq.heappop(self._waiting)[1]
                    return host, self._lines[host].popleft()
                self._changed.wait(pause)
            return None

    def give_back(self, host: str) -> None:
        """The work taken is done; others may go to this host after a pause."""
        with self._changed:
            again = time.monotonic() + self._pause
            if self._lines[host]:
                heapq.heappush(self._waiting, (again, host))
                self._changed.notify()
                return
            del self._lines[host]
            if len(self._rested) >= _MOST_REMEMBERED:
                now = time.monotonic()
                self._rested = {name: when for name, when in self._rested.items() if when > now}
            if self._pause:
                self._rested[host] = again

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

# -- Whether the targets of names answer -----------------------------------------------------------------------------
# Each address is asked with HEAD and, where that is not answered well, with GET;
# redirects are followed.  Every request takes its turn at its host (see
# turns.py), so that a thousand links to one server are one request after the
# other, while other servers are asked at the same time.

Key = TypeVar("Key")
HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"
_WEB = (b"http:", b"https:")
_REDIRECTS = (301, 302, 303, 307, 308)

# Somebody answers, but not to us: whether the thing is there cannot be seen.
_GUARDED = (401, 402, 403, 407, 429, 451)


class LinkLimits:
    """How links are checked.

    seconds        for one link, all its requests together, the waiting for its turn not counted
    pause          seconds between two requests to one host
    hands          how many hosts are asked at the same time
    redirects      how many are followed
    silences       after so many links in a row without any answer a host is not asked again
    waiting        how many links are taken from their source before the first is done
    allow_private  whether addresses may be asked that the public cannot reach
    """

    __slots__ = ("seconds", "pause", "hands", "redirects", "silences", "waiting", "allow_private")

    def __init__(
        self, *, seconds: float = 20, pause: float = 1, hands: int = 16, redirects: int = 10, silences: int = 5,
        waiting: int = 5000, allow_private: bool = False,
    ) -> None:
        self.seconds = seconds
        self.pause = pause
        self.hands = hands
        self.redirects = redirects
        self.silences = silences
        self.waiting = waiting
        self.allow_private = allow_private


class Link:
    """What was found out about an address: whether it answers, and a few words about that."""

    __slots__ = ("detail", "verdict")

    def __init__(self, verdict: str, detail: str) -> None:
        self.verdict = verdict
        self.detail = detail

    def __repr__(self) -> str:
        return f"Link({self.verdict!r}, {self.detail!r})"


class _LinkTask:
    __slots__ = ("url", "place", "method", "seen", "spent", "link")

    def __init__(self, url: bytes, place: WebAddress) -> None:
        self.url = url
        self.place = place
        self.method = "HEAD"
        self.seen = [place.url]
        self.spent = 0.0
        self.link: Link | BaseException | None = None


def check_links(links: Iterable[tuple[Key, bytes]], limits: LinkLimits) -> Iterator[tuple[Key, Link]]:
    """Each link's key and what was found, in the order in which they are done.

    Links are taken from their source as they are needed; equal addresses that wait at the same time are
    asked for once.
    """
    source = iter(links)
    asked: dict[bytes, list[Key]] = {}
    crew = _LinkWorkers(limits)
    more = True
    try:
        while more or asked:
            while more and len(asked) < limits.waiting:
                item = next(source, None)
                if item is None:
                    more = False
                    break
                key, url = item
                if url in asked:
                    asked[url].append(key)
                    continue
                found = _start(url)
                if isinstance(found, Link):
                    yield key, found
                else:
                    asked[url] = [key]
                    crew.add(found)
            if asked:
                done = crew.next_done()
                link = done.link
                assert isinstance(link, Link)
                for key in asked.pop(done.url):
                    yield key, link
    finally:
        crew.dismiss()


def _start(url: bytes) -> _LinkTask | Link:
    if not url[:6].lower().startswith(_WEB):
        return Link(UNKNOWN, "only addresses with http and https are asked")
    try:
        return _LinkTask(url, WebAddress(url))
    except UnreachableError as finding:
        return Link(FAILS, finding.reason)


class _LinkWorkers:
    """The threads that ask, hired as there is work for them."""

    def __init__(self, limits: LinkLimits) -> None:
        self._limits = limits
        self._turns: HostQueue[_LinkTask] = HostQueue(limits.pause)
        self._done: queue.SimpleQueue[_LinkTask] = queue.SimpleQueue()
        self._silences: dict[str, int] = {}
        self._threads = 0
        self._secure = secure_context()

    def add(self, task: _LinkTask) -> None:
        self._turns.put(task.place.authority, task)
        if self._threads < self._limits.hands:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()

    def next_done(self) -> _LinkTask:
        task = self._done.get()
        if isinstance(task.link, BaseException):
            raise task.link
        return task

    def dismiss(self) -> None:
        self._turns.stop()

    def _work(self) -> None:
        while (turn := self._turns.take()) is not None:
            host, task = turn
            try:
                task.link = self._step(host, task)
            except BaseException as error:  # noqa: BLE001 - a fault of ours: it is raised again by those who wait
                task.link = error
            if task.link is None:
                # What was begun is finished first: it takes room, and tells whether the host answers at all.
                self._turns.put(task.place.authority, task, first=True)
            else:
                self._done.put(task)
            self._turns.give_back(host)

    def _step(self, host: str, task: _LinkTask) -> Link | None:
        """One request; None if another is to follow."""
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
        # A server that does not know HEAD may do anything, also nothing; but then it was heard of.
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
        return Link(HOLDS, _with_place(task, f"answers {status}"))
    if task.method == "HEAD":
        task.method = "GET"
        return None
    if status in _GUARDED:
        return Link(UNKNOWN, _with_place(task, f"answers {status}, so that the thing itself cannot be seen"))
    return Link(FAILS, _with_place(task, f"answers {status}"))


def _redirected(task: _LinkTask, reply: HttpReply, most_redirects: int) -> Link | None:
    finding = _next_place(task, reply, most_redirects)
    if finding is not None and task.method == "HEAD":
        # Some servers know no better answer to a question that is seldom asked.
        task.method = "GET"
        return None
    return finding


def _next_place(task: _LinkTask, reply: HttpReply, most_redirects: int) -> Link | None:
    """Go where the answer says; or what is wrong with it."""
    if not reply.location:
        return Link(FAILS, _with_place(task, f"answers {reply.status} without saying where to go"))
    try:
        place = task.place.joined(reply.location)
    except UnreachableError:
        where = reply.location[:80].decode("ascii", "backslashreplace")
        return Link(FAILS, _with_place(task, f"answers {reply.status} and leads to {where!r}, no web address"))
    if place.url in task.seen:
        return Link(FAILS, f"leads in a circle: back to {_shortened(place.url)}")
    if len(task.seen) > most_redirects:
        return Link(FAILS, f"leads on more than {most_redirects} times")
    task.seen.append(place.url)
    task.place = place
    return None


def _with_place(task: _LinkTask, finding: str) -> str:
    """The finding, and where it was made if that is not where we began."""
    return finding if len(task.seen) == 1 else f"leads to {_shortened(task.place.url)}: {finding}"


def _shortened(url: str) -> str:
    return url if len(url) <= 200 else url[:199] + "…"
