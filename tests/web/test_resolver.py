"""The web resolver: redirects, unknown names, hostile paths."""

from __future__ import annotations

import json

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.resolution import catalogue
from noidtools.web.resolver import Resolver
from support.minter import Noid
from support.templates import CHECKED
from support.wsgi import HTML, ResolverClient, resolver_of

NAME = "13030/kt4x551"


@pytest.fixture
def minter(kt5):
    return kt5


@pytest.fixture
def web(kt5):
    return resolver_of(kt5)


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


def test_the_extension_and_query_of_a_name_are_appended_to_its_target(web):
    assert web(f"/ark:/{NAME}/my-file.pdf?x=1&y=%20-").headers["location"] == "https://a.example/x/my-file.pdf?x=1&y=%20-"
    assert web(f"/ark:/{NAME}/a%2Fb%20c").headers["location"] == "https://a.example/x/a%2Fb%20c"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_target_may_have_its_own_redirect_code(minter, web, code):
    minter.set_target(NAME, f"{code} https://a.example/y")
    assert web(f"/ark:/{NAME}").status == code


def test_several_targets_lead_to_the_first_and_the_others_are_linked(minter, web):
    minter.set_target(NAME, "http://a.b.example/foo|http://c.d.example/bar|http://e.f.example/zaf")
    answer = web(f"/ark:/{NAME}")
    assert answer.headers["location"] == "http://a.b.example/foo"
    assert answer.headers["link"] == (
        f'</ark:/{NAME}?info>; rel="describedby", <http://c.d.example/bar>; rel="duplicate", '
        '<http://e.f.example/zaf>; rel="duplicate"'
    )
    description = web(f"/ark:/{NAME}?info").text
    assert [line for line in description.split("\n") if line.startswith("target:")] == [
        "target: http://a.b.example/foo", "target: http://c.d.example/bar", "target: http://e.f.example/zaf"]


def test_a_redirect_varies_by_accept_and_is_cached_for_some_minutes(web):
    answer = web(f"/ark:/{NAME}")
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "max-age=300, stale-if-error=86400"


def test_a_minter_says_how_long_answers_are_cached(minter, web):
    assert minter.text("resolver", "cache", "60", "600").splitlines()[-1] == "cache: max-age=60, stale-if-error=600"
    for path in (f"/ark:/{NAME}", f"/ark:/{NAME}/page", f"/ark:/{NAME}?info"):
        assert web(path).headers["cache-control"] == "max-age=60, stale-if-error=600", path
    assert "cache" not in minter.text("resolver", "cache", "-")
    minter.text("resolver", "cache", "0")
    assert web(f"/ark:/{NAME}").headers["cache-control"] == "max-age=0, stale-if-error=86400"
    assert "is not a number of seconds" in minter.refusal("resolver", "cache", "soon").message
    assert "is not a number of seconds" in minter.refusal("resolver", "cache", "60", "9" * 50).message


@pytest.mark.parametrize("path", ["/ark:/13030/none", "/ark:/13030/none?info", "/", "/healthz"])
def test_what_is_not_an_answer_about_a_public_name_is_not_cached(web, path):
    assert web(path).headers["cache-control"] == "no-store"


def test_the_description_for_a_user_is_not_cached(web):
    for more in ({"REMOTE_USER": "jo"}, {"HTTP_AUTHORIZATION": "Basic eDp5"}):
        headers = web(f"/ark:/{NAME}?info", **more).headers
        assert headers["cache-control"] == "no-store" and "etag" not in headers


def test_a_description_that_the_client_has_already_is_304(minter, web):
    for accept in ("*/*", "text/html", "application/json"):
        first = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept)
        tag = first.headers["etag"]
        for sent in (tag, f'"other", W/{tag}', "*"):
            again = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH=sent)
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH='"other"').status == 200
    before = first.headers["last-modified"]
    assert before.endswith(" GMT")
    minter.set_target(NAME, "https://b.example/")
    changed = web(f"/ark:/{NAME}?info", HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH=tag)
    assert changed.status == 200 and changed.headers["etag"] != tag


@pytest.mark.parametrize("path", [f"/ark:/{NAME}", f"/ark:/{NAME}?info", "/ark:/13030/none", "/", "/.well-known/ark"])
def test_scripts_of_other_sites_may_read_what_is_public(web, path):
    answer = web(path)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "Link" in answer.headers["access-control-expose-headers"]
    asked = web(path, "OPTIONS")
    assert asked.status == 204 and asked.headers["access-control-allow-methods"] == "GET, HEAD"


def test_the_path_of_arks_is_well_known(web):
    answer = web("/.well-known/ark")
    assert (answer.status, answer.headers["content-type"], answer.text) == (200, "text/plain; charset=utf-8", "/\n")
    assert web("/names/.well-known/ark", script="/names").text == "/names/\n"


