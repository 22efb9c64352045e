"""Names resolved by every server, and maps for servers that look names up by themselves."""

from __future__ import annotations

import os
import time

import pytest

from support.http import raw
from support.servers import with_rare_ones_long

DEPLOYMENTS = with_rare_ones_long((
    "rewrite", "rewrite-map", "apache-resolver", "apache-fcgi-resolver", "wsgi-resolver", "nginx-resolver",
    "nginx-fcgi-resolver", "nginx-map"))

# -- the manual's scenario ---------------------------------------------------------------------------------------


def test_a_name_minted_and_bound_by_url_is_redirected_to_its_target(deployment):
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "http://foo.ucsd.edu/")
    deployment.wait_for_location(f"ark:/{name}", "http://foo.ucsd.edu/")
    assert deployment.resolve(f"ark:/{name}").status == 302
    assert deployment.resolve(f"ark:/{name}", "--head").status == 302
    # Changed by curl, seen by the next click.
    for number in range(10):
        deployment.bind(name, f"https://bar.example/{number}")
        assert deployment.location(f"ark:/{name}") == f"https://bar.example/{number}"


def test_the_element_of_the_manual_can_be_configured(deploy):
    deployment = deploy("rewrite-mygoto")
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "http://foo.ucsd.edu/", "myGoto")
    deployment.wait_for_location(f"ark:/{name}", "http://foo.ucsd.edu/")


def test_spellings_extensions_and_queries_are_redirected(deployment):
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "https://a.example/x")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/x")
    short = name.removeprefix("13030/")
    for asked, expected in [
        (f"ARK:13030/{short}", ""), (f"ark:/13030/{short[:4]}-{short[4:]}", ""), (f"ark%3A/{name}", ""),
        (f"/ark:/{name}", ""),
        (f"ark:/{name}/", ""), (f"ark:/{name}/my-file.pdf", "/my-file.pdf"), (f"ark:/{name}?a=b&c=%20-", "?a=b&c=%20-"),
        (f"ark:/{name}/a%20b%2Fc%25", "/a%20b%2Fc%25"), (f"ark:/{name}/%C3%A4", "/%C3%A4"),
        (f"ark:/{name}/a+b", "/a+b"),
        (f"ark:/{name}?a=b?c=d", "?a=b?c=d"), (f"ark:/{name}/a%3Fb?c", "/a%3Fb?c"),
        (f"ark:/{name}/a;b=c,d:e@f!$&'()*", "/a;b=c,d:e@f!$&'()*"),
    ]:
        assert deployment.location(asked) == f"https://a.example/x{expected}", asked


def test_a_redirect_code_and_the_first_of_several_targets_are_used(deployment):
    name = deployment.mint("kt5")[0]
    for code in (301, 303, 307, 308, 302):
        deployment.bind(name, f"'{code}%20https://a.example/{code}|https://b.example/'")
        deployment.wait_for_location(f"ark:/{name}", f"https://a.example/{code}")
        assert deployment.resolve(f"ark:/{name}").status == code


def test_a_name_without_target_is_404(deployment):
    for name in ("ark:/13030/none", "ark:/", "ark:/13030/kt%00", "ark:/99999/x"):
        assert deployment.resolve(name).status in (400, 404)


def test_what_is_not_found_is_left_to_the_server_which_may_have_such_a_file(deploy):
    deployment = deploy("rewrite")
    folder = deployment.folder / "htdocs" / "ark:" / "13030"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "own").write_text("the server's own\n")
    assert deployment.resolve("ark:/13030/own").text == "the server's own\n"
    assert deployment.resolve("ark:/13030/none").status == 404


def test_an_unsafe_target_is_no_redirect(deployment):
    name = deployment.mint("kt5")[0]
    for value in ("javascript:alert(1)", "javascript://x/%250Aalert(1)", "data:text/html,x", "//evil.example/",
                  "words"):
        deployment.bind(name, value)
        assert deployment.location(f"ark:/{name}") is None


@pytest.mark.parametrize("kind", ["apache-resolver", "apache-fcgi-resolver", "wsgi-resolver", "nginx-resolver",
                                  "nginx-fcgi-resolver", "nginx-map"])
def test_question_marks_in_the_request_line_ask_for_a_description(deploy, kind):
    deployment = deploy(kind)
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "https://a.example/x")
    deployment.wait_for_location(f"ark:/{name}", "https://a.example/x")
    for query in ("?info", "?", "??"):
        request = f"GET /ark:/{name}{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = raw(deployment.resolver_port(), request.encode())
        assert answer.startswith(b"HTTP/1.1 200") and b"erc:\nwho: " in answer, answer
    page = deployment.resolve(f"ark:/{name}?info", "--header", "Accept: text/html")
    assert page.headers["content-type"] == "text/html; charset=utf-8" and "default-src 'none'" in str(page.headers)


