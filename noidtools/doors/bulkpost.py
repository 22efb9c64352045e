"""Many commands in one POST: `?-` with one command a line in the body."""

from __future__ import annotations

from ..bulk import run_lines
from ..commands import command_for
from ..exceptions import NoidError
from ..policy import Policy
from .body import received
from .refusals import log, not_that_method, public_message
from .responses import Response
from .url import ensure_own_will, keyed
from .writing import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..bulk import Result
    from ..commands import Call, Session
    from .body import Body
    from .requests import Request
    from .responses import Writing

_PIECE = 1 << 15


class _UnderstoodError(NoidError):
    """Not a refusal: how a dry run says that it would run a command."""

    def __init__(self, call: Call) -> None:
        super().__init__("")
        self.call = call


def respond(request: Request, session: Session, writing: Writing, largest: int) -> Response:
    """Run nothing unless the whole body arrived, every line is understood, and its sender may give it."""
    if request.method != "POST":
        raise not_that_method(("POST",), "commands in bulk are sent by POST, one a line in the body")
    ensure_own_will(request)
    once = keyed(request, session)
    policy = session.minter.read(Policy.of)

    def allow(call: Call) -> None:
        words = [call.name, *call.args]
        policy.ensure(command_for(words).kind, words, request.user)

    body = received(request.environ, largest)
    try:
        for _ in _calls(session, body, allow):
            pass
        body.rewind()
    except BaseException:
        body.close()
        raise
    results = once.run_lines(_calls(session, body, allow)) if once else run_lines(session, body, allow)
    return Response(200, writing.content_type, _written(request, results, body, writing))


def _calls(session: Session, body: Body, allow: Callable[[Call], None]) -> Iterator[tuple[int, Call]]:
    """The commands of the body with their lines, run by nobody yet.  Raises the first refusal, naming its line."""

    def understand(call: Call) -> None:
        allow(call)
        raise _UnderstoodError(call)

    for result in run_lines(session, body, understand):
        error = result.error
        assert error is not None
        if not isinstance(error, _UnderstoodError):
            error.message = f"line {result.line}: {error.message} (nothing of the body was run)"
            raise error
        yield result.line, error.call


def _written(request: Request, results: Iterator[Result], body: Body, writing: Writing) -> Iterator[bytes]:
    tally = Tally()
    parts = [writing.bulk_opening()]
    size = 0
    try:
        for result in results:
            tally.count(result)
            message = ""
            if result.error is not None:
                log(request.environ, result.error)
                message = public_message(result.error)
            parts.append(writing.result(result, message))
            size += len(parts[-1])
            if size > _PIECE:
                yield b"".join(parts)
                parts, size = [], 0
        parts.append(writing.bulk_closing(tally))
        yield b"".join(parts)
    finally:
        body.close()
