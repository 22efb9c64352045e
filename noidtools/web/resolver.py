"""The web resolver: one WSGI application that sends readers where names lead, and describes the names.

    /NAME                   a redirect to the name's target
    /NAME?info              its description, also as /NAME? and /NAME??
    /                       a form to enter a name
    /healthz                whether every minter can be read

A bare `?` is only visible in the request line itself, which servers hand over
in REQUEST_URI (Apache, nginx and waitress) or RAW_URI (gunicorn).
"""

from __future__ import annotations

from .. import codec, names
from ..description.documents import MEDIA_TYPES
from ..description.page import Description, anvl, data, describe, display_name
from ..errors import NoidError, NotFoundError
from ..minter.policies import READ, AccessPolicy
from ..names import targets
from ..resolution import FOUND, GONE, INVALID, RESERVED
from ..resolution.catalogue import Catalogue, resolve_among
from .commands import log_error
from .negotiation import preferred
from .request import Request, Trust
from .response import HttpError, Response, http_error, method_not_allowed, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..minter import Minter
    from ..minter.folder import MinterFolder
    from ..resolution import Outcome
    from .request import Environ

PLAIN, JSON, HTML = "text/plain", "application/json", "text/html"
_FORMS = (PLAIN, HTML, JSON)
_RDF = {media_type: word for word, media_type in MEDIA_TYPES.items()}
_METHODS = ("GET", "HEAD")
_INFO = (b"info", b"", b"?")
_VARY = ("Vary", "Accept")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")
_IN_PATH = codec.PATH + b"%"


