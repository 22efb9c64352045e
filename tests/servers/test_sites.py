"""Hosts of Apache and nginx as a whole: minters, names and health at one address, logins, limits, https."""

from __future__ import annotations

import subprocess

import pytest

from support.http import free_port
from support.servers import with_rare_ones_long
from support.servers.apache import Apache, ApacheFcgiResolver, ApacheResolver
from support.servers.curl import curl
from support.servers.nginx import Nginx, NginxFcgiResolver, NginxResolver
from support.servers.system import program
from support.templates import LONG_TERM

DEPLOYMENTS = with_rare_ones_long((
    "rewrite", "apache-resolver", "apache-fcgi-resolver", "wsgi-resolver", "nginx-resolver", "nginx-fcgi-resolver"))
PAGES = DEPLOYMENTS[1:]


def test_minters_names_and_health_are_at_one_address(deployment):
    (name,) = deployment.mint("kt5")
    deployment.bind(name, "https://a.example/")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")
    assert deployment.resolve("healthz").status in (200, 204)
    assert deployment.resolve("no-such-page").status == 404


@pytest.mark.parametrize("deployment", PAGES, indirect=True)
def test_the_page_of_the_resolver_is_at_the_root(deployment):
    assert deployment.resolve("").text.startswith("This is a resolver")


@pytest.mark.parametrize("deployment", PAGES, indirect=True)
def test_nobody_becomes_another_user_at_a_name(deployment):
    """A name is asked for without login, or with one that is checked."""
    deployment.noid("-f", "kt5", "policy", "read", "noid")
    try:
        (name,) = deployment.mint("kt5")
        deployment.bind(name, "https://a.example/")
        deployment.noid("-f", "kt5", "bind", "set", name, "secret", "hidden")
        asked = f"ark:/{name}?info"
        for header in ("X-Remote-User: noid", "Remote-User: noid", "Authorization: Bearer noid"):
            reply = deployment.resolve(asked, "--header", header)
            assert reply.status in (200, 401, 403) and "hidden" not in reply.text, header
        assert deployment.resolve(asked, "--user", "noid:wrong").status == 401
        assert "hidden" in deployment.resolve(asked, *deployment.credentials()).text
    finally:
        deployment.noid("-f", "kt5", "policy", "read", "anyone")


@pytest.mark.parametrize("kind", [NginxFcgiResolver, NginxResolver], ids=["fcgi", "proxy"])
def test_an_address_that_asks_too_often_is_answered_429(site, kind):
    deployment = site.add(kind, f"limits-{kind.way}")
    deployment.changes = {"rate=100r/s": "rate=1r/m"}  # else a slow machine never reaches it
    deployment.start()
    assert statuses(deployment, "127.0.0.2", 320) == {"404", "429"}
    assert statuses(deployment, "127.0.0.1", 320) == {"404"}
    # Those who send the same token are counted together, too.
    token = ("--header", "Authorization: Bearer noid_x")
    assert statuses(deployment, "127.0.0.3", 160, *token) == {"404"}
    assert statuses(deployment, "127.0.0.4", 160, *token) == {"404", "429"}
    assert statuses(deployment, "127.0.0.3", 100) == statuses(deployment, "127.0.0.1", 320, *token) == {"404"}


