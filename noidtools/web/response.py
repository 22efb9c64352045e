"""Responses as values, the function that sends them, and the HTTP status of every error."""

from __future__ import annotations

from ..console import OccasionalLog
from ..errors import BusyError, LoginNeededError, NoidError, NoMinterError, OutcomeUnknownError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    from .writers import JsonWriter, TextWriter
    AnswerWriter: TypeAlias = TextWriter | JsonWriter

_STATUS_LINES = {status: f"{status} {reason}" for status, reason in {
    200: "OK", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 409: "Conflict", 410: "Gone",
    411: "Length Required", 413: "Content Too Large", 415: "Unsupported Media Type", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
}.items()}

# Answers must not be cached, and a browser must not interpret a bound value as a page or a script.
_ALWAYS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))


class Response:
    """A response.  `body` is either bytes, or an iterable that produces its parts as they are sent."""

    __slots__ = ("status", "content_type", "body", "headers")

    def __init__(self, status: int, content_type: str, body: bytes | Iterable[bytes],
                 headers: Iterable[tuple[str, str]] = ()) -> None:
        self.status = status
        self.content_type = content_type
        self.body = body
        self.headers = list(headers)


def send(response: Response, method: str, start_response: Any) -> Iterable[bytes]:
    """Send a response; the body is left out for HEAD.  This is the only function that calls start_response."""
    headers = [("Content-Type", response.content_type), *_ALWAYS, *response.headers]
    body = response.body
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
    log_error(environ, error)
    refusal = http_error(error, challenge) if isinstance(error, NoidError) else _internal_error()
    text = writer.opening() + writer.refusal(refusal.kind, refusal.message)
    text += writer.closing(spaced=False, failed=False)
    return Response(refusal.status, writer.content_type, text, refusal.headers)


def _internal_error() -> HttpError:
    return HttpError(500, "fault", "something went wrong here: the server's log says what")


def http_error(error: NoidError, challenge: str) -> HttpError:
    """An error with its HTTP status.  `challenge` is the WWW-Authenticate header, empty where nobody can log in."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, LoginNeededError):
        if challenge:
            return HttpError(401, "login", error.message, ("WWW-Authenticate", challenge))
        advice = "this server has no login, so send a token of 'noid token new'"
        return HttpError(403, error.kind, error.sentence(advice))
    headers = [("Retry-After", _RETRY_AFTER_SECONDS)] if isinstance(error, BusyError) else []
    return HttpError(_STATUS_OF.get(error.kind, 500), error.kind, public_message(error), *headers)


def public_message(error: NoidError) -> str:
    """The message for a web client, which does not learn paths on the server or why its database fails."""
    if isinstance(error, NoMinterError):
        return "there is no minter here"
    if isinstance(error, BusyError):
        return "others keep the minter busy: try again in a few seconds"
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
