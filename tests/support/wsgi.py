"""WSGI applications called as a web server calls them, with the WSGI validator between the two."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from wsgiref.validate import WSGIWarning, validator

from noidtools.minter.folder import MinterFolder, SingleMinter
from noidtools.web.commands import CommandApplication
from noidtools.web.resolver import Resolver
from support.http import ids_in
from support.minter import Noid

USER = "alice"
HTML = {"HTTP_ACCEPT": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


class Response:
    """What an application answered; header names in lower case.  `log` is what it wrote to wsgi.errors."""

    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes, log: str) -> None:
        self.status = int(status.split()[0])
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body
        self.log = log
        assert len(self.headers) == len(headers), f"a header came twice: {headers}"

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    @property
    def json(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/json"
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def ids(self) -> list[str]:
        return ids_in(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {self.headers} {self.body[:400]!r} {self.log!r}>"


def call(application: Any, environ: dict[str, Any]) -> Response:
    """The response of an application, which must keep to the specification of WSGI."""
    sent: list[Any] = []
    log = environ["wsgi.errors"]  # the validator replaces it by an object of its own

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
        sent.append((status, headers))
        return sent.append

    with _strange_methods_allowed(environ["REQUEST_METHOD"]):
        parts: Any = validator(application)(environ, start_response)
        try:
            body = b"".join(parts)
        finally:
            parts.close()
    ((status, headers),) = sent
    return Response(status, headers, body, log.getvalue())


@contextlib.contextmanager
def _strange_methods_allowed(method: str) -> Iterator[None]:
    """The validator warns of methods it does not know; what we do with them is what is tested."""
    if method in ("GET", "HEAD", "POST"):
        yield  # the filter of warnings is shared by all threads, so that it is not changed without need
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WSGIWarning)
        yield


def _server_environment(method: str) -> dict[str, Any]:
    """What every request has; the addresses are those reserved for documentation."""
    return {
        "REQUEST_METHOD": method, "SCRIPT_NAME": "", "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_PORT": "80",
        "REMOTE_ADDR": "192.0.2.7", "wsgi.version": (1, 0), "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": False,
    }


# -- commands by URL ---------------------------------------------------------------------------------------------


def command_environment(
    query: str, *, user: str = USER, method: str = "GET", body: bytes | None = None, path: str = "/noidu_kt5",
    accept: str = "", **more: object
) -> dict[str, Any]:
    """A request for a command; of `more` a variable that is None is left out."""
    environ = {
        **_server_environment(method), "PATH_INFO": path, "QUERY_STRING": query, "SERVER_NAME": "localhost",
        "HTTP_HOST": "id.example.org", "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body or b""),
    }
    if body is not None:
        environ["CONTENT_LENGTH"] = str(len(body))
    if user:
        environ["REMOTE_USER"] = user
    if accept:
        environ["HTTP_ACCEPT"] = accept
    return {name: value for name, value in {**environ, **more}.items() if value is not None}


class CommandClient:
    """Asks the minters of a folder for commands by URL.  A user is one whom the web server has authenticated."""

    def __init__(self, folder: Path, minters: MinterFolder | None = None, **settings: Any) -> None:
        self.folder = folder
        self.minters = minters or MinterFolder(str(folder))
        self.application = CommandApplication(self.minters, **settings)

    def with_settings(self, **settings: Any) -> CommandClient:
        """The same minters, which one process must not open twice, behind an application with other settings."""
        return CommandClient(self.folder, self.minters, **settings)

    def __call__(self, query: str, *, user: str = "", path: str = "/nd/noidu_kt5", **options: Any) -> Response:
        """The response to a query; `options` are those of command_environment."""
        return self.send(command_environment(query, user=user, path=path, **options))

    def send(self, environ: dict[str, Any]) -> Response:
        response = call(self.application, environ)
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert all(0x20 <= ord(character) < 0x7F
                   for item in response.headers.items() for text in item for character in text), response
        assert all(0x20 <= ord(character) < 0x7F or character == "\n" for character in response.log), response
        return response

    def post(self, body: bytes | str, **options: Any) -> Response:
        """The response to commands in bulk."""
        raw = body.encode() if isinstance(body, str) else body
        return self("-", method="POST", body=raw, **{"user": USER, **options})


# -- names -------------------------------------------------------------------------------------------------------


class ResolverClient:
    """Asks an application for names, given as the request line has them."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def __call__(
        self, uri: str, method: str = "GET", script: str = "", *, request_line: bool = True, **more: str
    ) -> Response:
        """`script` is the path at which the application is mounted; without `request_line` it is only given the
        decoded path, as by servers that keep the request line to themselves."""
        path, _, query = uri.partition("?")
        path = path[len(script) :] if path.startswith(script) else path
        path = path if path.startswith("/") else ""
        environ = {
            **_server_environment(method), "SCRIPT_NAME": script,
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"), "QUERY_STRING": query,
            "SERVER_NAME": "resolver.example", "HTTP_HOST": "id.example", "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(), **more,
        }
        if request_line:
            environ["REQUEST_URI"] = uri
        return call(self._application, environ)


def resolver_of(minter: Noid) -> ResolverClient:
    """A client of a resolver of one minter; both use the minter as one has it open."""
    minters = SingleMinter(str(minter.folder))
    minter.share(minters)
    return ResolverClient(Resolver(minters))


_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:"


def encode_word(word: bytes) -> bytes:
    """One word for a query, in a spelling that `query_words` reads as this word and nothing else."""
    if not word:
        return b"''"
    return b"".join(bytes((byte,)) if byte in _PLAIN else b"%%%02X" % byte for byte in word)
