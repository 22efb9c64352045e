"""A response is a value; it is sent in one place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .jsonwriting import JsonWriting
    from .writing import TextWriting

    Writing = TextWriting | JsonWriting

_REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 411: "Length Required", 413: "Content Too Large",
    500: "Internal Server Error", 503: "Service Unavailable",
}
# Answers change with every command, and a browser must not guess that a bound value is a page or a script.
_ALWAYS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))


class Response:
    """`body` is either whole, or an iterable whose parts are made as they are sent."""

    __slots__ = ("status", "content_type", "body", "headers")

    def __init__(self, status: int, content_type: str, body: bytes | Iterable[bytes],
                 headers: Iterable[tuple[str, str]] = ()) -> None:
        self.status = status
        self.content_type = content_type
        self.body = body
        self.headers = list(headers)


def send(response: Response, method: str, start_response: Any) -> Iterable[bytes]:
    """The only caller of start_response."""
    headers = [("Content-Type", response.content_type), *_ALWAYS, *response.headers]
    body = response.body
    if isinstance(body, bytes):
        headers.append(("Content-Length", str(len(body))))
        body = [body]
    start_response(f"{response.status} {_REASONS[response.status]}", headers)
    if method != "HEAD":
        return body
    if hasattr(body, "close"):
        body.close()
    return []
