"""Commands by URL in a browser are answered with pages; programs get text, as ever."""

from __future__ import annotations

import re

import pytest

from support.wsgi import HTML, USER, CommandClient
from web.test_confirmation import PROGRAMS

BROWSER = {**HTML, "HTTP_SEC_FETCH_MODE": "navigate", "HTTP_SEC_FETCH_SITE": "none"}
HOSTILE = "</td><script>x</script>\"'><img src=x>\xff"
QUERIES = ["", "help", "help+mint", "hello", "dbinfo", "fetch+kt4x551", "get+kt4x551+who", "history+kt4x551", "policy",
           "validate+-+kt4x551", "list", "get+nothing+who", "nonsense", "resolve+kt4x551", "cite+kt4x551"]


@pytest.fixture
def described(web: CommandClient) -> CommandClient:
    assert web("mint+1", user=USER).ids == ["kt4x551"]
    body = f"who: Gibbon\nnote: {HOSTILE}\n_t: https://a.example/\n".encode("latin-1")
    assert web("bind+set+kt4x551+:", user=USER, method="POST", body=body, CONTENT_TYPE="text/plain").status == 200
    return web


@pytest.mark.parametrize("query", QUERIES)
def test_a_browser_gets_a_page_with_the_status_that_a_program_gets(described, query):
    page, text = described(query, user=USER, **BROWSER), described(query, user=USER)
    assert page.headers["content-type"] == "text/html; charset=utf-8" and page.status == text.status
    assert "<script" not in page.text and "<img" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("variables", PROGRAMS, ids=str)
def test_a_program_gets_the_text_that_it_always_got(described, variables):
    for query in QUERIES:
        assert "text/html" not in described(query, user=USER, **variables).headers["content-type"]
    if "HTTP_ACCEPT" not in variables:
        assert described("get+kt4x551+who", **variables).text == "Gibbon\n"
        assert described("get+nothing+who", **variables).text.startswith("error: ")


def test_help_is_a_list_by_task_with_links(web):
    page = web("", **BROWSER).text
    assert "<h2>Mint</h2>" in page and '<a href="?help+mint">mint</a>' in page and ">dbcreate<" not in page


def test_fetch_is_a_table_and_history_a_time_line(described):
    table = described("fetch+kt4x551", **BROWSER).text
    assert '<th scope="row">who</th><td class="value" dir="auto">Gibbon</td>' in table
    assert '<a href="https://a.example/">https://a.example/</a>' in table
    line = described("history+kt4x551", **BROWSER).text
    assert '<ol class="timeline">' in line
    assert re.search(r"<strong>mint</strong> <time [^>]*>\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>", line)
    described("bind+set+kt4x551+who+Smith", user=USER)
    line = described("history+kt4x551", **BROWSER).text
    assert "<del><bdi>Gibbon</bdi></del> → <ins><bdi>Smith</bdi></ins>" in line


def test_the_help_of_a_command_has_its_usage_options_and_links(web):
    page = web("help+mint", **BROWSER).text
    assert '<p class="lead">Make identifiers.</p>' in page and "<code>--reserve</code>" in page
    assert '<a href="?help+bind">bind</a>' in page and "\nmint [--reserve]" in page
    assert "<pre>bind set" in web("help+bind+set", **BROWSER).text


def test_a_list_of_identifiers_with_their_elements_is_a_table(described):
    described("mint+1", user=USER)
    page = described("list", user=USER, **BROWSER).text
    assert '<th scope="col">id</th>' in page and page.count("<tr>") == 3 and page.count('<a href="?fetch+') == 2


def test_a_page_that_would_link_to_itself_does_not(web):
    missing = web("", path="/nd/noidu_nothing", **BROWSER)
    assert missing.status == 404 and "there is no minter" in missing.text and "All commands" not in missing.text


def test_what_was_minted_is_linked(web):
    page = web("list", user=USER, **BROWSER)
    web("mint+3", user=USER)
    listed = web("list", user=USER, **BROWSER).text
    assert page.status == 200 and listed.count('<a href="?fetch+') == 3


def test_an_error_says_what_is_wrong_and_where_help_is(described):
    page = described("get+nothing+who", **BROWSER)
    assert page.status == 404 and "<h1>Not found</h1>" in page.text
    assert 'href="/nd/noidu_kt5">All commands</a>' in page.text
    login = described("mint+1", **BROWSER)
    assert login.status == 401 and "A login is needed" in login.text and login.headers["www-authenticate"]


@pytest.mark.parametrize("query, why", [("%zz", "two hexadecimal digits"), ("a%22", "no command"), ('a"b', "quote"),
                                        ("a%20%22b", "quote")])
def test_a_query_that_is_no_words_is_explained_on_a_page(described, query, why):
    page = described(query, **HTML)
    assert page.status == 400 and page.headers["content-type"].startswith("text/html") and why in page.text


def test_a_change_says_its_consequence_and_can_be_cancelled(described):
    described("policy+admin+alice")
    page = described("mint+1", user=USER, **BROWSER).text
    assert "never given again" in page and re.search(r'<a class="button" href="[^"?]*noidu_kt5">Cancel</a>', page)


def test_a_long_answer_is_cut_and_says_so(web):
    assert len(web("mint+1200", user=USER).ids) == 1200
    page = web("list+--limit+1200", user=USER, **BROWSER).text
    assert "Only the beginning is shown." in page and 0 < page.count("?fetch+") < 1200
