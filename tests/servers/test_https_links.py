"""Links by HTTPS: certificates count.  The certificate is made by openssl."""

from __future__ import annotations

import ssl
import subprocess

import pytest

from noidtools.verification import links
from noidtools.verification.links import FAILS, HOLDS, Link, LinkLimits, check_links
from support.odd_server import OddServer


def limits(**changes) -> LinkLimits:
    return LinkLimits(**{"seconds": 1.0, "pause": 0, "allow_private": True, **changes})


def found(url: bytes, **changes) -> Link:
    ((key, link),) = check_links([("key", url)], limits(**changes))
    assert key == "key"
    return link


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A key and a certificate that it signed itself, made for this run."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", file, "-out", file.with_suffix(".crt")],
        check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + file.with_suffix(".crt").read_bytes())
    return file


@pytest.fixture
def secure_server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with OddServer(tls=context) as odd:
        yield odd


def test_https_links_are_checked_with_their_certificates(secure_server, certificate, monkeypatch):
    url = secure_server.url("/200", "localhost", "https")
    assert found(url).detail.startswith("its certificate is not valid: self")
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(links, "secure_context", lambda: trusting)
    assert found(url).verdict == HOLDS
    assert "certificate is not valid" in found(url.replace(b"localhost", b"127.1")).detail


def test_http_at_a_secure_server_fails_without_harm(secure_server):
    assert found(secure_server.url("/200")).verdict == FAILS
