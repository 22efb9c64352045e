"""Commands by URL that a browser merely opens: a page asks, and only its form changes something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from urllib.parse import quote

import pytest

from noidtools.web import confirmation
from support.minter import create_in_child, run_in_child
from support.project import PROGRAMS as PROGRAM_FILES
from support.wsgi import HTML, USER, CommandClient, Response

CHROMIUM = {
    "HTTP_USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0",
    "HTTP_ACCEPT_LANGUAGE": "en",
}
PAGE_LOADS = [
    {"HTTP_SEC_FETCH_MODE": "navigate"}, {"HTTP_SEC_FETCH_MODE": "Navigate", "HTTP_SEC_FETCH_SITE": "none"},
    {"HTTP_SEC_FETCH_DEST": "document", "HTTP_SEC_FETCH_SITE": "same-origin"}, {"HTTP_SEC_FETCH_DEST": "iframe"},
    {"HTTP_SEC_FETCH_DEST": "image", "HTTP_SEC_FETCH_MODE": "no-cors", "HTTP_SEC_FETCH_SITE": "same-origin"},
    {"HTTP_SEC_FETCH_DEST": "script"}, {"HTTP_UPGRADE_INSECURE_REQUESTS": "1"}, HTML,
    {"HTTP_ACCEPT": "TEXT/HTML"}, {"HTTP_ACCEPT": "image/avif,*/*;q=0.8"}, {"HTTP_ACCEPT": "text/css,*/*;q=0.1"},
    CHROMIUM, {**CHROMIUM, "HTTP_ACCEPT": "*/*"}, {**HTML, "HTTP_REFERER": "http://id.example.org/page"},
    {"HTTP_SEC_FETCH_MODE": "cors", "HTTP_UPGRADE_INSECURE_REQUESTS": "1"},
    {**HTML, "HTTP_USER_AGENT": "Lynx/2.9.0dev.12 libwww-FM/2.14"},
    {**CHROMIUM, "HTTP_ACCEPT": "x/y", "HTTP_ACCEPT_LANGUAGE": ""},
    {"HTTP_USER_AGENT": CHROMIUM["HTTP_USER_AGENT"], "HTTP_ACCEPT": "*/*", "HTTP_ACCEPT_ENCODING": "gzip, deflate"},
]
PROGRAMS = [
    {}, {"HTTP_ACCEPT": "*/*", "HTTP_USER_AGENT": "curl/8.5.0"}, {"HTTP_ACCEPT": "application/json"},
    {"HTTP_USER_AGENT": "python-requests/2.32", "HTTP_ACCEPT": "*/*", "HTTP_ACCEPT_ENCODING": "gzip, deflate"},
    {"HTTP_USER_AGENT": "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1"},
    {"HTTP_USER_AGENT": "Mozilla/5.0 (Windows NT 10.0; en-US) PowerShell/7.4.0", "HTTP_ACCEPT_ENCODING": "gzip"},
    {**CHROMIUM, "HTTP_SEC_FETCH_MODE": "cors", "HTTP_SEC_FETCH_DEST": "empty", "HTTP_SEC_FETCH_SITE": "same-origin"},
    {**CHROMIUM, "HTTP_ACCEPT": "*/*", "HTTP_REFERER": "http://id.example.org/page"},
    {**HTML, "HTTP_IDEMPOTENCY_KEY": "order-17"},
    {"HTTP_USER_AGENT": "Java/1.8.0_292", "HTTP_ACCEPT": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"},
]
TOKEN = re.compile(r'name="token" value="([\w.-]+)"')


def token_in(page: Response) -> str:
    (token,) = TOKEN.findall(page.text)
    return str(token)


def minted_on(page: Response) -> list[str]:
    """The identifiers on the page that answers a form."""
    return re.findall(r"<li><a [^>]*><bdi>(.*?)</bdi></a></li>", page.text) if page.status == 200 else []


def send_form(web: CommandClient, query: str, token: str, user: str = USER, **variables: str) -> Response:
    """The form as a browser sends it over plain http."""
    body = f"token={quote(token, safe='')}".encode()
    return web(query, user=user, method="POST", body=body, **{
        **HTML, "CONTENT_TYPE": "application/x-www-form-urlencoded", "HTTP_ORIGIN": "http://id.example.org",
        "HTTP_UPGRADE_INSECURE_REQUESTS": "1", **variables})


@pytest.mark.parametrize("variables", PAGE_LOADS, ids=str)
def test_what_a_browser_opens_changes_nothing(web: CommandClient, variables: dict[str, str]) -> None:
    for query in ("mint+1", "policy+admin+bob", "bind+mint+new+_t+https://e.org/", "note+x+y"):
        page = web(query, user=USER, **variables)
        assert (page.status, page.headers["allow"]) == (405, "POST") and page.ids == []
        assert page.headers["content-type"] == "text/html; charset=utf-8" and token_in(page)
    dump = web("dbinfo+dump", user=USER).text
    assert dump.count("EVENTS/") == 1 and "dbcreate" in dump and "bob" not in dump
    assert web("mint+1", user=USER).ids == ["kt4x551"]


@pytest.mark.parametrize("variables", PROGRAMS, ids=str)
def test_programs_and_scripts_of_this_site_go_on_as_before(web: CommandClient, variables: dict[str, str]) -> None:
    assert web("mint+1", user=USER, **variables).status == 200


@pytest.mark.parametrize("variables", PAGE_LOADS, ids=str)
def test_a_browser_reads_as_before(web: CommandClient, variables: dict[str, str]) -> None:
    assert web("hello", **variables).status == 200
    assert web("dbinfo", user=USER, **variables).status == 200


def test_the_page_shows_the_command_and_runs_nothing(web: CommandClient) -> None:
    page = web("bind+set+kt4x551+%3Cscript%3Ex+'a%22%3E%3Cimg%3E'", user=USER, **HTML)
    assert "<code>bind <bdi>set</bdi> <bdi>kt4x551</bdi> <bdi>&lt;script&gt;x</bdi>" in page.text
    assert "<script" not in page.text and "<img" not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "form-action 'self'" in policy and "frame-ancestors 'none'" in policy
    # With no-referrer a browser would send `Origin: null` with the form.
    assert page.headers["referrer-policy"] == "same-origin"


def test_the_form_runs_the_command_once_however_often_it_is_sent(web: CommandClient) -> None:
    token = token_in(web("mint+1", user=USER, **HTML))
    first, second = send_form(web, "mint+1", token), send_form(web, "mint+1", token)
    assert minted_on(first) == minted_on(second) == ["kt4x551"] and second.headers["idempotency-replayed"] == "true"
    other = token_in(web("mint+1", user=USER, **HTML))
    assert other != token and minted_on(send_form(web, "mint+1", other)) == ["kt154d9"]


def test_the_page_says_what_was_minted_and_a_repetition_that_it_is_one(web: CommandClient) -> None:
    token = token_in(web("mint+1", user=USER, **HTML))
    first = send_form(web, "mint+1", token)
    assert first.headers["content-type"] == "text/html; charset=utf-8" and "<h1>Minted</h1>" in first.text
    assert '<button class="primary">Mint another</button>' in first.text and "nothing new" not in first.text
    again = send_form(web, "mint+1", token)
    assert re.search(r"This is the identifier you were given at \d\d:\d\d UTC; nothing new was minted\.", again.text)
    # The button sends another token to the same address.
    for page in (first, again):
        assert minted_on(send_form(web, "mint+1", token_in(page))) not in ([], ["kt4x551"])
    many = send_form(web, "mint+3", token_in(web("mint+3", user=USER, **HTML)))
    assert len(minted_on(many)) == 3 and '<button class="primary">Mint 3 more</button>' in many.text
    assert "Mint 3 identifiers?" in web("mint+3", user=USER, **HTML).text


def test_other_commands_are_answered_by_a_page_too(web: CommandClient) -> None:
    query = "bind+set+kt639k9+who+%3Cb%3EJo"
    token = token_in(web(query, user=USER, **HTML))
    done = send_form(web, query, token)
    assert "<h1>Done</h1>" in done.text and '<dt>Status</dt><dd dir="auto">ok, 5 bytes written' in done.text
    assert "<button" not in done.text and web("get+kt639k9+who").text == "<b>Jo\n"
    assert re.search(r"This was done at \d\d:\d\d UTC, and was not done again\.", send_form(web, query, token).text)
    refused = "bind+new+kt639k9+who+%3Cb%3EAl"
    page = send_form(web, refused, token_in(web(refused, user=USER, **HTML)))
    assert page.status == 409 and page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1>Not done</h1>" in page.text and "<b>" not in page.text


def test_the_last_identifiers_are_shown_with_the_reason_why_there_are_no_more(tmp_path) -> None:
    create_in_child(tmp_path / "kt5", "x.sd")
    web = CommandClient(tmp_path)
    token = token_in(web("mint+12", user=USER, **HTML))
    for page in (send_form(web, "mint+12", token), send_form(web, "mint+12", token)):
        assert len(minted_on(page)) == 10 and "no identifier is left" in page.text and "<form" not in page.text


def test_a_browser_mints_no_more_than_it_may_repeat(web: CommandClient) -> None:
    run_in_child(web.folder / "kt5", "policy", "mint-limit", "20000")
    page = send_form(web, "mint+10001", token_in(web("mint+10001", user=USER, **HTML)))
    assert page.status == 400 and "loading its page again would mint again" in page.text
    assert "Drawn: 0" in web("dbinfo").text


def test_a_token_is_for_one_user_and_one_command_and_some_minutes(web: CommandClient, monkeypatch) -> None:
    token = token_in(web("mint+1", user=USER, **HTML))
    content, signature = token.split(".")
    other, _ = token_in(web("mint+2", user=USER, **HTML)).split(".")
    forged = [f"{other}.{signature}", f"{content[:-1]}.{signature}", f"{content}.{signature[:-1]}", f"{content}.", "",
              "x", ".", "..", content, f".{signature}", "%00%ff", token + "0", token + "=", token + "!",
              f"{content}!.{signature}", "\xe4.\xe4.\xe4"]
    for query, user, sent in [("mint+2", USER, token), ("mint+1", "bob", token), ("policy+admin+bob", USER, token),
                              *(("mint+1", USER, text) for text in forged)]:
        reply = send_form(web, query, sent, user)
        assert (reply.status, reply.ids) == (405, []) and token_in(reply)
    now = confirmation.time.time()
    monkeypatch.setattr(confirmation.time, "time", lambda: now + 16 * 60)
    assert send_form(web, "mint+1", token).status == 405
    monkeypatch.setattr(confirmation.time, "time", lambda: now + 14 * 60)
    assert minted_on(send_form(web, "mint+1", token)) == ["kt4x551"]


def test_a_token_without_a_login_belongs_to_the_address(web: CommandClient) -> None:
    run_in_child(web.folder / "kt5", "policy", "mint", "anyone")
    token = token_in(web("mint+1", **HTML))
    assert send_form(web, "mint+1", token, user="", REMOTE_ADDR="192.0.2.8").status == 405
    assert minted_on(send_form(web, "mint+1", token, user="")) == ["kt4x551"]


def test_a_form_of_another_site_is_refused_even_with_a_token(web: CommandClient) -> None:
    token = token_in(web("mint+1", user=USER, **HTML))
    for origin in ("null", "http://evil.example"):
        assert send_form(web, "mint+1", token, HTTP_ORIGIN=origin).status == 403


def test_a_page_is_only_for_those_who_may_give_the_command(web: CommandClient) -> None:
    assert web("mint+1", **HTML).status == 401
    assert web("dbcreate+.zd", user=USER, **HTML).status == 403
    assert web("bind+set", user=USER, **HTML).status == 400
    assert web("bind+set+kt4x551+:", user=USER, **HTML).status == 405


def test_forms_with_commands_or_elements_in_the_body_come_from_this_site(web: CommandClient) -> None:
    (name,) = web("mint+1", user=USER).ids
    browser = {**HTML, "HTTP_UPGRADE_INSECURE_REQUESTS": "1", "CONTENT_TYPE": "text/plain"}
    here = {**browser, "HTTP_ORIGIN": "http://id.example.org"}
    assert web.post("mint 1\n", **browser).status == 403 and web.post("mint 1\n", **here).status == 200
    words = {"user": USER, "method": "POST", "body": b"a: b\n"}
    assert web(f"bind+set+{name}+:", **words, **browser).status == 403
    assert web(f"bind+set+{name}+:", **words, **here).status == 200


def test_a_browser_that_names_no_site_sends_nothing_that_is_run(web: CommandClient) -> None:
    run_in_child(web.folder / "kt5", "policy", "admin", USER)
    before = web("dbinfo+dump", user=USER).text.count("EVENTS/")
    naming = ("HTTP_ORIGIN", "HTTP_REFERER", "HTTP_SEC_FETCH_SITE")
    for variables in PAGE_LOADS:
        nameless = {name: value for name, value in variables.items() if name not in naming}
        for query in ("-", "bind+set+kt4x551+:", "import+csv", "rebind"):
            body = b"mint 1\n" if query == "-" else b"id,_t\nkt4x551,x\n"
            assert web(query, user=USER, method="POST", body=body, **nameless).status == 403, (query, nameless)
    assert web("dbinfo+dump", user=USER).text.count("EVENTS/") == before


def test_the_secret_is_the_same_in_every_process_and_never_shown(web: CommandClient) -> None:
    token = token_in(web("mint+1", user=USER, **HTML))
    assert "SECRETS" not in web("dbinfo+dump", user=USER).text
    # Another process, as after a restart.
    body = f"token={token}".encode()
    done = subprocess.run(
        [sys.executable, PROGRAM_FILES / "noidu"], input=body, capture_output=True, check=True,
        env={**os.environ, **HTML, "REQUEST_METHOD": "POST", "QUERY_STRING": "mint+1", "REMOTE_USER": USER,
             "REMOTE_ADDR": "192.0.2.9", "CONTENT_TYPE": "application/x-www-form-urlencoded",
             "CONTENT_LENGTH": str(len(body)), "HTTP_HOST": "id.example.org", "NOID": str(web.folder / "kt5")})
    assert b"<bdi>kt4x551</bdi>" in done.stdout
