"""The pages of the resolver as HTML: escaping, what a browser may do with them, and what they need."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from noidtools.codec import decode_text
from noidtools.description.facts import (
    CustodyPeriod,
    FoundName,
    MinterDescription,
    NameDescription,
    NameRelation,
    QualityFinding,
    RedirectTarget,
)
from noidtools.resolution.naans import Authority
from noidtools.web import pages
from noidtools.web.accept import names_any
from noidtools.web.branding import Branding
from noidtools.web.name_request import NameRequest
from noidtools.web.rendering import Renderer
from noidtools.web.request import Request, Trust

HOSTILE = b"</dd><script>alert(1)</script><img src=x onerror=\"alert('1')\">&amp;{{ 7*7 }}{% raw %}\xe2\x80\xae\0\xff"
WORDS = decode_text(HOSTILE)
WHEN = datetime(2026, 11, 16, 0, 28, 25, tzinfo=timezone.utc)
MINTER = MinterDescription(
    name="kt5", namespace="", custodians=(CustodyPeriod(WORDS, WORDS),), authority=HOSTILE.decode("latin-1"),
)
FACTS = NameDescription(
    name=WORDS, identifier=WORDS, minter=MINTER, state="published", date=WHEN,
    minted=datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc), reason=WORDS, pattern=WORDS,
    successor_relation=NameRelation(WORDS, "successor", WORDS),
    requested_targets=(RedirectTarget("javascript:alert(1)"), RedirectTarget("https://a.example/" + WORDS)),
    elements={WORDS: WORDS, "when": WORDS, "who": WORDS},
    relations=(NameRelation(WORDS, "synonym", WORDS, WORDS), NameRelation(WORDS, "preferred", "", WORDS)),
    findings=(QualityFinding("resolvable", "fails", WORDS, WHEN, "9.9"),),
)




def asked(**environ: str) -> NameRequest:
    return NameRequest(Request(environ, Trust()), Renderer(Branding()))


class Page(HTMLParser):
    """The tags, links and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.terms: list[tuple[str, str]] = []
        self._inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "action", "src")]
        self.texts.append("")
        if tag in ("dt", "dd"):
            self._inside.append("")

    def handle_endtag(self, tag):
        if tag == "dd":
            self.terms.append((self._inside[-2], self._inside[-1]))

    def handle_data(self, data):
        self.texts.append(data)
        if self._inside:
            self._inside[-1] += data


def text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd")


def all_pages() -> dict[str, str]:
    hostile = asked(SCRIPT_NAME='/"><script>')
    withdrawn = replace(FACTS, state="withdrawn", state_since=WHEN, elements={}, withdrawn_elements={
        "dc.title": WORDS, "who": WORDS})
    responses = {
        "name": pages.name_page(hostile, 200, FACTS, "https://id.example/x", []),
        "no target": pages.name_page(hostile, 404, replace(FACTS, requested_targets=()), "https://id.example/x", []),
        "tombstone": pages.name_page(hostile, 410, withdrawn, "https://id.example/x", []),
        "missing": pages.missing_page(hostile, HOSTILE, "unknown-name", HOSTILE, Authority("1", WORDS, WORDS), HOSTILE),
        "results": pages.results_page(
            hostile, WORDS, [(WORDS, FoundName(WORDS, "published", WORDS, {"title": WORDS}, None))], WORDS),
        "home": pages.home_page(hostile, has_search=True, shows_console=True),
    }
    return {name: response.body.decode() for name, response in responses.items()}


@pytest.mark.parametrize("name", ["name", "no target", "tombstone", "missing", "results", "home"])
def test_every_value_is_text_and_no_markup(name):
    page = Page(all_pages()[name])
    assert set(page.tags) <= {
        "html", "head", "meta", "link", "title", "style", "body", "header", "main", "h1", "h2", "p", "bdi", "ol", "li",
        "a", "dl", "dt", "dd", "form", "label", "input", "button", "footer", "code", "div", "strong", "span", "small",
        "br", "article", "section", "details", "summary", "pre", "figure", "svg", "path", "script"}
    assert page.tags.count("script") == {"name": 2, "no target": 2, "tombstone": 1}.get(name, 0)
    assert not any(link.lower().startswith(("javascript:", "//")) for link in page.links)


def test_a_page_shows_all_facts_under_their_labels():
    page = Page(all_pages()["name"])
    assert [term for term, _ in page.terms] == [
        "Creator", "Date", text(HOSTILE), "Link", "Leads to", "Leads to", "Issued", "Responsible", "Kept by", "Contact",
        "Computed by the rule", "Other formats", "Synonym", "Preferred", "Resolvable"]
    values = dict(page.terms)
    assert values["Creator"] == values["Kept by"] == text(HOSTILE)
    assert values["Issued"] == "2026-11-16 00:28 UTC"
    assert values["Synonym"].startswith(f"{text(HOSTILE)} according to {text(HOSTILE)}")
    assert values["Preferred"].startswith(f"according to {text(HOSTILE)}")
    # A target that a browser may not follow is there, and is no link.
    assert "javascript:alert(1)" in page.texts


