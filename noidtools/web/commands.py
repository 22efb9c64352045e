"""What a minter says of itself to somebody who comes by with a browser."""

from __future__ import annotations

from ..commands import Call, Session, all_commands
from ..commands.answers import Answer, Text
from ..errors import NoidError
from ..minter.events import Actor
from ..minter.policies import AccessPolicy
from ..schemes import NeedsOwnTransaction
from .batch import prepare_batch, take_prepared
from .request import LARGEST_BODY, Request, Trust
from .response import Response, send
from .writers import TextWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..minter.folder import MinterFolder
    from .request import Environ
    from .response import AnswerWriter

_INTRODUCTION = """\
This is a minter of identifiers.  Commands are given in the query of its address, their words separated by +:

    ?mint+1                                   make an identifier
    ?bind+set+Id+Element+Value                bind a value to an element of an identifier
    ?get+Id+Element                           ask for it
    ?-                                        run the commands in the body of a POST, one a line

Whatever is not a plain letter or digit is best percent-encoded: a blank is %20, a plus sign %2B, a quote %22.
Quotes hold words together as in a shell: 'two+words'.
Answers are labelled lines of text, or JSON if the request says Accept: application/json.
A request with an Idempotency-Key can be repeated for a day: what was done is answered again, not done again.

"""


def help_answer() -> Answer:
    from ..commands.help import list_commands

    offered = [command for command in all_commands() if not command.shell_only]
    return Answer(Text(_INTRODUCTION + list_commands(offered)))

# -- The door of URLs: one WSGI application, whatever carries it -----------------------------------------------------
# The command stands in the query string, its words separated by `+`.  `-` runs
# the commands of the body, one a line; nothing, or `help`, explains.

BASIC = 'Basic realm="noid"'
_METHODS = ("GET", "HEAD", "POST")

# So much of an answer is made before its header is sent; a longer one may still break off, and then says so.
_KNOWN_FIRST = 1 << 18


class CommandApplication:
    """Serves minters to a web server.

    `challenge` is the WWW-Authenticate header for those who must log in; empty where nobody can.
    """

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY) -> None:
        self.minters = minters
        self.trust = trust or Trust()
        self._challenge = challenge
        self._largest_body = largest_body

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request, response = take_prepared(environ) or (Request(environ, self.trust), None)
        if response is None:
            response = self.respond(request)
        if not isinstance(response.body, bytes):
            response.body = _guard_stream(environ, response.body)
        return send(response, request.method, start_response)

    def respond(self, request: Request) -> Response:
        """Run the command of a request."""
        writing = _writer_for(request)
        try:
            return self._respond(request, writing)
        except NeedsOwnTransaction:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal, or a fault of ours: each has its status
            from .response import error_response

            return error_response(request.environ, error, writing, self._challenge)

    def prepare(self, environs: list[Environ]) -> None:
        """Serve several requests together as far as that can be; they are then still to be called one by one."""
        prepare_batch(self, environs)

    def _respond(self, request: Request, writing: AnswerWriter) -> Response:
        if request.method not in _METHODS:
            raise _method_not_allowed(_METHODS, f"{request.method[:20]!a} is no method for commands: use GET or POST")
        minter = self.minters.find(request.path)
        words = request.words
        if words in ([], [b"help"]):

            return _answer_response(request.environ, help_answer(), writing, [])
        session = Session(minter.dbdir, Actor(request.contact, b"web"), minter=minter)
        if words == [b"-"]:
            from .bulk import respond_to_bulk

            return respond_to_bulk(request, session, writing, self._largest_body)
        return self._respond_to_one(request, session, words, writing)

    def _respond_to_one(
        self, request: Request, session: Session, words: list[bytes], writing: AnswerWriter
    ) -> Response:
        call = Call(session, words)
        if call.writes:
            if request.method == "HEAD":
                raise _method_not_allowed(("GET", "POST"), f"HEAD changes nothing: {call.command.name} by GET or POST")
            request.ensure_may_write()
        session.minter.read(AccessPolicy.of).ensure(call.command.name, call.access, request.user)
        self._read_elements(request, call)
        once = request.idempotent_run() if call.writes else None
        answer = once.run(call) if once else call.run()
        headers = [("Idempotency-Replayed", "true")] if once and once.replayed else []
        return _answer_response(request.environ, answer, writing, headers)

    def _read_elements(self, request: Request, call: Call) -> None:
        if not call.reads_input:
            return
        from .request import read_body

        body = read_body(request.environ, self._largest_body)
        try:
            call.read_elements(body.read_line)
        finally:
            body.close()


def _writer_for(request: Request) -> AnswerWriter:
    accept = request.header("HTTP_ACCEPT")
    # Text is what nearly everybody wants, and those who start a process for each request wait for every import.
    if "json" in accept.lower():
        from .negotiation import prefers_json

        if prefers_json(accept):
            from .writers import JsonWriter

            return JsonWriter()
    return TextWriter()


def _answer_response(
    environ: Environ, answer: Answer, writing: AnswerWriter, headers: list[tuple[str, str]]
) -> Response:
    """The response to one command.  Its status is that of the refusal if nothing came before it."""
    records = iter(answer.records)
    parts = [writing.opening()]
    size = told = 0
    try:
        for record in records:
            parts.append(writing.record(record))
            told += 1
            size += len(parts[-1])
            if size > _KNOWN_FIRST:
                break
        else:
            parts.append(writing.closing(spaced=answer.spaced, failed=answer.failed))
            return Response(200, writing.content_type, b"".join(parts), headers)
    except NoidError as error:
        if not told:
            raise
        parts += [_refusal(environ, error, writing), writing.closing(spaced=False, failed=False)]
        return Response(200, writing.content_type, b"".join(parts), headers)

    def rest() -> Iterator[bytes]:
        yield b"".join(parts)
        spaced = answer.spaced
        try:
            for record in records:
                yield writing.record(record)
        except NoidError as error:
            spaced = False
            yield _refusal(environ, error, writing)
        yield writing.closing(spaced=spaced, failed=answer.failed)

    return Response(200, writing.content_type, rest(), headers)


def _guard_stream(environ: Environ, body: Iterable[bytes]) -> Iterator[bytes]:
    """The header is out, so a fault of ours can only be told at the end; what a server would log of it is not ours."""
    try:
        yield from body
    except Exception as error:  # noqa: BLE001 - a fault of ours
        log_error(environ, error)
        yield b"\nerror: something went wrong here, and the rest is missing: the server's log says why\n"


def _refusal(environ: Environ, error: NoidError, writing: AnswerWriter) -> bytes:
    """A refusal that comes after a part of the answer."""
    from .response import public_message

    log_error(environ, error)
    return writing.refusal(error.kind, public_message(error))


def log_error(environ: Environ, error: Exception) -> None:
    from .response import log_error as write

    write(environ, error)


def _method_not_allowed(allowed: tuple[str, ...], message: str) -> NoidError:
    from .response import method_not_allowed

    return method_not_allowed(allowed, message)
