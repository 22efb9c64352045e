"""The web resolver as a WSGI application, and on the embedded server where the request line matters."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote_to_bytes
from wsgiref.validate import validator

import pytest
from conftest import NOID, Noid
from resolver_support import CHECKED, LONG, Live
from server_support import curl, free_port, raw

from noidtools.minter.folder import MinterFolder, SingleMinter
from noidtools.web.negotiation import preferred
from noidtools.web.resolver import Resolver
from noidtools.web.site import Site

NAME = "13030/kt4x551"
HTML = {"HTTP_ACCEPT": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


class Answer:
    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = int(status.split()[0])
        self.headers = {name.lower(): value for name, value in headers}
        self.names = [name.lower() for name, _ in headers]
        self.body = body
        self.text = body.decode()


class Web:
    """A resolver, asked the way a WSGI server asks."""

    def __init__(self, application) -> None:
        self._application = validator(application)

    def __call__(
        self, uri: str, method: str = "GET", script: str = "", *, request_line: bool = True, **more: str
    ) -> Answer:
        path, _, query = uri.partition("?")
        path = path[len(script) :] if path.startswith(script) else path
        path = path if path.startswith("/") else ""
        environ = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": script, "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query, "SERVER_NAME": "resolver.example", "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "id.example",
            "wsgi.version": (1, 0), "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.multithread": False,
            "wsgi.multiprocess": False, "wsgi.run_once": False, **more,
        }
        if request_line:
            environ["REQUEST_URI"] = uri
        told: list = []
        errors = environ["wsgi.errors"]
        body = self._application(environ, lambda status, headers, exc_info=None: told.extend((status, headers)))
        try:
            whole = b"".join(body)
        finally:
            body.close()
        self.errors = errors.getvalue()
        return Answer(told[0], told[1], whole)


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path / "kt5", *LONG)
    assert live.minted("https://a.example/x") == NAME
    yield live
    live.close()


def of(live: Live) -> Web:
    """A resolver of one minter, which this process has open already."""
    minters = SingleMinter(str(live.folder))
    status = os.stat(live.folder / "NOID" / "data.mdb")
    minters._known[str(live.folder)] = ((status.st_dev, status.st_ino), live.minter)
    return Web(Resolver(minters))


@pytest.fixture
def web(live):
    return of(live)


# -- redirects ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", [
    f"/ark:/{NAME}", f"/ark:{NAME}", f"/ARK:/{NAME}", f"/{NAME}", "/ark:/13030/kt4-x551", f"/ark%3A/{NAME}",
    f"/ark%3a%2f{NAME.replace('/', '%2F')}", f"/ark:/{NAME}/", f"//ark:/{NAME}", f"/https://other.example/ark:/{NAME}",
])
def test_a_name_is_redirected_to_its_target(web, uri):
    answer = web(uri)
    assert (answer.status, answer.headers["location"]) == (302, "https://a.example/x")
    assert answer.text == "https://a.example/x\n"


def test_head_is_like_get_without_a_body(web):
    got, head = web(f"/ark:/{NAME}"), web(f"/ark:/{NAME}", "HEAD")
    assert (head.status, head.headers, head.body) == (302, got.headers, b"")
    assert web("/ark:/13030/none", "HEAD").body == b""


def test_the_rest_of_a_name_goes_along(web):
    assert web(f"/ark:/{NAME}/my-file.pdf?x=1&y=%20-").headers["location"] == "https://a.example/x/my-file.pdf?x=1&y=%20-"
    assert web(f"/ark:/{NAME}/a%2Fb%20c").headers["location"] == "https://a.example/x/a%2Fb%20c"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_target_may_bring_its_own_code(live, web, code):
    live.target(NAME, f"{code} https://a.example/y")
    assert web(f"/ark:/{NAME}").status == code


def test_several_targets_lead_to_the_first_and_the_others_are_linked(live, web):
    live.target(NAME, "http://a.b.example/foo|http://c.d.example/bar|http://e.f.example/zaf")
    answer = web(f"/ark:/{NAME}")
    assert answer.headers["location"] == "http://a.b.example/foo"
    assert answer.headers["link"] == (
        f'</ark:/{NAME}?info>; rel="describedby", <http://c.d.example/bar>; rel="duplicate", '
        '<http://e.f.example/zaf>; rel="duplicate"'
    )
    told = web(f"/ark:/{NAME}?info").text
    assert [line for line in told.split("\n") if line.startswith("target:")] == [
        "target: http://a.b.example/foo", "target: http://c.d.example/bar", "target: http://e.f.example/zaf"]


def test_a_redirect_varies_by_what_is_asked_for_and_is_not_kept(web):
    answer = web(f"/ark:/{NAME}")
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("value", [
    "https://a.example/\r\nSet-Cookie: x=1", "https://a.example/%0d%0aSet-Cookie: x", "https://a.example/ä\u202e\0",
    "https://a.example/" + "".join(map(chr, range(1, 256))), "303 https://a.example/\n\n<script>",
])
def test_whatever_is_bound_the_headers_are_clean(live, web, value):
    live.target(NAME, value)
    answer = web(f"/ark:/{NAME}")
    assert answer.status in (302, 303)
    assert sorted(answer.names) == [
        "cache-control", "content-length", "content-type", "link", "location", "vary", "x-content-type-options"]
    assert all(0x20 < ord(character) < 0x7F for character in answer.headers["location"])


@pytest.mark.parametrize("value", ["javascript:alert(1)", "data:text/html,<script>", "//evil.example/", "a sentence",
                                   "/\\evil.example"])
def test_where_nobody_may_be_sent_the_name_is_described_instead(live, web, value):
    live.target(NAME, value)
    answer = web(f"/ark:/{NAME}", **HTML)
    assert answer.status == 200
    assert "location" not in answer.headers
    assert "not an address that a browser can be sent to" in answer.text
    assert 'href="javascript' not in answer.text and 'href="data' not in answer.text.replace('href="data:,"', "")


def test_of_several_targets_the_first_that_can_be_followed_is_taken(live, web):
    live.target(NAME, "javascript:alert(1)|https://a.example/")
    assert web(f"/ark:/{NAME}").headers["location"] == "https://a.example/"


def test_a_path_on_the_same_server_is_a_target_too(live, web):
    live.target(NAME, "/docs/a b")
    assert web(f"/ark:/{NAME}").headers["location"] == "/docs/a%20b"


def test_changed_bindings_are_seen_at_once(live, web):
    for number in range(5):
        live.target(NAME, f"https://a.example/{number}")
        assert web(f"/ark:/{NAME}").headers["location"] == f"https://a.example/{number}"


def test_the_fallback_gets_the_rest_and_the_wish_for_a_description(live, web):
    live("resolver", "fallback", "https://n2t.net/")
    assert web("/ark:/99999/x?y=1").headers["location"] == "https://n2t.net/ark:/99999/x?y=1"
    assert web("/ark:/99999/x?info").headers["location"] == "https://n2t.net/ark:/99999/x?info"
    assert web("/ark:/99999/x??").headers["location"] == "https://n2t.net/ark:/99999/x??"
    assert web(f"/ark:/{NAME}?info").status == 200
    assert "link" not in web("/ark:/99999/x").headers


# -- unknown names -----------------------------------------------------------------------------------------------


def test_an_unknown_name_is_404_with_a_page_a_text_or_data(web):
    page, text, data = (web("/ark:/13030/zzz", HTTP_ACCEPT=form) for form in ("text/html", "*/*", "application/json"))
    assert [answer.status for answer in (page, text, data)] == [404, 404, 404]
    assert page.headers["content-type"] == "text/html; charset=utf-8" and "<h1>Not found" in page.text
    assert text.text == "error: Nothing is known of this name. Is it complete, and spelled as in your source?\n"
    assert json.loads(data.text)["error"]["kind"] == "not found"
    assert page.headers["vary"] == text.headers["vary"] == data.headers["vary"] == "Accept"


def test_a_known_name_without_target_is_404_and_says_so(live, web):
    name = live.mint()
    answer = web(f"/ark:/{name}")
    assert answer.status == 404 and "is known here" in answer.text
    assert web(f"/ark:/{name}?info").status == 200


def test_a_mistyped_name_is_404_and_offers_what_was_meant(tmp_path):
    live = Live(tmp_path / "f5", *CHECKED)
    assert live.minted("https://a.example/") == "13030/f54x54g11"
    web = of(live)
    answer = web("/ark:/13030/f54x45g11")
    assert answer.status == 404
    assert answer.text == ("error: 13030/f54x45g11 has a wrong check character: something in it was mistyped.\n"
                           "meant: ark:/13030/f54x54g11\n")
    assert json.loads(web("/ark:/13030/f54x45g11", HTTP_ACCEPT="application/json").text)["error"]["meant"] == (
        "ark:/13030/f54x54g11")
    assert '<a href="/ark:/13030/f54x54g11">' in web("/ark:/13030/f54x45g11", **HTML).text
    assert "meant" not in web("/ark:/13030/f5zzzzzzz").text
    live.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(web, method):
    answer = web(f"/ark:/{NAME}", method, CONTENT_LENGTH="0")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("uri", [
    "/%", "/%zz", "/%00", "/\xff\xfe", "/" + "a/" * 4000, "/" + "%2e%2e/" * 500, "/ark:/", "/ark:/13030/%0d%0aX: y",
    "/<script>alert(1)</script>", "/javascript:alert(1)", "/?", "/??", "/'\"><img src=x>", "/ark:/13030/kt4x551%0a",
    "http://evil.example/ark:/13030/zzz", "*", "/ark:/13030/" + "%C3%A4" * 300,
])
def test_hostile_paths_get_a_plain_answer(web, uri):
    for accept in ("text/html", "*/*", "application/json"):
        answer = web(uri, HTTP_ACCEPT=accept)
        assert answer.status in (200, 302, 404)
        assert "<script>alert" not in answer.text if accept == "text/html" else True
        assert "<img" not in answer.text if accept == "text/html" else True


def test_a_fault_is_a_500_without_details_and_in_the_log(live, web, monkeypatch):
    monkeypatch.setattr("noidtools.web.resolver.resolve_and_gather", lambda *_: 1 / 0)
    answer = web(f"/ark:/{NAME}")
    assert answer.status == 500 and "Zero" not in answer.text
    assert "ZeroDivisionError" in web.errors


# -- descriptions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["?info", "?", "??"])
def test_a_description_is_shown_for(web, query):
    answer = web(f"/ark:/{NAME}{query}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["link"] == f'</ark:/{NAME}>; rel="cite-as"'
    assert answer.text.startswith(f"erc:\nwhere: https://id.example/ark:/{NAME}\n")


@pytest.mark.parametrize("query", ["?info=1", "?information", "???", "?info&x", "?x", "?Info"])
def test_other_queries_are_passed_through(web, query):
    assert web(f"/ark:/{NAME}{query}").headers["location"] == f"https://a.example/x{query}"


def test_without_the_request_line_a_bare_mark_cannot_be_seen_but_info_can(web):
    assert web(f"/ark:/{NAME}?info", request_line=False).status == 200
    assert web(f"/ark:/{NAME}?", request_line=False).status == 302
    assert web(f"/ark:/{NAME}/a%20b", request_line=False).headers["location"] == "https://a.example/x/a%20b"
    assert web(f"/ark:/{NAME}?", request_line=False, RAW_URI=f"/ark:/{NAME}?").status == 200


def test_the_description_as_a_citation(live, web):
    for element, value in (("what", "A title"), ("who", "Gibbon, Edward"), ("when", "1781"), ("note", "two\nlines"),
                           ("a:b", "x"), ("_private", "y")):
        live("bind", "set", NAME, element, value)
    text = web(f"/ark:/{NAME}?info").text
    text = re.sub(r"date: \d{14}", "date: DATE", text)
    assert text == (
        "erc:\nwho: Gibbon, Edward\nwhat: A title\nwhen: 1781\n"
        f"where: https://id.example/ark:/{NAME}\na%3Ab: x\nnote: two\n lines\n\n"
        f"erc-support:\nid: ark:/{NAME}\nstate: published\ndate: DATE\nauthority: cdlib.org/dpg\ntarget: https://a.example/x\n"
    )


def test_the_description_as_data(live, web):
    live("bind", "set", NAME, "what", "A title")
    live("bind", "set", NAME, "blob", b"\xff\xfe")
    answer = web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json")
    facts = json.loads(answer.text)
    assert answer.headers["content-type"] == "application/json"
    assert re.fullmatch(r"\d{14}", facts.pop("date"))
    assert facts == {
        "id": f"ark:/{NAME}", "where": f"https://id.example/ark:/{NAME}", "state": "published",
        "authority": "cdlib.org/dpg",
        "targets": [{"url": "https://a.example/x"}],
        "elements": [{"name": "blob", "value": {"base64": "//4="}}, {"name": "what", "value": "A title"}],
    }


@pytest.mark.parametrize(("accept", "beginning"), [
    ("text/turtle", "@prefix"), ("application/ld+json", "["), ("application/rdf+xml", "<?xml"),
])
def test_the_description_in_the_terms_of_the_ontology(web, accept, beginning):
    answer = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=f"{accept}, text/html;q=0.5")
    assert answer.status == 200 and answer.headers["content-type"].startswith(accept)
    assert answer.text.lstrip()[: len(beginning)] in (beginning, "{") and "kt4x551" in answer.text


def test_the_description_of_an_extension_is_that_of_the_bound_name(web):
    text = web(f"/ark:/{NAME}/page?info").text
    assert f"id: ark:/{NAME}\n" in text and "target: https://a.example/x/page\n" in text


def test_a_computed_target_is_described_with_its_rule(live, web):
    live("bind", "set", ":idmap/^13030/zz", "_t", "https://r.example/")
    text = web("/ark:/13030/zz1?info").text
    assert "target: https://r.example/1\nrule: :idmap/^13030/zz\n" in text


def test_a_huge_value_is_shortened(live, web):
    live("bind", "set", NAME, "what", b"x" * 1_000_000)
    assert len(web(f"/ark:/{NAME}?info").body) < 30_000
    assert "(1000000 bytes in all)" in web(f"/ark:/{NAME}?info").text


def test_where_reading_is_not_for_everybody_only_the_targets_are_told(live, web):
    live("bind", "set", NAME, "what", "A secret")
    live("policy", "read", "authenticated")
    assert "A secret" not in web(f"/ark:/{NAME}?info").text
    assert "target: https://a.example/x" in web(f"/ark:/{NAME}?info").text
    assert "A secret" in web(f"/ark:/{NAME}?info", REMOTE_USER="joe").text
    assert web(f"/ark:/{NAME}").status == 302


def test_a_withdrawn_name_is_410_with_its_tombstone(live, web):
    other = live.minted("https://b.example/")
    live("withdraw", NAME, "--reason", "Superseded <b>", "--successor", other)
    answer = web(f"/ark:/{NAME}")
    assert answer.status == 410
    assert "state: withdrawn\n" in answer.text
    assert f"reason: Superseded <b>\nsuccessor: {other}\n" in answer.text
    page = web(f"/ark:/{NAME}", **HTML)
    assert page.status == 410
    assert "This name was withdrawn. <bdi>Superseded &lt;b&gt;</bdi>" in page.text
    assert f'href="/{other}"' in page.text
    assert web(f"/ark:/{NAME}/page").status == 410
    assert web(f"/ark:/{NAME}?info").status == 200


def test_a_reserved_name_is_not_for_the_public(live, web):
    live("bind", "set", NAME, "what", "A secret")
    live("reserve", NAME)
    for query in ("", "?info", "/page"):
        answer = web(f"/ark:/{NAME}{query}")
        assert answer.status == 404 and "reserved" in answer.text and "secret" not in answer.text
    live("publish", NAME)
    assert web(f"/ark:/{NAME}").status == 302


def test_custodian_relations_and_verification_are_told(live, web):
    live("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    live("synonym", NAME, "hdl:100/x", "--authority", "library")
    live("verify", NAME)
    for form in (web(f"/ark:/{NAME}?info").text, web(f"/ark:/{NAME}?info", **HTML).text,
                 web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json").text):
        for word in ("Jo Keeper", "jo@example.org", "hdl:100/x", "ell-formed"):
            assert word in form


@pytest.mark.parametrize("host", ["evil.example\r\nX: y", "a b", "<script>", "ä", ""])
def test_a_host_that_is_none_is_not_repeated(web, host):
    answer = web(f"/ark:/{NAME}?info", HTTP_HOST=host)
    assert f"where: https://resolver.example/ark:/{NAME}\n" in answer.text


def test_under_a_path_of_its_own(live, web):
    answer = web(f"/resolve/ark:/{NAME}", script="/resolve")
    assert answer.headers["link"] == f'</resolve/ark:/{NAME}?info>; rel="describedby"'
    assert f"where: https://id.example/resolve/ark:/{NAME}" in web(f"/resolve/ark:/{NAME}?", script="/resolve").text
    live("withdraw", NAME, "--successor", "13030/kt154d9")
    assert 'href="/resolve/13030/kt154d9"' in web(f"/resolve/ark:/{NAME}", script="/resolve", **HTML).text
    assert 'action="/resolve/"' in web("/resolve/", script="/resolve", **HTML).text
    assert web("/resolve", script="/resolve").status == 200


# -- negotiation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("accept", "expected"), [
    ("", "text/plain"), ("*/*", "text/plain"), ("text/*", "text/plain"), ("text/html", "text/html"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html"),
    ("application/json", "application/json"), ("application/*", "application/json"),
    ("text/plain;q=0.5, application/json;q=0.6", "application/json"),
    ("text/html;q=0.1, text/plain;q=0.2", "text/plain"), ("text/*;q=0.3, text/html;q=0.7", "text/html"),
    ("text/plain;q=0, */*;q=0.1", "text/html"), ("image/png", "text/plain"), (";;,,q=,", "text/plain"),
    ("TEXT/HTML", "text/html"), ("text/html;level=1;q=0.4, application/json;q=0.3", "text/html"),
    ("text/html;q=abc, application/json;q=0.1", "application/json"), ("application/json;q=1.5", "application/json"),
])
def test_the_form_that_is_valued_most_is_sent(web, accept, expected):
    assert preferred(accept, ("text/plain", "text/html", "application/json")) == expected
    assert web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept).headers["content-type"].startswith(expected)


# -- the rest of the site ----------------------------------------------------------------------------------------


def test_the_front_page_has_a_form_that_leads_to_the_name(web):
    assert "<form" in web("/", **HTML).text
    assert "This is a resolver" in web("/").text
    for typed, place in [
        ("ark%3A%2F13030%2Fkt4x551", "/ark:/13030/kt4x551"), ("a+b%3Fc", "/a%20b?c"),
        ("%2F%2Fevil.example", "/evil.example"),
        ("https%3A%2F%2Fother.example%2Fark%3A%2F13030%2Fkt4x551", "/ark:/13030/kt4x551"),
        ("x%0D%0AY", "/x%0D%0AY"), ("%5Cevil", "/%5Cevil"),
    ]:
        answer = web(f"/?name={typed}")
        assert (answer.status, answer.headers["location"]) == (303, place)
    assert web("/?name=").status == 404


def test_healthz_tells_whether_all_minters_can_be_read(tmp_path):
    live = Live(tmp_path / "a", *LONG)
    live.close()
    web = Web(Resolver(MinterFolder(str(tmp_path))))
    assert (web("/healthz").status, web("/healthz").text) == (200, "ok\n")
    assert web("/healthz", "HEAD").status == 200
    (tmp_path / "b" / "NOID").mkdir(parents=True)
    (tmp_path / "b" / "NOID" / "data.mdb").write_bytes(b"garbage" * 1000)
    web = Web(Resolver(MinterFolder(str(tmp_path))))
    answer = web("/healthz")
    assert answer.status == 503 and str(tmp_path) not in answer.text


def test_many_minters_are_one_resolver_and_new_ones_are_noticed(tmp_path):
    for name, template in (("kt5", "kt.reeded"), ("f7", "f.sd")):
        live = Live(tmp_path / name, template, "long", "13030", "x", "y")
        live.minted(f"https://{name}.example/")
        live.close()
    resolver = Resolver(MinterFolder(str(tmp_path)))
    web = Web(resolver)
    assert web("/ark:/13030/kt4x551").headers["location"] == "https://kt5.example/"
    assert web("/ark:/13030/f0/page").headers["location"] == "https://f7.example/page"
    assert web("/ark:/13030/g0").status == 404
    live = Live(tmp_path / "g", "g.sd", "long", "13030", "x", "y")
    live.minted("https://g.example/")
    live.close()
    resolver._catalogue._looked -= 2
    assert web("/ark:/13030/g0").headers["location"] == "https://g.example/"
    shutil.rmtree(tmp_path / "g")
    resolver._catalogue._looked -= 2
    assert web("/ark:/13030/g0").status == 404


def test_the_first_requests_of_many_threads_all_find_their_minter(tmp_path):
    live = Live(tmp_path / "kt5", *LONG)
    live.minted("https://a.example/")
    live.close()
    for _ in range(20):
        resolver = Resolver(MinterFolder(str(tmp_path)))
        web = Web(resolver)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(web, [f"/ark:/{NAME}"] * 16))
        assert [answer.status for answer in answers] == [302] * 16
        resolver._catalogue._minters.open(str(tmp_path / "kt5"), "kt5").close()


def test_a_minter_that_vanishes_is_no_fault_of_the_reader(tmp_path):
    live = Live(tmp_path / "g", "g.sd", "long", "13030", "x", "y")
    live.minted("https://g.example/")
    live.close()
    web = Web(Resolver(MinterFolder(str(tmp_path))))
    assert web("/ark:/13030/g0").status == 302
    shutil.rmtree(tmp_path / "g")
    assert web("/ark:/13030/g0").status == 404


def test_commands_and_names_share_a_site(live):
    minters = SingleMinter(str(live.folder))
    status = os.stat(live.folder / "NOID" / "data.mdb")
    minters._known[str(live.folder)] = ((status.st_dev, status.st_ino), live.minter)
    site = Site(minters)
    web = Web(site)
    assert web("/noidu?get+13030/kt4x551+_t").text == "https://a.example/x\n"
    assert web("/noidu_kt5?get+13030/kt4x551+_t").text == "https://a.example/x\n"
    assert web(f"/ark:/{NAME}").status == 302
    site.prepare([{"PATH_INFO": f"/ark:/{NAME}", "REQUEST_METHOD": "GET"}])


# -- on the embedded server --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    live = Live(folder / "kt5", *LONG)
    live.minted("https://a.example/x")
    live.close()
    port = free_port()
    process = subprocess.Popen([*NOID, "-f", str(folder / "kt5"), "serve", "--http", f"127.0.0.1:{port}"],
                               stderr=subprocess.PIPE)
    process.stderr.readline()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            curl(f"http://127.0.0.1:{port}/healthz")
            break
        except AssertionError:
            time.sleep(0.05)
    yield port
    process.terminate()
    process.wait(10)
    process.stderr.close()


def test_noid_serve_resolves_names_and_sees_a_bare_mark(served):
    base = f"http://127.0.0.1:{served}"
    assert curl(f"{base}/ark:/{NAME}").headers["location"] == "https://a.example/x"
    assert curl(f"{base}/ark:/{NAME}", "--head").status == 302
    for query in (b"?", b"??", b"?info"):
        answer = raw(served, b"GET /ark:/13030/kt4x551" + query + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200") and b"erc:\n" in answer
    assert curl(f"{base}/ark:/13030/zzz").status == 404
    assert curl(f"{base}/noidu?get+{NAME}+_t").text == "https://a.example/x\n"
    assert curl(f"{base}/healthz").text == "ok\n"


def test_canaries_can_be_checked_through_the_web(served, tmp_path, noid):
    base = f"http://127.0.0.1:{served}/"
    noid("dbcreate", *LONG)
    noid("resolver", "canary", f"ark:/{NAME}", "https://a.example/x")
    noid("resolver", "canary", "ark:/13030/zzz", "status 404")
    assert noid("check", "--through", base).count("ok: ") == 2
    noid("resolver", "canary", f"ark:/{NAME}", "https://a.example/y")
    done = noid.run("check", "--through", base)
    assert done.returncode == 1 and b"leads to https://a.example/x, not to https://a.example/y" in done.stdout
    done = noid.run("check", "--through", f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 1 and b"no answer" in done.stdout
    noid.refused("check", "--through", "nonsense", status=2)


def test_nothing_of_the_web_is_loaded_for_resolving_in_the_shell():
    script = ("import sys; import noidtools.commands.resolve, noidtools.resolution, noidtools.resolution.catalogue\n"
              "print(sorted({'re', 'json', 'html', 'http', 'urllib', 'subprocess', 'typing'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.strip() == "[]", done.stderr


def test_who_asks_for_statements_about_a_thing_is_led_to_them(live, web):
    live.target(live.mint(), "https://a.example/")
    answer = web(f"/ark:/{NAME}", HTTP_ACCEPT="text/turtle, */*;q=0.1")
    assert (answer.status, answer.headers["location"]) == (303, f"/ark:/{NAME}?info")
    assert answer.headers["vary"] == "Accept"
    for accept in ("*/*", HTML["HTTP_ACCEPT"], "text/html, text/turtle;q=0.5"):
        answer = web(f"/ark:/{NAME}", HTTP_ACCEPT=accept)
        assert (answer.status, answer.headers["vary"]) == (302, "Accept")


def test_relations_in_force_are_told_with_who_says_so(tmp_path):
    noid = Noid(tmp_path)
    noid("dbcreate", "--label", "ark:/", *LONG)
    name = noid.ids(1)[0]
    noid("synonym", name, "doi:10.5/a", "--authority", "The Library")
    noid("synonym", name, "hdl:9/9", "--authority", "Old", "--from", "2019", "--until", "2020")
    noid("prefer", name, "--authority", "The Library")
    web = Web(Resolver(SingleMinter(str(tmp_path))))
    text = web(f"/{name}?info", HTTP_ACCEPT="text/plain").text
    assert "synonym: doi:10.5/a according to The Library\n" in text and "hdl:9/9" not in text
    assert "preferred: according to The Library\n" in text
    page = web(f"/{name}?info", **HTML).text
    assert 'href="/doi:10.5/a"' in page and "according to <bdi>The Library</bdi>" in page
    noid("withdraw", name)
    assert "minted: 2" in web(f"/{name}", HTTP_ACCEPT="text/plain").text