def test_the_heading_is_the_title_or_else_the_identifier():
    page = Page(pages.name_page(asked(), 200, replace(FACTS, elements={"erc.what": "Decline"}), "x", []).body.decode())
    assert page.texts[page.texts.index("Decline", 10)] and [term for term, _ in page.terms][0] == "Link"
    untitled = pages.name_page(asked(), 200, replace(FACTS, name="ark:/1/x", elements={"what": "(:unav)"}), "x", [])
    assert '<h1 dir="auto">ark:/1/x</h1>' in untitled.body.decode()


def test_a_long_title_is_cut_in_the_heading_and_whole_below():
    title = "Decline and Fall " * 300
    page = pages.name_page(asked(), 200, replace(FACTS, elements={"title": title}), "x", []).body.decode()
    (heading,) = re.findall('<h1 dir="auto">(.*?)</h1>', page)
    assert len(heading) < 210 and heading.endswith((" Decline …", " and …", " Fall …")) and title in page


def test_a_tombstone_says_what_was_withdrawn_when_and_why_and_by_whom_it_is_kept():
    page = Page(all_pages()["tombstone"])
    assert [term for term, _ in page.terms] == [
        "Title", "Creator", "First issued", "Withdrawn", "Responsible", "This record is kept by", "Contact", "Synonym",
        "Preferred"]
    shown = "".join(page.texts)
    assert "This was withdrawn on 2026-11-16." in shown and "Use this instead:" in shown and "Reason:" in shown
    assert "javascript:" not in shown


@pytest.mark.parametrize("change", [{}, {"state": "reserved"}, {"requested_targets": ()}, {"suffix": "/page"}], ids=str)
def test_search_engines_index_what_is_published_and_leads_somewhere(change):
    page = pages.name_page(asked(), 200, replace(FACTS, **change), "https://id.example/x", []).body.decode()
    assert ('content="index, follow"' in page) is not bool(change) and ('content="noindex"' in page) is bool(change)
    assert '<link rel="canonical" href="https://id.example/x?info">' in page


def test_machines_find_the_work_in_the_page():
    facts = replace(FACTS, name="ark:/1/x", elements={
        "who": "Gibbon, Edward; The Society", "what": "Fall</script><b>", "when": "1781-02-03",
        "dc.publisher": "Strahan"})
    page = pages.name_page(asked(), 200, facts, "https://id.example/ark:/1/x", []).body.decode()
    (data,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    assert json.loads(data) == {
        "@context": "https://schema.org", "@type": "CreativeWork", "@id": "https://id.example/ark:/1/x",
        "identifier": "ark:/1/x", "name": "Fall</script><b>", "url": "https://id.example/ark:/1/x",
        "author": [{"@type": "Person", "name": "Edward Gibbon", "familyName": "Gibbon", "givenName": "Edward"},
                   {"name": "The Society"}],
        "datePublished": "1781-02-03", "publisher": {"@type": "Organization", "name": "Strahan"}}
    for tag in ('"citation_title" content="Fall&lt;/script&gt;&lt;b&gt;"', '"citation_author" content="Gibbon, Edward"',
                '"citation_author" content="The Society"', '"citation_publication_date" content="1781/02/03"',
                '"DC.identifier" content="https://id.example/ark:/1/x"', '"DC.publisher" content="Strahan"'):
        assert f"<meta name={tag}>" in page


@pytest.mark.parametrize(("value", "href"), [
    ("jo@example.org", "mailto:jo@example.org"), ("mailto:jo@example.org", "mailto:jo@example.org"),
    ("mailto:jo@example.org?subject=x", None), ("https://a.example/b", "https://a.example/b"),
    ("javascript:alert(1)", None), ("see https://a.example/", None), ("jo@example.org, al@example.org", None),
])
def test_a_value_that_is_an_address_is_a_link(value, href):
    page = pages.name_page(asked(), 200, replace(FACTS, elements={"note": value}), "x", []).body.decode()
    expected = f'<a href="{href}">{value}</a>' if href else value
    assert f'<dt>Note</dt><dd dir="auto">{expected}</dd>' in page


def test_a_browser_may_use_only_the_style_of_the_page():
    response = pages.home_page(asked(), has_search=False, shows_console=False)
    policy = dict(response.headers)["Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", response.body.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
                      "frame-ancestors 'none'; form-action http: https:")
    assert response.headers[0] == ("Vary", "Accept, Accept-Language")
    assert ("Referrer-Policy", "no-referrer") in response.headers


def test_redirects_and_text_do_without_graphs():
    script = ("import sys, noidtools.web.resolver\n"
              "print('rdflib' in sys.modules)")
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(("accept", "expected"), [
    ("text/turtle", True), ("TEXT/Turtle;q=0.2, */*", True), ("application/ld+json; profile=x", True), ("", False),
    ("text/*", False), ("*/*", False), ("text/turtle-like", False), ("x/y;p=text/turtle", False),
])
def test_a_range_names_no_media_type(accept, expected):
    assert names_any(accept, ("text/turtle", "application/ld+json")) is expected
