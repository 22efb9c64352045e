"""Many commands in one POST: `?-` with one command a line in the body."""

from __future__ import annotations

from ..commands import command_for
from ..commands.bulk import run_lines
from ..commands.table import MINT, reads_input, writes
from ..errors import NoidError
from ..minter.policies import AccessPolicy
from ..schemes import NeedsOwnTransaction
from .commands import ensure_not_cross_site, idempotent_run
from .request import REQUEST, RESPONSE, Request, read_body
from .response import Response, log_error, method_not_allowed, public_message
from .writers import BulkTally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..commands import Call, Session
    from ..commands.bulk import BulkResult
    from ..minter import Minter
    from ..store import Writer
    from .commands import CommandApplication
    from .request import Body, Environ
    from .response import AnswerWriter

_PIECE = 1 << 15


class _UnderstoodError(NoidError):
    """Not a refusal: how a dry run says that it would run a command."""

    def __init__(self, call: Call) -> None:
        super().__init__("")
        self.call = call


def respond_to_bulk(request: Request, session: Session, writing: AnswerWriter, largest: int) -> Response:
    """Run nothing unless the whole body arrived, every line is understood, and its sender may give it."""
    if request.method != "POST":
        raise method_not_allowed(("POST",), "commands in bulk are sent by POST, one a line in the body")
    ensure_not_cross_site(request)
    once = idempotent_run(request, session)
    policy = session.minter.read(AccessPolicy.of)

    def allow(call: Call) -> None:
        words = [call.name, *call.args]
        policy.ensure(command_for(words).kind, words, request.user)

    body = read_body(request.environ, largest)
    try:
        for _ in _parse_calls(session, body, allow):
            pass
        body.rewind()
    except BaseException:
        body.close()
        raise
    results = once.run_lines(_parse_calls(session, body, allow)) if once else run_lines(session, body, allow)
    return Response(200, writing.content_type, _write_results(request, results, body, writing))


def _parse_calls(session: Session, body: Body, allow: Callable[[Call], None]) -> Iterator[tuple[int, Call]]:
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


def _write_results(
    request: Request, results: Iterator[BulkResult], body: Body, writing: AnswerWriter
) -> Iterator[bytes]:
    tally = BulkTally()
    parts = [writing.bulk_opening()]
    size = 0
    try:
        for result in results:
            tally.count(result)
            message = ""
            if result.error is not None:
                log_error(request.environ, result.error)
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

# -- Several requests served at once: those that change the same minter share one transaction ------------------------
# What costs time in minting is the commit, which waits for the disk.  Requests
# that are at the door at the same moment need only one, and each still succeeds
# or fails by itself.


# Up to 999 identifiers are minted in no time; those who want more wait alone.
_FEW_DIGITS = 3


def prepare_batch(application: CommandApplication, environs: list[Environ]) -> None:
    """Do what can be done together.  Some of the environments then hold their response, for the call that follows."""
    together: dict[Minter, list[Request]] = {}
    for environ in environs:
        request = environ[REQUEST] = Request(environ, application.trust)
        minter = _changed_quickly(application, request)
        if minter is not None:
            together.setdefault(minter, []).append(request)
    for minter, requests in together.items():
        if len(requests) > 1:
            _respond_together(application, minter, requests)


def _changed_quickly(application: CommandApplication, request: Request) -> Minter | None:
    """The minter, if this is a request that may share a transaction: it writes, little, and has no body."""
    try:
        words = request.words
        command = command_for(words)
        if request.method != "GET" or not writes(words) or reads_input(words):
            return None
        if command.kind == MINT and not (words[1:] and words[1].isdigit() and len(words[1]) <= _FEW_DIGITS):
            return None
        return application.minters.find(request.path)
    except NoidError:
        return None


def _respond_together(application: CommandApplication, minter: Minter, requests: list[Request]) -> None:
    def work(_: Writer) -> list[Response | None]:
        return [_respond_sharing(application, request) for request in requests]

    try:
        responses = minter.write(work)
    except NoidError:
        return  # then each by itself
    for request, response in zip(requests, responses, strict=True):
        request.environ[RESPONSE] = response


def _respond_sharing(application: CommandApplication, request: Request) -> Response | None:
    request.sharing = True
    try:
        return application.respond(request)
    except NeedsOwnTransaction:
        return None
    finally:
        request.sharing = False
