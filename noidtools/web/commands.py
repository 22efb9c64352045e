"""Commands by URL, as a WSGI application.

The command stands in the query string, its words separated by `+`.  `-` runs the commands of the body, one a line;
no query, or `help`, answers with an explanation.
"""

from __future__ import annotations

from contextlib import nullcontext

from ..commands import Call, Session, all_commands
from ..commands.answers import Answer, Text
from ..errors import NoidError, UsageError
from ..minter.events import Actor
from ..minter.policies import PUBLISHED
from .accept import prefers_json
from .body import LARGEST_BODY, read_body
from .group_commit import run_in_group
from .request import Request, Trust
from .response import (
    Response,
    error_response,
    log_error,
    method_not_allowed,
    public_message,
    refusal_of,
    send,
)
from .work_limit import WorkLimit
from .writers import FileWriter, JsonWriter, TextWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..commands.idempotency import IdempotentRun
    from ..minter.folder import MinterFolder
    from ..minter.policies import AccessPolicy
    from .group_commit import WriterSlots
    from .metrics import RequestMetrics
    from .request import Environ
    from .writers import AnswerWriter

BASIC = 'Basic realm="noid"'
_METHODS = ("GET", "HEAD", "POST")

# The header is sent after this many bytes of an answer were made, so that an error among them still has its status.  An
# error in the rest of a longer answer can only be reported at its end.
_BUFFERED = 1 << 18
_INTRODUCTION = """\
This is a minter of identifiers.  Commands are given in the query of its address, their words separated by +:

    ?mint+1                                   make an identifier
    ?bind+set+Id+Element+Value                bind a value to an element of an identifier
    ?get+Id+Element                           ask for it
    ?-                                        run the commands in the body of a POST, one per line
    ?help+mint                                explain a command

Whatever is not a plain letter or digit is best percent-encoded: a blank is %20, a plus sign %2B, a quote %22.
Quotes hold words together as in a shell: 'two+words'.
Answers are labelled lines of text, or JSON if the request says Accept: application/json.
A request with an Idempotency-Key can be repeated for a day: what was done is answered again, not done again.

"""


class CommandApplication:
    """Serves minters to a web server.

    `challenge` is the WWW-Authenticate header for users who must log in; empty where nobody can.  `slots` limit how
    many requests change something at once.
    """

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None, challenge: str = BASIC,
                 largest_body: int = LARGEST_BODY, metrics: RequestMetrics | None = None,
                 slots: WriterSlots | None = None) -> None:
        self.minters = minters
        self.trust = trust or Trust()
        self._challenge = challenge
        self._largest_body = largest_body
        self._metrics = metrics
        self._slots = slots

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = Request(environ, self.trust)
        response = self.respond(request)
        if not isinstance(response.body, bytes):
            response.body = _guarded(environ, response.body)
        return send(response, request.method, start_response)

    def respond(self, request: Request) -> Response:
        """Run the command of a request."""
        writer = _writer_for(request)
        try:
            return self._respond(request, writer)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            if not request.wants_page:
                return error_response(request.environ, error, writer, self._challenge)
            refusal = refusal_of(request.environ, error, self._challenge)
            return self._page("refusal_page", request, refusal)

    def _page(self, kind: str, request: Request, *values: object) -> Response:
        """A page of command_pages.py for a browser."""
        # CGI pays for every import.
        from . import command_pages

        page: Response = getattr(command_pages, kind)(self.minters, request, *values)
        return page

    def _respond(self, request: Request, writer: AnswerWriter) -> Response:
        if request.method not in _METHODS:
            raise method_not_allowed(_METHODS, f"{request.method[:20]!a} is not a method for commands: use GET or POST")
        minter = self.minters.find(request.path)
        words = request.words
        if words in ([], [b"help"]):
            request.ensure_body_is_understood()
            if request.has_body:
                raise UsageError("the query names no command for this body: ?- runs the commands in it")
            if request.wants_page:
                return self._page("help_page", request, all_commands())
            return _answer_response(request.environ, _introduction(), writer, [])
        policy = request.authenticate(minter)
        session = Session(minter.dbdir, Actor(request.contact, b"web"), minter=minter, view=PUBLISHED)
        session.actor.token = request.token
        if words[0] == b"-":
            from .bulk import respond_to_bulk

            return respond_to_bulk(request, session, policy, writer, self._largest_body, self._metrics, self._slots)
        return self._respond_to_one(request, session, policy, words, writer)

    def _respond_to_one(
        self, request: Request, session: Session, policy: AccessPolicy, words: list[bytes], writer: AnswerWriter
    ) -> Response:
        call = Call(session, words)
        request.ensure_body_is_understood(is_file=call.form.takes_file)
        if call.writes:
            if request.method == "HEAD":
                raise method_not_allowed(("GET", "POST"), f"HEAD changes nothing: {call.command.name} by GET or POST")
            request.ensure_may_write()
        user = request.user
        policy.ensure(call.command.name, call.access, user)
        session.view = policy.view(user)
        limit = WorkLimit.of(policy, user, self._largest_body)
        limit.count_words(len(words))
        limit.count_mints(call.mints)
        once = request.idempotent_run() if call.writes else None
        if call.writes and request.is_page_load and not _is_form_of_elements(request, call):
            call.ensure_fits()
            # Few changes come from browsers, and CGI pays for every import.
            from .confirmation import respond_to_change

            return respond_to_change(self.minters, request, call, lambda once: self._run(request, call, once))
        self._read_elements(request, call)
        answer = self._run(request, call, once)
        if request.wants_page and not call.writes and not answer.media_type:
            return self._page("answer_page", request, answer)
        headers = [("Idempotency-Replayed", "true")] if once and once.replayed else []
        return _answer_response(request.environ, answer, writer, headers)

    def _read_elements(self, request: Request, call: Call) -> None:
        if not call.reads_input:
            return
        body = read_body(request.environ, self._largest_body)
        try:
            call.read_elements(body.read_line)
        finally:
            body.close()

    def _run(self, request: Request, call: Call, once: IdempotentRun | None) -> Answer:
        with self._slots.taken(call.minter) if self._slots and call.writes else nullcontext():
            return self._run_now(request, call, once)

    def _run_now(self, request: Request, call: Call, once: IdempotentRun | None) -> Answer:
        """Run the command; one that takes a file gets the body, which is closed when the command has read it."""
        run = once.run if once else Call.run
        if call.batches and request.environ["wsgi.multithread"]:
            return run_in_group(call.minter, lambda: _completed(run(call)))
        if not call.form.takes_file:
            return run(call)
        call.ensure_fits()
        if request.method != "POST":
            raise method_not_allowed(("POST",), "the file is sent by POST, as the body")
        body = read_body(request.environ, self._largest_body)
        try:
            call.file = body.file
            return run(call)
        finally:
            body.close()


