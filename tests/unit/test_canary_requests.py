"""`canary --through` uses the guarded HTTP client: bounded in size and time, without credentials."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from noidtools.errors import UsageError
from noidtools.verification import http


class Resolver:
    """A server on loopback that sends prepared pieces for each request, and keeps the requests."""

    def __init__(self, *pieces: bytes, pause: float = 0.0) -> None:
        self._pieces = pieces
        self._pause = pause
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with peer:
            self.requests.append(peer.recv(65536))
            try:
                for piece in self._pieces:
                    peer.sendall(piece)
                    time.sleep(self._pause)
            except OSError:
                return  # the client closed the connection

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


def ask(name: str, *pieces: bytes, base: str = "http://127.0.0.1:{}/", pause: float = 0.0) -> tuple[bytes, list[bytes]]:
    resolver = Resolver(*pieces, pause=pause)
    try:
        return http.location_at(base.format(resolver.port), name), resolver.requests
    finally:
        resolver.close()


FOUND = b"HTTP/1.1 302 Found\r\nLocation: https://a.example/x\r\n\r\n"


def test_the_location_is_returned_and_a_private_address_is_allowed():
    found, (request,) = ask("ark:/13030/kt4", FOUND)
    assert found == b"https://a.example/x"
    assert request.startswith(b"HEAD /ark:/13030/kt4 HTTP/1.1\r\n") and b"(check)" in request


def test_the_status_is_returned_where_there_is_no_location():
    assert ask("x", b"HTTP/1.1 404 Not Found\r\n\r\n")[0] == b"status 404"


def test_credentials_in_the_address_are_not_sent():
    found, (request,) = ask("x", FOUND, base="http://user:secret@127.0.0.1:{}/")
    assert found == b"https://a.example/x"
    assert b"uthorization" not in request and b"secret" not in request and b"user" not in request


def test_a_name_is_sent_as_one_path_below_the_folder_of_the_resolver():
    _, (request,) = ask("hdl:10/ä#b c\r\nX: y", FOUND, base="http://127.0.0.1:{}/names/?q=1#f")
    assert request.split(b"\r\n")[0] == b"HEAD /names/hdl:10/%C3%A4%23b%20c%0D%0AX:%20y HTTP/1.1"


def test_a_head_without_end_is_not_read():
    found, _ = ask("x", b"HTTP/1.1 302 Found\r\n", *[b"X: " + b"y" * 60000 + b"\r\n"] * 1000)
    assert found == b"no answer (the head of its answer is larger than 65536 bytes)"


def test_a_server_that_drips_is_given_up_at_the_deadline(monkeypatch):
    monkeypatch.setattr(http, "_CANARY_SECONDS", 0.5)
    began = time.monotonic()
    found, _ = ask("x", *[b"HTTP/1.1 302 Found\r\n"], *[b"X: y\r\n"] * 20, pause=0.1)
    assert found == b"no answer (no answer in time)"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("base", ["nonsense", "ftp://example.org/", "/x", "http://", "http://a..ü/", "mailto:a@b"])
def test_an_address_that_is_no_resolver_is_refused(base):
    with pytest.raises(UsageError, match="--through wants the address of a resolver"):
        http.location_at(base, "x")