class Resolver:
    """Serves the names of all minters in a folder, or of one."""

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None) -> None:
        self._catalogue = Catalogue(minters)
        self._trust = trust or Trust()

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = Request(environ, self._trust)
        return send(self.respond(request), request.method, start_response)

    def respond(self, request: Request) -> Response:
        try:
            return self._respond(_NameRequest(request))
        except NoidError as error:
            log_error(request.environ, error)
            refusal = http_error(error, "")
        except Exception as error:  # noqa: BLE001 - a fault of ours: the reader learns that much and no more
            log_error(request.environ, error)
            refusal = HttpError(500, "fault", "something went wrong here: the server's log says what")
        body = f"error: {refusal.message}\n".encode("utf-8", "surrogateescape")
        return Response(refusal.status, f"{PLAIN}; charset=utf-8", body, refusal.headers)

    def _respond(self, asked: _NameRequest) -> Response:
        if asked.request.method not in _METHODS:
            raise method_not_allowed(_METHODS, "names are for reading: use GET or HEAD")
        if not asked.name:
            return _home(asked)
        if asked.name == b"healthz" and asked.query is None:
            return self._health()
        outcome = resolve_among(self._catalogue.domains(), asked.given)
        response = None
        if asked.wants_description or outcome.kind == GONE:
            response = self._described(asked, outcome)
        if response is None and outcome.kind == FOUND and outcome.by != "fallback" and _asks_for_rdf(asked):
            # Who wants statements about the thing, not the thing, is led to where they are.
            place = f"{asked.path.decode()}?info"
            return Response(303, f"{PLAIN}; charset=utf-8", f"{place}\n".encode(), [("Location", place), _VARY])
        if response is None and outcome.kind == FOUND:
            response = self._redirect(asked, outcome) or self._described(
                asked, outcome, note="Its target is not an address that a browser can be sent to.")
        return response or self._missing(asked, outcome)

    def _health(self) -> Response:
        domains = self._catalogue.domains()
        if self._catalogue.faults or not domains:
            raise HttpError(503, "store", f"{len(self._catalogue.faults)} minters cannot be read, {len(domains)} can")
        for domain in domains:
            domain.open().read(lambda reader: None)
        return Response(200, f"{PLAIN}; charset=utf-8", b"ok\n")

    # -- answers about names ---------------------------------------------------------------------------

    def _redirect(self, asked: _NameRequest, outcome: Outcome) -> Response | None:
        """To the first target that readers may be sent to."""
        # Another resolver is asked for the description too, if it is to know the name.
        wish = b"?" + (asked.query or b"") if asked.wants_description else b""
        followed = [(target, targets.location(target.url + wish)) for target in outcome.targets]
        places = [(target.code or targets.USUAL_CODE, place.decode()) for target, place in followed if place]
        if not places:
            return None
        (code, place), *others = places
        # Where the description is, and the other places that the name leads to.
        links = [] if outcome.by == "fallback" else [f'<{asked.path.decode()}?info>; rel="describedby"']
        links += [f'<{other}>; rel="duplicate"' for _, other in others]
        headers = [("Location", place), _VARY, *([("Link", ", ".join(links))] if links else [])]
        return Response(code, f"{PLAIN}; charset=utf-8", f"{place}\n".encode(), headers)

    def _described(self, asked: _NameRequest, outcome: Outcome, note: str = "") -> Response | None:
        minter = outcome.minter
        if minter is None or outcome.kind == RESERVED:
            return None
        public = minter.read(AccessPolicy.of).rules[READ].admits(asked.request.user)
        told = describe(minter, outcome, asked.given, with_elements=public)
        if told is None:
            return None
        path = asked.place(told.name)
        where = asked.origin + path
        form = preferred(asked.request.header("HTTP_ACCEPT"), (*_FORMS, *_RDF))
        headers = [_VARY, ("Link", f'<{path.decode()}>; rel="cite-as"')]
        status = 410 if told.state == "withdrawn" and not asked.wants_description else 200
        if form == HTML:
            from . import pages

            return Response(status, pages.CONTENT_TYPE, pages.description_page(told, where, asked.place, note),
                            [*headers, *pages.SECURITY])
        if form == JSON:
            return _json(status, data(told, where), headers)
        if form in _RDF:
            return _rdf(minter, told, form, status, headers, public=public)
        return Response(status, f"{PLAIN}; charset=utf-8", anvl(told, where), headers)

    def _missing(self, asked: _NameRequest, outcome: Outcome) -> Response:
        name = names.parse(asked.given)
        sentences = [f"{outcome.reason[:1].upper()}{outcome.reason[1:]}."]
        meant = None
        if outcome.kind == INVALID and outcome.minter is not None:
            meant = _suggested_name(outcome.minter, asked.given)
        elif outcome.kind == RESERVED:
            sentences.append("Ask again later.")
        elif outcome.minter is not None and describe(outcome.minter, outcome, asked.given):
            sentences = ["This name is known here, but nothing says where it leads. Add ?info to it to see more."]
        else:
            sentences.append("Is it complete, and spelled as in your source?")
        found = (meant, asked.place(meant)) if meant else None
        form = preferred(asked.request.header("HTTP_ACCEPT"), _FORMS)
        if form == HTML:
            from . import pages

            page = pages.missing_page(name.found, sentences, found, asked.home)
            return Response(404, pages.CONTENT_TYPE, page, [_VARY, *pages.SECURITY])
        message = " ".join(sentences)
        if form == JSON:
            facts: dict[str, object] = {"kind": outcome.kind, "message": message}
            return _json(404, {"error": {**facts, **({"meant": meant} if meant else {})}}, [_VARY])
        text = f"error: {message}\n".encode("utf-8", "surrogateescape")
        text += b"meant: " + meant + b"\n" if meant else b""
        return Response(404, f"{PLAIN}; charset=utf-8", text, [_VARY])


def _asks_for_rdf(asked: _NameRequest) -> bool:
    """Whether a form of RDF is asked for by name, and not valued less than what a target would give."""
    accept = asked.request.header("HTTP_ACCEPT").lower()
    return any(form in accept for form in _RDF) and preferred(accept, (HTML, *_RDF, PLAIN)) in _RDF


def _suggested_name(minter: Minter, given: bytes) -> bytes | None:
    from ..minter.identifiers import suggest_correction

    identifier = minter.read(lambda reader: suggest_correction(minter, reader, names.parse(given)))
    return None if identifier is None else display_name(minter, identifier)


