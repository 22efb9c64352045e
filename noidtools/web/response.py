"""Responses as values, the function that sends them, and the HTTP status of every error.

Also the media type that a client prefers, and answers written as ANVL text and as JSON.
"""

from __future__ import annotations

from ..codec import indent_rare_breaks
from ..commands.answers import Fields, ItemValues, Values, anvl, json_ready, mark_break
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
    from typing import Any, TypeAlias

    from ..commands.answers import Record
    from ..commands.bulk import BulkResult

    AnswerWriter: TypeAlias = "TextWriter | JsonWriter"

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

# -- the Accept header (RFC 9110, 12.5.1) ----------------------------------------------------------------------------


def prefers_json(accept: str) -> bool:
    """Whether JSON is named in the header and has at least the quality of text."""
    if not names_any(accept, ("application/json",)):
        return False
    ranges = _media_ranges(accept)
    quality = _quality(ranges, "application/json")
    return quality > 0 and quality >= _quality(ranges, "text/plain")


def preferred(accept: str, offered: tuple[str, ...]) -> str:
    """The offered media type of the highest quality: the earlier of several, the first where the client takes none."""
    ranges = _media_ranges(accept or "*/*")
    return max(offered, key=lambda name: _quality(ranges, name))


def accepts_any(accept: str, offered: tuple[str, ...]) -> bool:
    """Whether the client takes one of the offered media types."""
    ranges = _media_ranges(accept or "*/*")
    return any(_quality(ranges, name) > 0 for name in offered)


def names_any(accept: str, media_types: Iterable[str]) -> bool:
    """Whether one of the media types stands in the header; a range such as `*/*` names none."""
    named = {part.partition(";")[0].strip() for part in accept.lower().split(",")}
    return not named.isdisjoint(media_types)


def preferred_language(accept: str, offered: tuple[str, ...], default: str) -> str:
    """The offered language that an Accept-Language header prefers, by their main subtags; the default if it names none.
    """
    qualities: dict[str, float] = {}
    for name, quality in _media_ranges(accept):
        main = name.partition("-")[0]
        qualities[main] = max(quality, qualities.get(main, 0.0))
    best = max(offered, key=lambda name: (qualities.get(name, 0.0), name == default))
    return best if qualities.get(best, 0.0) > 0 else default


def _media_ranges(accept: str) -> list[tuple[str, float]]:
    return [_media_range(part) for part in accept.lower().split(",")]


def _media_range(part: str) -> tuple[str, float]:
    name, *parameters = part.split(";")
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                quality = min(1.0, max(0.0, float(value)))
            except ValueError:
                quality = 0.0
    return name.strip(), quality


def _quality(ranges: list[tuple[str, float]], wanted: str) -> float:
    """The quality of a media type; the most specific range that covers it decides."""
    for name in (wanted, wanted.partition("/")[0] + "/*", "*/*"):
        found = [quality for known, quality in ranges if known == name]
        if found:
            return max(found)
    return 0.0

# -- answers as text and JSON ----------------------------------------------------------------------------------------


class BulkTally:
    """How many commands a bulk run had, how many of them were refused or failed, and how many answers were stored ones
    of an earlier request."""

    __slots__ = ("commands", "refused", "replayed")

    def __init__(self) -> None:
        self.commands = self.refused = self.replayed = 0

    def count(self, result: BulkResult) -> None:
        """Count a result, unless another part of the same answer follows."""
        if not result.more:
            self.commands += 1
            self.refused += result.failed
            self.replayed += result.replayed


class TextWriter:
    """Labelled lines.  A line break inside a value is followed by a space, so that a line that begins with a label is
    never part of a value."""

    content_type = "text/plain; charset=utf-8"

    def opening(self) -> bytes:
        return b""

    def record(self, record: Record) -> bytes:
        return indent_rare_breaks(_indent_returns(anvl(record, indent=True)))

    def refusal(self, kind: str, message: str) -> bytes:
        return self.record(Fields(("error", message.encode("utf-8", "surrogateescape"))))

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        return b"\n" if spaced else b""

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b""

    def result(self, result: BulkResult, message: str) -> bytes:
        """One command's answer, or a part of it, and an empty line at its end."""
        out = [_within_bulk(record, self.record(record)) for record in result.records]
        if result.error is not None:
            out.append(self.refusal(result.error.kind, message))
        if not result.more:
            out.append(b"\n")
        return b"".join(out)

    def bulk_closing(self, tally: BulkTally) -> bytes:
        done = tally.commands - tally.refused
        replayed = b", %d replayed" % tally.replayed if tally.replayed else b""
        return b"bulk: %d commands, %d done, %d refused%b\n" % (tally.commands, done, tally.refused, replayed)


