"""The web resolver: a WSGI application that redirects names to their targets, and describes the names.

    /NAME                   a redirect to the name's target
    /NAME?info              its description, also as /NAME? and /NAME??; as JSON with ?json, in another format with
                            ?info=FORMAT (see name_request.py)
    /NAAN?info, /SHOULDER?info   what may be known of what names here begin with
    /                       a form to enter a name or words
    /.well-known/ark        the path under which ARKs are resolved
    /healthz, /readyz, /metrics   for monitors (see monitoring.py)

A bare `?` is only visible in the request line itself, which servers pass on in REQUEST_URI (Apache, nginx) or RAW_URI
(gunicorn).  granian does not: behind a proxy it is in a header.

A request about a name takes one read transaction of the minter that answers: resolving the name, checking who may
read, and gathering what a description needs.
"""

from __future__ import annotations

import json
from functools import partial
from hashlib import blake2b

from .. import codec, names
from ..commands.answers import json_ready
from ..description import bibliography, formats, gatherer, namespaces
from ..minter.identifiers import suggest_name
from ..minter.lifecycle import reader_in
from ..minter.policies import TARGETS
from ..names import targets
from ..names.citation import public_address
from ..names.repair import repaired
from ..resolution import FOUND, GONE, INVALID, NOT_FOUND, RESERVED, UNAVAILABLE, Outcome, outcome_in
from ..resolution.catalogue import Catalogue
from ..resolution.lookup import authority_elsewhere
from ..statistics.counting import ResolutionCounter, counted_name
from . import pages
from .accept import preferred
from .home import Home
from .monitoring import PAGES, Monitoring
from .name_request import CITATIONS, HTML, JSON, RDF, TEXT, VARY, NameRequest
from .rendering import renderer_of
from .request import Request, Trust
from .response import (
    PREFLIGHT,
    HttpError,
    Response,
    error_response,
    method_not_allowed,
    send,
)
from .robots import is_robot
from .writers import TextWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..description.facts import NameDescription
    from ..description.namespaces import NamespaceDescription
    from ..minter.folder import MinterFolder
    from ..store import Reader
    from .metrics import RequestMetrics
    from .request import Environ

    Headers = list[tuple[str, str]]

_METHODS = ("GET", "HEAD", "OPTIONS")
_WELL_KNOWN = b".well-known/ark"
# What is answered with a tombstone.
_ON_TOMBSTONES = (GONE, UNAVAILABLE)
_HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"
# What is public is so for the scripts of all sites.
_CORS = ("Access-Control-Allow-Origin", "*")
_EXPOSED = ("Access-Control-Expose-Headers", "ETag, Link, Location, THUMP-Status")


