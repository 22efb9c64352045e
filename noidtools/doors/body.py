"""The body of a request: taken in whole before anything is done with it, without filling the memory."""

from __future__ import annotations

from ..bulk import Source
from .refusals import HttpError, too_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from .requests import Environ

_PIECE = 1 << 16
_IN_MEMORY = 1 << 20


class Body(Source):
    """The lines of a body that has arrived whole.

    Taking it in first means that a body that is cut off does nothing, and that no server can wait for us to read
    while we wait for it to read: Apache's mod_cgi passes on all of a body before it looks at the answer.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.rewind()

    def rewind(self) -> None:
        self._file.seek(0)

    def read_line(self) -> bytes:
        return self._file.readline()

    def close(self) -> None:
        self._file.close()


def received(environ: Environ, largest: int) -> Body:
    """The body of this request, or a refusal if it is too large, cut off, or of unknown length."""
    length = _announced_length(environ)
    if length is not None and length > largest:
        raise too_large(largest)
    file = _room_for(length)
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


def _announced_length(environ: Environ) -> int | None:
    """None if the body goes on to its end, whatever its length."""
    given: str = environ.get("CONTENT_LENGTH") or ""
    if given:
        if not (given.isascii() and given.isdigit()) or len(given) > 18:
            raise _bad("the Content-Length is not a number")
        return int(given)
    if environ.get("HTTP_TRANSFER_ENCODING"):
        if not environ.get("wsgi.input_terminated"):
            raise HttpError(411, "length", "say how long the body is, with Content-Length")
        return None
    return 0


def _room_for(length: int | None) -> IO[bytes]:
    if length is not None and length <= _IN_MEMORY:
        from io import BytesIO

        return BytesIO()
    from tempfile import TemporaryFile

    return TemporaryFile()


def _copy(source: IO[bytes], target: IO[bytes], length: int | None, largest: int) -> int:
    arrived = 0
    while length is None or arrived < length:
        wanted = _PIECE if length is None else min(_PIECE, length - arrived)
        try:
            piece = source.read(wanted)
        except (OSError, EOFError):
            # What carries us says in its own way that the client has gone.
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
