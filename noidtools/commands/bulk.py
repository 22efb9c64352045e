"""Bulk execution: many commands, one a line, in few transactions.

Commands share a commit, but each runs in a savepoint, so that a refused command undoes only itself.  `parse_lines`
parses the lines of a source without running them, `run_lines` runs them.
"""

from __future__ import annotations

import time

from ..errors import NoidError, UsageError
from ..schemes import NeedsOwnTransaction
from .call import Call
from .lines import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .answers import Answer, Record
    from .call import Session
    from .lines import LineSource, ReadLine

    # Runs the call in a line; the number is that of the line.
    Runner = Callable[[Call, int], Answer]

# Limits for one shared transaction: large enough that the cost of a commit is small for each command, small enough that
# other writers and the recipient of the answers do not wait long.
_MOST_TOGETHER = 500
_SECONDS_TOGETHER = 0.2
_MOST_BYTES_TOGETHER = 8 << 20


class BulkLine:
    """A parsed line: its call, or the error if it could not be parsed."""

    __slots__ = ("number", "call", "error")

    def __init__(self, number: int, call: Call | None, error: NoidError | None = None) -> None:
        self.number = number
        self.call = call
        self.error = error

    @property
    def writes(self) -> bool:
        return self.call is not None and self.call.writes

    @property
    def streams(self) -> bool:
        return self.call is not None and self.call.streams

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        if self.call is None:
            return 0
        size = sum(map(len, self.call.args))
        return size + sum(len(value) for _, value in self.call.pairs) if self.call.pairs else size


def named_refusal(line: BulkLine, error: NoidError) -> NoidError:
    """The refusal of a whole source because of one line, which it names."""
    error.message = f"line {line.number}: {error.message} (nothing of the body was run)"
    return error


class BulkResult:
    """The result of a line, or of a part of it.

    line     the number of the line
    command  the name of the command, empty for a line that cannot be parsed
    records  the records of the answer
    spaced   false for a part of an answer, which is to be followed by another
    error    the refusal that ended the command, None if there was none
    failed   whether it was refused, or carried out with the result no
    replayed whether it is the stored result of an earlier request
    """

    __slots__ = ("line", "command", "records", "spaced", "error", "failed", "replayed")

    def __init__(self, line: BulkLine, error: NoidError | None = None) -> None:
        self.line = line.number
        self.command = line.call.command.name if line.call else ""
        self.records: list[Record] = []
        self.spaced = True
        self.error = error
        self.failed = error is not None
        self.replayed = False

    @property
    def size(self) -> int:
        """About how many bytes it will be when it is written."""
        return sum([record.size for record in self.records])

    @property
    def more(self) -> bool:
        """Whether another part of the same answer follows."""
        return not self.spaced and self.error is None


# -- parsing ---------------------------------------------------------------------------------------------------------


def parse_lines(
    session: Session, source: LineSource, check: Callable[[Call], None] | None = None
) -> Iterator[BulkLine]:
    """Parse the lines of a source, without empty lines and comments; the first line has the number 1.

    `check` is called with each command before its elements are read.  What it raises is the error of that line; the
    lines after it may then be elements and no commands.
    """
    number = 0

    def read_line() -> bytes:
        nonlocal number
        number += 1
        return source.read_line()

    while True:
        number += 1
        started = number
        try:
            line = source.read_line()
        except UsageError as error:
            yield BulkLine(started, None, error)
            continue
        if not line:
            break
        if line.lstrip()[:1] in (b"", b"#"):
            continue
        try:
            yield BulkLine(started, _parse_line(session, line, read_line, check))
        except NoidError as error:
            yield BulkLine(started, None, error)


def _parse_line(
    session: Session, line: bytes, read_line: ReadLine, check: Callable[[Call], None] | None
) -> Call:
    call = Call(session, split_words(line.removesuffix(b"\n").removesuffix(b"\r")))
    if call.form.shell_only or call.form.takes_file or call.form.gives_file:
        raise UsageError(f"{call.command.name} cannot be used in bulk: run it on its own")
    if check is not None:
        check(call)
    call.read_elements(read_line)
    return call


# -- running ---------------------------------------------------------------------------------------------------------


