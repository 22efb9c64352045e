"""A real browser with a login changes nothing by following links and redirects, only by the form of our page."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from urllib.parse import quote

import pytest

from support.browser import BrowserSession
from support.http import free_port
from support.servers.deployment import PASSWORD, USER, Deployment

# Names and commands at one address.
DEPLOYMENTS = ("nginx-resolver", "apache-resolver-of-all-paths", "rewrite")
FOREIGN_HOST = "noid.example"
# A browser takes it for the same site, and sends logins from its pages to ours.
NEIGHBOUR = f"evil.{FOREIGN_HOST}"
ASKS = "does nothing until you confirm it"
REFUSED = ("Not allowed", "Not done")


class OtherSite(BaseHTTPRequestHandler):
    """A page of another site, which sends no Referer and leads where its query says."""

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        body = b'<!DOCTYPE html><meta name="referrer" content="no-referrer"><title>other</title>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), OtherSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://evil.example:{server.server_port}/"
    server.shutdown()
    server.server_close()


class LoggedIn:
    """A browser that has logged in to a deployment under one of the names of this machine."""

    def __init__(self, browser: BrowserSession, deployment: Deployment, host: str) -> None:
        self.browser = browser
        self.base = f"http://{host}:{deployment.port}"
        self._deployment = deployment
        login = f"{USER}:{quote(PASSWORD, safe='')}@"
        browser.enter(self.command("policy").replace("//", f"//{login}"))
        assert f"admin\n{USER}" in browser.text, (browser.url, browser.text)

    def command(self, query: str) -> str:
        return f"{self.base}/nd/noidu_kt5?{query}"

    def state(self) -> str:
        """All that is recorded of the minter."""
        return self._deployment.noid("-f", "kt5", "dbinfo", "dump")


@pytest.fixture(scope="module")
def logged_in_at(browser) -> Iterator[Callable[[Deployment, str], LoggedIn]]:
    """Gives a browser that has logged in to a deployment under a name, the same one whenever it is asked for."""
    with contextlib.ExitStack() as sessions:

        @functools.cache
        def log_in(deployment: Deployment, host: str) -> LoggedIn:
            deployment.noid("-f", "kt5", "policy", "admin", USER)
            return LoggedIn(sessions.enter_context(BrowserSession(browser)), deployment, host)

        yield log_in


# To localhost the browser says what kind of request it sends; to other hosts it does not, which is harder.
everywhere = pytest.mark.parametrize(("deployment", "logged_in"), [
    pytest.param(name, host, marks=pytest.mark.long if host == "localhost" and name != DEPLOYMENTS[0] else ())
    for name in DEPLOYMENTS for host in ("localhost", FOREIGN_HOST)], indirect=True)


@pytest.fixture
def logged_in(request, deployment, logged_in_at) -> LoggedIn:
    found = logged_in_at(deployment, request.param)
    found.browser.enter("about:blank")
    return found


@pytest.mark.parametrize(("deployment", "logged_in"), [(DEPLOYMENTS[0], "localhost"), (DEPLOYMENTS[0], FOREIGN_HOST)],
                         indirect=True)
def test_a_session_does_not_know_the_login_of_another(deployment, logged_in, browser):
    with BrowserSession(browser) as other:
        other.enter(logged_in.command("policy"))
        assert f"admin\n{USER}" not in other.text


@everywhere
def test_a_command_that_is_opened_changes_nothing_until_its_form_is_sent(deployment, logged_in):
    browser = logged_in.browser
    before = logged_in.state()
    browser.enter(logged_in.command("mint+1"))
    assert ASKS in browser.text and "mint 1" in browser.text and USER in browser.text
    browser.run("location.reload()")
    assert ASKS in browser.text and logged_in.state() == before
    browser.run("document.querySelector('button').click()")
    title, name, *buttons = filter(None, browser.text.split("\n"))
    assert (title, buttons) == ("Minted", ["Mint another", "Copy", "All commands"]) and re.fullmatch(r"\S+", name)
    after = logged_in.state()
    assert after != before
    # Sent again, the form gives the same answer, and says so.
    browser.run("location.reload()")
    assert "nothing new was minted" in browser.text and name in browser.text and logged_in.state() == after
    browser.run("document.querySelector('button').click()")
    assert browser.text.startswith("Minted\n") and name not in browser.text and logged_in.state() != after


@everywhere
def test_a_redirect_never_leads_to_the_commands(deployment, logged_in):
    (name,) = deployment.mint("kt5")
    for target in ("/nd/noidu_kt5?policy%2Badmin%2Bguest", "/nd/x/..//%256eoidu_kt5?policy%2Badmin%2Bguest",
                   f"{logged_in.base}/nd/noidu_kt5?policy%2Badmin%2Bguest"):
        deployment.bind(name, target)
        assert deployment.location(f"ark:/{name}") is None
        before = logged_in.state()
        logged_in.browser.enter(f"{logged_in.base}/ark:/{name}")
        assert ASKS not in logged_in.browser.text and "noidu" not in logged_in.browser.url
        assert logged_in.state() == before
    assert "admin: noid\n" in deployment.noid("-f", "kt5", "policy")


@everywhere
def test_another_site_changes_nothing_by_leading_a_browser_here(deployment, logged_in, other_site):
    browser = logged_in.browser
    (name,) = deployment.mint("kt5")
    before = logged_in.state()
    urls = [logged_in.command(query) for query in
            (f"bind+set+{name}+_t+https://evil.example/", "policy+admin+guest", "mint+1")]
    for url in urls:
        browser.enter(other_site)
        browser.run(f"location.href = '{url}'")
        assert ASKS in browser.text or browser.text.startswith(REFUSED), browser.text
        browser.enter(other_site)
        browser.run(f"document.body.innerHTML = '<form method=post action=\"{url}\"><button>'; "
                    "document.querySelector('button').click()")
        assert browser.text.startswith(REFUSED), browser.text
    browser.enter(other_site)
    for number, (url, tag) in enumerate(product(urls, ("img", "script", "iframe"))):
        browser.evaluate(f"window.e = document.createElement('{tag}'); "
                         f"e.onload = e.onerror = () => {{ document.title = '{number} done' }}; "
                         f"e.src = '{url}'; document.body.append(e); 0")
        browser.wait_for(f"document.title == '{number} done'")
    browser.enter(other_site.replace("evil.example", NEIGHBOUR))
    headers = ("{}", "{'Accept-Language': ''}", "{'Accept-Language': '', 'Accept': 'x/y'}")
    for number, (url, sent) in enumerate(product(urls, headers)):
        browser.evaluate(f"fetch('{url}', {{mode: 'no-cors', credentials: 'include', headers: {sent}}})"
                         f".finally(() => {{ document.title = '{number} done' }}); 0")
        browser.wait_for(f"document.title == '{number} done'")
    browser.enter(other_site)
    browser.run("document.body.innerHTML = '<form method=post enctype=text/plain action=\""
                f"{logged_in.command('-')}\"><textarea name=\"mint 1 note\">x</textarea><button>'; "
                "document.querySelector('button').click()")
    assert browser.text.startswith(REFUSED), browser.text
    assert logged_in.state() == before


@everywhere
def test_a_token_is_for_one_command_of_one_user(deployment, logged_in):
    browser = logged_in.browser
    browser.enter(logged_in.command("mint+1"))
    token = browser.evaluate("document.querySelector('input').value")
    form = ("--header", "Upgrade-Insecure-Requests: 1", "--data", f"token={token}")
    before = logged_in.state()
    deployment.noid("-f", "kt5", "policy")
    for query, user in (("mint+2", USER), ("mint+1", "guest"), ("policy+admin+guest", USER)):
        reply = deployment.ask("kt5", query, *form, user=user)
        assert (reply.status, ASKS in reply.text) == (405, True), reply
    assert logged_in.state() == before
    reply = deployment.ask("kt5", "mint+1", *form)
    assert reply.status == 200 and "13030/kt" in reply.text


@everywhere
def test_scripts_of_this_site_and_programs_go_on_as_before(deployment, logged_in):
    browser = logged_in.browser
    browser.ignore_policies(True)
    browser.enter(logged_in.command("hello"))
    browser.ignore_policies(False)
    browser.evaluate(f"fetch('{logged_in.command('mint+1')}', {{referrerPolicy: 'same-origin'}})"
                     ".then(r => r.text()).then(t => { window.got = t }); 0")
    browser.wait_for("!!window.got")
    assert browser.evaluate("window.got").startswith("id: 13030/kt")
    assert deployment.ask("kt5", "mint+1").ids and deployment.ask("kt5", "mint+1", "--request", "POST").ids
