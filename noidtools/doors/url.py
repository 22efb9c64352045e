"""The door of URLs: one WSGI application, whatever carries it.

The command stands in the query string, its words separated by `+`.  `-` runs
the commands of the body, one a line; nothing, or `help`, explains.
"""

from __future__ import annotations

from ..commands import Call, Session, command_for, run
from ..commands.table import reads_input, writes
from ..events import Actor
from ..exceptions import ForbiddenError, NoidError
from ..policy import Policy
from ..waiting import NotYet
from .requests import LARGEST_BODY, REQUEST, RESPONSE, Request, Trust
from .responses import Response, send
from .writing import TextWriting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..answers import Answer
    from ..idempotency import Once
    from .minters import Minters
    from .requests import Environ
    from .responses import Writing

BASIC = 'Basic realm="noid"'
_METHODS = ("GET", "HEAD", "POST")
# So much of an answer is made before its header is sent; a longer one may still break off, and then says so.
_KNOWN_FIRST = 1 << 18


class Application:
    """Serves minters to a web server.

    `challenge` is the WWW-Authenticate header for those who must log in; empty where nobody can.
    """

    def __init__(self, minters: Minters, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY) -> None:
        self.minters = minters
        self.trust = trust or Trust()
        self._challenge = challenge
        self._largest_body = largest_body

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = environ.pop(REQUEST, None) or Request(environ, self.trust)
        response = environ.pop(RESPONSE, None) or self.respond(request)
        if not isinstance(response.body, bytes):
            response.body = _guarded(environ, response.body)
        return send(response, request.method, start_response)

    def respond(self, request: Request) -> Response:
        writing = _writing_for(request)
        try:
            return self._respond(request, writing)
        except NotYet:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal, or a fault of ours: each has its status
            from .refusals import refused

            return refused(request.environ, error, writing, self._challenge)

    def prepare(self, environs: list[Environ]) -> None:
        """Serve several requests together as far as that can be; they are then still to be called one by one."""
        from .together import prepare

        prepare(self, environs)

    def _respond(self, request: Request, writing: Writing) -> Response:
        if request.method not in _METHODS:
            raise _not_that_method(_METHODS, f"{request.method[:20]!a} is no method for commands: use GET or POST")
        minter = self.minters.find(request.path)
        words = request.words
        if words in ([], [b"help"]):
            from .webhelp import explained

            return _answered(request.environ, explained(), writing, [])
        session = Session(minter.dbdir, Actor(request.contact, b"web"), minter=minter)
        session.sharing = request.sharing
        if words == [b"-"]:
            from .bulkpost import respond

            return respond(request, session, writing, self._largest_body)
        return self._respond_to_one(request, session, words, writing)

    def _respond_to_one(self, request: Request, session: Session, words: list[bytes], writing: Writing) -> Response:
        command = command_for(words)
        if writes(words):
            if request.method == "HEAD":
                raise _not_that_method(("GET", "POST"), f"HEAD changes nothing: {command.name} by GET or POST")
            ensure_own_will(request)
        session.minter.read(Policy.of).ensure(command.kind, words, request.user)
        call = Call(session, words, self._pairs(request, words))
        once = keyed(request, session) if writes(words) else None
        answer = once.run(call) if once else run(call)
        headers = [("Idempotency-Replayed", "true")] if once and once.replayed else []
        return _answered(request.environ, answer, writing, headers)

    def _pairs(self, request: Request, words: list[bytes]) -> list[tuple[bytes, bytes]] | None:
        form = reads_input(words)
        if not form:
            return None
        from ..headers import read_block, read_whole
        from .body import received

        body = received(request.environ, self._largest_body)
        try:
            return read_block(body.read_line) if form == ":" else read_whole(body.read_line)
        finally:
            body.close()


def _writing_for(request: Request) -> Writing:
    accept = request.header("HTTP_ACCEPT")
    # Text is what nearly everybody wants, and those who start a process for each request wait for every import.
    if "json" in accept.lower():
        from .negotiation import prefers_json

        if prefers_json(accept):
            from .jsonwriting import JsonWriting

            return JsonWriting()
    return TextWriting()


def ensure_own_will(request: Request) -> None:
    reason = request.why_not_write()
    if reason:
        raise ForbiddenError(reason)


def keyed(request: Request, session: Session) -> Once | None:
    """What makes this request repeatable, if its sender asked for that."""
    key = request.idempotency_key
    if not key:
        return None
    from ..idempotency import Once

    # Strangers may well choose the same key, and are not to get each other's answers.
    return Once(session, request.user or b"@" + session.actor.who, key)


def _answered(environ: Environ, answer: Answer, writing: Writing, headers: list[tuple[str, str]]) -> Response:
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


def _guarded(environ: Environ, body: Iterable[bytes]) -> Iterator[bytes]:
    """The header is out, so a fault of ours can only be told at the end; what a server would log of it is not ours."""
    try:
        yield from body
    except Exception as error:  # noqa: BLE001 - a fault of ours
        log(environ, error)
        yield b"\nerror: something went wrong here, and the rest is missing: the server's log says why\n"


def _refusal(environ: Environ, error: NoidError, writing: Writing) -> bytes:
    """A refusal that comes after a part of the answer."""
    from .refusals import public_message

    log(environ, error)
    return writing.refusal(error.kind, public_message(error))


def log(environ: Environ, error: Exception) -> None:
    from .refusals import log as write

    write(environ, error)


def _not_that_method(allowed: tuple[str, ...], message: str) -> NoidError:
    from .refusals import not_that_method

    return not_that_method(allowed, message)
