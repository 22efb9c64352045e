"""The interfaces of other software behind the web servers that `noid setup --interfaces` sets up."""

from __future__ import annotations

import json
import os

import pytest

from noidtools.deployment import setup
from noidtools.web import site
from support.servers.curl import curl
from support.servers.deployment import PASSWORD, USER

DEPLOYMENTS = ("nginx-interfaces", "apache-interfaces")
JSON = ("--header", "Content-Type: application/json")
SHOULDER = ("shoulder/ark:/60000/x", "--request", "POST")
EGG = "a/me/m/ark/60000/x?mint%201"
ARKLET = ("mint", *JSON, "--data", '{"naan": 60000, "shoulder": "/x"}')
HANDLE = ("api/handles/60001/?mintNewSuffix=true", "--request", "PUT", *JSON, "--data-binary", "@-")


def test_setup_knows_the_interfaces_that_are_served():
    assert setup.INTERFACES.keys() == site.INTERFACES.keys()
    assert setup.USUAL_INTERFACES.split(",") == list(site.USUAL_INTERFACES)


@pytest.fixture
def send(deployment):
    """Sends a request to a server of ARKs and handles, unless it says otherwise with a token as password."""
    if not (deployment.minters / "a").exists():
        deployment.create("a", "--label", "ark:/", "x.sdd", "medium", "60000")
        deployment.create("h", "--label", "hdl:", "x.sdd", "medium", "60001")
    name = f"program-{os.urandom(4).hex()}"
    text = deployment.noid("-f", "a", "token", "new", name, "--may", "mint,bind", "--minters", "a,h")
    secret = text.split("token: ")[1].split()[0]

    def send(path: str, *options: str, login: str = f"me:{secret}", body: bytes = b"[]"):
        return curl(f"http://127.0.0.1:{deployment.port}/{path}", *(["--user", login] if login else []), *options,
                    stdin=body)

    return send


def test_programs_log_in_with_a_token_as_password_and_nobody_by_a_name_alone(send):
    for login in ("", f"{USER}:wrong", f"{USER}:{PASSWORD}", f"{USER}:noid_wrong"):
        refused = send(*SHOULDER, login=login)
        assert (refused.status, refused.body) == (401, b"error: unauthorized"), login
        assert refused.headers["www-authenticate"] == 'Basic realm="EZID"'
        assert send(EGG, login=login).status == 401 and send(*ARKLET, login=login).status == 403
        written = send(*HANDLE, login=login)
        assert (written.status, written.headers["www-authenticate"]) == (401, 'Basic realm="handle"')
        known = send("api/v1/minters", login=login)
        assert known.status == (200 if login in ("", f"{USER}:{PASSWORD}") else 401), "there the web server asks"
    assert send(*SHOULDER).body == b"success: ark:/60000/x00"
    assert send(f"ezid/{SHOULDER[0]}", *SHOULDER[1:]).body == b"success: ark:/60000/x01"
    cookie = send("login").headers["set-cookie"].partition(";")[0]
    assert send(*SHOULDER, "--cookie", cookie, login="").body == b"success: ark:/60000/x02"
    assert send(EGG).body.startswith(b"s: 60000/x03\n")
    assert json.loads(send(*ARKLET).body) == {"ark": "ark:/60000/x04"}
    large = json.dumps([{"index": 1, "type": "A", "data": "v" * 200_000}]).encode()
    assert json.loads(send(*HANDLE, body=large).body) == {"responseCode": 1, "handle": "60001/x00"}


def test_what_an_interface_does_not_know_is_answered_in_its_form(send):
    for login in "", f"{USER}:wrong":
        for path, options, code in (("api/sessions", ("--request", "POST"), 5), ("api/sessions/this", (), 5),
                                    ("api/handles", (), 102), ("api/nothing", (), 4)):
            reply = send(path, *options, login=login)
            assert json.loads(reply.body)["responseCode"] == code, (path, reply)
        assert send("id/", login=login).body == b"error: bad request - invalid identifier"
    assert json.loads(send("ark:/60000/x99?json", login="").body)["error"]["code"] == "unknown-name"
    page = send("ark:/60000/x99?json", "--header", "Accept: text/html", "--header", "Sec-Fetch-Mode: navigate",
                login="")
    assert page.status == 404 and page.headers["content-type"].startswith("text/html")
