"""Many commands in one POST: `?-` with one command a line in the body."""

from __future__ import annotations

from ..commands.bulk import parse_lines, run_lines
from ..errors import UsageError
from .request import Request, WorkLimit, read_body
from .response import BulkTally, Response, log_error, method_not_allowed, public_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..commands import Call, Session
    from ..commands.answers import Answer
    from ..commands.bulk import BulkLine, BulkResult
    from ..errors import NoidError
    from ..minter.policies import AccessPolicy
    from .metrics import RequestMetrics
    from .request import Body
    from .response import AnswerWriter

_PIECE = 1 << 15


def respond_to_bulk(
    request: Request, session: Session, policy: AccessPolicy, writer: AnswerWriter, largest: int,
    metrics: RequestMetrics | None,
) -> Response:
    """Run the commands in the body of a POST.

    None is run unless the whole body was received, a line of it is a command, and the user may use every command.
    `largest` is the largest body that the server accepts from anybody.
    """
    if request.method != "POST":
        raise method_not_allowed(("POST",), "commands in bulk are sent by POST, one a line in the body")
    request.ensure_may_write()
    request.ensure_from_this_site()
    session.view = policy.view(request.user)
    limit = WorkLimit.of(policy, request.user, largest)
    once = request.idempotent_run()
    body = read_body(request.environ, limit.largest_body)
    try:
        _ensure_allowed(request, session, body, policy, limit)
        body.rewind()
    except BaseException:
        body.close()
        raise

    def run(call: Call, line: int) -> Answer:
        limit.ensure_may_go_on()
        answer = once.run(call, line) if once else call.run()
        answer.records = limit.counted(answer.records)
        return answer

    results = limit.timed(run_lines(session, body, run))
    return Response(200, writer.content_type, _write_results(request, results, body, writer, metrics))


def _ensure_allowed(request: Request, session: Session, body: Body, policy: AccessPolicy, limit: WorkLimit) -> None:
    """Parse all lines; raises the first refusal of a command to this user, naming its line.

    A line that is no command is refused when its turn comes, as at the shell, unless none is one.
    """
    def ensure_allowed(call: Call) -> None:
        policy.ensure(call.command.name, call.access, request.user)
        limit.count_words(1 + len(call.args))

    wrong: BulkLine | None = None
    found = False
    for line in parse_lines(session, body, ensure_allowed):
        if line.error is None:
            found = True
        elif not isinstance(line.error, UsageError):
            raise _of_line(line.error, line)
        elif wrong is None:
            wrong = line
    if wrong is not None and wrong.error is not None and not found:
        raise _of_line(wrong.error, wrong)


def _of_line(error: NoidError, line: BulkLine) -> NoidError:
    error.message = f"line {line.number}: {error.message} (nothing of the body was run)"
    return error


def _write_results(
    request: Request, results: Iterator[BulkResult], body: Body, writer: AnswerWriter, metrics: RequestMetrics | None
) -> Iterator[bytes]:
    tally = BulkTally()
    parts = [writer.bulk_opening()]
    size = 0
    try:
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