class Resolver:
    """Serves the names of all minters in a folder, or of one; `console` says whether the console is at the same site.
    """

    def __init__(self, minters: MinterFolder, *, trust: Trust | None = None,
                 metrics: RequestMetrics | None = None, challenge: str = "",
                 counter: ResolutionCounter | None = None, console: bool = False) -> None:
        self._catalogue = Catalogue(minters.for_resolving())
        self._renderer = renderer_of(minters)
        self._home = Home(minters, self._catalogue, self._renderer.branding.console == "yes" and console)
        self._metrics = metrics
        self._monitoring = Monitoring(self._catalogue, metrics)
        self._trust = trust or Trust()
        self._challenge = challenge
        self._counter = counter or ResolutionCounter()

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = Request(environ, self._trust)
        return send(self.respond(request), request.method, start_response)

    def respond(self, request: Request) -> Response:
        """The response to a request; every error becomes a response."""
        asked = NameRequest(request, self._renderer)
        try:
            response = self._respond(asked)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            response = error_response(request.environ, error, TextWriter(), self._challenge)
            if asked.prefers_html:
                response = pages.trouble_page(asked, response)
        response.headers += (_CORS, _EXPOSED)
        return response

    def _respond(self, request: NameRequest) -> Response:
        if request.method not in _METHODS:
            raise method_not_allowed(_METHODS, "names are for reading: use GET or HEAD")
        if request.method == "OPTIONS":
            return Response(204, "", b"", [("Allow", ", ".join(_METHODS)), *PREFLIGHT])
        if not request.path_name:
            return self._home.respond(request)
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
        if request.wants_description and knowledge.is_nothing and outcome.kind in (NOT_FOUND, INVALID):
            namespace = self._namespace(request)
            if namespace is not None:
                return _describe_namespace(request, namespace)
        if outcome.counted and knowledge.locations:
            self._count(request, outcome)
        return _respond_to_name(request, outcome, knowledge)

    def _namespace(self, request: NameRequest) -> NamespaceDescription | None:
        """What may be known of the shoulder or the NAAN that a name is; None if it is neither."""
        name, found = names.parse(request.name), []
        for entry in self._catalogue.entries():
            minter = entry.open()
            kind = namespaces.kind_of(minter, name)
            if kind and minter.read(lambda reader: request.http.policy_in(reader).view(request.http.user)) != TARGETS:
                found.append((kind, minter))
        if not found:
            return None
        # A minter without a prefix has its whole NAAN as its shoulder.
        kind, first = found[0]
        shoulders = [minter.read(partial(namespaces.gather_shoulder, minter)) for _, minter in found]
        return namespaces.describe_namespace(kind, first, shoulders)

    def _count(self, request: NameRequest, outcome: Outcome) -> None:
        """Count a redirect of a person, for the statistics of the minter."""
        name = counted_name(outcome)
        if (name is not None and outcome.minter is not None and request.method == "GET"
                and not request.wants_description and not request.prefers_statements
                and not is_robot(request.http.header("HTTP_USER_AGENT"))):
            self._counter.add(outcome.minter.dbdir, name)

    def _suggestion(self, request: NameRequest) -> bytes | None:
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

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is known of the name."""
        return self.facts is None and not self.is_known


def _gather(request: NameRequest, reader: Reader, outcome: Outcome) -> _Knowledge:
    """What the response to a request needs besides the outcome, which has a minter, of which this is a reader."""
    minter = outcome.minter
    if minter is None:
        return _Knowledge()
    locations = _locations(request, outcome)
    if locations and not request.wants_description:
        return _Knowledge(locations=locations)
    if outcome.by == "fallback" and not locations:
        return _Knowledge(outcome=Outcome(NOT_FOUND, minter, outcome.identifier, reason="nothing is known of this name",
                                          authority=authority_elsewhere(minter, names.parse(request.name))))
    view = request.http.policy_in(reader).view(request.http.user)
    outcome = outcome_in(view, minter, reader, request.name, outcome)
    if outcome.kind == RESERVED:
        return _Knowledge(outcome=outcome)
    reader = reader_in(view, reader)
    facts = None
    extent = gatherer.COMPLETE if request.media_type in RDF else gatherer.SUMMARY
    if request.wants_description or outcome.kind in (FOUND, *_ON_TOMBSTONES):
        facts = gatherer.gather_outcome(reader, outcome, request.name, extent, targets_only=view == TARGETS)
    elif view != TARGETS:
        facts = gatherer.gather_abstract(minter, reader, request.name, extent)
    if facts is not None or outcome.kind == FOUND:
        return _Knowledge(locations=locations, outcome=outcome, facts=facts)
    is_known = outcome.kind != INVALID and gatherer.known_identifier(minter, reader, request.name) is not None
    if is_known and request.prefers_html:
        facts = gatherer.gather_outcome(reader, outcome, request.name, extent, targets_only=view == TARGETS)
        return _Knowledge(outcome=outcome, facts=facts, is_known=True)
    suggestion = None if is_known else suggest_name(minter, reader, request.name)
    return _Knowledge(outcome=outcome, is_known=is_known, suggestion=suggestion)


# -- responses about names -------------------------------------------------------------------------------------------


def _respond_to_name(request: NameRequest, outcome: Outcome, knowledge: _Knowledge) -> Response:
    facts = knowledge.facts
    if facts is not None and knowledge.is_known:
        return _description(request, facts, status=404)
    if facts is not None and (request.wants_description or outcome.kind in _ON_TOMBSTONES or facts.abstract):
        return _cached(request, outcome, _description(request, facts))
    if outcome.kind == FOUND:
        if outcome.by != "fallback" and request.prefers_statements:
            # A client that wants statements about the thing instead of the thing is sent to the description.
            path = f"{request.path.decode()}?info"
            return _text_response(303, f"{path}\n".encode(), [("Location", path), VARY])
        if knowledge.locations:
            return _redirect(request, outcome, knowledge.locations)
        if facts is not None:
            return _description(request, facts)
    return _not_found(request, outcome, knowledge)


def _locations(request: NameRequest, outcome: Outcome) -> list[tuple[int, str]]:
    """Redirect codes and addresses of the targets to which a browser may be sent."""
    # A request for a description is passed on to the target, which may be another resolver.
    query = b"?" + (request.query or b"") if request.wants_description else b""
    # The resolver of another NAAN may be an address of this one: nobody is sent round in a circle.
    own = targets.site_of(request.origin) if outcome.by == "fallback" else b""
    located = [(target.code, targets.location(target.url + query)) for target in outcome.targets
               if not own or targets.site_of(target.url) != own]
    return [(code or targets.USUAL_CODE, location.decode()) for code, location in located if location]


def _redirect(request: NameRequest, outcome: Outcome, locations: list[tuple[int, str]]) -> Response:
    """To the first location; the description and the other locations are in the Link header."""
    (code, location), *others = locations
    links = [] if outcome.by == "fallback" else [f'<{request.path.decode()}?info>; rel="describedby"']
    links += [f'<{other}>; rel="duplicate"' for _, other in others]
    headers = [("Location", location), VARY, *([("Link", ", ".join(links))] if links else [])]
    response = _text_response(code, f"{location}\n".encode(), headers)
    response.cache = outcome.cache.decode() or response.cache
    return response


def _cached(request: NameRequest, outcome: Outcome, response: Response) -> Response:
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


def _description(request: NameRequest, facts: NameDescription, status: int = 200) -> Response:
    path = request.path_of(facts.name)
    address = codec.decode_text(request.origin + path)
    if not request.wants_description and status == 200:
        # What is unavailable may come back; 410 would tell others to forget the name.
        status = {"withdrawn": 410, "unavailable": 404}.get(facts.state, 300 if facts.abstract else 200)
    links = f'<{path.decode()}>; rel="cite-as"'
    headers = [VARY]
    if facts.changed:
        headers.append(("Last-Modified", facts.changed.strftime(_HTTP_DATE)))
    if request.wants_description:
        request.ensure_acceptable()
        links += f', <{path.decode()}>; rel="describes"'
        headers.append(("THUMP-Status", "0.6 200 OK"))
    headers.append(("Link", links))
    media_type = request.media_type
    if media_type == HTML:
        return pages.name_page(request, status, facts, address, headers)
    if media_type == JSON:
        return _json_response(status, formats.name_data(facts, address), headers)
    if media_type in RDF:
        from ..description import rdf

        return Response(status, _with_charset(media_type), rdf.name_document(facts, RDF[media_type]), headers)
    if media_type in CITATIONS:
        form = CITATIONS[media_type]
        if request.asked_format:
            headers.append(("Content-Disposition", f'inline; filename="citation.{form.extension}"'))
        citation = form.write(bibliography.work_of(facts, address)).rstrip("\n") + "\n"
        return Response(status, _with_charset(media_type), citation.encode(), headers)
    return _text_response(status, formats.citation_text(facts, address), headers)


def _describe_namespace(request: NameRequest, facts: NamespaceDescription) -> Response:
    """The description of a shoulder or a NAAN."""
    path = request.path_of(facts.name)
    address = codec.decode_text(request.origin + path)
    headers = [VARY, ("THUMP-Status", "0.6 200 OK"), ("Link", f'<{path.decode()}>; rel="describes"')]
    media_type = JSON if request.asked_format == JSON else preferred(request.accept, (TEXT, HTML, JSON))
    if media_type == HTML:
        return pages.namespace_page(request, facts, address, headers)
    if media_type == JSON:
        return _json_response(200, namespaces.namespace_data(facts, address), headers)
    return _text_response(200, namespaces.namespace_text(facts, address), headers)


def _with_charset(media_type: str) -> str:
    return media_type if media_type.startswith("application/") and "json" in media_type or "xml" in media_type \
        else f"{media_type}; charset=utf-8"


def _not_found(request: NameRequest, outcome: Outcome, knowledge: _Knowledge) -> Response:
    suggestion = knowledge.suggestion
    # A person is helped by a page, whatever was asked for.
    wants_data = request.asked_format and not request.http.wants_page
    media_type = JSON if wants_data else preferred(request.accept, (TEXT, HTML, JSON))
    if media_type == HTML:
        code = RESERVED if outcome.kind == RESERVED else _code(outcome, knowledge)
        elsewhere = b"" if outcome.minter else public_address(request.name)
        return pages.missing_page(request, names.parse(request.name).found, code, suggestion, outcome.authority,
                                  elsewhere)
    sentences = [f"{outcome.reason[:1].upper()}{outcome.reason[1:]}."]
    if outcome.kind == RESERVED:
        sentences.append("Ask again later.")
    elif knowledge.is_known:
        sentences = ["This name is known here, but nothing says where it leads. Add ?info to it to see more."]
    elif outcome.kind != INVALID or outcome.minter is None:
        sentences.append("Is it complete, and spelled as in your source?")
    authority = outcome.authority
    if authority is not None:
        sentences.insert(1, f"{authority.sentence[:1].upper()}{authority.sentence[1:]}.")
    message = " ".join(sentences)
    if media_type == JSON:
        error: dict[str, object] = {"kind": outcome.kind, "code": _code(outcome, knowledge), "message": message}
        if suggestion:
            error["meant"] = suggestion
        if authority is not None:
            error["authority"] = {"naan": authority.what, "who": authority.who, "where": authority.where or None}
        return _json_response(404, {"error": error}, [VARY])
    text = f"error: {message}\n".encode("utf-8", "surrogateescape")
    return _text_response(404, text + (b"meant: " + suggestion + b"\n" if suggestion else b""), [VARY])


def _code(outcome: Outcome, knowledge: _Knowledge) -> str:
    """Why a name leads nowhere, for programs."""
    if knowledge.is_known:
        return "no-target"
    if outcome.kind == INVALID:
        return "mistyped-name"
    return "unknown-name" if outcome.minter is not None else "unknown-authority"


def _text_response(status: int, body: bytes, headers: Headers | None = None) -> Response:
    return Response(status, f"{TEXT}; charset=utf-8", codec.indent_rare_breaks(body), headers or [])


def _json_response(status: int, data: dict[str, object], headers: Headers) -> Response:
    return Response(status, JSON, json.dumps(json_ready(data)).encode() + b"\n", headers)
