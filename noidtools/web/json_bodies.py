"""Bodies of requests and responses in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..codec import decode_text, encode_text
from .response import HttpError, Response

JSON = "application/json"
# What msgspec raises for a body that is not JSON.
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decoded_json(body: bytes) -> Any:
    """The value in a body; raises HttpError for what is not JSON."""
    try:
        return msgspec.json.decode(body)
    except DECODE_ERRORS as error:
        raise not_json(error) from None


def not_json(error: Exception) -> HttpError:
    """The error for a body that is not JSON."""
    return HttpError(400, "usage", f"the body is not JSON: {error}")


def json_response(data: object, status: int = 200, headers: Iterable[tuple[str, str]] = (),
                  media_type: str = JSON) -> Response:
    """A response in JSON."""
    return Response(status, media_type, msgspec.json.encode(data) + b"\n", headers)


def json_text(text: str) -> str:
    """A text that JSON can hold: bytes that are not UTF-8 are replaced."""
    return decode_text(encode_text(text)).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
