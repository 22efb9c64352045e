"""Hosts outside ASCII are written by IDNA wherever a target leaves the minter."""

from __future__ import annotations

import http.server
import socket
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noidtools.errors import InvalidError
from noidtools.names import targets
from noidtools.verification.http import UnreachableError, WebAddress
from noidtools.verification.links import LinkLimits, check_links


@pytest.mark.parametrize(("url", "expected"), [
    ("https://müller.example/ä", "https://xn--mller-kva.example/%C3%A4"),
    ("https://MÜLLER.example", "https://xn--mller-kva.example"),
    ("http://müller.example:8080/?q=ü#ä", "http://xn--mller-kva.example:8080/?q=%C3%BC#%C3%A4"),
    ("https://jürgen@müller.example/", "https://j%C3%BCrgen@xn--mller-kva.example/"),
    ("https://jürgen@example.org/", "https://j%C3%BCrgen@example.org/"),
    ("ftp://例え.テスト/", "ftp://xn--r8jz45g.xn--zckzah/"),
    ("https://例え。jp/", "https://xn--r8jz45g.jp/"),
    ("https://faß.example/", "https://xn--fa-hia.example/"),
    ("https://example.org/ä", "https://example.org/%C3%A4"),
    ("https://xn--mller-kva.example/", "https://xn--mller-kva.example/"),
    ("https://m%C3%BCller.example/", "https://m%C3%BCller.example/"),
    ("mailto:jürgen@müller.example", "mailto:j%C3%BCrgen@m%C3%BCller.example"),
    ("/ä", "/%C3%A4"),
])
def test_a_host_outside_ascii_is_written_by_idna_and_the_rest_is_escaped(url, expected):
    assert targets.location(url.encode()) == expected.encode()


@pytest.mark.parametrize(("url", "reason"), [
    ("https://müller..example/", "müller..example is not a valid host name: empty Label"),
    ("https://mü ller.example/", "mü ller.example is not a valid host name: codepoint U+0020 at position 3"),
    ("https://example.org／ü/", "codepoint U+002F"),
    ("https://ü\\evil.example/", "codepoint U+005C"),
    ("https://ü" + "x" * 63 + ".example/", "label too long"),
    ("https://-ü.example/", "must not start or end with a hyphen"),
])
def test_an_invalid_host_is_refused_in_one_sentence_and_never_sent(url, reason):
    with pytest.raises(InvalidError) as refusal:
        targets.to_uri(url.encode())
    assert reason in refusal.value.message and "\n" not in refusal.value.message
    assert targets.location(url.encode()) is None
    with pytest.raises(UnreachableError) as finding:
        WebAddress(url.encode())
    assert finding.value.reason == refusal.value.message


def test_a_host_that_is_not_utf8_is_refused():
    with pytest.raises(InvalidError, match=r"m\\xfcller.example is not a valid host name: it is not UTF-8"):
        targets.to_uri(b"https://m\xfcller.example/")


def test_where_idna_is_not_installed_the_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "idna", None)
    with pytest.raises(InvalidError, match="need the package idna, which is not installed"):
        targets.to_uri("https://müller.example/".encode())
    assert targets.location("https://example.org/ä".encode()) == b"https://example.org/%C3%A4"


@given(st.text(max_size=20))
def test_any_host_becomes_ascii_or_is_refused(host):
    found = targets.location(b"https://" + host.encode("utf-8", "surrogatepass"))
    assert found is None or all(0x21 <= octet <= 0x7E for octet in found)


class _Recorder(http.server.BaseHTTPRequestHandler):
    """Redirects once to a host outside ASCII, written in raw UTF-8, and then answers."""

    def do_HEAD(self) -> None:  # noqa: N802 - http.server's name
        self.server.hosts.append(self.headers["Host"])
        self.send_response(302 if self.path == "/first" else 200)
        if self.path == "/first":
            self.send_header("Location", f"http://b\u00fccher.example:{self.server.server_port}/second"
                             .encode().decode("latin-1"))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Recorder) as made:
        made.hosts = []
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_links_are_requested_at_the_ascii_form_of_their_host_redirects_included(server, monkeypatch):
    resolved = []
    port = server.server_port

    def getaddrinfo(host, port, **_):
        resolved.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    # There is no name server in a test; the rest is a real request to a real server.
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    url = f"http://müller.example:{port}/first".encode()
    ((_, link),) = check_links([("key", url)], LinkLimits(pause=0, allow_private=True))
    assert (link.verdict, link.detail) == (
        "holds", f"leads to http://xn--bcher-kva.example:{port}/second: answers 200")
    assert resolved == ["xn--mller-kva.example", "xn--bcher-kva.example"]
    assert server.hosts == [f"{host}:{port}" for host in resolved]
