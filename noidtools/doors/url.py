"""The door of URLs: one WSGI application, whatever carries it.

The command stands in the query string, its words separated by `+`.  `-` runs
the commands of the body, one a line; nothing, or `help`, explains.
"""

from __future__ import annotations

from ..commands import Call, Session, command_for, run
from ..commands.table import MINT, reads_input
from ..events import Actor
from ..exceptions import ForbiddenError, NoidError
from ..policy import Policy
from ..waiting import NotYet
from .refusals import HttpError, is_for_the_log, not_that_method, public_message, translated
from .requests import LARGEST_BODY, Request, Trust
from .responses import Response, refused, send
from .writing import TextWriting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..answers import Answer
    from ..idempotency import Once
    from ..minter import Minter
    from ..store import Writer
    from .minters import Minters
    from .requests import Environ
    from .responses import Writing

BASIC = 'Basic realm="noid"'
_METHODS = ("GET", "HEAD", "POST")
# Where a request and its response rest in its environment between `prepare` and the call.
REQUEST, RESPONSE = "noid.request", "noid.response"
# Up to 999 identifiers are minted in no time; those who want more wait alone.
_FEW_DIGITS = 3
# So much of an answer is made before its header is sent; a longer one may still break off, and then says so.
_KNOWN_FIRST = 1 << 18


class Application:
    """Serves minters to a web server.

    `challenge` is the WWW-Authenticate header for those who must log in; empty where nobody can.
    """

    def __init__(self, minters: Minters, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY) -> None:
        self._minters = minters
        self._trust = trust or Trust()
        self._challenge = challenge
        self._largest_body = largest_body

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = environ.pop(REQUEST, None) or Request(environ, self._trust)
        response = environ.pop(RESPONSE, None) or self.respond(request)
        return send(response, request.method, start_response)

    def respond(self, request: Request) -> Response:
        writing = _writing_for(request)
        try:
            return self._respond(request, writing)
        except NoidError as error:
            log(request.environ, error)
            return refused(translated(error, self._challenge), writing)
        except NotYet:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours: the client learns that much and no more
            log(request.environ, error)
            return refused(_our_fault(), writing)

    def prepare(self, environs: list[Environ]) -> None:
        """Serve several requests at once, those that change the same minter in one transaction, whose commit is
        what costs time.  Each environment then holds its response, for the call that follows."""
        together: dict[Minter, list[Request]] = {}
        for environ in environs:
            request = environ[REQUEST] = Request(environ, self._trust)
            minter = self._changed_quickly(request)
            if minter is not None:
                together.setdefault(minter, []).append(request)
        for minter, requests in together.items():
            if len(requests) > 1:
                self._respond_together(minter, requests)

    def _changed_quickly(self, request: Request) -> Minter | None:
        """The minter, if this is a request that may share a transaction: it writes, little, and has no body."""
        try:
            words = request.words
            command = command_for(words)
            if request.method != "GET" or not command.writes or reads_input(words):
                return None
            if command.kind == MINT and not (words[1:] and words[1].isdigit() and len(words[1]) <= _FEW_DIGITS):
                return None
            return self._minters.find(request.path)
        except NoidError:
            return None

    def _respond_together(self, minter: Minter, requests: list[Request]) -> None:
        def work(_: Writer) -> list[Response | None]:
            return [self._respond_sharing(request) for request in requests]

        try:
            responses = minter.write(work)
        except NoidError:
            return  # then each by itself
        for request, response in zip(requests, responses, strict=True):
            request.environ[RESPONSE] = response

    def _respond_sharing(self, request: Request) -> Response | None:
        request.sharing = True
        try:
            return self.respond(request)
        except NotYet:
            return None
        finally:
            request.sharing = False

    def _respond(self, request: Request, writing: Writing) -> Response:
        if request.method not in _METHODS:
            raise not_that_method(_METHODS, f"{request.method[:20]!a} is no method for commands: use GET or POST")
        minter = self._minters.find(request.path)
        words = request.words
        if words in ([], [b"help"]):
            from .webhelp import text

            return Response(200, TextWriting.content_type, text())
        session = Session(minter.dbdir, Actor(request.contact, b"web"), minter=minter)
        session.sharing = request.sharing
        if words == [b"-"]:
            from .bulkpost import respond

            return respond(request, session, writing, self._largest_body)
        return self._respond_to_one(request, session, words, writing)

    def _respond_to_one(self, request: Request, session: Session, words: list[bytes], writing: Writing) -> Response:
        command = command_for(words)
        if command.writes:
            if request.method == "HEAD":
                raise not_that_method(("GET", "POST"), f"HEAD changes nothing: {command.name} by GET or POST")
            ensure_own_will(request)
        session.minter.read(Policy.of).ensure(command.kind, words, request.user)
        call = Call(session, words, self._pairs(request, words))
        once = keyed(request, session) if command.writes else None
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

    return Once(session, request.user, key)


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
        log(environ, error)
        parts += [writing.refusal(error.kind, public_message(error)), writing.closing(spaced=False, failed=False)]
        return Response(200, writing.content_type, b"".join(parts), headers)

    def rest() -> Iterator[bytes]:
        yield b"".join(parts)
        spaced = answer.spaced
        try:
            for record in records:
                yield writing.record(record)
        except NoidError as error:
            log(environ, error)
            spaced = False
            yield writing.refusal(error.kind, public_message(error))
        yield writing.closing(spaced=spaced, failed=answer.failed)

    return Response(200, writing.content_type, rest(), headers)


def _our_fault() -> HttpError:
    return HttpError(500, "fault", "something went wrong here: the server's log says what")


def log(environ: Environ, error: Exception) -> None:
    """One line for the operator, whatever a client may have put into it."""
    if isinstance(error, NoidError):
        if not is_for_the_log(error):
            return
        what = error.message
    else:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" in {place.tb_frame.f_code.co_filename}, line {place.tb_lineno}" if place else ""
        what = f"fault{where}: {type(error).__name__}: {error}"
    line = what.encode("ascii", "backslashreplace").translate(_PRINTABLE).decode()
    environ["wsgi.errors"].write(f"noid: {line}\n")


_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else 0x3F for byte in range(256))
