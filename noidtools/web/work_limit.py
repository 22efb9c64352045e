"""Limits on the work of one request."""

from __future__ import annotations

import time

from .response import HttpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    from ..commands.answers import Record
    from ..minter.policies import AccessPolicy

    Item = TypeVar("Item")

# A user who may change a minter is known to it, and may send bodies up to the server's limit.  Reading is open to
# anybody by default, so that requests of users who may only read are bounded in every respect: a few of them must not
# occupy the server.
#
# For those who may only read: the bytes of a body, the words of all its commands, the seconds of work, and the bytes of
# the answers, after which no more commands are run.  No server has to wait until its client has read so few bytes.
READERS_BODY = 1 << 20
READERS_WORDS = 10_000
READERS_SECONDS = 2.0
READERS_ANSWER = 1 << 20


class WorkLimit:
    """What one request may mint, and what is left of its words, its time and its answer.  None stands for no limit."""

    __slots__ = ("largest_body", "_most_mints", "_mints", "_words", "_seconds", "_answer", "_used", "_started")

    def __init__(
        self, largest_body: int, mints: int, words: int | None = None, seconds: float | None = None,
        answer: int | None = None,
    ) -> None:
        self.largest_body = largest_body
        self._most_mints = mints
        self._mints = 0
        self._words = words
        self._seconds = seconds
        self._answer = answer
        self._used = 0.0
        self._started = time.monotonic()

    @classmethod
    def of(cls, policy: AccessPolicy, user: bytes, largest_body: int) -> WorkLimit:
        """The limit for this user; `largest_body` is the server's, for everybody."""
        if policy.may_change(user):
            return cls(largest_body, policy.mint_limit)
        return cls(min(largest_body, READERS_BODY), 0, READERS_WORDS, READERS_SECONDS, READERS_ANSWER)

    def count_mints(self, number: int) -> None:
        """Raise HttpError if the commands of the request would mint more than they may."""
        self._mints += max(0, number)
        if self._mints > self._most_mints:
            raise HttpError(413, "too large", f"one request may mint {self._most_mints} identifiers here, and not "
                            f"{self._mints}: send several")

    def count_words(self, number: int) -> None:
        """Raise HttpError if the commands of the request have more words than they may."""
        if self._words is None:
            return
        self._words -= number
        if self._words < 0:
            raise HttpError(413, "too large", f"a user who may only read can send {READERS_WORDS} words of commands "
                            "in one request: send them in several")

    def timed(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same items.  The time in which they are made counts, that in which the client reads them does not."""
        source = iter(items)
        while True:
            self._started = time.monotonic()
            try:
                item = next(source)
            except StopIteration:
                return
            finally:
                self._used += time.monotonic() - self._started
            yield item

    def counted(self, records: Iterable[Record]) -> Iterable[Record]:
        """The same records of an answer.  They count when they are made, since several commands run before the first
        answer is written."""
        return records if self._answer is None else self._counted(records)

    def _counted(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if self._answer is not None:
                self._answer -= sum(len(value) for _, value, _ in record.lines())
            yield record

    def ensure_may_go_on(self) -> None:
        """Raise HttpError if the time or the answer is used up; called while `timed` waits for an item."""
        if self._seconds is not None and self._used + time.monotonic() - self._started > self._seconds:
            raise HttpError(503, "busy", f"this request has used up the {self._seconds:g} seconds of work that it may "
                            "take: send the commands from here on in another")
        if self._answer is not None and self._answer < 0:
            raise HttpError(413, "too large", f"the answers have more than the {READERS_ANSWER} bytes that a user "
                            "who may only read gets for one request: send the commands from here on in another")