def _completed(answer: Answer) -> Answer:
    """The answer, after all its work was done."""
    answer.complete()
    return answer


def _is_form_of_elements(request: Request, call: Call) -> bool:
    """Whether the body is for elements or a file, so that it has no room for a token: then it must come from this
    site."""
    if not call.reads_input and not call.form.takes_file:
        return False
    if request.method != "POST":
        raise method_not_allowed(("POST",), "the elements are sent by POST, in the body")
    request.ensure_from_this_site()
    return True


def _introduction() -> Answer:
    from ..commands.help import list_commands

    offered = [command for command in all_commands() if not command.shell_only]
    return Answer(Text(_INTRODUCTION + list_commands(offered, 80)))


def _writer_for(request: Request) -> AnswerWriter:
    accept = request.header("HTTP_ACCEPT")
    return JsonWriter() if accept and prefers_json(accept) else TextWriter()


def _answer_response(
    environ: Environ, answer: Answer, writer: AnswerWriter, headers: list[tuple[str, str]]
) -> Response:
    """The response to one command.  A refusal before the first record is raised, and gets a status of its own."""
    if answer.media_type:
        writer = FileWriter(answer.media_type)
        headers = [*headers, ("Content-Disposition", f'attachment; filename="{answer.file_name}"')]
    records = iter(answer.records)
    parts = [writer.opening()]
    size = count = 0
    try:
        for record in records:
            parts.append(writer.record(record))
            count += 1
            size += len(parts[-1])
            if size > _BUFFERED:
                break
        else:
            parts.append(writer.closing(spaced=answer.spaced, failed=answer.failed))
            return Response(200, writer.content_type, b"".join(parts), headers)
    except NoidError as error:
        if not count:
            raise
        parts += [_refusal(environ, error, writer), writer.closing(spaced=False, failed=False)]
        return Response(200, writer.content_type, b"".join(parts), headers)

    def rest() -> Iterator[bytes]:
        yield b"".join(parts)
        spaced = answer.spaced
        try:
            for record in records:
                yield writer.record(record)
        except NoidError as error:
            spaced = False
            yield _refusal(environ, error, writer)
        yield writer.closing(spaced=spaced, failed=answer.failed)

    return Response(200, writer.content_type, rest(), headers)


def _guarded(environ: Environ, body: Iterable[bytes]) -> Iterator[bytes]:
    """The body, with a line at its end in place of an exception: its header was sent, and the server would log a
    traceback."""
    try:
        yield from body
    except Exception as error:  # noqa: BLE001 - whatever it is, it is logged
        log_error(environ, error)
        yield b"\nerror: something went wrong here, and the rest is missing: the server's log says why\n"


def _refusal(environ: Environ, error: NoidError, writer: AnswerWriter) -> bytes:
    """A refusal after a part of the answer."""
    log_error(environ, error)
    return writer.refusal(error.kind, public_message(error))