def run_lines(
    session: Session, source: LineSource, run: Runner | None = None, *, atomic: bool = False
) -> Iterator[BulkResult]:
    """Run the commands of a source; yields the results in order, each after its transaction was committed.

    With `atomic` all are run in one transaction.  The first refusal is then raised, with the number of its line, and
    none of them has changed anything.
    """
    bulk = _BulkRun(session, run or (lambda call, line: call.run()))
    return bulk.run_atomically(source) if atomic else bulk.run(source)


class _BulkRun:
    """Groups the lines of a source into transactions and runs them."""

    __slots__ = ("_session", "_run")

    def __init__(self, session: Session, run: Runner) -> None:
        self._session = session
        self._run = run

    def run(self, source: LineSource) -> Iterator[BulkResult]:
        lines = parse_lines(self._session, source)
        following = next(lines, None)
        while following is not None:
            if following.streams:
                yield from self._run_alone(following)
                following = next(lines, None)
                continue
            batch, size = [following], following.size
            following = None
            while len(batch) < _MOST_TOGETHER and size < _MOST_BYTES_TOGETHER and source.ready():
                following = next(lines, None)
                if following is None or following.streams:
                    break
                batch.append(following)
                size += following.size
                following = None
            yield from self._run_together(batch)
            if following is None:
                following = next(lines, None)

    def run_atomically(self, source: LineSource) -> Iterator[BulkResult]:
        lines = list(parse_lines(self._session, source))

        def work(_: object) -> list[BulkResult]:
            return [self._run_or_raise(line) for line in lines]

        writes = any(line.writes for line in lines)
        yield from self._session.minter.write(work) if writes else work(None)

    def _run_or_raise(self, line: BulkLine) -> BulkResult:
        result = self._run_one(line) if not line.streams else BulkResult(line, UsageError(
            "this takes several transactions, so it cannot be part of an atomic request: send it on its own"))
        if result.error is not None:
            raise named_refusal(line, result.error)
        return result

    def _run_alone(self, line: BulkLine) -> Iterator[BulkResult]:
        """Run one command in transactions of its own; yields each of its records as a part of its answer."""
        assert line.call is not None
        last = BulkResult(line)
        try:
            answer = self._run(line.call, line.number)
            for record in answer.records:
                part = BulkResult(line)
                part.records, part.spaced = [record], False
                yield part
            last.failed = answer.failed
        except NoidError as error:
            last.error, last.failed = error, True
        yield last

    def _run_together(self, batch: list[BulkLine]) -> Iterator[BulkResult]:
        """Run commands in as few transactions as possible, each command in a savepoint."""
        waiting = batch
        while waiting:
            done = self._run_shared(waiting)
            yield from done
            waiting = waiting[len(done) :]
            if not done:
                yield from self._run_alone(waiting.pop(0))

    def _run_shared(self, lines: list[BulkLine]) -> list[BulkResult]:
        """Run as many of these commands as fit in one transaction; returns no results if the first needs its own."""
        if not any(line.writes for line in lines):
            return self._run_some(lines)
        try:
            return self._session.minter.write(lambda _: self._run_some(lines), shared=True)
        except NoidError as error:
            # The transaction failed, and with it all that write; commands that only read are run without it.
            return [
                BulkResult(line, line.error or error) if line.writes else self._run_one(line) for line in lines
            ]

    def _run_some(self, lines: list[BulkLine]) -> list[BulkResult]:
        """Run commands until a limit is reached, or until one needs a transaction of its own."""
        deadline = time.monotonic() + _SECONDS_TOGETHER
        size = 0
        done: list[BulkResult] = []
        for line in lines:
            try:
                done.append(self._run_one(line))
            except NeedsOwnTransaction:
                break
            size += done[-1].size
            if time.monotonic() > deadline or size > _MOST_BYTES_TOGETHER:
                break
        return done

    def _run_one(self, line: BulkLine) -> BulkResult:
        result = BulkResult(line, line.error)
        if line.call is None:
            return result
        try:
            answer = self._run(line.call, line.number)
            for record in answer.records:
                result.records.append(record)
            result.failed = answer.failed
        except NoidError as error:
            result.error, result.failed = error, True
        return result
