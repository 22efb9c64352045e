"""Responses as values, the function that sends them, and the HTTP status of every error."""

from __future__ import annotations

from ..console import OccasionalLog
from ..errors import (
    BusyError,
    LoginNeededError,
    NoidError,
    NoMinterError,
    OutcomeUnknownError,
    StoreError,
    TokenNeededError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .writers import AnswerWriter

_STATUS_LINES = {status: f"{status} {reason}" for status, reason in {
    200: "OK", 201: "Created", 204: "No Content", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found",
    303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
    415: "Unsupported Media Type", 422: "Unprocessable Content", 500: "Internal Server Error", 501: "Not Implemented",
    503: "Service Unavailable",
}.items()}

# What scripts of other sites may do with what is public: read it.
PREFLIGHT = [("Access-Control-Allow-Methods", "GET, HEAD"), ("Access-Control-Allow-Headers", "*"),
             ("Access-Control-Max-Age", "86400")]
# A browser must not interpret a bound value as a page or a script.
_NOSNIFF = ("X-Content-Type-Options", "nosniff")


class Response:
    """A response.  `body` is either bytes, or an iterable that produces its parts as they are sent; `cache` is its
    Cache-Control header."""

    __slots__ = ("status", "content_type", "body", "headers", "cache")

    def __init__(self, status: int, content_type: str, body: bytes | Iterable[bytes],
                 headers: Iterable[tuple[str, str]] = (), cache: str = "no-store") -> None:
        self.status = status
        self.content_type = content_type
        self.body = body
        self.headers = list(headers)
        self.cache = cache


def send(response: Response, method: str, start_response: Any) -> Iterable[bytes]:
    """Send a response; the body is left out for HEAD.  This is the only function that calls start_response."""
    headers = [("Cache-Control", response.cache), _NOSNIFF, *response.headers]
    body = response.body
    if response.status in (204, 304):
        body = []
    else:
        headers = [("Content-Type", response.content_type), *headers]
    if isinstance(body, bytes):
        headers.append(("Content-Length", str(len(body))))
        body = [body]
    start_response(_STATUS_LINES[response.status], headers)
    if method != "HEAD":
        return body
    if hasattr(body, "close"):
        body.close()
    return []


# -- errors ----------------------------------------------------------------------------------------------------------

_STATUS_OF = {
    "usage": 400, "invalid": 400, "not found": 404, "gone": 410, "no minter": 404, "conflict": 409, "forbidden": 403,
    "exhausted": 410, "busy": 503, "store": 503, "not installed": 501,
    "outcome unknown": 500,  # not 503, at which many clients send a request again
}
_RETRY_AFTER_SECONDS = "2"
# For those who can only send a token.
_TOKENS = 'Bearer realm="noid", Basic realm="noid"'


class HttpError(NoidError):
    """An error with an HTTP status of its own."""

    def __init__(self, status: int, kind: str, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = list(headers)


def method_not_allowed(allowed: tuple[str, ...], message: str) -> HttpError:
    """The error for an HTTP method that is not allowed."""
    return HttpError(405, "method", message, ("Allow", ", ".join(allowed)))


def too_large(limit: int) -> HttpError:
    """The error for a body that is larger than `limit` bytes."""
    return HttpError(413, "too large", f"the body may have at most {limit} bytes: send it in several requests")


def error_response(environ: dict[str, Any], error: Exception, writer: AnswerWriter, challenge: str) -> Response:
    """The response to a request that failed."""
    refusal = refusal_of(environ, error, challenge)
    text = writer.opening() + writer.refusal(refusal.kind, refusal.message)
    text += writer.closing(spaced=False, failed=False)
    return Response(refusal.status, writer.content_type, text, refusal.headers)


def refusal_of(environ: dict[str, Any], error: Exception, challenge: str) -> HttpError:
    """An error of a request as it is answered; it is logged, if there is something to be done about it."""
    log_error(environ, error)
    return http_error(error, challenge)


def internal_error() -> HttpError:
    """The error for a fault of ours."""
    return HttpError(500, "fault", "something went wrong here: the server's log says what")


def http_error(error: Exception, challenge: str) -> HttpError:
    """An error with its HTTP status; one that is not a refusal is a fault of ours.  `challenge` is the WWW-Authenticate
    header; where nobody can log in it is empty, and a token is asked for."""
    if isinstance(error, HttpError):
        return error
    if not isinstance(error, NoidError):
        return internal_error()
    if isinstance(error, TokenNeededError):
        # No user may do it, so a browser is not to ask for a password.
        return HttpError(401, "login", error.message, ("WWW-Authenticate", 'Bearer realm="noid"'))
    if isinstance(error, LoginNeededError):
        advice = "this server has no login, so send a token of 'noid token new'"
        message = error.message if challenge else error.message_with(advice)
        return HttpError(401, "login", message, ("WWW-Authenticate", challenge or _TOKENS))
    headers = [("Retry-After", _RETRY_AFTER_SECONDS)] if isinstance(error, BusyError) else []
    return HttpError(_STATUS_OF.get(error.kind, 500), error.kind, public_message(error), *headers)


def public_message(error: NoidError) -> str:
    """The message for a web client, which does not learn paths on the server or why its database fails."""
    if isinstance(error, NoMinterError):
        return "there is no minter here"
    if isinstance(error, BusyError):
        return "the minter is busy, or its database does not answer: try again in a few seconds"
    if isinstance(error, OutcomeUnknownError):
        return ("it is not known whether this was done, because the minter's database was lost during the commit: see "
                "what is there before you send it again")
    if isinstance(error, StoreError):
        return "the minter's database cannot serve at the moment: the server's log says why"
    return error.message


def log_error(environ: dict[str, Any], error: Exception) -> None:
    """Write one line to the server's log, for errors that an operator can do something about; printable ASCII only."""
    if isinstance(error, (BusyError, StoreError)):
        if not _log.is_due(error.message):
            return
        what = error.message
    elif isinstance(error, NoidError):
        return
    else:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" in {place.tb_frame.f_code.co_filename}, line {place.tb_lineno}" if place else ""
        what = f"fault{where}: {type(error).__name__}: {error}"
    line = what.encode("ascii", "backslashreplace").translate(_PRINTABLE).decode()
    environ["wsgi.errors"].write(f"noid: {line}\n")


_log = OccasionalLog()
_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else 0x3F for byte in range(256))