def test_a_description_names_what_it_describes_in_headers(web):
    headers = web(f"/ark:/{NAME}?info").headers
    assert headers["link"] == f'</ark:/{NAME}>; rel="cite-as", </ark:/{NAME}>; rel="describes"'
    assert headers["thump-status"] == "0.6 200 OK"


def test_json_is_asked_for_in_the_query_too(web):
    data = web(f"/ark:/{NAME}?json", HTTP_ACCEPT="text/turtle")
    assert json.loads(data.text)["id"] == f"ark:/{NAME}"
    assert data.text == web(f"/ark:/{NAME}?info", HTTP_ACCEPT="application/json").text
    assert json.loads(web("/ark:/13030/none?json").text)["error"]["kind"] == "not found"


@pytest.mark.parametrize("value", [
    "https://a.example/\r\nSet-Cookie: x=1", "https://a.example/%0d%0aSet-Cookie: x", "https://a.example/ä\u202e\0",
    "https://a.example/" + "".join(map(chr, range(1, 256))), "303 https://a.example/\n\n<script>",
])
def test_headers_are_valid_whatever_is_bound(minter, web, value):
    minter.set_target(NAME, value)
    answer = web(f"/ark:/{NAME}")
    assert answer.status in (302, 303)
    assert sorted(answer.headers) == [
        "access-control-allow-origin", "access-control-expose-headers", "cache-control", "content-length",
        "content-type", "link", "location", "vary", "x-content-type-options"]
    assert all(0x20 < ord(character) < 0x7F for character in answer.headers["location"])


@pytest.mark.parametrize("value", ["javascript:alert(1)", "data:text/html,<script>", "//evil.example/", "a sentence",
                                   "/\\evil.example"])
def test_a_name_with_an_unsafe_target_is_described_and_not_redirected(minter, web, value):
    minter.set_target(NAME, value)
    answer = web(f"/ark:/{NAME}", **HTML)
    assert answer.status == 200
    assert "location" not in answer.headers
    assert "a target, but not one to which a browser can go" in answer.text
    assert 'href="javascript' not in answer.text and 'href="data' not in answer.text.replace('href="data:,"', "")


def test_of_several_targets_the_first_that_can_be_followed_is_taken(minter, web):
    minter.set_target(NAME, "javascript:alert(1)|https://a.example/")
    assert web(f"/ark:/{NAME}").headers["location"] == "https://a.example/"


def test_a_path_on_the_same_server_is_a_target_too(minter, web):
    minter.set_target(NAME, "/docs/a b")
    assert web(f"/ark:/{NAME}").headers["location"] == "/docs/a%20b"


def test_changed_bindings_are_seen_at_once(minter, web):
    for number in range(5):
        minter.set_target(NAME, f"https://a.example/{number}")
        assert web(f"/ark:/{NAME}").headers["location"] == f"https://a.example/{number}"


def test_unknown_names_are_redirected_to_the_fallback_with_their_query(minter, web):
    minter.text("resolver", "fallback", "https://n2t.net/")
    assert web("/ark:/99999/x?y=1").headers["location"] == "https://n2t.net/ark:/99999/x?y=1"
    assert web("/ark:/99999/x?info").headers["location"] == "https://n2t.net/ark:/99999/x?info"
    assert web("/ark:/99999/x??").headers["location"] == "https://n2t.net/ark:/99999/x??"
    assert web(f"/ark:/{NAME}?info").status == 200
    assert "link" not in web("/ark:/99999/x").headers


# -- unknown names -----------------------------------------------------------------------------------------------


def test_an_unknown_name_is_404_as_html_text_or_json(web):
    page, text, data = (web("/ark:/13030/zzz", HTTP_ACCEPT=form) for form in ("text/html", "*/*", "application/json"))
    assert [answer.status for answer in (page, text, data)] == [404, 404, 404]
    assert page.headers["content-type"] == "text/html; charset=utf-8" and "<h1>Not found" in page.text
    assert text.text == "error: Nothing is known of this name. Is it complete, and spelled as in your source?\n"
    assert json.loads(data.text)["error"]["kind"] == "not found"
    assert text.headers["vary"] == data.headers["vary"] == "Accept"
    assert page.headers["vary"] == "Accept, Accept-Language"


# As the name reaches the resolver with what was around it where it was copied, or as it was read off paper.
PASTED = [
    f"/ark:/{NAME})", f"/ark:/{NAME}%3E", f"/ark:/{NAME}%E2%80%9D", f"/ark:/{NAME}%26gt;",
    "/ark:/13030/kt4%0A%20x551&quot;", "/ark:/13030/kt4%E2%80%8Bx55&#49;", "/ark:/13030/kt4%D1%85551",
    "/ark:/13030/kt4x55l", "/ark:/13030/KT4X55I", "/ark:/13030/kt4x55%EF%BC%91", f"/&lt;ark:/{NAME}&gt;",
]


