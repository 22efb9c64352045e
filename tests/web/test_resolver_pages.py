"""The pages of the resolver as HTML: escaping, what a browser may do with them, and what they need."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from noidtools.codec import decode_text, encode_text
from noidtools.description.facts import (
    CustodyPeriod,
    MinterDescription,
    NameDescription,
    NameRelation,
    QualityFinding,
    RedirectTarget,
)
from noidtools.web import pages
from noidtools.web.response import names_any

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


def path_of(name: str | bytes) -> bytes:
    return b"/" + base64.b16encode(encode_text(name) if isinstance(name, str) else name)


def text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace").replace("\0", "\ufffd")


def all_pages() -> dict[str, str]:
    responses = {
        "name": pages.name_page(200, FACTS, "https://id.example/x", path_of, [], "A <note>"),
        "tombstone": pages.name_page(410, replace(FACTS, state="withdrawn"), "https://id.example/x", path_of, []),
        "missing": pages.missing_page(HOSTILE, [HOSTILE.decode("latin-1")], HOSTILE, b"/", path_of, []),
        "home": pages.home_page(b"/\"><script>", []),
    }
    return {name: response.body.decode() for name, response in responses.items()}


@pytest.mark.parametrize("name", ["name", "tombstone", "missing", "home"])
def test_every_value_is_text_and_no_markup(name):
    page = Page(all_pages()[name])
    assert set(page.tags) <= {
        "html", "head", "meta", "link", "title", "style", "body", "main", "h1", "h2", "p", "bdi", "ol", "li", "a", "dl",
        "dt", "dd", "form", "input", "button", "footer", "code", "div", "strong"}
    assert not any(link.lower().startswith(("javascript:", "//")) for link in page.links)


def test_a_page_shows_all_facts_under_their_labels():
    page = Page(all_pages()["name"])
    terms = [term for term, _ in page.terms]
    assert terms == ["Who", "When", text(HOSTILE), "Address", "State", "Minted", "Date", "Responsible", "Custodian",
                     "Contact", "Computed by the rule", "Synonym", "Preferred", "Resolvable"]
    values = dict(page.terms)
    assert values["Who"] == values["Custodian"] == text(HOSTILE)
    assert values["Date"] == "2026-11-16 00:28:25 UTC" and values["Minted"] == "2025-01-02 03:04:05 UTC"
    assert values["Synonym"] == f"{text(HOSTILE)} according to {text(HOSTILE)}"
    assert values["Preferred"] == f"according to {text(HOSTILE)}"
    assert path_of(HOSTILE).decode() in page.links and "A <note>" in page.texts
    # A target that a browser may not follow is there, and is no link.
    assert "javascript:alert(1)" in page.texts


def test_a_tombstone_shows_when_and_why_and_what_to_use_instead_but_nothing_that_was_bound():
    page = Page(all_pages()["tombstone"])
    assert [term for term, _ in page.terms] == [
        "First issued", "Withdrawn", "Responsible", "Custodian", "Contact", "Synonym", "Preferred"]
    shown = "".join(page.texts)
    assert "This name was withdrawn." in shown and "In its place there is" in shown
    assert "2026-11-16 00:28:25 UTC" in shown and "javascript:" not in shown
    assert page.links.count(path_of(HOSTILE).decode()) == 2, "the successor and the synonym"


def test_a_browser_may_use_only_the_style_of_the_page():
    response = pages.home_page(b"/", [("Vary", "Accept")])
    policy = dict(response.headers)["Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", response.body.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; "
                      "base-uri 'none'; frame-ancestors 'none'")
    assert response.headers[0] == ("Vary", "Accept") and ("Referrer-Policy", "no-referrer") in response.headers


def test_templates_are_compiled_once():
    pages.home_page(b"/", [])
    template = pages._environment().get_template("home.html")
    pages.home_page(b"/", [])
    assert pages._environment().get_template("home.html") is template


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
