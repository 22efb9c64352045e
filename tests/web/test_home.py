"""The home page of the resolver: names and words in one form."""

from __future__ import annotations

import re

import pytest

from noidtools.minter.folder import MinterFolder
from noidtools.web.resolver import Resolver
from noidtools.web.site import Site
from support.minter import Noid
from support.templates import LONG_TERM
from support.wsgi import HTML, ResolverClient

NAME = "13030/kt4x551"


@pytest.fixture
def minter(tmp_path):
    made = Noid.created(tmp_path / "kt5", *LONG_TERM)
    assert made.mint_with_target("https://a.example/") == NAME
    made.text("bind", "set", NAME, "what", "The Decline <and> Fall")
    made.text("bind", "set", NAME, "who", "Gibbon, Edward")
    yield made
    made.close()


@pytest.fixture
def web(minter, tmp_path):
    return ResolverClient(Resolver(MinterFolder(str(tmp_path))))


@pytest.mark.parametrize("entered", [
    "ark:/13030/kt4x551", "ark%3A%2F13030%2Fkt4x551", "https://n2t.net/ark:/13030/kt4x551", "13030/kt4x551",
    "doi:10.5/a", "ark:/13030/unknown", "hdl:1/x", "and/or"])
def test_what_looks_like_a_name_is_followed(web, entered):
    assert web(f"/?name={entered}", **HTML).status == 303


def test_words_are_searched_for(web):
    page = web("/?name=decline+gibbon", **HTML)
    assert page.status == 200 and f'<a href="/ark:/{NAME}?info">The Decline &lt;and&gt; Fall</a>' in page.text
    assert "Gibbon, Edward" in page.text and 'value="decline gibbon"' in page.text
    assert "Nothing was found." in web("/?name=nothing+such", **HTML).text
    for odd in ("%22decline", "%22", "*", "(", "AND", "%00", "%ff", "x" * 3000, "decline&from=z", "decline&from=kt5:x"):
        assert web(f"/?name={odd}", **HTML).status in (200, 303), odd


def test_pages_of_results_follow_each_other(minter, web):
    for number in range(25):
        name = minter.mint_with_target(f"https://a.example/{number}")
        minter.text("bind", "set", name, "what", f"Letters {number}")
    first = web("/?name=letters", **HTML).text
    (more,) = re.findall(r'<a class="button" href="([^"]+)"', first)
    second = web(more.replace("&amp;", "&"), **HTML).text
    assert (first.count("<li>\n<h2"), second.count("<li>\n<h2")) == (20, 5) and "More results" not in second


def test_what_is_reserved_is_not_found(minter, web):
    minter.text("reserve", NAME)
    assert "Nothing was found." in web("/?name=decline", **HTML).text


def test_words_are_no_search_where_readers_may_not_read(minter, web):
    minter.text("policy", "read", "nobody")
    assert "or words" not in web("/", **HTML).text
    sent = web("/?name=decline", **HTML)
    assert (sent.status, sent.headers["location"]) == (303, "/decline")


def test_a_program_is_answered_as_before(web):
    assert web("/").text.startswith("This is a resolver: ")
    assert web("/?name=decline").status == 303 and web("/?name=").status == 404
    assert web("/?name=", **HTML).status == 200


def test_errors_are_pages_for_browsers(web):
    page = web("/?name=x/noidu", **HTML)
    assert page.status == 404 and page.headers["content-type"] == "text/html; charset=utf-8"
    assert web("/?name=x/noidu").text.startswith("error: this is the address of a minter")


@pytest.mark.parametrize(("interfaces", "look", "shown"), [
    (("json", "console"), "", True), (("json",), "", False), (("console",), "[site]\nconsole = no\n", False)])
def test_the_home_page_links_to_the_console_where_it_is_served_unless_the_site_hides_it(
    tmp_path, interfaces, look, shown
):
    (tmp_path / "site.ini").write_text(look)
    page = ResolverClient(Site(MinterFolder(str(tmp_path)), interfaces=interfaces))("/", **HTML)
    assert ('<a href="/console/">For staff</a>' in page.text) is shown