@pytest.mark.parametrize("path", PASTED)
def test_the_name_that_was_pasted_is_offered_in_every_form(web, path):
    text = web(path)
    assert text.status == 404 and text.text.endswith(f"\nmeant: ark:/{NAME}\n")
    error = json.loads(web(path, HTTP_ACCEPT="application/json").text)["error"]
    assert (error["meant"], error["code"]) == (f"ark:/{NAME}", "unknown-name")
    assert f'<a href="/ark:/{NAME}">' in web(path, **HTML).text


def test_a_pasted_name_is_offered_among_several_minters(tmp_path):
    for name, template in (("a", "kt.sdd"), ("b", "kx.sdd")):
        minter = Noid.created(tmp_path / name, template, "long", "13030", "a", "b")
        minter.mint(2)
        minter.records("reserve", f"13030/{template[:2]}01")
        minter.close()
    web = ResolverClient(Resolver(MinterFolder(str(tmp_path))))
    assert "meant: ark:/13030/kx00\n" in web("/%E2%80%9Cark:/13030/kx00&quot;").text
    assert "meant: ark:/13030/kx00\n" in web("/ark%26%2358;/13030/kxOo").text
    hidden, unknown = (web(f"/%E2%80%9Cark:/13030/kx{number}&quot;").text for number in ("01", "99"))
    assert hidden == unknown and "meant" not in hidden
    error = json.loads(web("/ark:/99999/x", HTTP_ACCEPT="application/json").text)["error"]
    assert error["code"] == "unknown-authority"


@pytest.mark.parametrize("name", ["KT4X551", "Kt4-X551", "kT4x551/Page", "KT4X551?Q"])
def test_upper_case_is_tolerated_where_the_minter_has_lower_case_only(web, name):
    rest = name.replace("-", "")[7:]
    assert web(f"/ark:/13030/{name}").headers["location"] == f"https://a.example/x{rest}"


def test_a_known_name_without_target_is_404_and_reported_as_known(minter, web):
    name = minter.mint()[0]
    answer = web(f"/ark:/{name}")
    assert answer.status == 404 and "is known here" in answer.text
    assert web(f"/ark:/{name}?info").status == 200


def test_a_mistyped_name_is_404_and_offers_what_was_meant(tmp_path):
    minter = Noid.created(tmp_path / "f5", *CHECKED)
    assert minter.mint_with_target("https://a.example/") == "13030/f54x54g11"
    web = resolver_of(minter)
    answer = web("/ark:/13030/f54x45g11")
    assert answer.status == 404
    assert answer.text == ("error: 13030/f54x45g11 has a wrong check character: something in it was mistyped.\n"
                           "meant: ark:/13030/f54x54g11\n")
    assert json.loads(web("/ark:/13030/f54x45g11", HTTP_ACCEPT="application/json").text)["error"]["meant"] == (
        "ark:/13030/f54x54g11")
    assert '<a href="/ark:/13030/f54x54g11">' in web("/ark:/13030/f54x45g11", **HTML).text
    assert "meant" not in web("/ark:/13030/f5zzzzzzz").text
    minter.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_are_refused(web, method):
    answer = web(f"/ark:/{NAME}", method, CONTENT_LENGTH="0")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize("uri", [
    "/%", "/%zz", "/%00", "/\xff\xfe", "/" + "a/" * 4000, "/" + "%2e%2e/" * 500, "/ark:/", "/ark:/13030/%0d%0aX: y",
    "/<script>alert(1)</script>", "/javascript:alert(1)", "/?", "/??", "/'\"><img src=x>", "/ark:/13030/kt4x551%0a",
    "http://evil.example/ark:/13030/zzz", "*", "/ark:/13030/" + "%C3%A4" * 300,
])
def test_hostile_paths_get_an_answer_without_their_markup(web, uri):
    for accept in ("text/html", "*/*", "application/json"):
        answer = web(uri, HTTP_ACCEPT=accept)
        assert answer.status in (200, 302, 404)
        assert "<script>alert" not in answer.text if accept == "text/html" else True
        assert "<img" not in answer.text if accept == "text/html" else True


def test_a_fault_is_a_500_without_details_and_in_the_log(minter, web, monkeypatch):
    monkeypatch.setattr(catalogue, "resolve_and_gather", lambda *_: 1 / 0)
    answer = web(f"/ark:/{NAME}")
    assert answer.status == 500 and "Zero" not in answer.text
    assert "ZeroDivisionError" in answer.log
