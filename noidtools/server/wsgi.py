"""The WSGI side of FastCGI: the environment, made of the parameters of a request, and the response."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..web.request import Environ

_LONG_LENGTH = struct.Struct(">L")
_DEFAULTS = {
    "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
    "SERVER_PROTOCOL": "HTTP/1.0",
}

# The same for all requests: each process runs one at a time.
_ALWAYS = {"wsgi.version": (1, 0), "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": False}
_YES = ("on", "1")


def decode_parameters(data: bytearray) -> Environ:
    """The parameters of a request: names and values, of which web servers send some thirty.

    A pair is the lengths of both, the name and the value.  A length has four bytes if the first bit of it is set, else
    one.  Raises IndexError or struct.error if the last pair is cut off within its lengths.
    """
    found = {}
    text = data.decode("latin-1")
    place = 0
    while place < len(data):
        name_length, value_length = data[place], data[place + 1]
        if name_length < 0x80 and value_length < 0x80:
            place += 2
        else:
            name_length, place = _decode_length(data, place)
            value_length, place = _decode_length(data, place)
        value_place = place + name_length
        end = value_place + value_length
        found[text[place:value_place]] = text[value_place:end]
        place = end
    return found


def _decode_length(data: bytearray, place: int) -> tuple[int, int]:
    """A length, and the place behind it."""
    if data[place] < 0x80:
        return data[place], place + 1
    length: int = _LONG_LENGTH.unpack_from(data, place)[0]
    return length & 0x7FFF_FFFF, place + 4


def add_required(environ: Environ, body: Any, errors: Any) -> None:
    """Add the variables that WSGI requires.  flup's own method logs warnings for common configurations."""
    if not environ.get("SCRIPT_NAME") and not environ.get("PATH_INFO"):
        environ["PATH_INFO"] = environ.get("REQUEST_URI", "").partition("?")[0]
    if "QUERY_STRING" not in environ:
        environ["QUERY_STRING"] = environ.get("REQUEST_URI", "").partition("?")[2]
    for name, value in _DEFAULTS.items():
        if name not in environ:
            environ[name] = value
    environ.update(_ALWAYS)
    environ["wsgi.input"], environ["wsgi.errors"] = body, errors
    environ["wsgi.url_scheme"] = "https" if environ.get("HTTPS") in _YES else "http"


class WsgiResponse:
    """What the application calls to answer.

    header  the header, until it is sent with the first part of the body
    """

    __slots__ = ("header", "_started", "_write")

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.header = b""
        self._started = False
        self._write = write

    def start(self, status: str, headers: list[tuple[str, str]], error: Any = None) -> Callable[[bytes], None]:
        """The `start_response` of WSGI: `error` is for another header in place of one that was not sent yet."""
        if self._started and not (error and self.header):
            raise error[1] if error else AssertionError("start_response was called twice")
        self._started = True
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        self.header = f"Status: {status}\r\n{lines}\r\n".encode("latin-1")
        return self.write

    def write(self, data: bytes) -> None:
        """Send a part of the body; the first one in one piece with the header."""
        if self.header:
            data, self.header = self.header + data, b""
        self._write(data)
