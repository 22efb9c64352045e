"""Refusals of the JSON API, as RFC 9457 has them."""

from __future__ import annotations

from ..json_bodies import json_response, json_text
from ..response import HttpError, Response, http_error, refusal_of
from .types import Problem

MEDIA_TYPE = "application/problem+json"
# Where the API is, and what the type of a problem begins with; its kind follows.
ROOT = "/api/v1"
TYPES = f"{ROOT}/problems/"
_TITLES = {
    "usage": "The request cannot be understood", "invalid": "A value is not valid", "not found": "Not found",
    "gone": "Withdrawn", "no minter": "No such minter", "conflict": "Conflict", "forbidden": "Not allowed",
    "login": "A login is needed", "exhausted": "No identifier is left", "busy": "Busy", "store": "Not available",
    "length": "The length of the body is missing",
    "precondition": "It was changed meanwhile", "media type": "Media type not supported",
}


def problem_of(error: Exception, challenge: str) -> tuple[Problem, HttpError]:
    """A refusal as it is answered, and with its headers."""
    refusal = http_error(error, challenge)
    kind = refusal.kind.replace(" ", "-")
    title = _TITLES.get(refusal.kind, refusal.kind.capitalize())
    return Problem(TYPES + kind, title, refusal.status, json_text(refusal.message)), refusal


def problem_response(environ: dict[str, object], error: Exception, challenge: str) -> Response:
    """The response to a request that was refused, or that failed."""
    problem, refusal = problem_of(refusal_of(environ, error, challenge), challenge)
    return json_response(problem, problem.status, refusal.headers, MEDIA_TYPE)
