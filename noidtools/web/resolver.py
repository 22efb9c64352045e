"""The web resolver: a WSGI application that redirects names to their targets, and describes the names.

    /NAME                   a redirect to the name's target
    /NAME?info              its description, also as /NAME? and /NAME??; as JSON with ?json
    /                       a form to enter a name
    /.well-known/ark        the path under which ARKs are resolved
    /healthz, /readyz, /metrics   for monitors (see monitoring.py)

A bare `?` is only visible in the request line itself, which servers pass on in REQUEST_URI (Apache, nginx) or RAW_URI
(gunicorn).  granian does not: behind a proxy it is in a header.

A request about a name takes one read transaction of the minter that answers: resolving the name, checking who may
read, and gathering what a description needs.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from .. import codec, names
from ..commands.answers import json_ready
from ..description import RDF_FORMATS, formats, gatherer
from ..errors import NotFoundError
from ..minter.identifiers import suggest_name
from ..minter.lifecycle import reader_in
from ..minter.policies import TARGETS
from ..names import targets
from ..names.repair import repaired
from ..resolution import FOUND, GONE, INVALID, RESERVED, UNAVAILABLE, outcome_in
from ..resolution.catalogue import Catalogue
from . import pages
from .monitoring import PAGES, Monitoring
from .request import Request, Trust
from .response import (
    HttpError,
    Response,
    TextWriter,
    accepts_any,
    error_response,
    method_not_allowed,
    names_any,
    preferred,
    send,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..description.facts import NameDescription
    from ..minter.folder import MinterFolder
    from ..resolution import Outcome
    from ..store import Reader
    from .metrics import RequestMetrics
    from .request import Environ

    Headers = list[tuple[str, str]]

_TEXT, _JSON, _HTML = "text/plain", "application/json", "text/html"
_RDF = {media_type: form for form, media_type in RDF_FORMATS.items()}
_METHODS = ("GET", "HEAD", "OPTIONS")
_JSON_QUERY = b"json"
_DESCRIPTION_QUERIES = (b"info", b"", b"?", _JSON_QUERY)
_WELL_KNOWN = b".well-known/ark"
# What is answered with a tombstone.
_ON_TOMBSTONES = (GONE, UNAVAILABLE)
_VARY = ("Vary", "Accept")
_HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"
# What is public is so for the scripts of all sites.
_CORS = ("Access-Control-Allow-Origin", "*")
_EXPOSED = ("Access-Control-Expose-Headers", "ETag, Link, Location, THUMP-Status")
_PREFLIGHT = [("Allow", ", ".join(_METHODS)), ("Access-Control-Allow-Methods", "GET, HEAD"),
              ("Access-Control-Allow-Headers", "*"), ("Access-Control-Max-Age", "86400")]

# Characters of an entered name that are not escaped.
_ENTERED = codec.PATH + b"?%"


class Resolver:
    """Serves the names of all minters in a folder, or of one."""

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None,
                 metrics: RequestMetrics | None = None, challenge: str = "") -> None:
        self._catalogue = Catalogue(minters.for_resolving())
        self._metrics = metrics
        self._monitoring = Monitoring(self._catalogue, metrics)
        self._trust = trust or Trust()
        self._challenge = challenge

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = Request(environ, self._trust)
        return send(self.respond(request), request.method, start_response)

    def respond(self, request: Request) -> Response:
        """The response to a request; every error becomes a response."""
        try:
            response = self._respond(_NameRequest(request))
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            response = error_response(request.environ, error, TextWriter(), self._challenge)
        response.headers += (_CORS, _EXPOSED)
        return response

    def _respond(self, request: _NameRequest) -> Response:
        if request.method not in _METHODS:
            raise method_not_allowed(_METHODS, "names are for reading: use GET or HEAD")
        if request.method == "OPTIONS":
            return Response(204, "", b"", _PREFLIGHT)
        if not request.path_name:
            return _home(request)
        if request.path_name == _WELL_KNOWN and request.query is None:
            return _text_response(200, request.home + b"\n")
        if request.path_name in PAGES and request.query is None:
            return self._monitoring.respond(request.path_name, request.http)
        outcome, knowledge = self._catalogue.resolve_and_gather(
            request.name, lambda reader, outcome: _gather(request, reader, outcome)
        )
        if self._catalogue.may_lack(request.name, outcome):
            raise HttpError(503, "store", "a minter cannot be read at the moment, so that it is not known whether this "
                            "name is its: try again later")
        knowledge = knowledge or _Knowledge(suggestion=self._suggestion(request))
        outcome = knowledge.outcome or outcome
        if self._metrics is not None:
            # Anybody may see the counts: a reserved name is counted as the user is answered.
            self._metrics.count_name(outcome.by or outcome.kind)
        return _respond_to_name(request, outcome, knowledge)


    def _suggestion(self, request: _NameRequest) -> bytes | None:
        """What was probably meant by a name that belongs to no minter because of that with which it was pasted."""
        def suggest(reader: Reader, outcome: Outcome) -> bytes | None:
            view = request.http.policy_in(reader).view(request.http.user)
            return suggest_name(outcome.minter, reader_in(view, reader), request.name) if outcome.minter else None

        found = (self._catalogue.resolve_and_gather(text, suggest)[1] for text in repaired(request.name))
        return next((name for name in found if name), None)


# -- reading ---------------------------------------------------------------------------------------------------------


class _Knowledge:
    """What the transaction in which a name was resolved also read about it.

    locations   redirect codes and addresses to which a browser may be sent, in the order of the targets
    outcome     the outcome as the user may see it, where that differs
    facts       its description, where the response may need it
    is_known    whether anything is stored about the name; only read for a name without target
    suggestion  the name that was probably meant by a mistyped one
    """

    __slots__ = ("facts", "is_known", "locations", "outcome", "suggestion")

    def __init__(
        self, *, locations: list[tuple[int, str]] | None = None, outcome: Outcome | None = None,
        facts: NameDescription | None = None, is_known: bool = False, suggestion: bytes | None = None,
    ) -> None:
        self.locations = locations or []
        self.outcome = outcome
        self.facts = facts
        self.is_known = is_known
        self.suggestion = suggestion


def _gather(request: _NameRequest, reader: Reader, outcome: Outcome) -> _Knowledge:
    """What the response to a request needs besides the outcome, which has a minter, of which this is a reader."""
    minter = outcome.minter
    if minter is None:
        return _Knowledge()
    locations = _locations(request, outcome)
    if locations and not request.wants_description:
        return _Knowledge(locations=locations)
    view = request.http.policy_in(reader).view(request.http.user)
    outcome = outcome_in(view, minter, reader, request.name, outcome)
    if outcome.kind == RESERVED:
        return _Knowledge(outcome=outcome)
    reader = reader_in(view, reader)
    facts = None
    extent = gatherer.COMPLETE if request.media_type in _RDF else gatherer.SUMMARY
    if request.wants_description or outcome.kind in (FOUND, *_ON_TOMBSTONES):
        facts = gatherer.gather_outcome(reader, outcome, request.name, extent, targets_only=view == TARGETS)
    elif view != TARGETS:
        facts = gatherer.gather_abstract(minter, reader, request.name, extent)
    if facts is not None or outcome.kind == FOUND:
        return _Knowledge(locations=locations, outcome=outcome, facts=facts)
    is_known = outcome.kind != INVALID and gatherer.known_identifier(minter, reader, request.name) is not None
    suggestion = None if is_known else suggest_name(minter, reader, request.name)
    return _Knowledge(outcome=outcome, is_known=is_known, suggestion=suggestion)


# -- responses about names -------------------------------------------------------------------------------------------


def _respond_to_name(request: _NameRequest, outcome: Outcome, knowledge: _Knowledge) -> Response:
    facts = knowledge.facts
    if facts is not None and (request.wants_description or outcome.kind in _ON_TOMBSTONES or facts.abstract):
        return _cached(request, outcome, _description(request, facts))
    if outcome.kind == FOUND:
        if outcome.by != "fallback" and request.wants_rdf:
            # A client that wants statements about the thing instead of the thing is sent to the description.
            path = f"{request.path.decode()}?info"
            return _text_response(303, f"{path}\n".encode(), [("Location", path), _VARY])
        if knowledge.locations:
            return _redirect(request, outcome, knowledge.locations)
        if facts is not None:
            return _description(request, facts, "Its target is not an address that a browser can be sent to.")
    return _not_found(request, outcome, knowledge)


def _locations(request: _NameRequest, outcome: Outcome) -> list[tuple[int, str]]:
    """Redirect codes and addresses of the targets to which a browser may be sent."""
    # A request for a description is passed on to the target, which may be another resolver.
    query = b"?" + (request.query or b"") if request.wants_description else b""
    located = [(target.code, targets.location(target.url + query)) for target in outcome.targets]
    return [(code or targets.USUAL_CODE, location.decode()) for code, location in located if location]


def _redirect(request: _NameRequest, outcome: Outcome, locations: list[tuple[int, str]]) -> Response:
    """To the first location; the description and the other locations are in the Link header."""
    (code, location), *others = locations
    links = [] if outcome.by == "fallback" else [f'<{request.path.decode()}?info>; rel="describedby"']
    links += [f'<{other}>; rel="duplicate"' for _, other in others]
    headers = [("Location", location), _VARY, *([("Link", ", ".join(links))] if links else [])]
    response = _text_response(code, f"{location}\n".encode(), headers)
    response.cache = outcome.cache.decode() or response.cache
    return response


def _cached(request: _NameRequest, outcome: Outcome, response: Response) -> Response:
    """A description that caches may keep, unless it is for a user; 304 if the client has it already."""
    if request.http.user or request.http.header("HTTP_AUTHORIZATION") or not isinstance(response.body, bytes):
        return response
    tag = f'"{blake2b(response.content_type.encode() + response.body, digest_size=12).hexdigest()}"'
    response.headers.append(("ETag", tag))
    response.cache = outcome.cache.decode() or response.cache
    known = [entry.strip().removeprefix("W/") for entry in request.http.header("HTTP_IF_NONE_MATCH").split(",")]
    if response.status == 200 and (tag in known or "*" in known):
        response.status = 304
    return response


def _description(request: _NameRequest, facts: NameDescription, note: str = "") -> Response:
    path = request.path_of(facts.name)
    address = codec.decode_text(request.origin + path)
    status = 200
    if not request.wants_description:
        # What is unavailable may come back; 410 would tell others to forget the name.
        status = {"withdrawn": 410, "unavailable": 404}.get(facts.state, 300 if facts.abstract else 200)
    links = f'<{path.decode()}>; rel="cite-as"'
    headers = [_VARY]
    if facts.changed:
        headers.append(("Last-Modified", facts.changed.strftime(_HTTP_DATE)))
    if request.wants_description:
        request.ensure_acceptable()
        links += f', <{path.decode()}>; rel="describes"'
        headers.append(("THUMP-Status", "0.6 200 OK"))
    headers.append(("Link", links))
    media_type = request.media_type
    if media_type == _HTML:
        return pages.name_page(status, facts, address, request.path_of, headers, note)
    if media_type == _JSON:
        return _json_response(status, formats.name_data(facts, address), headers)
    if media_type in _RDF:
        from ..description import rdf

        content_type = f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type
        return Response(status, content_type, rdf.name_document(facts, _RDF[media_type]), headers)
    return _text_response(status, formats.citation_text(facts, address), headers)


def _not_found(request: _NameRequest, outcome: Outcome, knowledge: _Knowledge) -> Response:
    sentences = [f"{outcome.reason[:1].upper()}{outcome.reason[1:]}."]
    if outcome.kind == RESERVED:
        sentences.append("Ask again later.")
    elif knowledge.is_known:
        sentences = ["This name is known here, but nothing says where it leads. Add ?info to it to see more."]
    elif outcome.kind != INVALID or outcome.minter is None:
        sentences.append("Is it complete, and spelled as in your source?")
    suggestion = knowledge.suggestion
    media_type = _JSON if request.query == _JSON_QUERY else preferred(request.accept, (_TEXT, _HTML, _JSON))
    if media_type == _HTML:
        name = request.readable(names.parse(request.name).found)
        return pages.missing_page(name, sentences, suggestion, request.home, request.path_of, [_VARY])
    message = " ".join(sentences)
    if media_type == _JSON:
        error: dict[str, object] = {"kind": outcome.kind, "code": _code(outcome, knowledge), "message": message}
        if suggestion:
            error["meant"] = suggestion
        return _json_response(404, {"error": error}, [_VARY])
    text = f"error: {message}\n".encode("utf-8", "surrogateescape")
    return _text_response(404, text + (b"meant: " + suggestion + b"\n" if suggestion else b""), [_VARY])


def _code(outcome: Outcome, knowledge: _Knowledge) -> str:
    """Why a name leads nowhere, for programs."""
    if knowledge.is_known:
        return "no-target"
    if outcome.kind == INVALID:
        return "mistyped-name"
    return "unknown-name" if outcome.minter is not None else "unknown-authority"


def _home(request: _NameRequest) -> Response:
    entered = request.entered_name
    if entered is not None:
        name = names.parse(entered).found.lstrip(b"/")
        if not name:
            raise NotFoundError("no name was entered")
        path = request.home + codec.percent_encode(name, _ENTERED)
        if targets.leads_to_commands(path):
            raise NotFoundError("this is the address of a minter's commands, and no name")
        return _text_response(303, path + b"\n", [("Location", path.decode())])
    if preferred(request.accept, (_TEXT, _HTML)) == _HTML:
        return pages.home_page(request.home, [_VARY])
    text = b"This is a resolver: put a name behind the slash to go where it leads, and ?info behind that to see more.\n"
    return _text_response(200, text, [_VARY])


def _text_response(status: int, body: bytes, headers: Headers | None = None) -> Response:
    return Response(status, f"{_TEXT}; charset=utf-8", codec.indent_rare_breaks(body), headers or [])


def _json_response(status: int, data: dict[str, object], headers: Headers) -> Response:
    return Response(status, _JSON, json.dumps(json_ready(data)).encode() + b"\n", headers)


# -- requests --------------------------------------------------------------------------------------------------------


class _NameRequest:
    """A request to the resolver.

    home       the path of the resolver itself, with a slash at its end
    path_name  the path below it, escapes left as they are
    query      what stands behind the first `?`; None if there is no `?`
    """

    __slots__ = ("http", "home", "method", "path_name", "query")

    def __init__(self, http: Request) -> None:
        self.http = http
        self.method = http.method
        script = http.header("SCRIPT_NAME").rstrip("/").encode("latin-1", "replace")
        self.home = codec.percent_encode(script, codec.PATH) + b"/"
        path, self.query = _path_and_query(http, script)
        self.path_name = path.lstrip(b"/")

    @property
    def wants_description(self) -> bool:
        return self.query in _DESCRIPTION_QUERIES

    @property
    def name(self) -> bytes:
        """The name to resolve: the path, with the query unless that asks for a description."""
        return self.path_name if self.query is None or self.wants_description else self.path_name + b"?" + self.query

    @property
    def path(self) -> bytes:
        """The path of the name without its query, as a header or a link may hold it."""
        return self.home + codec.normalize_escapes(self.path_name, b"", codec.PATH)

    def path_of(self, name: str | bytes) -> bytes:
        """The path of a name under this resolver."""
        if isinstance(name, str):
            name = codec.encode_text(name)
        return self.home + codec.normalize_escapes(name.lstrip(b"/"), b"", codec.PATH)

    def readable(self, name: bytes) -> bytes:
        """A name without escapes, as it would be entered in the form; with them where it would not be the same name."""
        decoded = codec.percent_decode(name)
        return decoded if codec.percent_encode(decoded, _ENTERED) == name else name

    @property
    def accept(self) -> str:
        return self.http.header("HTTP_ACCEPT")

    @property
    def media_type(self) -> str:
        """The format in which the client prefers a description."""
        return _JSON if self.query == _JSON_QUERY else preferred(self.accept, (_TEXT, _HTML, _JSON, *self._rdf))

    @property
    def _rdf(self) -> tuple[str, ...]:
        """The formats of RDF among those that the client may want: none where the package for them is missing."""
        if not names_any(self.accept, _RDF):
            return ()
        return tuple(_RDF) if formats.has_rdflib() else ()

    @property
    def wants_rdf(self) -> bool:
        """Whether a format of RDF is named in the Accept header, and preferred to what a target would send."""
        return bool(self._rdf) and preferred(self.accept, (_HTML, *_RDF, _TEXT)) in _RDF

    def ensure_acceptable(self) -> None:
        """Refuse a client that takes nothing but RDF where there is none."""
        offered = (_TEXT, _HTML, _JSON, *self._rdf)
        if names_any(self.accept, _RDF) and self.media_type != _JSON and not accepts_any(self.accept, offered):
            raise HttpError(406, "not installed", "this server has no descriptions in RDF: accept text/plain, "
                            "text/html or application/json", _VARY)

    @property
    def origin(self) -> bytes:
        """Scheme and host; the server's own name where the Host header is none."""
        return self.http.origin.encode("latin-1", "replace")

    @property
    def entered_name(self) -> bytes | None:
        """The name that was entered in the form; None if the request is not from the form."""
        for pair in (self.query or b"").split(b"&"):
            key, _, value = pair.partition(b"=")
            if key == b"name":
                return codec.percent_decode(value.replace(b"+", b" ")).strip()
        return None


def _path_and_query(http: Request, script: bytes) -> tuple[bytes, bytes | None]:
    """Path and query below the application."""
    raw = (http.header("REQUEST_URI") or http.header("RAW_URI") or http.forwarded_target).encode("latin-1", "replace")
    if raw[:1] != b"/" and b"://" in raw:
        raw = b"/" + raw.partition(b"://")[2].partition(b"/")[2]
    path, mark, query = raw.partition(b"?")
    if path[:1] == b"/" and path.startswith(script + b"/") or path == script and script:
        return path[len(script) :], query if mark else None
    # Without the request line a bare `?` cannot be seen, and the server has undone the escapes.
    decoded = http.header("PATH_INFO").encode("latin-1", "replace")
    query_string = http.header("QUERY_STRING").encode("latin-1", "replace")
    return codec.percent_encode(decoded, codec.PATH), query_string or None