def statuses(deployment, address: str, number: int, *options: str) -> set[str]:
    """The statuses of so many requests that come from an address."""
    url = f"http://127.0.0.1:{deployment.port}/healthz?[1-{number}]"
    done = subprocess.run([program("curl"), "-s", "--interface", address, "-o", "/dev/null", "-w", "%{http_code}\n",
                           *options, url], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("deployment", ["nginx-resolver"], indirect=True)
def test_without_rdflib_rdf_is_not_offered(deployment):
    """The tests' installation has no rdflib."""
    (name,) = deployment.mint("kt5")
    deployment.bind(name, "https://a.example/")
    turtle = ("--header", "Accept: text/turtle")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/")
    assert deployment.resolve(f"ark:/{name}", *turtle).headers["location"] == "https://a.example/"
    refused = deployment.resolve(f"ark:/{name}?info", *turtle)
    assert refused.status == 406 and "no descriptions in RDF" in refused.text
    assert deployment.resolve(f"ark:/{name}?info", "--header", "Accept: text/turtle, */*;q=0.1").text.startswith("erc:")
    described = deployment.ask("kt5", f"describe+{name}")
    assert described.status == 501 and "noidtools[rdf]" in described.text


# -- https -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(site):
    """A certificate for localhost and its key."""
    paths = site.folder / "certificate.pem", site.folder / "key.pem"
    subprocess.run([program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    paths[1].chmod(0o644)  # the tests' servers are not started by root
    return paths


class _OverHttps:
    """A deployment whose host has https."""

    tls_port = 0
    certificate, key = "", ""

    def host(self, **values):
        return super().host(secure=True, certificate=self.certificate, key=self.key, **values)


class _NginxOverHttps(_OverHttps, Nginx):
    @property
    def changes(self):
        return {"listen 443 ssl;": f"listen 127.0.0.1:{self.tls_port} ssl;",
                "listen [::]:443 ssl;": f"listen unix:{self.folder}/7.sock ssl;"}


class _ApacheOverHttps(_OverHttps, Apache):
    more_modules = ("socache_shmcb", "ssl", "rewrite")

    @property
    def changes(self):
        return {"*:443>": f"*:{self.tls_port}>"}

    def outside(self):
        return f"Listen 127.0.0.1:{self.tls_port}\n"


class NginxOverHttps(_NginxOverHttps, NginxResolver):
    pass


class NginxFcgiOverHttps(_NginxOverHttps, NginxFcgiResolver):
    pass


class ApacheOverHttps(_ApacheOverHttps, ApacheResolver):
    pass


class ApacheFcgiOverHttps(_ApacheOverHttps, ApacheFcgiResolver):
    pass


@pytest.mark.parametrize("kind", [NginxOverHttps, NginxFcgiOverHttps, ApacheOverHttps, ApacheFcgiOverHttps],
                         ids=lambda kind: kind.__name__)
def test_over_https_names_and_minters_are_served_and_http_is_redirected_there(site, certificate, kind):
    deployment = site.add(kind, kind.__name__)
    deployment.tls_port = free_port()
    deployment.certificate, deployment.key = map(str, certificate)
    deployment.start()
    deployment.create("kt5", *LONG_TERM)
    trusting = ("--cacert", deployment.certificate)
    base = f"https://localhost:{deployment.tls_port}"
    minted = curl(f"{base}/nd/noidu_kt5?mint+1", *trusting, *deployment.credentials())
    (name,) = minted.ids
    curl(f"{base}/nd/noidu_kt5?bind+set+{name}+_t+https://a.example/", *trusting, *deployment.credentials())
    assert curl(f"{base}/ark:/{name}", *trusting).headers["location"] == "https://a.example/"
    described = curl(f"{base}/ark:/{name}?info", *trusting).text
    assert f"where: https://localhost:{deployment.tls_port}/ark:/{name}" in described
    plain = f"http://localhost:{deployment.port}"
    for asked in (f"/ark:/{name}", f"/ark:/{name}/a%2Fb?c=%20d", f"/ark:/{name}??", f"/nd/noidu_kt5?get+{name}+_t"):
        reply = curl(f"{plain}{asked}", "--path-as-is")
        assert (reply.status, reply.headers["location"]) == (301, f"https://localhost{asked}")
    bare = curl(f"{plain}/ark:/{name}?", "--path-as-is").headers["location"]
    assert bare in (f"https://localhost/ark:/{name}?", f"https://localhost/ark:/{name}?info")
    challenge = deployment.folder / ".well-known" / "acme-challenge"
    challenge.mkdir(parents=True)
    (challenge / "token").write_text("proof")
    assert curl(f"{plain}/.well-known/acme-challenge/token").text == "proof"
