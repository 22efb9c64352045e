"""`noidu`: CGI.  There is a process for each request, so that it imports only what most commands need."""

from __future__ import annotations

import os
import sys

from ..console import log_line
from ..minter import default_dbdir
from ..minter.folder import COMMAND_PATH, SingleMinter
from ..web.body import LARGEST_BODY
from ..web.commands import CommandApplication
from ..web.request import Trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO, Any

_PIECE = 1 << 16


def main() -> int:
    """Serve the request in the environment, by the minter that the name of the program chooses."""
    if "REQUEST_METHOD" not in os.environ:
        log_line("noid", "noidu is for web servers: linked as noidu_NAME, it serves the minter in NAME beside it")
        return 2
    environ: dict[str, Any] = {name: os.fsencode(value).decode("latin-1") for name, value in os.environ.items()}
    script = script_path(sys.argv[0], os.environ)
    dbdir = default_dbdir(script, os.environ.get("NOID", ""), os.path.dirname(script))
    minter = SingleMinter(dbdir, anywhere=True)
    application = CommandApplication(
        minter, trust=trust_from(os.environ), largest_body=largest_body_from(os.environ))
    return run(application, environ)


def trust_from(environment: Mapping[str, str]) -> Trust:
    """Trust in the proxies that NOID_PROXY lists, separated by blanks; the configuration of the web server sets it."""
    return Trust(proxies=tuple(environment.get("NOID_PROXY", "").split()))


def largest_body_from(environment: Mapping[str, str]) -> int:
    """The limit in NOID_MAX_BODY; the default, and a line in the log, if it is not a number."""
    text = environment.get("NOID_MAX_BODY", "")
    if text and not (text.isascii() and text.isdigit()):
        log_line("noid", f"NOID_MAX_BODY is a number of bytes, not {text!a}: the default is used")
        text = ""
    return int(text) if text else LARGEST_BODY


def script_path(program: str, environment: Mapping[str, str]) -> str:
    """The path of the script, beside which its minter lies: as the web server names it, if that is a link of ours."""
    script = environment.get("SCRIPT_FILENAME", "")
    return script if os.path.basename(script).startswith(COMMAND_PATH) else program


class _Input:
    """The body of the request, of which the web server expects that all is read.

    It writes the body to a socket; a process that ends before it has read all resets the connection, and the response
    is lost with it.
    """

    def __init__(self, stream: IO[bytes], environ: Mapping[str, str]) -> None:
        self._stream = stream
        length = environ.get("CONTENT_LENGTH", "")
        self._left = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0
        # A body of unknown length ends with the input.
        self._is_endless = not length and "HTTP_TRANSFER_ENCODING" in environ

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._left -= len(piece)
        return piece

    def skip_rest(self) -> None:
        while self._is_endless or self._left > 0:
            if not self.read(_PIECE if self._is_endless else min(_PIECE, self._left)):
                return


def run(application: Callable[..., Any], environ: dict[str, Any]) -> int:
    """Run a WSGI application for one request and write its response; returns the exit status."""
    body_input = _Input(sys.stdin.buffer, environ)
    environ.update({
        "wsgi.version": (1, 0), "wsgi.url_scheme": "https" if environ.get("HTTPS") in ("on", "1") else "http",
        "wsgi.input": body_input, "wsgi.input_terminated": True, "wsgi.errors": sys.stderr,
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": True,
    })
    head: list[str] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        head.extend([f"Status: {status}", *(f"{name}: {value}" for name, value in headers), "", ""])

    body = application(environ, start_response)
    out = sys.stdout.buffer
    try:
        out.write("\r\n".join(head).encode("latin-1"))
        for part in body:
            out.write(part)
        out.flush()
        body_input.skip_rest()
    except OSError:
        return 1  # the web server has closed the connection
    finally:
        if hasattr(body, "close"):
            body.close()
    return 0
