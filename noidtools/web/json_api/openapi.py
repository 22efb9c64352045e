"""Routes of the JSON API; the OpenAPI 3.1 document that is made from them and their types; and the same as a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ...minter.policies import READ
from ...version import __version__
from ..json_bodies import JSON
from ..rendering import Renderer
from ..request import Request
from ..response import Response
from . import types
from .problems import MEDIA_TYPE, ROOT

_ABOUT = """\
Identifiers are minted, described, found and resolved as JSON. An identifier is written with its label, and stands in a
path with its slashes. Times are RFC 3339 in UTC. A value that is not text in UTF-8 is an object with its base64. Errors
are application/problem+json, and their types end in their kinds. A request that changes something can carry an
Idempotency-Key and is then done once, however often it is sent within a day.
"""
_PARTS = {
    "id": "an identifier, in any spelling", "name": "the name of a minter",
}
_REASONS = {
    400: "the request cannot be understood", 401: "a login or a token is needed", 403: "you may not do this",
    404: "it is not here", 409: "it conflicts with what is there", 410: "it was withdrawn, or none is left",
    411: "the body has no Content-Length", 412: "it was changed since you read it",
    413: "it is more than one request may ask for",
    415: "the body is not JSON", 422: "the body does not fit its description",
    503: "try again in a few seconds",
}
# What a response says that is not a refusal.
_DONE = {200: "done", 201: "made", 304: "it was not changed since"}


@dataclass(frozen=True, slots=True)
class Route:
    """A method at a path: what it does, what it takes, and what it answers.

    path      below ROOT; `{id}` stands for a name with its slashes, `{name}` for one part of the path
    run       the method of JsonApi that responds
    body      the type of the body, None if there is none
    query     the type of the parameters in the query, None if there are none
    answers   the types of the answers by status, None for one without body
    refusals  the statuses of refusals
    needs     the access class that the sender must be admitted to
    """

    method: str
    path: str
    summary: str
    run: Callable[[Any, Any], Response]
    answers: dict[int, Any]
    body: Any = None
    query: Any = None
    refusals: tuple[int, ...] = (400, 401, 403, 404)
    needs: str = READ

    def matches(self, path: str) -> re.Match[str] | None:
        pattern = re.escape(self.path).replace(r"\{id\}", "(?P<id>.+)").replace(r"\{name\}", "(?P<name>[^/]+)")
        return re.fullmatch(pattern, path, re.DOTALL)


def document(routes: tuple[Route, ...]) -> bytes:
    """The document as JSON."""
    kinds = [kind for route in routes for kind in (route.body, *route.answers.values()) if _is_struct(kind)]
    unique = list(dict.fromkeys([*kinds, types.Problem]))
    schemas, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    refs = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return msgspec.json.format(msgspec.json.encode({
        "openapi": "3.1.0",
        "info": {"title": "noidtools", "version": __version__, "description": _ABOUT},
        "servers": [{"url": ROOT}],
        "security": [{"token": []}, {"password": []}, {}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer"}, "password": {"type": "http", "scheme": "basic"}}},
    })) + b"\n"


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _operation(route: Route, refs: dict[Any, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kind in route.answers.items():
        responses[str(status)] = {"description": _DONE[status]}
        if kind is not None:
            schema = refs.get(kind, {"type": "object"})
            responses[str(status)]["content"] = {JSON: {"schema": schema}}
    for status in route.refusals:
        responses[str(status)] = {"description": _REASONS[status],
                                  "content": {MEDIA_TYPE: {"schema": refs[types.Problem]}}}
    found: dict[str, Any] = {
        "operationId": _operation_id(route), "summary": route.summary,
        "description": f"Access class: {route.needs}.", "parameters": _parameters(route), "responses": responses,
    }
    if route.body is not None:
        kinds = [JSON, "application/merge-patch+json"] if route.method == "PATCH" else [JSON]
        found["requestBody"] = {"required": True,
                                "content": {kind: {"schema": refs[route.body]} for kind in kinds}}
    return found


def _operation_id(route: Route) -> str:
    words = [word for word in route.path.replace(".", "/").split("/") if word and not word.startswith("{")]
    return "-".join([route.method.lower(), *words, *(["one"] if route.path.endswith("}") else [])])


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "description": about, "schema": {"type": "string"}}
        for name, about in _PARTS.items() if f"{{{name}}}" in route.path
    ]
    if route.query is not None:
        properties = msgspec.json.schema(route.query)["$defs"][route.query.__name__]["properties"]
        found += [{"name": name, "in": "query", "required": False, "schema": schema}
                  for name, schema in properties.items()]
    if route.query is types.SearchParameters:
        found.append({"name": "elements", "in": "query", "required": False, "style": "form", "explode": True,
                      "description": "words in the value of an element, as in element.title=letters", "schema": {
                          "type": "object", "patternProperties": {"^element[.]\\w+$": {"type": "string"}},
                          "additionalProperties": False}})
    if route.method != "GET":
        found.append({"name": "Idempotency-Key", "in": "header", "required": False,
                      "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}})
    if "{id}" in route.path and route.method != "GET":
        found.append({"name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"}})
    if route.method == "PUT":
        found.append({"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"},
                      "description": "* to make a new identifier only"})
    return found


def page(routes: tuple[Route, ...], renderer: Renderer, request: Request) -> Response:
    """The document as a page for people."""
    described = [(route, _parameters(route)) for route in routes]
    return renderer.page(request, "api.html", {"root": ROOT, "about": _ABOUT, "described": described})
