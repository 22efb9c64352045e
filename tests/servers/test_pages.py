"""The pages of the web resolver in a real browser.  Screenshots are left in the test's folder to be looked at."""

from __future__ import annotations

import re
import threading
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.minter import Noid
from support.served import Served
from support.servers.curl import curl
from support.templates import CHECKED

NAME = "13030/f54x54g11"
HOSTILE = (
    '<script>document.title="taken over"</script><img src=x onerror="document.title=\'taken over\'">'
    '"\'><svg onload="document.title=\'taken over\'">\u202e</dd></dl>'
)


class TargetHandler(BaseHTTPRequestHandler):
    """The server to which the names resolve."""

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        body = f"<!DOCTYPE html><title>arrived</title><p>arrived at {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class ServedMinter:
    """The address of a resolver, that of a server to which its names resolve, and three of its names."""

    base: str
    target: str
    gone: str
    plain: str


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served minter with names of all kinds, and a server that they lead to."""
    served = ServedMinter()
    target_server = ThreadingHTTPServer(("127.0.0.1", 0), TargetHandler)
    threading.Thread(target=target_server.serve_forever, daemon=True).start()
    served.target = f"http://127.0.0.1:{target_server.server_port}"
    folder = tmp_path_factory.mktemp("pages") / "f5"
    minter = Noid.created(folder, *CHECKED)
    mirror = "https://mirror.example.org/gibbon/decline-and-fall?edition=1781"
    assert minter.mint_with_target(f"{served.target}/book|{mirror}") == NAME
    for element, value in (("who", "Gibbon, Edward"), ("what", "The Decline and Fall of the Roman Empire"),
                           ("when", "1781"), ("note", "First line\nsecond line\n\tand a third, indented"),
                           ("language", "English; with ä, 日本語 and العربية")):
        minter.text("bind", "set", NAME, element, value)
    minter.text("custodian", "set", "Jo Keeper", "--contact", "jo@example.org", NAME)
    minter.text("synonym", NAME, "hdl:102.100.272/XYZZY", "--authority", "library")
    for words in (("abstract", "context", "Kerry's Library"), ("quality", "state", "universal", NAME),
                  ("relate", "ark:/13030/f5", "realises", "Kerry's Library")):
        minter.text(*words, "--authority", "Kerry")
    minter.text("verify", "--record", NAME)
    served.plain = minter.mint_with_target("javascript:document.title='taken over'")
    for element in ("who", "what", HOSTILE, "long"):
        minter.text("bind", "set", served.plain, element, HOSTILE if element != "long" else "x" * 300 + " " + "ä" * 200)
    served.gone = minter.mint_with_target("https://gone.example/")
    minter.text("withdraw", served.gone, "--reason", "Superseded by a corrected edition.", "--successor", NAME)
    minter.close()
    process = Served.start(folder.parent / "log", "-f", folder, "serve", "--http", "127.0.0.1:0")
    served.base = f"http://127.0.0.1:{process.address[1]}"
    yield served
    process.stop()
    target_server.shutdown()
    target_server.server_close()


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


def test_a_browser_that_opens_a_name_arrives_at_its_target(served, browser):
    page = browser.document(f"{served.base}/ark:/{NAME}/chapter-1?page=7")
    assert "<title>arrived</title>" in page and "arrived at /book/chapter-1?page=7" in page


def test_a_name_entered_in_the_form_arrives_at_its_target(served, browser):
    page = browser.document(f"{served.base}/?name=ark%3A%2F{NAME.replace('/', '%2F')}")
    assert "arrived at /book" in page


def test_a_page_shows_the_description(served, browser, tmp_path):
    page = browser.document(f"{served.base}/ark:/{NAME}?info")
    shown = text_of(page)
    for words in ("Gibbon, Edward", "The Decline and Fall", f"ark:/{NAME}", "published", "https://mirror.example.org/",
                  "日本語", "Jo Keeper", "hdl:102.100.272/XYZZY"):
        assert words in shown
    assert browser.screenshot(f"{served.base}/ark:/{NAME}?info", tmp_path / "info.png").startswith(b"\x89PNG")
    browser.screenshot(f"{served.base}/ark:/{NAME}?", tmp_path / "info-phone.png", width=390, height=844)


def test_bound_values_are_shown_and_never_run(served, browser, tmp_path):
    page = browser.document(f"{served.base}/ark:/{served.plain}?info")
    assert f"<title>ark:/{served.plain}</title>" in page
    assert "taken over" in text_of(page)
    assert not re.search(r"<(script|img|svg)\b", page)
    # The target that no reader may be sent to is text, not a link.
    assert 'href="javascript' not in page
    url = f"{served.base}/ark:/{served.plain}?info"
    browser.screenshot(url, tmp_path / "hostile-phone.png", width=390, height=844)


def test_a_mistyped_and_a_withdrawn_name_are_explained(served, browser, tmp_path):
    mistyped = browser.document(f"{served.base}/ark:/13030/f54x45g11")
    assert "wrong check character" in text_of(mistyped) and f'href="/ark:/{NAME}"' in mistyped
    gone = text_of(browser.document(f"{served.base}/ark:/{served.gone}"))
    assert "withdrawn" in gone and "Superseded by a corrected edition." in gone
    for name, path in (("unknown", "ark:/13030/nothing"), ("gone", f"ark:/{served.gone}"), ("home", "")):
        browser.screenshot(f"{served.base}/{path}", tmp_path / f"{name}-phone.png", width=390, height=844)


def test_what_is_abstract_is_shown_with_what_realises_it(served, browser, tmp_path):
    page = browser.document(f"{served.base}/Kerry's%20Library")
    assert "This is an abstract context" in text_of(page) and "13030/f5" in text_of(page)
    browser.screenshot(f"{served.base}/Kerry's%20Library", tmp_path / "abstract-phone.png", width=390, height=844)


def test_a_name_full_of_html_does_no_harm(served, browser):
    path = "%3Cscript%3Edocument.title='taken over'%3C/script%3E%22%3E%3Cimg src=x%3E"
    page = browser.document(f"{served.base}/{path}")
    assert "<title>Not found</title>" in page
    assert not re.search(r"<(script|img)\b", page)


@pytest.mark.parametrize("query", ["", "?info", "-unknown-" + "x" * 200])
def test_pages_fit_on_a_phone(served, browser, tmp_path, query):
    name = served.plain if query.startswith("?") else NAME
    path = f"/ark:/{name}{query}" if query else "/"
    page = curl(f"{served.base}{path}", "--header", "Accept: text/html").text
    # Without the header that forbids scripts a copy of the page can measure itself.
    script = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script>"
    copy = tmp_path / "copy.html"
    copy.write_text(page.replace("</body>", script + "</body>"), encoding="utf-8")
    measured = browser.document(copy.as_uri(), width=500, height=800)
    wide, of = map(int, re.search(r"<title>(\d+) of (\d+)</title>", measured).groups())
    assert wide <= of


def test_pages_forbid_scripts_by_their_content_security_policy(served):
    headers = curl(f"{served.base}/ark:/{NAME}?info", "--header", "Accept: text/html").headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
