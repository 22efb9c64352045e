"""The body of a request, received completely before anything is done with it."""

from __future__ import annotations

from io import BytesIO

from ..commands.lines import LineSource
from .response import HttpError, too_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

# The default limit for a body: a million commands and more.
LARGEST_BODY = 256 << 20
_PIECE = 1 << 16
_IN_MEMORY = 1 << 20


class Body(LineSource):
    """The lines of a body that was received completely, in memory or in a temporary file.

    It is received before the first command runs, so that a body that is cut off changes nothing, and so that no server
    blocks: Apache's mod_cgi sends all of a body before it reads the answer.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.rewind()

    def rewind(self) -> None:
        self.file.seek(0)

    def read_line(self) -> bytes:
        return self.file.readline()

    def close(self) -> None:
        self.file.close()


def read_body(environ: dict[str, Any], largest: int) -> Body:
    """Receive the body of a request; raises HttpError if it is too large, cut off, or of unknown length."""
    length = announced_length(environ)
    if length is not None and length > largest:
        raise too_large(largest)
    file = _file_for(length)
    try:
        arrived = _copy(environ["wsgi.input"], file, length, largest)
        if arrived > largest:
            raise too_large(largest)
        if length is not None and arrived < length:
            raise _bad(f"the body was cut off: not all of its {length} bytes arrived, and nothing was done")
        return Body(file)
    except BaseException:
        file.close()
        raise


def announced_length(environ: dict[str, Any]) -> int | None:
    """The length that the client announced; None if the body is read to its end."""
    text: str = environ.get("CONTENT_LENGTH") or ""
    if text:
        if not (text.isascii() and text.isdigit()) or len(text) > 18:
            raise _bad("the Content-Length is not a number")
        return int(text)
    if environ.get("HTTP_TRANSFER_ENCODING"):
        if not environ.get("wsgi.input_terminated"):
            raise HttpError(411, "length", "send the length of the body in Content-Length")
        return None
    return 0


def _file_for(length: int | None) -> IO[bytes]:
    if length is not None and length <= _IN_MEMORY:
        return BytesIO()
    from tempfile import TemporaryFile

    return TemporaryFile()


def _copy(source: IO[bytes], target: IO[bytes], length: int | None, largest: int) -> int:
    """Copy up to `length` bytes, or to the end; stops early past `largest`.  Returns how many were copied."""
    arrived = 0
    while length is None or arrived < length:
        wanted = _PIECE if length is None else min(_PIECE, length - arrived)
        try:
            piece = source.read(wanted)
        except (OSError, EOFError):
            # Servers raise different errors when the client has closed the connection.
            break
        if not piece:
            break
        target.write(piece)
        arrived += len(piece)
        if arrived > largest:
            break
    return arrived


def _bad(message: str) -> HttpError:
    return HttpError(400, "usage", message)