def test_an_unknown_name_is_redirected_to_the_fallback_of_the_minter(deploy):
    deployment = deploy("rewrite")
    deployment.noid("-f", "kt5", "resolver", "fallback", "https://n2t.net/")
    try:
        assert deployment.location("ark:/99999/x-y?z=1") == "https://n2t.net/ark:/99999/x-y?z=1"
    finally:
        deployment.noid("-f", "kt5", "resolver", "fallback", "-")
    assert deployment.location("ark:/99999/x-y?z=1") is None


def test_a_local_path_is_served_by_apache_and_never_outside_its_folder(deploy):
    deployment = deploy("rewrite")
    (deployment.folder / "htdocs" / "docs").mkdir(exist_ok=True)
    (deployment.folder / "htdocs" / "docs" / "my file.txt").write_text("here it is\n")
    (deployment.folder / "htdocs" / "secret.txt").write_text("secret\n")
    name = deployment.mint("kt5")[0]
    deployment.bind(name, '"/docs/my%20file.txt"')
    assert deployment.resolve(f"ark:/{name}").text == "here it is\n"
    deployment.bind(name, "/docs")
    (deployment.folder / "htdocs" / "docs" / "plain.txt").write_text("plain\n")
    assert deployment.resolve(f"ark:/{name}/plain.txt").text == "plain\n"
    # Apache takes the path as it was bound, and what was added to it, for the name of a file: nothing is decoded.
    assert deployment.resolve(f"ark:/{name}/my%20file.txt").status == 404
    for climb in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//../secret.txt", "/x/../../secret.txt"):
        assert "secret" not in deployment.resolve(f"ark:/{name}{climb}").text
    deployment.bind(name, "/")
    assert deployment.location(f"ark:/{name}//evil.example/") is None


def test_a_withdrawn_name_is_gone(deploy):
    deployment = deploy("rewrite")
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "https://a.example/")
    assert deployment.location(f"ark:/{name}") == "https://a.example/"
    deployment.noid("-f", "kt5", "withdraw", name, "--reason", "test")
    assert deployment.resolve(f"ark:/{name}").status == 410


# -- maps --------------------------------------------------------------------------------------------------------


def test_apache_notices_a_new_map_and_asks_for_what_is_not_in_it(deploy):
    deployment = deploy("rewrite-map")
    name, later = deployment.mint("kt5")[0], deployment.mint("kt5")[0]
    deployment.bind(name, "https://in-the-map.example/")
    deployment.noid("-f", "kt5", "export", "--map", "dbm", str(deployment.folder / "kt5.dbm"))
    # The map was written before: what is bound now is not in it.
    deployment.bind(name, "https://bound-later.example/")
    deployment.bind(later, "https://not-in-the-map.example/")
    assert deployment.location(f"ark:/{name}") == "https://in-the-map.example/"
    assert deployment.location(f"ark:/{later}") == "https://not-in-the-map.example/"
    assert deployment.location(f"ark:/{name}/page") == "https://bound-later.example/page"
    time.sleep(1.1)
    deployment.noid("-f", "kt5", "export", "--map", "dbm", str(deployment.folder / "kt5.dbm"))
    assert deployment.location(f"ark:/{name}") == "https://bound-later.example/"
    os.unlink(deployment.folder / "kt5.dbm")


def test_nginx_reads_a_new_map_when_it_is_reloaded(deploy):
    deployment = deploy("nginx-map")
    name = deployment.mint("kt5")[0]
    deployment.bind(name, "https://in-the-map.example/$x%22%7B%7D;%23")
    deployment.noid("-f", "kt5", "export", "--map", "nginx", str(deployment.folder / "kt5.map"))
    deployment.bind(name, "https://bound-later.example/")
    deployment.reload()
    deployment.wait_for_location(f"ark:/{name}", "https://in-the-map.example/%24x%22%7B%7D;#")
    assert deployment.location(f"ark:/{name}/page") == "https://bound-later.example/page"
    (deployment.folder / "kt5.map").write_text("")
    deployment.reload()
    deployment.wait_for_location(f"ark:/{name}", "https://bound-later.example/")


# -- rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "replacement", "rest", "expected"), [
    (1, "303 https://e.org$1", "/a", "https://e.org/a"), (1, "303 https://e.org$1", ".evil.com/login", None),
    (1, "303 https://e.org$1", "@evil.com/", None), (1, "303 https://e.org$1", "%5C@evil.com/", None),
    (2, "302 $1", "https://evil.com/", None), (3, "|$1", "https://evil.com/", None),
    (4, "$1", "%20https://evil.com/", None), (4, "$1", "mailto:me@evil.com", None),
    (5, "https://e.org/ |303 $1", "https://evil.com/", None), (6, "mailto:$1", "me@evil.com", None),
])
def test_a_rule_never_redirects_to_a_site_of_the_readers_choice(deployment, number, replacement, rest, expected):
    deployment.noid("-f", "kt5", "bind", "set", f":idmap/^13030/rule{number}=(.*)$", "_t", replacement)
    assert deployment.location(f"ark:/13030/rule{number}={rest}") == expected
