"""The JSON API as a part of the site: its routes, what each takes and answers, and how requests are read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec

from ...codec import encode_text
from ...dates import first_second, last_second
from ...errors import NotFoundError, UsageError
from ...minter.policies import ADMIN, BIND, MINT, READ
from ..access import MinterAccess, Minters, whole_body
from ..json_bodies import DECODE_ERRORS, JSON, json_response, not_json
from ..rendering import renderer_of
from ..request import Request
from ..response import PREFLIGHT, HttpError, Response, method_not_allowed
from . import openapi, types
from .faults import body_fault, parameter_fault
from .openapi import Route
from .problems import ROOT, problem_response
from .resources import Resources, etag, needed_classes

# Scripts of other sites may read; they send no credentials with it.
_CORS = (("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", "ETag, Link, Location"))


@dataclass(slots=True)
class Call:
    """A request at a route: the parts of its path, its parameters and its body, read and checked."""

    request: Request
    origin: str
    parts: dict[str, str]
    query: Any = None
    elements: dict[str, str] = field(default_factory=dict)
    body: Any = None
    raw_body: bytes = b""

    @property
    def match(self) -> str | None:
        # An empty one fits nothing; granian makes a header that is not ASCII an empty one.
        return self.request.environ.get("HTTP_IF_MATCH")


class JsonApi:
    """Serves the JSON API over all minters of a site."""

    def __init__(self, minters: Minters, challenge: str) -> None:
        self._minters = minters
        self._challenge = challenge

    def claims(self, request: Request) -> bool:
        """Whether a request is of this interface."""
        return f"{request.path}/".startswith(f"{ROOT}/")

    def respond(self, request: Request) -> Response:
        """The response to a request; every error becomes a problem."""
        try:
            response = self._respond(request)
        except Exception as error:  # noqa: BLE001 - every error has an HTTP status
            response = problem_response(request.environ, error, self._challenge)
        if request.method in ("GET", "HEAD", "OPTIONS"):
            response.headers += _CORS
        return response

    def _respond(self, request: Request) -> Response:
        path = request.path[len(ROOT) :].rstrip("/") or "/"
        found = [(route, match) for route in _ROUTES if (match := route.matches(path))]
        if not found:
            raise NotFoundError(f"there is nothing at {ROOT}{path[:100]}: {ROOT}/openapi.json lists every address")
        # An action such as /publish behind a name is no part of the name.
        longest = max(len(route.path) for route, _ in found)
        found = [(route, match) for route, match in found if len(route.path) == longest]
        methods = {route.method for route, _ in found}
        allowed = tuple(sorted(methods | ({"HEAD"} if "GET" in methods else set()) | {"OPTIONS"}))
        if request.method == "OPTIONS":
            return Response(204, "text/plain", b"", [("Allow", ", ".join(allowed)), *PREFLIGHT])
        wanted = "GET" if request.method == "HEAD" else request.method
        for route, match in found:
            if route.method == wanted:
                return route.run(self, self._read(request, route, match))
        raise method_not_allowed(allowed, f"{request.method[:20]!a} is not allowed here: use {', '.join(allowed)}")

    # -- reading requests ------------------------------------------------------------------------------

    def _read(self, request: Request, route: Route, match: re.Match[str]) -> Call:
        call = Call(request, request.origin, match.groupdict())
        parameters = _parameters(request)
        if route.query is types.SearchParameters:
            call.elements = {name.removeprefix("element."): parameters.pop(name)
                             for name in list(parameters) if name.startswith("element.")}
        known = {item.encode_name for item in msgspec.structs.fields(route.query)} if route.query else set()
        strange = next((name for name in parameters if name not in known), None)
        if strange is not None:
            raise UsageError(f"there is no parameter {strange[:60]!a} here" + (
                f": known are {', '.join(sorted(known))}" if known else ""))
        if route.query:
            try:
                call.query = msgspec.convert(parameters, route.query, strict=False)
            except msgspec.ValidationError:
                raise HttpError(422, "invalid", parameter_fault(route.query, parameters)) from None
        # An action without a body may be sent an empty object.
        kind = route.body or (types.Nothing if request.header("CONTENT_LENGTH") not in ("", "0") else None)
        if kind and route.method != "GET":
            call.raw_body = _body(request)
            try:
                call.body = msgspec.json.decode(call.raw_body, type=kind)
            except msgspec.ValidationError as error:
                raise HttpError(422, "invalid", body_fault(kind, call.raw_body, error)) from None
            except DECODE_ERRORS as error:
                raise not_json(error) from None
        return call

    def _named(self, call: Call) -> Resources:
        return self._resources(call, self._minters.named(call.request, call.parts["name"]))

    def _of_id(self, call: Call) -> Resources:
        return self._resources(call, self._minters.of_name(call.request, encode_text(call.parts["id"])))

    def _resources(self, call: Call, access: MinterAccess) -> Resources:
        access.ensure("reading", READ)
        return Resources(access, call.origin)

    # -- routes ----------------------------------------------------------------------------------------

    def list_minters(self, call: Call) -> Response:
        found = self._minters.readable(call.request)
        return json_response(types.MinterList([Resources(access, call.origin).minter() for access in found]))

    def show_minter(self, call: Call) -> Response:
        return json_response(self._named(call).minter())

    def mint(self, call: Call) -> Response:
        resources = self._named(call)

        def work(api: Any) -> Response:
            made = resources.mint(api, call.body)
            headers = [("Location", _path(made[0].id))] if len(made) == 1 else []
            return json_response(types.Minted(made), 201, headers)

        needed = (MINT, BIND) if call.body.elements else (MINT,)
        return resources.access.change("minting", needed, work, call.raw_body)

    def show(self, call: Call) -> Response:
        resources = self._of_id(call)
        found = resources.identifier(resources.access.python(), call.parts["id"])
        tag = etag(found)
        if tag in call.request.header("HTTP_IF_NONE_MATCH"):
            return Response(304, JSON, b"", [("ETag", tag)])
        return json_response(found, 200, [("ETag", tag)])

    def put(self, call: Call) -> Response:
        resources, name = self._of_id(call), call.parts["id"]

        def work(api: Any) -> Response:
            found, is_new = resources.put(
                api, name, call.body, call.match, only_new=call.request.header("HTTP_IF_NONE_MATCH").strip() == "*")
            headers = [("ETag", etag(found)), *([("Location", _path(found.id))] if is_new else [])]
            return json_response(found, 201 if is_new else 200, headers)

        return resources.access.change("binding", (BIND,), work, call.raw_body)

    def patch(self, call: Call) -> Response:
        resources, name = self._of_id(call), call.parts["id"]

        def work(api: Any) -> Response:
            found = resources.patch(api, name, call.body.elements, call.match)
            return json_response(found, 200, [("ETag", etag(found))])

        return resources.access.change("binding", (BIND,), work, call.raw_body)

    def history(self, call: Call) -> Response:
        return json_response(self._of_id(call).history(call.parts["id"]))

    def relations(self, call: Call) -> Response:
        return json_response(self._of_id(call).relations(call.parts["id"]))

    def citation(self, call: Call) -> Response:
        return json_response(self._of_id(call).citation(call.parts["id"]))

    def resolve(self, call: Call) -> Response:
        return json_response(self._of_id(call).resolved(call.parts["id"], explain=call.query.explain))

    def search(self, call: Call) -> Response:
        asked = call.query
        found, following = self._minters.find(
            call.request, asked.minter, limit=asked.limit, cursor=asked.cursor, words=asked.q, elements=call.elements,
            target=asked.target, host=asked.host, prefix=asked.prefix, state=asked.state or "",
            changed_since=first_second(asked.changed_since) if asked.changed_since else b"",
            changed_until=last_second(asked.changed_until) if asked.changed_until else b"")
        items = [Resources(access, call.origin).found(name) for access, name in found]
        headers = []
        if following:
            pairs = [(key, value) for key, value in parse_qsl(call.request.header("QUERY_STRING")) if key != "cursor"]
            query = "&".join(f"{quote(key)}={quote(value)}" for key, value in [*pairs, ("cursor", following)])
            headers = [("Link", f'<{ROOT}/identifiers?{query}>; rel="next"')]
        return json_response(types.IdentifierPage(items, following or msgspec.UNSET), 200, headers)

    def batch(self, call: Call) -> Response:
        resources = self._resources(call, self._minters.named(call.request, call.body.minter))

        def work(api: Any) -> Response:
            return json_response(resources.run_batch(api, call.body, self._challenge))

        return resources.access.change("a batch", needed_classes(call.body.operations), work, call.raw_body)

    def openapi(self, call: Call) -> Response:
        return Response(200, JSON, _document(), [])

    def page(self, call: Call) -> Response:
        return openapi.page(_ROUTES, renderer_of(self._minters.folder), call.request)


def _state_route(action: str, summary: str, body: Any, needs: str) -> Route:
    def run(api: JsonApi, call: Call) -> Response:
        resources, name = api._of_id(call), call.parts["id"]
        reason, successor = getattr(call.body, "reason", ""), getattr(call.body, "successor", "")

        def work(python: Any) -> Response:
            found = resources.change_state(python, name, action, reason, successor, call.match)
            return json_response(found, 200, [("ETag", etag(found))])

        return resources.access.change(action, (needs,), work, call.raw_body)

    return Route("POST", f"/identifiers/{{id}}/{action}", summary, run, {200: types.Identifier}, body=body,
                 refusals=_WRITING, needs=needs)


_WRITING = (400, 401, 403, 404, 409, 410, 411, 412, 413, 415, 422, 503)
_SEARCHING = (400, 401, 403, 404, 422, 503)
_NAMED = "/identifiers/{id}"
_ROUTES = (
    Route("GET", "/minters", "The minters that you may read", JsonApi.list_minters, {200: types.MinterList}),
    Route("GET", "/minters/{name}", "One minter", JsonApi.show_minter, {200: types.Minter}),
    Route("POST", "/minters/{name}/identifiers", "Mint identifiers", JsonApi.mint, {201: types.Minted},
          body=types.NewIdentifiers, refusals=_WRITING, needs=MINT),
    Route("GET", "/identifiers", "Find identifiers", JsonApi.search, {200: types.IdentifierPage},
          query=types.SearchParameters, refusals=_SEARCHING),
    Route("GET", _NAMED, "An identifier and what is bound to it", JsonApi.show, {200: types.Identifier, 304: None}),
    Route("PUT", _NAMED, "Bind exactly these elements", JsonApi.put, {200: types.Identifier, 201: types.Identifier},
          body=types.Elements, refusals=_WRITING, needs=BIND),
    Route("PATCH", _NAMED, "Bind or remove some elements", JsonApi.patch, {200: types.Identifier},
          body=types.ElementsPatch, refusals=_WRITING, needs=BIND),
    _state_route("publish", "Let the public resolve it", None, BIND),
    _state_route("reserve", "Keep it from the public", None, BIND),
    _state_route("unavailable", "Show a tombstone until it is published again", types.Explanation, BIND),
    _state_route("withdraw", "Take it out of use for good", types.WithdrawalReason, ADMIN),
    Route("GET", f"{_NAMED}/history", "What happened to an identifier", JsonApi.history, {200: types.History}),
    Route("GET", f"{_NAMED}/relations", "How it is related to other names", JsonApi.relations,
          {200: types.Relations}),
    Route("GET", f"{_NAMED}/citation", "Ways to write it", JsonApi.citation, {200: types.Citation}),
    Route("GET", "/resolve/{id}", "Where a name leads, and why", JsonApi.resolve, {200: types.Resolved},
          query=types.ResolveParameters),
    Route("POST", "/batch", "Many operations in one minter", JsonApi.batch, {200: types.BatchResult},
          body=types.Batch, refusals=_WRITING, needs="mint, bind or admin, as its operations do"),
    Route("GET", "/openapi.json", "This document", JsonApi.openapi, {200: dict[str, Any]}, refusals=()),
    Route("GET", "/", "This document as a page", JsonApi.page, {200: None}, refusals=()),
)


@cache
def _document() -> bytes:
    return openapi.document(_ROUTES)


# -- requests and answers --------------------------------------------------------------------------------------------


def _parameters(request: Request) -> dict[str, str]:
    try:
        pairs = parse_qsl(request.header("QUERY_STRING"), keep_blank_values=True, max_num_fields=100, errors="strict")
    except ValueError:
        raise UsageError("the query cannot be read: it has up to 100 parameters, percent-encoded in UTF-8") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UsageError("a parameter is given twice: give each once")
    return found


def _body(request: Request) -> bytes:
    if request.body_type not in (JSON, "application/merge-patch+json") or request.body_charset not in ("", "utf-8"):
        raise HttpError(415, "media type", f"the body is JSON in UTF-8: send it with Content-Type: {JSON}")
    return whole_body(request)


def _path(name: str) -> str:
    return f"{ROOT}/identifiers/{quote(name, safe='/:')}"