def _rdf(minter: Minter, told: Description, form: str, status: int, headers: list[tuple[str, str]], *,
         public: bool) -> Response:
    from ..description.documents import describe_identifier

    body = describe_identifier(minter, told.identifier, _RDF[form], with_bindings=public)
    return Response(status, f"{form}; charset=utf-8" if form.startswith("text/") else form, body, headers)


def _json(status: int, facts: dict[str, object], headers: list[tuple[str, str]]) -> Response:
    import json

    from ..commands.answers import json_ready

    return Response(status, JSON, json.dumps(json_ready(facts)).encode() + b"\n", headers)


def _home(asked: _NameRequest) -> Response:
    typed = asked.typed_name
    if typed is not None:
        found = names.parse(typed).found.lstrip(b"/")
        if not found:
            raise NotFoundError("no name was entered")
        place = asked.home + codec.percent_encode(found, codec.PATH + b"?%")
        return Response(303, f"{PLAIN}; charset=utf-8", place + b"\n", [("Location", place.decode())])
    form = preferred(asked.request.header("HTTP_ACCEPT"), (PLAIN, HTML))
    if form == HTML:
        from . import pages

        return Response(200, pages.CONTENT_TYPE, pages.home_page(asked.home), [_VARY, *pages.SECURITY])
    text = b"This is a resolver: put a name behind the slash to go where it leads, and ?info behind that to see more.\n"
    return Response(200, f"{PLAIN}; charset=utf-8", text, [_VARY])


class _NameRequest:
    """What a request asks for.

    name     what stands behind the application's own place, still escaped
    query    what stands behind the first `?`; None if there is no `?`
    """

    __slots__ = ("request", "name", "query", "home")

    def __init__(self, request: Request) -> None:
        self.request = request
        script = request.header("SCRIPT_NAME").rstrip("/").encode("latin-1", "replace")
        self.home = codec.percent_encode(script, codec.PATH) + b"/"
        path, self.query = _target(request, script)
        self.name = path.lstrip(b"/")

    @property
    def wants_description(self) -> bool:
        return self.query in _INFO

    @property
    def given(self) -> bytes:
        """The name as it is to be resolved."""
        return self.name if self.query is None or self.wants_description else self.name + b"?" + self.query

    @property
    def path(self) -> bytes:
        """The place of the name, as a header or a link may carry it."""
        return self.home + codec.normalize_escapes(self.name, b"", codec.PATH)

    def place(self, name: bytes) -> bytes:
        """The place of another name under this resolver."""
        return self.home + codec.normalize_escapes(name.lstrip(b"/"), b"", codec.PATH)

    @property
    def origin(self) -> bytes:
        """Scheme and host, as far as the client tells the truth about them."""
        environ = self.request.environ
        host = self.request.header("HTTP_HOST")
        if not host or not _HOST.issuperset(host):
            host = self.request.header("SERVER_NAME")
        scheme: str = environ.get("wsgi.url_scheme", "http")
        return f"{scheme}://{host}".encode("latin-1", "replace")

    @property
    def typed_name(self) -> bytes | None:
        """The name that came from the form."""
        for pair in (self.query or b"").split(b"&"):
            key, _, value = pair.partition(b"=")
            if key == b"name":
                return codec.percent_decode(value.replace(b"+", b" ")).strip()
        return None


def _target(request: Request, script: bytes) -> tuple[bytes, bytes | None]:
    """Path and query below the application."""
    raw = (request.header("REQUEST_URI") or request.header("RAW_URI")).encode("latin-1", "replace")
    if raw[:1] != b"/" and b"://" in raw:
        raw = b"/" + raw.partition(b"://")[2].partition(b"/")[2]
    path, mark, query = raw.partition(b"?")
    if path[:1] == b"/" and path.startswith(script + b"/") or path == script and script:
        return path[len(script) :], query if mark else None
    # Without the request line a bare `?` cannot be seen, and escapes have been undone already.
    decoded = request.header("PATH_INFO").encode("latin-1", "replace")
    query_string = request.header("QUERY_STRING").encode("latin-1", "replace")
    return codec.percent_encode(decoded, codec.PATH), query_string or None
