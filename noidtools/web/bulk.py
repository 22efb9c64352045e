"""Many commands in one POST: `?-` with one command a line in the body; with `?-+--atomic` all of them or none."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import chain

from ..commands.bulk import named_refusal, parse_lines, run_lines
from ..errors import UsageError
from .body import read_body
from .request import Request
from .response import HttpError, Response, log_error, method_not_allowed, public_message
from .work_limit import WorkLimit
from .writers import BulkTally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from ..commands import Call, Session
    from ..commands.answers import Answer
    from ..commands.bulk import BulkLine, BulkResult
    from ..minter.policies import AccessPolicy
    from .body import Body
    from .group_commit import WriterSlots
    from .metrics import RequestMetrics
    from .writers import AnswerWriter

_PIECE = 1 << 15

# The largest body, and the most commands, for one transaction: others wait for it.
_LARGEST_ATOMIC, _MOST_ATOMIC = 16 << 20, 10_000


def respond_to_bulk(
    request: Request, session: Session, policy: AccessPolicy, writer: AnswerWriter, largest: int,
    metrics: RequestMetrics | None, slots: WriterSlots | None,
) -> Response:
    """Run the commands in the body of a POST.

    None is run unless the whole body was received, a line of it is a command, and the user may use every command.
    `largest` is the largest body that the server accepts from anybody.
    """
    atomic = request.words[1:] == [b"--atomic"]
    if request.words[1:] and not atomic:
        raise UsageError("commands in bulk are in the body: the query is ?- or, for all of them or none, ?-+--atomic")
    if request.method != "POST":
        raise method_not_allowed(("POST",), "send commands in bulk by POST, one per line in the body")
    request.ensure_body_is_understood()
    request.ensure_may_write()
    request.ensure_from_this_site()
    session.view = policy.view(request.user)
    limit = WorkLimit.of(policy, request.user, min(largest, _LARGEST_ATOMIC) if atomic else largest)
    once = request.idempotent_run()
    is_repeated = once is not None and once.is_repeated(session.minter, session.actor)
    body = read_body(request.environ, limit.largest_body)
    try:
        writes = _ensure_allowed(request, session, body, policy, limit, atomic=atomic)
        body.rewind()
    except BaseException:
        body.close()
        raise

    def run(call: Call, line: int) -> Answer:
        limit.ensure_may_go_on()
        answer = once.run(call, line) if once else call.run()
        answer.records = limit.counted(answer.records)
        return answer

    def results() -> Iterator[BulkResult]:
        for result in limit.timed(run_lines(session, body, run, atomic=atomic)):
            result.replayed = once is not None and result.line in once.lines
            yield result

    slot = slots.taken(session.minter) if slots and writes else nullcontext()
    parts = _write_results(request, results(), body, writer, metrics, slot)
    # Begun before the header is sent, so that a refusal of all has its status.
    first = next(parts)
    headers = [("Idempotency-Replayed", "true")] if is_repeated else []
    return Response(200, writer.content_type, chain((first,), parts), headers)


def _ensure_allowed(
    request: Request, session: Session, body: Body, policy: AccessPolicy, limit: WorkLimit, *, atomic: bool
) -> bool:
    """Parse all lines; raises the first refusal of a command to this user, naming its line.

    A line that is no command is refused when its turn comes, as at the shell, unless none is one or the request is
    atomic.  Returns whether any of the commands changes something.
    """
    def ensure_allowed(call: Call) -> None:
        policy.ensure(call.command.name, call.access, request.user)
        limit.count_words(1 + len(call.args))
        limit.count_mints(call.mints)

    wrong: BulkLine | None = None
    found = writes = False
    for count, line in enumerate(parse_lines(session, body, ensure_allowed), 1):
        if line.error is None:
            found = True
            writes = writes or line.writes
        elif atomic or not isinstance(line.error, UsageError):
            raise named_refusal(line, line.error)
        elif wrong is None:
            wrong = line
        if atomic and count > _MOST_ATOMIC:
            raise HttpError(413, "too large", f"an atomic request may have {_MOST_ATOMIC} commands: send several")
    if wrong is not None and wrong.error is not None and not found:
        raise named_refusal(wrong, wrong.error)
    return writes


def _write_results(
    request: Request, results: Iterator[BulkResult], body: Body, writer: AnswerWriter, metrics: RequestMetrics | None,
    slot: AbstractContextManager[None],
) -> Iterator[bytes]:
    tally = BulkTally()
    parts = [writer.bulk_opening()]
    size = 0
    try:
        with slot:
            for result in results:
                tally.count(result)
                if metrics is not None and not result.more:
                    metrics.count_bulk_command(result.command, refused=result.failed)
                message = ""
                if result.error is not None:
                    log_error(request.environ, result.error)
                    message = public_message(result.error)
                parts.append(writer.result(result, message))
                size += len(parts[-1])
                if size > _PIECE:
                    yield b"".join(parts)
                    parts, size = [], 0
        parts.append(writer.bulk_closing(tally))
        yield b"".join(parts)
    finally:
        body.close()