def _indent_returns(text: bytes) -> bytes:
    # Some readers also end a line at a carriage return.
    return text.replace(b"\r", b"\r ").replace(b"\r \n", b"\r\n") if b"\r" in text else text


def _within_bulk(record: Record, text: bytes) -> bytes:
    """The text of a record in a bulk answer, where an empty line ends the answer to a command.

    A space is put before a bare value that looks like a labelled line or the end of an answer, and into the blank lines
    that separate values.
    """
    if isinstance(record, ItemValues):
        lines = text.splitlines(keepends=True)
        return b"".join(line if line[:1] == b" " else _escape_bare_value(line) for line in lines)
    return _escape_bare_value(text) if isinstance(record, Values) else mark_break(record, text)


def _escape_bare_value(text: bytes) -> bytes:
    """A bare value, with a space in front if it looks like a labelled line or the end of an answer."""
    # Up to the first line break of any kind.
    first = "".join(text.partition(b"\n")[0].decode("utf-8", "surrogateescape").splitlines()[:1])
    head, colon, tail = first.partition(":")
    labelled = bool(colon) and " " not in head and (not tail or tail[0] in " \t")
    return b" " + text if labelled or text[:1] in b" \t\r\n" else text


class FileWriter(TextWriter):
    """A file, whose bytes are written as they are.  An error in its middle is a line at its end."""

    def __init__(self, media_type: str) -> None:
        self.content_type = media_type

    def record(self, record: Record) -> bytes:
        return anvl(record)


class JsonWriter:
    """One object.  Values are exact: bytes that are not UTF-8 are an object with their base64."""

    content_type = "application/json"

    def __init__(self) -> None:
        self._between = b""
        self._error = b""
        self._open_line = 0
        self._first = True

    def _data(self, record: Record) -> bytes:
        parts = [_dumps(json_ready(data)).encode() for data in record.data()]
        if not parts:
            return b""
        text = self._between + b",\n  ".join(parts)
        self._between = b",\n  "
        return text

    def opening(self) -> bytes:
        self._between = b"\n  "
        return b'{"records": ['

    def record(self, record: Record) -> bytes:
        return self._data(record)

    def refusal(self, kind: str, message: str) -> bytes:
        """Called after the records; `closing` must follow."""
        self._error = _dumps({"kind": kind, "message": message}).encode()
        return b""

    def closing(self, *, spaced: bool, failed: bool) -> bytes:
        error = b', "error": ' + self._error if self._error else b""
        return b"]" + error + (b', "failed": true' if failed else b"") + b"}\n"

    # -- bulk ------------------------------------------------------------------------------------------

    def bulk_opening(self) -> bytes:
        return b'{"results": ['

    def result(self, result: BulkResult, message: str) -> bytes:
        out = []
        if self._open_line != result.line:
            out.append(b"\n" if self._first else b",\n")
            out.append(b' {"line": %d, "records": [' % result.line)
            self._open_line, self._first, self._between = result.line, False, b"\n  "
        out += [self._data(record) for record in result.records]
        if not result.more:
            out.append(b"]")
            if result.error is not None:
                error = {"kind": result.error.kind, "message": message}
                out.append(b', "error": ' + _dumps(error).encode())
            elif result.failed:
                out.append(b', "failed": true')
            if result.replayed:
                out.append(b', "replayed": true')
            out.append(b"}")
            self._open_line = 0
        return b"".join(out)

    def bulk_closing(self, tally: BulkTally) -> bytes:
        totals = {"commands": tally.commands, "done": tally.commands - tally.refused, "refused": tally.refused}
        if tally.replayed:
            totals["replayed"] = tally.replayed
        return b'\n], "bulk": ' + _dumps(totals).encode() + b"}\n"


def _dumps(value: object) -> str:
    # Text is the usual format, and CGI pays for every import.
    import json

    return json.dumps(value)
