"""The URL door called as a web server calls it, with the WSGI validator between the two."""

from __future__ import annotations

import io
import json
import multiprocessing
import warnings
from pathlib import Path
from wsgiref.validate import WSGIWarning, validator

from noidtools.commands import Call, Session, run
from noidtools.minter.events import Actor
from noidtools.minter.folder import MinterFolder
from noidtools.web.commands import CommandApplication

USER = "alice"
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:"


def encode_word(word: bytes) -> bytes:
    """One word for a query, in a spelling that `query_words` reads as this word and nothing else."""
    if not word:
        return b"''"
    return b"".join(bytes((byte,)) if byte in _PLAIN else b"%%%02X" % byte for byte in word)


def create(dbdir: Path, *words: str) -> None:
    dbdir.mkdir(parents=True, exist_ok=True)
    command(dbdir, "dbcreate", *words)


def command(dbdir: Path, *words: str | bytes) -> list[dict]:
    """What a command given at the shell answers, as data.  By another process, as the shell would."""
    encoded = [word.encode() if isinstance(word, str) else word for word in words]
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def give() -> None:
        session = Session(str(dbdir), Actor(b"shell", b"shell"))
        sending.send([data for record in run(Call(session, encoded)).records for data in record.data()])
        session.close()

    process = context.Process(target=give)
    process.start()
    sending.close()
    try:
        return receiving.recv()
    finally:
        process.join()


class Reply:
    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes, log: str) -> None:
        self.status = status
        self.headers = dict(headers)
        self.body = body
        self.log = log
        assert len(self.headers) == len(headers), f"a header came twice: {headers}"
        assert self.headers["Cache-Control"] == "no-store"
        assert self.headers["X-Content-Type-Options"] == "nosniff"
        assert all(0x20 <= ord(character) < 0x7F for item in headers for text in item for character in text), headers
        assert all(0x20 <= ord(character) < 0x7F or character == "\n" for character in log), log

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")

    @property
    def json(self) -> dict:
        assert self.headers["Content-Type"] == "application/json"
        return json.loads(self.body)

    @property
    def ids(self) -> list[str]:
        return [line.removeprefix("id: ") for line in self.text.splitlines() if line.startswith("id: ")]

    def __repr__(self) -> str:
        return f"<{self.status} {self.headers} {self.body[:400]!r} {self.log!r}>"


class Web:
    """Minters in a folder, behind the URL door.  A user is the one the web server has authenticated."""

    def __init__(self, folder: Path, minters: MinterFolder | None = None, **settings) -> None:
        self.folder = folder
        self.minters = minters or MinterFolder(str(folder))
        self.application = CommandApplication(self.minters, **settings)

    def with_settings(self, **settings) -> Web:
        """The same minters, which one process must not open twice, behind another door."""
        return Web(self.folder, self.minters, **settings)

    def __call__(self, query: str, *, user: str = "", method: str = "GET", body: bytes | None = None,
                 path: str = "/nd/noidu_kt5", accept: str = "", **said: object) -> Reply:
        environ = environment(query, user=user, method=method, body=body, path=path, accept=accept, **said)
        with warnings.catch_warnings():
            # The validator warns of methods it does not know; what we do with them is what is tested.
            warnings.simplefilter("ignore", WSGIWarning)
            return self.called(environ)

    def called(self, environ: dict) -> Reply:
        sent: list = []
        log = environ["wsgi.errors"]

        def start_response(status: str, headers: list, exc_info: object = None) -> object:
            sent.append((status, headers))
            return sent.append

        parts = validator(self.application)(environ, start_response)
        try:
            body = b"".join(parts)
        finally:
            parts.close()
        ((status, headers),) = sent
        return Reply(int(status.split()[0]), headers, body, log.getvalue())

    def post(self, body: bytes | str, **options) -> Reply:
        """Commands in bulk."""
        raw = body.encode() if isinstance(body, str) else body
        return self("-", method="POST", body=raw, **{"user": USER, **options})


def environment(query: str, *, user: str, method: str, body: bytes | None, path: str, accept: str,
                **said: object) -> dict:
    environ = {
        "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "id.example.org",
        "REMOTE_ADDR": "192.0.2.7", "wsgi.version": (1, 0), "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body or b""), "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": False,
    }
    if body is not None:
        environ["CONTENT_LENGTH"] = str(len(body))
    if user:
        environ["REMOTE_USER"] = user
    if accept:
        environ["HTTP_ACCEPT"] = accept
    return {name: value for name, value in {**environ, **said}.items() if value is not None}
