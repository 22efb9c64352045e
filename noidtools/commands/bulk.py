"""Many commands, one a line, sharing commits without sharing each other's refusals."""

from __future__ import annotations

import time

from ..errors import NoidError, UsageError
from ..minter.minting import CHUNK
from ..schemes import NeedsOwnTransaction
from . import Call, command_for, lines, run
from .lines import LineSource
from .table import reads_input, writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from . import Session
    from .answers import Answer, Record


# Enough commands that the cost of a commit vanishes, few enough that other writers and the reader do not wait long.
_MOST_TOGETHER = 500
_SECONDS_TOGETHER = 0.2
_MOST_BYTES_TOGETHER = 8 << 20

# A line this long is no command of ours; it would only fill memory.
LONGEST_LINE = 256 << 20


class BulkResult:
    """What became of one line: its records, in order, and the refusal that ended them if one did."""

    __slots__ = ("line", "records", "spaced", "error", "failed")

    def __init__(self, line: int, error: NoidError | None = None) -> None:
        self.line = line
        self.records: list[Record] = []
        self.spaced = True
        self.error = error
        self.failed = error is not None

    @property
    def size(self) -> int:
        """About how many bytes it will be when it is written."""
        return sum(len(value) for record in self.records for _, value, _ in record.lines())

    @property
    def more(self) -> bool:
        """Whether this is a part of an answer whose next part follows."""
        return not self.spaced and self.error is None


class _BulkLine:
    __slots__ = ("line", "call", "error")

    def __init__(self, line: int, call: Call | None, error: NoidError | None) -> None:
        self.line = line
        self.call = call
        self.error = error

    @property
    def writes(self) -> bool:
        return self.call is not None and writes([self.call.name, *self.call.args])

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        if self.call is None:
            return 0
        return sum(map(len, self.call.args)) + sum(len(value) for _, value in self.call.pairs or ())


def run_lines(
    session: Session, source: LineSource, allow: Callable[[Call], None] | None = None
) -> Iterator[BulkResult]:
    """Run the commands of a source; yields each result once it is on disk.  `allow` may refuse a command."""
    tasks = _tasks(session, source, allow)
    pending: _BulkLine | None = next(tasks, None)
    while pending is not None:
        batch = [pending]
        pending = None
        alone = _streams(batch[0])
        size = batch[0].size
        while not alone and len(batch) < _MOST_TOGETHER and size < _MOST_BYTES_TOGETHER and source.ready():
            following = next(tasks, None)
            if following is None:
                break
            if _streams(following):
                pending = following
                break
            batch.append(following)
            size += following.size
        yield from _run_alone(batch[0]) if alone else _run_sharing(session, batch)
        if pending is None:
            pending = next(tasks, None)


def _tasks(session: Session, source: LineSource, allow: Callable[[Call], None] | None) -> Iterator[_BulkLine]:
    number = 0
    while True:
        number += 1
        started = number
        try:
            line = source.read_line()
        except UsageError as error:
            yield _BulkLine(started, None, error)
            continue
        if not line:
            break
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue

        def read_line() -> bytes:
            nonlocal number
            number += 1
            return source.read_line()

        try:
            yield _BulkLine(started, _parse_call(session, line, read_line, allow), None)
        except NoidError as error:
            yield _BulkLine(started, None, error)


def _parse_call(
    session: Session, line: bytes, read_line: Callable[[], bytes], allow: Callable[[Call], None] | None
) -> Call:
    given = lines.split_words(line.removesuffix(b"\n").removesuffix(b"\r"))
    command = command_for(given)
    if command.kind == "local":
        raise UsageError(f"{command.name} cannot be used in bulk: run it on its own")
    form = reads_input(given)
    pairs = None
    if form:
        pairs = lines.read_elements(read_line) if form == ":" else lines.read_one_element(read_line)
    call = Call(session, given, pairs)
    if allow is not None:
        allow(call)
    return call


def _streams(task: _BulkLine) -> bool:
    """Whether the answer may be too long to hold: it is then run on its own and handed on in parts."""
    call = task.call
    if call is not None and call.name == b"log":
        return True
    if call is None or not call.args:
        return False
    if call.name in (b"mint", b"peppermint"):
        count = call.args[0]
        return count.startswith(b"--") or (count.isdigit() and len(count) < 19 and int(count) > CHUNK)
    return call.name == b"dbinfo" and call.args[0] == b"dump"


def _run_alone(task: _BulkLine) -> Iterator[BulkResult]:
    assert task.call is not None
    last = BulkResult(task.line)
    try:
        answer: Answer = run(task.call)
        for record in answer.records:
            part = BulkResult(task.line)
            part.records, part.spaced = [record], False
            yield part
        last.failed = answer.failed
    except NoidError as error:
        last.error, last.failed = error, True
    yield last


def _run_sharing(session: Session, batch: list[_BulkLine]) -> Iterator[BulkResult]:
    waiting = list(batch)
    while waiting:
        if any(task.writes for task in waiting):
            try:
                done = session.write_together(lambda _: _run_some(waiting))  # noqa: B023 - run before the loop goes on
            except NoidError as error:
                # Nothing can be written, or nothing was; what only reads need not suffer from its neighbours.
                done = [
                    BulkResult(task.line, task.error or error) if task.writes else _run_one(task) for task in waiting
                ]
        else:
            done = _run_some(waiting)
        yield from done
        waiting = waiting[len(done) :]
        if not done:
            yield from _run_alone(waiting.pop(0))


def _run_some(tasks: list[_BulkLine]) -> list[BulkResult]:
    deadline = time.monotonic() + _SECONDS_TOGETHER
    size = 0
    done: list[BulkResult] = []
    for task in tasks:
        try:
            done.append(_run_one(task))
        except NeedsOwnTransaction:
            break
        size += done[-1].size
        if time.monotonic() > deadline or size > _MOST_BYTES_TOGETHER:
            break
    return done


def _run_one(task: _BulkLine) -> BulkResult:
    result = BulkResult(task.line, task.error)
    if task.call is None:
        return result
    try:
        answer: Answer = run(task.call)
        for record in answer.records:
            result.records.append(record)
        result.failed = answer.failed
    except NoidError as error:
        result.error, result.failed = error, True
    return result
